"""A distribution of times."""

from loadcurve.record import Count, Record, Time


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
