"""Confidence intervals over trials."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval: ``low`` and ``high`` are ``None`` where ``n`` is too small to bound it."""

    value: float
    low: float | None
    high: float | None
    n: int
    method: str

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval, in the unit of ``value``."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Return the mean of one value per trial with Student's t interval: mean ± t(1 - a/2, n - 1) · s / √n.

    ``s`` is the sample's standard deviation (divisor n - 1) and ``confidence`` is 1 - a. The interval assumes
    that the trials are independent and their values near to normal; it may reach below zero for a quantity
    that cannot.

    Source: Student, "The probable error of a mean", Biometrika 6 (1908); NIST/SEMATECH e-Handbook of
    Statistical Methods, section 1.3.5.2.

    Raises ``ValueError`` for no values, for a value that is not finite and for a confidence outside (0, 1).
    """
    if not values:
        raise ValueError("an estimate needs at least one value")
    if not all(math.isfinite(value) for value in values):
        raise ValueError("every value of an estimate must be finite")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    n = len(values)
    mean = math.fsum(values) / n
    method = f"mean, Student's t, {confidence:.4g}"
    if n == 1:
        return Estimate(mean, None, None, n, method)

    from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half_width = float(stdtrit(n - 1, (1 + confidence) / 2)) * deviation / math.sqrt(n)
    return Estimate(mean, mean - half_width, mean + half_width, n, method)


def geometric_interval(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Return the geometric mean of one positive value per trial, with Student's t on the logarithms."""
    if not all(value > 0 for value in values):
        raise ValueError("every value of a geometric mean must be above 0")
    logs = mean_interval([math.log(value) for value in values], confidence)
    low, high = (None if end is None else math.exp(end) for end in (logs.low, logs.high))
    return Estimate(math.exp(logs.value), low, high, logs.n, f"geometric mean, Student's t, {confidence:.4g}")
