"""The line that shows a load while it is under way: where it is, its rate, percentiles and failures."""

from rich.cells import cell_len

from loadcurve.generate.generator import Plan, Progress
from loadcurve.loads.kinds import LoadKind
from loadcurve.units import number
from loadcurve.units import rate as per_second

CONNECTING = "connecting"
SEPARATOR = " · "
DIGITS = 2
"""Of a latency: the engine shows coarse ones while it measures."""


def how_far(progress: Progress, plan: Plan) -> str:
    """Return how far a load is: by its warm-up, then by what ends it."""
    elapsed_s, warmup_s = progress.elapsed_s, plan.load.warmup_s
    if not elapsed_s:
        return CONNECTING
    if elapsed_s < warmup_s:
        return f"warm-up, {elapsed_s:.0f} of {warmup_s:g} s"
    if plan.requests_total is not None and progress.answered is not None:
        return f"{progress.answered:,} of {plan.requests_total:,}"
    end = "" if plan.load.duration_s is None else f" of {plan.load.duration_s:g}"
    return f"{elapsed_s - warmup_s:.0f}{end} s"


def live_line(where: str, progress: Progress, kind: LoadKind, width: int) -> str:
    """Return the line of a load, behind ``where`` unless that is empty, in ``width`` columns if that can be.

    What does not fit is shortened step by step: the unit, the percentiles, the class of the failures. Rate
    and percentiles are those of the last second that is over.
    """
    rates, latencies, failures = _rates(progress, kind), _latencies(progress), _failures(progress)
    steps = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 2, 1))
    line = where
    for rate, latency, failed in steps:
        parts = (where, rates[rate], latencies[latency], failures[failed])
        line = SEPARATOR.join(part for part in parts if part)
        if cell_len(line) <= width:
            break
    return line


def _rates(progress: Progress, kind: LoadKind) -> tuple[str, str]:
    rate_rps = progress.rate_rps
    return (
        ("", "")
        if rate_rps is None
        else (f"{per_second(rate_rps)} {kind.per_second}", f"{per_second(rate_rps)}/s")
    )


def _latencies(progress: Progress) -> tuple[str, str, str]:
    if progress.last_second is None or progress.last_second.latency_ms is None:
        return "", "", ""
    p50, p90, p99 = (_rounded(time_ms) for time_ms in progress.last_second.latency_ms)
    return f"p50 {p50}, p90 {p90}, p99 {p99} ms", f"p50 {p50}, p99 {p99} ms", f"p99 {p99} ms"


def _rounded(time_ms: float) -> str:
    """Return a time with two digits, and zeros where a longer one has more."""
    return number(float(f"{time_ms:.{DIGITS}g}"), DIGITS)


def _failures(progress: Progress) -> tuple[str, str]:
    """Say how many failed, and of which class most."""
    if not progress.failures:
        return "", ""
    failed = f"{progress.failed:,} failed"
    most = max(progress.failures, key=lambda code: progress.failures[code])
    if len(progress.failures) == 1:
        return f"{failed} ({most})", failed
    return f"{failed} ({progress.failures[most]:,} {most})", failed
