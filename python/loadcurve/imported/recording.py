"""An access log as a list of requests with their times, as a load replays it.

Servers write a line when a request ends: nginx with the time of that end, Apache with that of the start, so
its times go backwards where requests overlap. The list is in the order of the times.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loadcurve.generate.tools.source import Source
from loadcurve.imported.access_log import Paths, requests_of, require_requests, write_list
from loadcurve.imported.log_times import NS_PER_S, LogTimes

LINES_AT_ONCE = 100_000
"""How many lines of the list are put together in memory."""

Moments = NDArray[np.int64]


@dataclass(frozen=True)
class Recorded:
    """What was written."""

    requests: int
    paths: int
    left_out: int
    """Requests by other methods than GET, or without a path."""
    length_s: float
    """From the first request to the last one."""
    step_s: float
    """What the times of the log are multiples of."""


def write_recording(log: Path, out: Path) -> Recorded:
    """Write the paths of a log with the seconds since its first request, in the order of the times.

    Requests with the same time are spread evenly over the step of the log's times, in the order of its lines:
    the second one of four within the same second is due 0.25 s into it.

    Raises:
        BadInput: a line is not that of an access log, or its time cannot be read, no request is by GET, or
            the file cannot be written; then nothing was written.

    """
    source = Source(log)
    paths, times = Paths(source), LogTimes(source)
    moments_ns, places = array("q"), array("I")
    for request in requests_of(source):
        if (place := paths.place(request)) is not None:
            moments_ns.append(times.moment_ns(request))
            places.append(place)
    require_requests(source, len(places))
    recorded_ns = np.frombuffer(moments_ns, dtype=np.int64)
    order = np.argsort(recorded_ns, kind="stable")
    due_ns = spread(recorded_ns[order], times.step_ns)
    ordered = np.frombuffer(places, dtype=np.uint32)[order]
    write_list(out, _lines(paths.texts, ordered, due_ns))
    return Recorded(
        requests=len(places),
        paths=len(paths.texts),
        left_out=paths.left_out,
        length_s=int(due_ns[-1]) / NS_PER_S,
        step_s=times.step_ns / NS_PER_S,
    )


def spread(sorted_ns: Moments, step_ns: int) -> Moments:
    """Return times since the first one, of which equal ones follow each other evenly within a step."""
    begins = np.flatnonzero(np.diff(sorted_ns, prepend=sorted_ns[0] - 1))
    counts = np.diff(begins, append=len(sorted_ns))
    place = np.arange(len(sorted_ns)) - np.repeat(begins, counts)
    within_ns: Moments = place * step_ns // np.repeat(counts, counts)
    since_first_ns: Moments = sorted_ns - sorted_ns[0]
    return since_first_ns + within_ns


def _lines(paths: list[str], places: NDArray[np.uint32], due_ns: Moments) -> Iterator[bytes]:
    """Yield the lines of the list, many at once."""
    for begin in range(0, len(places), LINES_AT_ONCE):
        part = slice(begin, begin + LINES_AT_ONCE)
        pairs = zip(places[part].tolist(), due_ns[part].tolist(), strict=True)
        yield "".join(f"{paths[place]} @{_seconds(moment_ns)}\n" for place, moment_ns in pairs).encode()


def _seconds(moment_ns: int) -> str:
    """Return a time with as many decimals as it needs."""
    seconds, rest_ns = divmod(moment_ns, NS_PER_S)
    return f"{seconds}.{rest_ns:09d}".rstrip("0").rstrip(".") if rest_ns else str(seconds)
