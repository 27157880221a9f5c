"""Ratios of two samples that were not taken in pairs, as those of two runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.stats.interval import CONFIDENCE, Estimate, exponential_ends, ratio_of_logarithm


@dataclass(frozen=True, slots=True)
class IndependentRatio:
    """The ratio of the geometric means of two independent samples of positive values.

    On the logarithms the ratio is a difference of means, and the test is Welch's: the samples may scatter
    differently and have different lengths. ``standard_error`` and ``degrees_of_freedom`` are those of the
    logarithms, ``None`` where a sample has one value only. ``n`` is the length of the shorter sample.

    Source: Welch, "The generalization of 'Student's' problem when several different population variances are
    involved", Biometrika 34 (1947).
    """

    logarithm: float
    standard_error: float | None
    degrees_of_freedom: float | None
    n: int

    @classmethod
    def of(cls, new: Sequence[float], base: Sequence[float]) -> "IndependentRatio":
        """Return the ratio of ``new`` to ``base``.

        Raises ``ValueError`` for no values, and for a value that is not finite and positive.
        """
        (new_mean, new_error), (base_mean, base_error) = _mean_and_error(new), _mean_and_error(base)
        n = min(len(new), len(base))
        if new_error is None or base_error is None:
            return cls(new_mean - base_mean, None, None, n)
        variance = new_error**2 + base_error**2
        # Welch and Satterthwaite's equation; without any scatter the number does not matter.
        parts = new_error**4 / (len(new) - 1) + base_error**4 / (len(base) - 1)
        degrees = variance**2 / parts if parts > 0 else float(len(new) + len(base) - 2)
        return cls(new_mean - base_mean, math.sqrt(variance), degrees, n)

    @property
    def log_sd(self) -> float | None:
        """The standard deviation of the differences of logarithms of ``n`` values each; ``None`` as there."""
        return None if self.standard_error is None else self.standard_error * math.sqrt(self.n)

    @property
    def estimate(self) -> Estimate | None:
        """The ratio with its interval, which is open where a sample has one value only.

        ``None`` where the ratio is beyond any number.
        """
        return self.estimate_at(CONFIDENCE)

    def estimate_at(self, confidence: float) -> Estimate | None:
        """Return the ratio with its interval at any confidence."""
        method = f"ratio of geometric means, Welch's t on logarithms, {confidence:.4g}"
        ratio = ratio_of_logarithm(self.logarithm)
        if ratio is None:
            return None
        if self.standard_error is None or self.degrees_of_freedom is None:
            return Estimate(ratio, None, None, self.n, method)

        from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

        margin = float(stdtrit(self.degrees_of_freedom, (1 + confidence) / 2)) * self.standard_error
        low, high = exponential_ends(self.logarithm, margin)
        return Estimate(ratio, low, high, self.n, method)

    @property
    def p_value(self) -> float | None:
        """How often chance alone gives a ratio at least as far from 1; ``None`` for single values."""
        if self.standard_error is None or self.degrees_of_freedom is None:
            return None
        if self.standard_error == 0:
            return 1.0 if self.logarithm == 0 else 0.0

        from scipy.special import stdtr  # noqa: PLC0415 - as above

        return 2 * float(stdtr(self.degrees_of_freedom, -abs(self.logarithm) / self.standard_error))


def _mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean of the logarithms, and its standard error where there is more than one value."""
    if not values:
        raise ValueError("a ratio needs at least one value on each side")
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("every value of a ratio must be finite and positive")
    logarithms = [math.log(value) for value in values]
    n = len(logarithms)
    mean = math.fsum(logarithms) / n
    if n == 1:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in logarithms) / (n - 1) / n)
