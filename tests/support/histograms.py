"""The engine's reading of histograms, done by another implementation."""

from hdrh.histogram import HdrHistogram

TICKS_PER_HALF_DISTANCE = 20


def percentile_curve(encoded: list[str]) -> list[tuple[float, float]]:
    """Merge encoded histograms of nanoseconds; return (percentile, ms) pairs, as ``loadcurve._engine`` does."""
    merged = HdrHistogram(1, 3_600_000_000_000, 3)
    for one in encoded:
        merged.decode_and_add(one)
    return [
        (step.percentile_level_iterated_to, step.value_iterated_to / 1e6)
        for step in merged.get_percentile_iterator(TICKS_PER_HALF_DISTANCE)
    ]
