"""An access log as a list of requests with weights, as a load reads it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from loadcurve.imported.access_log import RequestFilter, requests_of
from loadcurve.imported.left_out import LeftOut
from loadcurve.imported.paths import Paths, require_requests, write_list
from loadcurve.tools.source import Source

_STATUSES = 1_000
"""More than there are."""


@dataclass(frozen=True)
class Weighted:
    """What was written."""

    requests: int
    paths: int
    left_out: LeftOut


def write_requests(log: Path, out: Path, wanted: RequestFilter) -> Weighted:
    """Write the paths of a log, most frequent first, with their counts as weights and their usual statuses.

    Raises:
        BadInput: too many lines are not those of an access log, no request is wanted, or the file cannot be
            written; then nothing was written.

    """
    source = Source(log)
    left_out = LeftOut(source)
    paths, counts = Paths(source, left_out), Counter[int]()
    for request in requests_of(source, wanted, left_out):
        if (place := paths.place(request)) is not None:
            # A number takes less memory than a pair.
            counts[place * _STATUSES + request.status] += 1
    require_requests(source, len(counts), wanted, left_out)
    texts = paths.texts
    counted = _counted(counts)
    lines = sorted((-one.requests, texts[place], one.status) for place, one in counted.items())
    write_list(out, (f"{path} {-count} ={status}\n".encode() for count, path, status in lines))
    return Weighted(requests=counts.total(), paths=len(counted), left_out=left_out)


class _Counted(NamedTuple):
    requests: int
    most: int
    """How often it had the status that it had most often."""
    status: int


def _counted(counts: Mapping[int, int]) -> dict[int, _Counted]:
    """Return how often each path was asked for, and its most frequent status, of equals the least."""
    found: dict[int, _Counted] = {}
    for place_and_status, count in sorted(counts.items()):
        place, status = divmod(place_and_status, _STATUSES)
        before = found.get(place, _Counted(0, 0, status))
        most, usual = (count, status) if count > before.most else before[1:]
        found[place] = _Counted(before.requests + count, most, usual)
    return found
