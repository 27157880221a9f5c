"""How the shapes of two curves agree.

Published figures come from other machines, so nothing here depends on absolute numbers: a curve is compared
by its peak, by the ranks along it, and divided by its own greatest value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation

LEAST_FOR_CORRELATION = 4
"""Of three values any order has a rank correlation of a half or more in size, which shows nothing."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two curves agree at the ``n`` places that both have."""

    n: int
    rank_correlation: float | None
    """Spearman's; ``None`` of fewer than four places, and where a curve is level."""
    gap: float
    """The greatest difference of the two, each divided by its own greatest value."""
    gap_at: float
    """The place of that difference."""


def agreement(published: Mapping[float, float], measured: Mapping[float, float]) -> Agreement | None:
    """Return how two curves agree, both of positive values by place; ``None`` with fewer than two in common.

    Spearman's coefficient is Pearson's of the ranks, equal ones having their mean rank (C. Spearman, "The
    proof and measurement of association between two things", American Journal of Psychology 15, 1904).
    It is the same for the values and for their logarithms.
    """
    shared = [place for place in published if place in measured]
    if len(shared) < 2:  # noqa: PLR2004 - one value has no shape
        return None
    first, second = ([curve[place] for place in shared] for curve in (published, measured))
    gaps = [abs(a - b) for a, b in zip(relative(first), relative(second), strict=True)]
    return Agreement(
        n=len(shared),
        rank_correlation=_correlation(ranks(first), ranks(second)),
        gap=max(gaps),
        gap_at=shared[gaps.index(max(gaps))],
    )


def relative(values: Sequence[float]) -> list[float]:
    """Return values, each divided by the greatest of them."""
    greatest = max(values)
    return [value / greatest for value in values]


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1 up; values that are equal have the mean of their ranks."""
    return [
        sum(other < value for other in values) + (1 + sum(other == value for other in values)) / 2
        for value in values
    ]


def _correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    if len(first) < LEAST_FOR_CORRELATION:
        return None
    try:
        return correlation(first, second)
    except StatisticsError:
        # A level curve has no order to compare.
        return None
