"""The layout of wrk2 with --latency (src/wrk.c, and HdrHistogram's table of percentiles)."""

from collections.abc import Iterator, Sequence

from loadcurve.report.layouts.figures import WebPoint

PERCENTILES = (50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0)
TICKS_PER_HALF = 5
"""Values of the spectrum until the distance to 100 % has halved."""


def layout(point: WebPoint) -> Iterator[str]:
    """Yield the lines that wrk2 prints; the rate of each of its threads is not known, and left out."""
    load = point.load
    counted = load.latency_ms.count
    yield f"Running {_time_s(point.duration_s)} test @ http://{point.asked.address}{point.path}"
    yield f"  {point.asked.threads} threads and {point.asked.connections} connections"
    yield "  Thread Stats   Avg      Stdev     Max   +/- Stdev"
    mean, deviation = load.latency_ms.mean or 0.0, load.latency_ms.stddev or 0.0
    within = 100 * _share_within(point.latency, mean - deviation, mean + deviation)
    yield (f"    Latency {_time(mean):>9} {_time(deviation):>9} {_time(point.longest_ms):>9} {within:>8.2f}%")
    yield "  Latency Distribution (HdrHistogram - Recorded Latency)"
    for percentile in PERCENTILES:
        yield f"{percentile:7.3f}% {_time(point.latency_at(percentile)):>9}"
    yield from ("", "  Detailed Percentile spectrum:")
    yield "       Value   Percentile   TotalCount 1/(1-Percentile)"
    yield ""
    yield from _spectrum(point.latency, counted)
    yield f"#[Mean    = {mean:12.3f}, StdDeviation   = {deviation:12.3f}]"
    yield f"#[Max     = {point.longest_ms:12.3f}, Total count    = {counted:12d}]"
    yield "----------------------------------------------------------"
    yield f"  {point.replies} requests in {_time_s(point.duration_s)}, {_size(point.received_bytes)} read"
    failed, errors = load.requests.failed, load.errors
    if failed:
        connect = errors["connect_refused"] + errors["connect_timeout"]
        read = errors["reset"] + errors["closed_early"] + errors["malformed"] + errors["mismatch"]
        yield f"  Socket errors: connect {connect}, read {read}, write 0, timeout {errors['timeout']}"
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
            inverse = f"{1 / below:14.2f}" if below > 0 else f"{'inf':>14}"
            yield f"{value:12.3f} {tick / 100:14.6f} {round(count * at / 100):10d} {inverse}"
    if latency:
        yield f"{latency[-1][1]:12.3f} {1.0:14.6f} {count:10d} {'inf':>14}"


def _share_within(latency: Sequence[tuple[float, float]], low: float, high: float) -> float:
    """Return the share of the requests whose latency lies in a range."""
    up_to_high = max((at for at, value in latency if value <= high), default=0.0)
    below_low = max((at for at, value in latency if value < low), default=0.0)
    return (up_to_high - below_low) / 100


def _time(length_ms: float) -> str:
    """Return a time as wrk2 does: ``1.07ms``, ``573.42us``, ``2.10s``."""
    for unit, of_ms in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if length_ms < of_ms * 1000 or unit == "s":
            return f"{length_ms / of_ms:.2f}{unit}"
    raise AssertionError("unreachable")


def _time_s(length_s: float) -> str:
    """Return the length of a test as wrk2 does: ``30.00s``, ``2.00m``."""
    return f"{length_s:.2f}s" if length_s < 60 else f"{length_s / 60:.2f}m"  # noqa: PLR2004


def _size(size: float) -> str:
    """Return a number of bytes as wrk2 does: ``49.00MB``, of 1,024 kB."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":  # noqa: PLR2004
            return f"{size:.2f}{unit}"
        size /= 1024
    raise AssertionError("unreachable")
