"""How many times bound a percentile, by the engine's rule."""

import math
from collections.abc import Mapping
from typing import Final

PERCENTILES: Final[Mapping[str, int]] = {
    "p50": 5_000, "p75": 7_500, "p90": 9_000, "p95": 9_500, "p99": 9_900, "p99_9": 9_990, "p99_99": 9_999,
}  # fmt: skip
"""Shares in hundredths of a percent, so that ranks are counted in whole numbers."""
WHOLE: Final = 10_000


def samples_needed(share: int) -> int:
    """Return how many samples bound a percentile from both sides (Hahn and Meeker, 1991, section 5.2)."""
    furthest = max(share, WHOLE - share) / WHOLE
    return math.ceil(math.log(0.025) / math.log(furthest))
