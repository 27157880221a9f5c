"""A distribution of times: its figures, which percentiles samples bound, and the curve of its histogram."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from loadcurve._engine import percentile_curve
from loadcurve.errors import BadInput
from loadcurve.record import Count, Record, Time
from loadcurve.result.run_files import TRIALS_FILE


class Distribution(Record):
    """A distribution of times in ms. A percentile is ``None`` where the samples are too few to bound it."""

    count: Count | None
    """``None`` where another load generator gives figures of times and not how many they are of."""
    min: Time | None
    mean: Time | None
    stddev: Time | None
    p50: Time | None
    p75: Time | None
    p90: Time | None
    p95: Time | None
    p99: Time | None
    p99_9: Time | None
    p99_99: Time | None
    max: Time | None

    @property
    def known_count(self) -> int:
        """How many times these are for sure: 0 where that is not known."""
        return self.count or 0


PERCENTILES: Final[Mapping[str, int]] = {
    "p50": 5_000, "p75": 7_500, "p90": 9_000, "p95": 9_500, "p99": 9_900, "p99_9": 9_990, "p99_99": 9_999,
}  # fmt: skip
"""Shares in hundredths of a percent, so that ranks are counted in whole numbers."""
WHOLE: Final = 10_000


def samples_needed(share: int) -> int:
    """Return how many samples bound a percentile from both sides (Hahn and Meeker, 1991, section 5.2)."""
    furthest = max(share, WHOLE - share) / WHOLE
    return math.ceil(math.log(0.025) / math.log(furthest))


def merged_curve(histograms: Sequence[str], name: str) -> list[tuple[float, float]]:
    """Merge histograms of times; return (percentile 0 to 100, time in ms) of each value, rising.

    Raises ``BadInput``: one of them cannot be decoded; the text names them by ``name``.
    """
    try:
        return percentile_curve(list(histograms))
    except ValueError as error:
        raise BadInput(f"{name} in {TRIALS_FILE} cannot be decoded: {error}") from error
