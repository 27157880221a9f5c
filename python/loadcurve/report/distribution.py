"""The distribution of latency at each point: the merged histograms of a server's trials, by percentile."""

from dataclasses import dataclass

from loadcurve import _engine
from loadcurve.errors import BadInput
from loadcurve.report import text
from loadcurve.result.folder import TRIALS_FILE
from loadcurve.stats.curves import CurvePoint

STEP = 1.05
"""Two neighbouring rows of a thinned distribution lie at least this factor of ``inverse_tail`` apart."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A step of a distribution; ``inverse_tail`` is 1 / (1 - percentile / 100): one request in so many."""

    inverse_tail: float
    percentile: float
    latency_ms: float


def latency_distribution(server: str, at: CurvePoint) -> list[Quantile]:
    """Merge the latency histograms of the usable trials at one point; empty where no request was answered.

    The maximum stands at one request in as many as there were, the smallest tail that the samples can show.

    Raises ``BadInput`` where a histogram cannot be decoded.
    """
    answered = [trial for trial in at.usable if trial.load.latency_ms.count]
    if not answered:
        return []
    count = sum(trial.load.latency_ms.count for trial in answered)
    try:
        curve = _engine.percentile_curve([trial.load.histograms.latency for trial in answered])
    except ValueError as error:
        raise BadInput(
            f"a latency histogram of {server} at {text.point(at.point)} "
            f"in {TRIALS_FILE} cannot be decoded: {error}"
        ) from error
    return _thinned([Quantile(_inverse_tail(p, count), p, latency_ms) for p, latency_ms in curve])


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
