"""Ratios between servers, paired by block: what a whole block has in common cancels out."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcurve.stats.curves import PointKey
from loadcurve.stats.interval import Estimate, geometric_interval

BlockValues = Mapping[int, Mapping[PointKey, float]]
"""One server's positive values by block and point; a single point is a curve of one."""


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """A ratio over blocks, and how probable one at least as far from 1 is if there is no difference.

    ``p_value`` is two-sided, and ``None`` where there are too few blocks for it: with one there is no spread.
    """

    estimate: Estimate
    p_value: float | None


def log_ratios(first: BlockValues, second: BlockValues) -> dict[int, float]:
    """Return the logarithm of first/second for each block, as the mean over the points of the curve.

    The points are those that both have in any block. Where a block lacks some of them, its value is that of
    an additive model of blocks and points, fitted by least squares: otherwise a block without the points at
    which one server is strong would look like a bad block for it. A block in which they have no point in
    common is not there.

    Source: Yates, "The analysis of multiple classifications with unequal numbers in the different classes",
    Journal of the American Statistical Association 29 (1934).
    """
    return group_log_ratios([first], [second])


def group_log_ratios(first: Sequence[BlockValues], second: Sequence[BlockValues]) -> dict[int, float]:
    """Return the same for the geometric means of two groups of servers, at points that all of them have."""
    everyone = [*first, *second]
    ratios: dict[int, dict[PointKey, float]] = {}
    for block in sorted(set(everyone[0]).intersection(*everyone[1:])):
        points = set(everyone[0][block]).intersection(*(values[block] for values in everyone[1:]))
        if points:
            above, below = [values[block] for values in first], [values[block] for values in second]
            ratios[block] = {point: _mean_log(above, point) - _mean_log(below, point) for point in points}
    everywhere = sorted({point for by_point in ratios.values() for point in by_point})
    if all(len(by_point) == len(everywhere) for by_point in ratios.values()):
        return {block: math.fsum(by_point.values()) / len(everywhere) for block, by_point in ratios.items()}
    return _adjusted(ratios, everywhere)


def _adjusted(ratios: Mapping[int, Mapping[PointKey, float]], points: Sequence[PointKey]) -> dict[int, float]:
    """Return each block's mean over all points by the additive model of blocks and points.

    The normal equations are solved for the blocks, the points being swept out.
    """
    import numpy as np  # noqa: PLC0415 - it must not slow the start of the command

    cells = np.array([[by_point.get(point, np.nan) for point in points] for by_point in ratios.values()])
    known = np.isfinite(cells).astype(float)
    values = np.nan_to_num(cells)
    shares = known / known.sum(axis=0)
    equations = np.diag(known.sum(axis=1)) - shares @ known.T
    of_blocks = np.linalg.lstsq(equations, values.sum(axis=1) - shares @ values.sum(axis=0), rcond=None)[0]
    of_points = (values.sum(axis=0) - of_blocks @ known) / known.sum(axis=0)
    return dict(zip(ratios, (of_blocks + of_points.mean()).tolist(), strict=True))


def paired_ratio(log_ratios: Iterable[float]) -> PairedRatio | None:
    """Return the ratio with its interval and p-value from one log ratio per block; ``None`` for no block.

    It is Student's paired t test on the logarithms: the blocks' ratios are taken as independent and their
    logarithms as near to normal.

    Source: Student (1908); for ratios of benchmarks Kalibera and Jones, "Rigorous benchmarking in reasonable
    time", ISMM 2013.
    """
    logs = list(log_ratios)
    if not logs:
        return None
    estimate = geometric_interval([math.exp(log) for log in logs])
    return PairedRatio(estimate, _p_value(logs))


def _p_value(logs: Sequence[float]) -> float | None:
    n = len(logs)
    if n == 1:
        return None

    from scipy.special import stdtr  # noqa: PLC0415 - scipy must not slow the start of the command

    mean = math.fsum(logs) / n
    error = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (n - 1) / n)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return 2 * float(stdtr(n - 1, -abs(mean) / error))


def _mean_log(servers: Sequence[Mapping[PointKey, float]], point: PointKey) -> float:
    return math.fsum([math.log(values[point]) for values in servers]) / len(servers)
