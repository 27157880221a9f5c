"""An access log as a list of requests with weights, as a load reads it."""

from collections import Counter
from pathlib import Path

from loadcurve.generate.tools.source import Source
from loadcurve.imported.access_log import Paths, requests_of, require_requests, write_list


def write_requests(log: Path, out: Path) -> tuple[int, int, int]:
    """Write the paths of a log, most frequent first, with their counts as weights.

    Returns how many requests were taken, how many paths they have, and how many requests of other methods, or
    without a path, were left out.

    Raises:
        BadInput: a line is none of an access log, no request is by GET, or the file cannot be written; then
            nothing was written.

    """
    source = Source(log)
    paths, counts = Paths(source), Counter[int]()
    for request in requests_of(source):
        if (place := paths.place(request)) is not None:
            counts[place] += 1
    require_requests(source, len(counts))
    weighted = sorted(((paths.texts[place], count) for place, count in counts.items()), key=_by_count)
    write_list(out, (f"{path} {count}\n".encode() for path, count in weighted))
    return sum(counts.values()), len(counts), paths.left_out


def _by_count(weighted: tuple[str, int]) -> tuple[int, str]:
    path, count = weighted
    return -count, path
