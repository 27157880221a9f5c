"""An access log as a list of requests with weights, as a load reads it."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from loadcurve.generate.tools.source import Source
from loadcurve.imported.access_log import Wanted, requests_of
from loadcurve.imported.left_out import LeftOut
from loadcurve.imported.paths import Paths, require_requests, write_list


@dataclass(frozen=True)
class Weighted:
    """What was written."""

    requests: int
    paths: int
    left_out: LeftOut


def write_requests(log: Path, out: Path, wanted: Wanted) -> Weighted:
    """Write the paths of a log, most frequent first, with their counts as weights.

    Raises:
        BadInput: too many lines are not those of an access log, no request is wanted, or the file cannot be
            written; then nothing was written.

    """
    source = Source(log)
    left_out = LeftOut(source)
    paths, counts = Paths(source, left_out), Counter[int]()
    for request in requests_of(source, wanted, left_out):
        if (place := paths.place(request)) is not None:
            counts[place] += 1
    require_requests(source, len(counts), wanted, left_out)
    texts = paths.texts
    weighted = sorted(((texts[place], count) for place, count in counts.items()), key=_by_count)
    write_list(out, (f"{path} {count}\n".encode() for path, count in weighted))
    return Weighted(requests=sum(counts.values()), paths=len(counts), left_out=left_out)


def _by_count(weighted: tuple[str, int]) -> tuple[int, str]:
    path, count = weighted
    return -count, path
