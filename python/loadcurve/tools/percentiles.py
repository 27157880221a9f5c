"""What a tool says of many times: which percentiles these bound, by the engine's rule."""

import math
from collections.abc import Mapping

from loadcurve.errors import BadInput
from loadcurve.result.distribution import PERCENTILES, Distribution, samples_needed


class ImpossibleTimeError(BadInput):
    """A time that none can be, below zero or without end, or not a number."""

    def __init__(self, time_ms: float) -> None:
        """Make it of that time."""
        super().__init__(f"a time of {time_ms:g} ms")


def is_bounded(name: str, count: int) -> bool:
    """Say whether this number of samples bounds a percentile of this name, such as ``p99_9``."""
    return count >= samples_needed(PERCENTILES[name])


def distribution(
    count: int | None,
    *,
    minimum: float | None = None,
    mean: float | None = None,
    stddev: float | None = None,
    maximum: float | None = None,
    percentiles: Mapping[str, float] | None = None,
) -> Distribution:
    """Return what a tool says of ``count`` times, in ms; percentiles that they do not bound are left out.

    Where it is not known how many they are, they bound none. Raises ``ImpossibleTimeError``.
    """
    given = percentiles or {}
    times = (minimum, mean, stddev, maximum, *given.values())
    for time_ms in times:
        if time_ms is not None and not 0 <= time_ms < math.inf:
            raise ImpossibleTimeError(time_ms)
    kept = {name: given.get(name) if is_bounded(name, count or 0) else None for name in PERCENTILES}
    some = count is None or count > 0
    return Distribution(
        count=count,
        min=minimum if some else None,
        mean=mean if some else None,
        stddev=stddev if count is None or count > 1 else None,
        max=maximum if some else None,
        **kept,
    )
