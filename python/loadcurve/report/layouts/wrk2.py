"""The layout of wrk2 with --latency (src/wrk.c, and HdrHistogram's table of percentiles)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from loadcurve.report.layouts.figures import WebPoint

MS_PER_S = 1000.0


class Units(NamedTuple):
    """Units, each ``step`` of the one before."""

    step: int
    base: str
    larger: tuple[str, ...]


MICROSECONDS = Units(1000, "us", ("ms",))
SECONDS = Units(60, "s", ("m",))
BINARY = Units(1024, "", ("K", "M", "G", "T"))
PERCENTILES = (50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0)
TICKS_PER_HALF = 5
"""Values of the spectrum until the distance to 100 % has halved."""


def layout(point: WebPoint) -> Iterator[str]:
    """Yield the lines that wrk2 prints, without the rates of its threads and the size of its histogram."""
    load = point.load
    counted = load.latency_ms.known_count
    url = f"{point.asked.scheme}://{point.asked.address}{point.path}"
    yield f"Running {_in_units(point.duration_s, SECONDS, digits=0)} test @ {url}"
    yield f"  {point.asked.threads} threads and {point.asked.connections} connections"
    yield "  Thread Stats   Avg      Stdev     Max   +/- Stdev"
    mean, deviation = load.latency_ms.mean or 0.0, load.latency_ms.stddev or 0.0
    within = 100 * _share_within(point.latency, mean - deviation, mean + deviation)
    times = (_padded(_time(mean), 8), _padded(_time(deviation), 10), _padded(_time(point.longest_ms), 9))
    yield f"    {'Latency':<10}{''.join(times)}{within:8.2f}%"
    yield "  Latency Distribution (HdrHistogram - Recorded Latency)"
    for percentile in PERCENTILES:
        yield f"{percentile:7.3f}%{_padded(_time(point.latency_at(percentile)), 10)}"
    yield from ("", "  Detailed Percentile spectrum:")
    yield "       Value   Percentile   TotalCount 1/(1-Percentile)"
    yield ""
    yield from _spectrum(point.latency, counted)
    yield f"#[Mean    = {mean:12.3f}, StdDeviation   = {deviation:12.3f}]"
    yield f"#[Max     = {point.longest_ms:12.3f}, Total count    = {counted:12d}]"
    yield "----------------------------------------------------------"
    length = _time(MS_PER_S * point.duration_s)
    yield f"  {point.replies} requests in {length}, {_size(point.received_bytes)} read"
    failed, errors = load.requests.failed or 0, load.errors
    if failed:
        connect = (errors["connect_refused"] or 0) + (errors["connect_timeout"] or 0)
        timeouts = errors["timeout"] or 0
        read = failed - connect - timeouts
        yield f"  Socket errors: connect {connect}, read {read}, write 0, timeout {timeouts}"
    refused = point.answers_of("4xx", "5xx")
    if refused:
        yield f"  Non-2xx or 3xx responses: {refused}"
    yield f"Requests/sec: {point.reply_rate_rps:9.2f}"
    yield f"Transfer/sec: {_size(point.received_bytes / point.duration_s):>10}"


def _spectrum(latency: Sequence[tuple[float, float]], count: int) -> Iterator[str]:
    """Yield values at percentiles that come closer to 100 by halves, as HdrHistogram does."""
    ticks = [0.0]
    distance = 1.0
    while distance * count >= 1:
        steps = (step / (2 * TICKS_PER_HALF) for step in range(1, TICKS_PER_HALF + 1))
        ticks += [100 * (1 - distance * (1 - step)) for step in steps]
        distance /= 2
    place = 0
    for tick in ticks:
        while place < len(latency) - 1 and latency[place][0] < tick:
            place += 1
        if place < len(latency):
            at, value = latency[place]
            below = 1 - min(tick, 100.0) / 100
            inverse = f"{1 / below:12.2f}" if below > 0 else f"{'inf':>12}"
            yield f"{value:12.3f} {tick / 100:12.6f} {round(count * at / 100):12d} {inverse}"
    if latency:
        yield f"{latency[-1][1]:12.3f} {1.0:12.6f} {count:12d} {'inf':>12}"


def _share_within(latency: Sequence[tuple[float, float]], low: float, high: float) -> float:
    """Return the share of the requests whose latency lies in a range."""
    up_to_high = max((at for at, value in latency if value <= high), default=0.0)
    below_low = max((at for at, value in latency if value < low), default=0.0)
    return (up_to_high - below_low) / 100


def _time(length_ms: float) -> str:
    """Return a time as wrk2 does: ``573.42us``, ``0.94ms``, ``2.10s``, ``1.50m``."""
    is_long = length_ms >= MS_PER_S
    return _in_units(length_ms / MS_PER_S, SECONDS) if is_long else _in_units(1000 * length_ms, MICROSECONDS)


def _size(size: float) -> str:
    """Return a number of bytes as wrk2 does: ``49.00MB``, of 1,024 kB."""
    return f"{_in_units(size, BINARY)}B"


def _in_units(value: float, units: Units, digits: int = 2) -> str:
    """Return a value in the largest unit of which it has at least 0.85, as wrk2's ``format_units``."""
    unit = units.base
    for larger in units.larger:
        if value < 0.85 * units.step:
            break
        value, unit = value / units.step, larger
    return f"{value:.{digits}f}{unit}"


def _padded(time: str, width: int) -> str:
    """Return a time with room for a unit of two letters, as wrk2's ``print_units``."""
    room = 2 - sum(sign.isalpha() for sign in time[-2:])
    return f"{time:>{width - room}}{' ' * room}"
