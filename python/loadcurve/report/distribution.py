"""The distribution of latency at each point: the merged histograms of a server's trials."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve import _engine
from loadcurve.errors import BadInput
from loadcurve.report import text
from loadcurve.result.folder import TRIALS_FILE
from loadcurve.stats.curves import CurvePoint

STEP = 1.05
"""Two neighbouring rows of a thinned distribution lie at least this factor of ``inverse_tail`` apart."""


CLASS_RATIO = 1.1
"""Each class of a density ends at this many times its start: all are equally wide on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A step of a distribution; ``inverse_tail`` is 1 / (1 - percentile / 100): one request in so many."""

    inverse_tail: float
    percentile: float
    latency_ms: float


@dataclass(frozen=True, slots=True)
class DensityClass:
    """The part ``share`` of the requests (of 1) took from ``from_ms`` up to CLASS_RATIO times as long."""

    from_ms: float
    share: float


@dataclass(frozen=True, slots=True)
class LatencyDistribution:
    """One distribution in both of its forms."""

    quantiles: list[Quantile]
    density: list[DensityClass]
    """Without gaps: a class between others has a share of 0 where no request was."""


def latency_distribution(server: str, at: CurvePoint) -> LatencyDistribution | None:
    """Merge the latency histograms of the usable trials at one point; ``None`` where none was answered.

    The maximum stands at one request in as many as there were, the smallest tail that the samples can show.

    Raises ``BadInput`` where a histogram cannot be decoded.
    """
    answered = [trial for trial in at.usable if trial.load.latency_ms.count]
    if not answered:
        return None
    count = sum(trial.load.latency_ms.count for trial in answered)
    try:
        curve = _engine.percentile_curve([trial.load.histograms.latency for trial in answered])
    except ValueError as error:
        raise BadInput(
            f"a latency histogram of {server} at {text.point(at.point)} "
            f"in {TRIALS_FILE} cannot be decoded: {error}"
        ) from error
    quantiles = [Quantile(_inverse_tail(p, count), p, latency_ms) for p, latency_ms in curve]
    return LatencyDistribution(_thinned(quantiles), density(curve))


def density(curve: Sequence[tuple[float, float]]) -> list[DensityClass]:
    """Return the share of requests in each class, from rising pairs of a percentile (0 to 100) and its time.

    What is 0 ms has no place on a logarithmic axis and is left out.
    """
    shares: dict[int, float] = {}
    reached = 0.0
    for percentile, latency_ms in curve:
        if latency_ms > 0:
            number = math.floor(math.log(latency_ms) / math.log(CLASS_RATIO))
            shares[number] = shares.get(number, 0) + (percentile - reached) / 100
        reached = percentile
    if not shares:
        return []
    numbers = range(min(shares), max(shares) + 1)
    return [DensityClass(CLASS_RATIO**number, shares.get(number, 0)) for number in numbers]


def _inverse_tail(percentile: float, count: int) -> float:
    tail = 1 - percentile / 100
    return min(1 / tail, count) if tail > 0 else count


def _thinned(quantiles: list[Quantile]) -> list[Quantile]:
    """Keep the first and last steps and those a visible distance apart."""
    kept = quantiles[:1]
    for quantile in quantiles[1:-1]:
        if quantile.inverse_tail >= kept[-1].inverse_tail * STEP:
            kept.append(quantile)
    return kept + quantiles[1:][-1:]
