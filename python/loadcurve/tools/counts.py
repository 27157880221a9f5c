"""From counts of equal times to figures: every time is known."""

from collections.abc import Mapping

import loadcurve._engine as native
from loadcurve.result.distribution import Distribution
from loadcurve.tools.figures import Times

NS_PER_US, NS_PER_MS = 1_000, 1_000_000


def times_of_counts(counts: Mapping[int, int], unit_ns: int) -> Times:
    """Return the figures of times in whole units of this length, each with how often it was measured."""
    distribution, histogram = native.counted_times([time * unit_ns for time in counts], list(counts.values()))
    return Times(
        distribution=Distribution.model_validate_json(distribution),
        completeness="complete",
        resolution_ms=unit_ns / NS_PER_MS,
        histogram=histogram,
    )
