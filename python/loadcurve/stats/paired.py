"""Ratios between servers, paired by block: what a whole block has in common cancels out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadcurve.stats.interval import CONFIDENCE, Estimate, exponential_ends, method_of, ratio_of_logarithm
from loadcurve.stats.moderated import FOR_RATIOS, BlockSpread, Variances, moderated

Array = NDArray[np.float64]
Logs = Mapping[str, Array]
"""By server the logarithms of its values: a row for each block, a column for each point, NaN for absence."""


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """A ratio over blocks, and how probable one at least as far from 1 is if there is no difference.

    ``logarithm`` is that of the ratio, and ``estimate`` is ``None`` where the ratio is beyond any number.
    ``p_value`` is two-sided, and ``log_sd`` the standard deviation of the blocks' log ratios that it rests
    on; both are ``None`` where there are too few blocks: with one there is no spread.
    """

    logarithm: float
    estimate: Estimate | None
    p_value: float | None
    log_sd: float | None = None
    degrees_of_freedom: float | None = None

    def estimate_at(self, confidence: float) -> Estimate | None:
        """Return the ratio with its interval at another confidence than 95 %."""
        one = self.estimate
        if one is None or self.log_sd is None or self.degrees_of_freedom is None or confidence == CONFIDENCE:
            return one
        from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

        errors = float(stdtrit(self.degrees_of_freedom, (1 + confidence) / 2))
        low, high = exponential_ends(self.logarithm, errors * self.log_sd / math.sqrt(one.n))
        method = method_of(self.degrees_of_freedom, one.n - 1, confidence)
        return Estimate(one.value, low, high, one.n, method)


def block_means(differences: Array) -> Array:
    """Return the mean of each block over the points of the curve; NaN for a block that has none of them.

    The last two axes of ``differences`` are blocks and points. The points are those that any block has. Where
    a block lacks some of them, its mean is that of an additive model of blocks and points, fitted by least
    squares: otherwise a block without the points at which one server is strong would look like a bad block
    for it. The model compares only blocks that common points connect, directly or over other blocks; where
    there are several sets of such blocks, those outside of the largest have NaN, for nothing is known of how
    they differ from it.

    Source: Yates, "The analysis of multiple classifications with unequal numbers in the different classes",
    Journal of the American Statistical Association 29 (1934).
    """
    means = np.asarray(differences.mean(axis=-1))
    if differences.shape[-1] > 1:
        for place in np.argwhere(np.isnan(means).any(axis=-1)):
            means[tuple(place)] = _means_with_gaps(differences[tuple(place)])
    return means


def _means_with_gaps(table: Array) -> Array:
    known = np.isfinite(table)
    blocks = _connected_blocks(known)
    points = known[blocks].any(axis=0)
    means = np.full(len(table), np.nan)
    cells = table[blocks][:, points]
    if cells.size:
        means[blocks] = cells.mean(axis=1) if np.isfinite(cells).all() else _adjusted(cells)
    return means


def _connected_blocks(known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the largest set of blocks that common points connect; the one with more figures, of equal ones.

    ``known`` has a row for each block and a column for each point.
    """
    largest = np.zeros(len(known), dtype=bool)
    left = known.any(axis=1)
    while left.any():
        found = np.arange(len(known)) == np.flatnonzero(left)[0]
        while True:
            grown = np.asarray(known[:, known[found].any(axis=0)].any(axis=1))
            if grown.sum() == found.sum():
                break
            found = grown
        if (found.sum(), known[found].sum()) > (largest.sum(), known[largest].sum()):
            largest = found
        left &= ~found
    return largest


def _adjusted(cells: Array) -> Array:
    """Return each block's mean over all points by the additive model of blocks and points.

    The normal equations are solved for the blocks, the points being swept out.
    """
    known = np.isfinite(cells).astype(float)
    values = np.nan_to_num(cells)
    shares = known / known.sum(axis=0)
    equations = np.diag(known.sum(axis=1)) - shares @ known.T
    of_blocks = np.linalg.lstsq(equations, values.sum(axis=1) - shares @ values.sum(axis=0), rcond=None)[0]
    of_points = (values.sum(axis=0) - of_blocks @ known) / known.sum(axis=0)
    return np.asarray(of_blocks + of_points.mean())


def group_log_ratios(first: Sequence[Array], second: Sequence[Array]) -> Array:
    """Return each block's log ratio of two groups' geometric means, at points that all servers have in it."""
    return block_means(np.mean(first, axis=0) - np.mean(second, axis=0))


def paired_ratios(
    log_ratios: Array, shares: Array | None = None, spread: BlockSpread | None = None
) -> list[PairedRatio | None]:
    """Return the ratio of each row with its interval and p-value; ``None`` for a row without any block.

    A row holds one log ratio for each block, and NaN where there is none. It is Student's paired t test on
    the logarithms: the blocks' ratios are taken as independent and their logarithms as near to normal. With
    the ``spread`` of all servers, of which the rows are contrasts with these ``shares`` (the squares of the
    servers' weights, added up), the variances of few blocks are moderated.

    Source: Student (1908); for ratios of benchmarks Kalibera and Jones, "Rigorous benchmarking in reasonable
    time", ISMM 2013; Smyth (2004), see :mod:`loadcurve.stats.moderated`.
    """
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

    known = np.isfinite(log_ratios)
    n = known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(known, log_ratios, 0.0).sum(axis=1) / n
        squares = np.where(known, log_ratios - means[:, None], 0.0) ** 2
        own = Variances(squares.sum(axis=1) / (n - 1), np.asarray(n - 1.0))
        used = own
        if spread is not None and shares is not None:
            used = moderated(own, spread.beside(log_ratios, shares, own.degrees), FOR_RATIOS)
        errors = np.sqrt(used.values / n)
        reaches = stdtrit(used.degrees, (1 + CONFIDENCE) / 2) * errors
        p_values = np.where(errors > 0, 2 * stdtr(used.degrees, -np.abs(means) / errors), means == 0)
    columns = (n, means, reaches, p_values, np.sqrt(used.values), used.degrees)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [_paired_ratio(*row) for row in rows]


def _paired_ratio(n: int, mean: float, *over_blocks: float) -> PairedRatio | None:
    if n == 0:
        return None
    value = ratio_of_logarithm(mean)
    if n == 1:
        estimate = None if value is None else Estimate(value, None, None, n, method_of(0, 0))
        return PairedRatio(mean, estimate, None)
    reach, p_value, log_sd, degrees = over_blocks
    method = method_of(degrees, n - 1)
    estimate = None if value is None else Estimate(value, *exponential_ends(mean, reach), n, method)
    return PairedRatio(mean, estimate, p_value, log_sd, degrees)
