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

from loadcurve.errors import BadInput
from loadcurve.imported.access_log import RequestFilter, requests_of
from loadcurve.imported.left_out import LeftOut, Reason
from loadcurve.imported.log_times import NS_PER_S, LogTimes, UnknownTime
from loadcurve.imported.paths import Paths, require_requests, write_list
from loadcurve.tools.source import Source

LINES_AT_ONCE = 100_000
"""How many lines of the list are put together in memory."""

LENGTH_S_MAX = 10**9 - 1
"""Of a list's times, which have at most nine digits before the point."""

Moments = NDArray[np.int64]


@dataclass(frozen=True)
class Recorded:
    """What was written."""

    requests: int
    paths: int
    left_out: LeftOut
    length_s: float
    """From the first request to the last one."""
    step_s: float
    """What the times of the log are multiples of."""


def write_recording(log: Path, out: Path, wanted: RequestFilter) -> Recorded:
    """Write the paths of a log with the seconds since its first request and their statuses, by time.

    Requests with the same time are spread evenly over the step of the log's times, in the order of its lines:
    the second one of four within the same second is due 0.25 s into it.

    Raises:
        BadInput: too many lines are not those of an access log, or their times cannot be read, no request is
            wanted, or the file cannot be written; then nothing was written.

    """
    source = Source(log)
    left_out = LeftOut(source)
    paths, times = Paths(source, left_out), LogTimes()
    moments_ns, places, statuses = array("q"), array("I"), array("H")
    for request in requests_of(source, wanted, left_out):
        try:
            moment_ns = times.moment_ns(request)
        except UnknownTime as unknown:
            left_out.add(Reason.NO_TIME, request.number, request.text, f": {unknown}")
            continue
        if (place := paths.place(request)) is not None:
            moments_ns.append(moment_ns)
            places.append(place)
            statuses.append(request.status)
    require_requests(source, len(places), wanted, left_out)
    recorded_ns = np.frombuffer(moments_ns, dtype=np.int64)
    order = np.argsort(recorded_ns, kind="stable")
    due_ns = spread(recorded_ns[order], times.step_ns)
    if int(due_ns[-1]) > LENGTH_S_MAX * NS_PER_S:
        raise BadInput(
            f"{source.name}: its first and its last request are {int(due_ns[-1]) / NS_PER_S:,.0f} s apart; "
            f"expected at most {LENGTH_S_MAX:,} s: remove the lines that were logged with another clock"
        )
    ordered = np.frombuffer(places, dtype=np.uint32)[order], np.frombuffer(statuses, dtype=np.uint16)[order]
    texts = paths.texts
    write_list(out, _lines(texts, *ordered, due_ns))
    return Recorded(
        requests=len(places),
        paths=len(texts),
        left_out=left_out,
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


def _lines(
    paths: list[str], places: NDArray[np.uint32], statuses: NDArray[np.uint16], due_ns: Moments
) -> Iterator[bytes]:
    """Yield the lines of the list, many at once."""
    for begin in range(0, len(places), LINES_AT_ONCE):
        part = slice(begin, begin + LINES_AT_ONCE)
        parts = (figures[part].tolist() for figures in (places, due_ns, statuses))
        yield "".join(
            f"{paths[place]} @{_seconds(moment_ns)} ={status}\n"
            for place, moment_ns, status in zip(*parts, strict=True)
        ).encode()


def _seconds(moment_ns: int) -> str:
    """Return a time with as many decimals as it needs."""
    seconds, rest_ns = divmod(moment_ns, NS_PER_S)
    return f"{seconds}.{rest_ns:09d}".rstrip("0").rstrip(".") if rest_ns else str(seconds)
