"""What wrk and wrk2 print for people.

The latencies of wrk's text hold times that it did not measure, in place of requests that it could not send
(``stats_correct`` in its source), so that they are between those of the requests and those of a schedule.
wrk2 times every request from when it was due.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from loadcurve.protocol import HTTP1_1
from loadcurve.tools.figures import Asked, LatencyBasis, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import UNIT, UNITS_MS, Printed, window_of
from loadcurve.tools.source import Source
from loadcurve.tools.text_lines import Lines

TESTED = {
    "wrk-text": ("1.0.0", "2.0.0", "4.1.0"),
}
"""By format, the versions whose real output it is tested with."""
_TIME: Final = rf"(\d{{1,15}}(?:\.\d{{1,9}})?)({UNIT})"
_SHOWN: Final = {"50": "p50", "75": "p75", "90": "p90", "95": "p95", "99": "p99", "99.9": "p99_9"}
_SHOWN_OF_WRK2: Final = {**_SHOWN, "99.99": "p99_99"}
_OF_WRK2: Final = (b"HdrHistogram", b"Thread calibration")
_CLASSES: Final = ("connect", "read", "write", "timeout")


def is_text(head: bytes) -> bool:
    """Say whether a file begins as the text of wrk, or of wrk2 without its percentiles."""
    return _is_either(head) and not any(mark in head for mark in _OF_WRK2)


def is_text_of_wrk2(head: bytes) -> bool:
    """Say whether a file begins as the text of wrk2."""
    return _is_either(head) and any(mark in head for mark in _OF_WRK2)


def read_text(source: Source) -> ToolFigures:
    """Return the figures of a text of wrk."""
    return _read(source, "wrk", "send", _SHOWN)


def read_text_of_wrk2(source: Source) -> ToolFigures:
    """Return the figures of a text of wrk2; of two distributions, those of option -U, the first."""
    return _read(source, "wrk2", "due", _SHOWN_OF_WRK2)


def _is_either(head: bytes) -> bool:
    begins = b"Running " in head or b"Making " in head
    return begins and b" threads and " in head and b"Thread Stats" in head


def _read(source: Source, tool: str, basis: LatencyBasis, names: dict[str, str]) -> ToolFigures:
    lines = Lines(source)
    begin = rf"(?:Running {_TIME} test @|Making (\d{{1,15}}) requests to) (\S+)$"
    _, running = lines.once(begin, f'{tool}\'s line "Running", or "Making" of version 1')
    made = int(running[3]) if running[3] else None
    _, sizes = lines.once(r"\s*(\d{1,9}) threads and (\d{1,9}) connections$", "threads and connections")
    number, total = lines.once(
        rf"\s*(\d{{1,15}}) requests in {_TIME}, \S+B read$", "the requests, and in what time"
    )
    errors = _failures(lines)
    wrong = lines.optional(r"\s*Non-2xx or 3xx responses: (\d{1,15})$", "the answers with error statuses")
    rate_line, rate = lines.once(r"Requests/sec:\s+(\d\S*)$", f'{tool}\'s line "Requests/sec:"')
    rate_rps = lines.printed(rate_line, rate[1], "requests per second")
    lines.once(r"Transfer/sec:\s+\d\S*B$", f'{tool}\'s last line "Transfer/sec:"')
    requests = int(total[1])
    window = window_of(requests, rate_rps, Printed.of(total[2], UNITS_MS[total[3]] / 1000))
    # Version 1 counts timeouts as wrk2 does.
    answered, failed = outcomes(tool if made is None else "wrk2", requests, errors)
    latency = _latency(lines, names, answered)
    if not requests or window.duration_s <= 0:
        raise source.unreadable(number, "no request", "the requests of a load")
    return ToolFigures(
        tool=tool,
        basis=basis,
        duration_s=window.duration_s,
        answered=answered,
        ok=max(answered - (int(wrong[1][1]) if wrong else 0), 0),
        failed=sum(failed.values()),
        errors={name: count for name, count in failed.items() if name == "timeout"},
        latency=replace(latency, completeness="sampled") if made is not None else latency,
        asked=Asked(
            target=running[4],
            threads=int(sizes[1]),
            connections=int(sizes[2]),
            duration_s=_asked_s(running[1], running[2]) if made is None else None,
            requests_total=made,
            http=HTTP1_1,
        ),
        contradictions=[window.contradiction] if window.contradiction else [],
    )


def _asked_s(number: str, unit: str) -> float | None:
    """Return the duration that was asked for; ``None`` for minutes and hours, which it rounds."""
    return _ms(number, unit) / 1e3 if unit == "s" else None


def outcomes(tool: str, requests: int, errors: Mapping[str, int]) -> tuple[int, Mapping[str, int]]:
    """Return how many of the requests that wrk or wrk2 has counted were answered, and which failed.

    With wrk an answer that comes later than the timeout counts as both (``response_complete`` in its source).
    wrk2 looks every two seconds which connections have sent nothing for that long and counts these, idle ones
    too and each time anew (``check_timeouts``): its timeouts are of no requests, and a late answer is one.
    """
    if tool == "wrk2":
        return requests, {name: count for name, count in errors.items() if name != "timeout"}
    return max(requests - errors["timeout"], 0), errors


def _failures(lines: Lines) -> dict[str, int]:
    counts = ", ".join(rf"{name} (\d{{1,15}})" for name in _CLASSES)
    found = lines.optional(rf"\s*Socket errors: {counts}$", "the socket errors")
    return dict(zip(_CLASSES, map(int, found[1].groups()) if found else (0, 0, 0, 0), strict=True))


def _latency(lines: Lines, names: dict[str, str], answered: int) -> Times:
    """Return the mean, the longest and the percentiles, as far as the text has them."""
    _, stats = lines.once(rf"\s*Latency\s+{_TIME}\s+{_TIME}\s+{_TIME}\s", "the line Latency")
    mean_ms, _, longest_ms = (_ms(stats[place], stats[place + 1]) for place in (1, 3, 5))
    percentiles: dict[str, float] = {}
    steps_ms = [Printed.of(stats[place], UNITS_MS[stats[place + 1]]).step for place in (1, 5)]
    for _, found in lines.all_of(rf"\s*(\d{{2,3}}(?:\.\d+)?)%\s+{_TIME}$"):
        name = names.get(f"{float(found[1]):g}")
        if name is not None and name not in percentiles:
            percentiles[name] = _ms(found[2], found[3])
            steps_ms.append(Printed.of(found[2], UNITS_MS[found[3]]).step)
    return Times(
        # Versions before 3 sample, and print 0 where they have no sample.
        distribution=distribution(
            answered, mean=mean_ms or None, maximum=longest_ms or None, percentiles=percentiles
        ),
        completeness="percentiles" if percentiles else "summary",
        # It prints two decimals of a unit that grows with the time.
        resolution_ms=max(steps_ms),
    )


def _ms(number: str, unit: str) -> float:
    return float(Decimal(number) * UNITS_MS[unit])
