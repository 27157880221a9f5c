"""What a tool says of many times: which percentiles these bound, by the engine's rule."""

import math
from collections.abc import Mapping
from typing import Final

from loadcurve.result.distribution import Distribution

PERCENTILES: Final[Mapping[str, int]] = {
    "p50": 5_000, "p75": 7_500, "p90": 9_000, "p95": 9_500, "p99": 9_900, "p99_9": 9_990, "p99_99": 9_999,
}  # fmt: skip
"""Shares in hundredths of a percent, so that ranks are counted in whole numbers."""
WHOLE = 10_000


def samples_needed(share: int) -> int:
    """Return how many samples bound a percentile from both sides (Hahn and Meeker, 1991, section 5.2)."""
    furthest = max(share, WHOLE - share) / WHOLE
    return math.ceil(math.log(0.025) / math.log(furthest))


def is_bounded(name: str, count: int) -> bool:
    """Say whether this number of samples bounds a percentile of this name, such as ``p99_9``."""
    return count >= samples_needed(PERCENTILES[name])


def distribution(
    count: int,
    *,
    minimum: float | None = None,
    mean: float | None = None,
    stddev: float | None = None,
    maximum: float | None = None,
    percentiles: Mapping[str, float] | None = None,
) -> Distribution:
    """Return what a tool says of ``count`` times, in ms; percentiles that they do not bound are left out."""
    given = percentiles or {}
    kept = {name: given.get(name) if is_bounded(name, count) else None for name in PERCENTILES}
    some = count > 0
    return Distribution(
        count=count,
        min=minimum if some else None,
        mean=mean if some else None,
        stddev=stddev if count > 1 else None,
        max=maximum if some else None,
        **kept,
    )
