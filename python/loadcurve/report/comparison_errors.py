"""The errors of a load and of each request on both sides of a comparison, for people and for programs."""

from collections.abc import Iterable
from typing import Any

from loadcurve import units
from loadcurve.analysis.comparison import RunComparison
from loadcurve.analysis.operation_errors import OperationErrors
from loadcurve.stats.interval import Estimate
from loadcurve.units import plural


def errors_in_words(comparison: RunComparison) -> list[str]:
    """Return the errors of each load and request that has another number of them on the two sides.

    Such as ``errors of POST /echo, nginx: 0 in 9 loads of base, 63 in 9 loads of new: worse by 0.14 (0.093 to
    0.22) percentage points``.
    """
    names = ("base", "new") if comparison.arms is None else comparison.arms
    return errors_of_requests_in_words((one for one in comparison.errors if one.differs), names)


def errors_of_requests_in_words(
    errors: Iterable[OperationErrors], names: tuple[str, str] = ("base", "new")
) -> list[str]:
    """Return a sentence for each load and request: its errors, and what the difference of shares shows."""
    said: list[str] = []
    for one in errors:
        sides = [
            f"{count.errors:,} in {plural(count.trials, 'load')} of {name}"
            for name, count in zip(names, (one.base, one.new), strict=True)
        ]
        said.append(f"{title_of(one)}, {one.server}: {', '.join(sides)}{_verdict(one)}")
    return said


def title_of(one: OperationErrors) -> str:
    """Return ``errors of GET /json``, or of the whole load."""
    return f"errors of {one.operation or 'the whole load'}"


def _verdict(one: OperationErrors) -> str:
    if one.estimate is None:
        return ""
    if one.adjusted_p_value is None:
        return "; one trial on a side shows no difference"
    if not one.shown:
        return f"; no difference is shown, {difference_in_words(one)}"
    return f": {'worse' if one.is_worse else 'better'}, {difference_in_words(one)}"


def difference_in_words(one: OperationErrors) -> str:
    """Return ``0.14 (0.093 to 0.22) percentage points more``, with the sign of each end in the words."""
    found = one.estimate
    if found is None:
        return "no difference is known"
    points = units.number(abs(100 * found.value))
    if found.low is None or found.high is None:
        return f"{points} percentage points {'more' if one.is_worse else 'fewer'}"
    sign = 1 if one.is_worse or not found.value else -1
    low, high = sorted((sign * 100 * found.low, sign * 100 * found.high))
    ends = f"{units.number(low)} to {units.number(high)}"
    return f"{points} ({ends}) percentage points {'more' if sign > 0 else 'fewer'}"


def estimate_json(name: str, estimate: Estimate | None) -> dict[str, Any]:
    """Return an estimate by this name as plain data, with its interval; all ``None`` where there is none."""
    value, low, high, n, method = (
        (None,) * 5
        if estimate is None
        else (estimate.value, estimate.low, estimate.high, estimate.n, estimate.method)
    )
    return {name: value, "low": low, "high": high, "n": n, "method": method}


def errors_json(one: OperationErrors) -> dict[str, Any]:
    """Return the errors of one request or of a whole load as plain data; differences are shares of one."""
    found, change = one.estimate, one.change
    return {
        "server": one.server,
        "operation": one.operation,
        "base": {"errors": one.base.errors, "loads": one.base.trials},
        "new": {"errors": one.new.errors, "loads": one.new.trials},
        "base_share": None if change is None else change.base.value,
        "new_share": None if change is None else change.new.value,
        **estimate_json("difference", found),
        "confidence": None if found is None else one.confidence,
        "adjusted_p_value": one.adjusted_p_value,
        "shown": one.shown,
    }
