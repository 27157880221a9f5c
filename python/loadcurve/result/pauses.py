"""Pauses of the platform, as records have them: stretches in which the CPUs of one side did not run.

``None`` in place of a record of pauses means "not measured", and one without pauses that there were none. One
of 5 ms or more is always found, beside another tool one of 11 ms; docs/methodology/machine.md says how.
"""

import json
from collections.abc import Iterable
from typing import Final

from loadcurve._engine import pause_delays
from loadcurve.record import Count, Record, Time
from loadcurve.result.distribution import Distribution

LISTED_MAX: Final = 300
"""The most pauses that are listed one by one, the longest; all of them count."""
Stretch = tuple[float, float]
"""Start and end of a stretch of time, in seconds from the start of the window."""


class Pause(Record):
    """A stretch in which a CPU did not run; ``start_s`` counts from the start of the window."""

    start_s: float
    length_ms: Time
    within_ms: Time
    """How far start and length may be off."""

    @property
    def end_s(self) -> float:
        """When the CPU ran again."""
        return self.start_s + self.length_ms / 1e3


class Pauses(Record):
    """The pauses of one side's CPUs within a window, and what they do to requests by themselves."""

    count: Count
    paused_s: Time
    longest_ms: Time
    listed: list[Pause]
    """In order of time; the longest 300, where there are more."""
    delay_ms: Distribution
    """How long a request that is due at any moment would wait for the end of a pause, a moment each ms."""
    histogram: str
    """The same as an HdrHistogram, like those of the load's latency."""


class RawPause(Record):
    """A pause as it is found, in seconds of one clock: it began between the first two moments."""

    earliest_s: float
    latest_s: float
    end_s: float


def pauses_within(found: Iterable[RawPause], start_s: float, end_s: float) -> Pauses:
    """Return what of some pauses lies in a window of the same clock."""
    cut = [one for pause in found if (one := _cut(pause, start_s, end_s)) is not None]
    lengths_s = [one.length_ms / 1e3 for one in cut]
    delays, histogram = pause_delays(lengths_s, max(end_s - start_s, 0.0))
    longest = sorted(cut, key=lambda one: one.length_ms, reverse=True)[:LISTED_MAX]
    return Pauses(
        count=len(cut),
        paused_s=sum(lengths_s),
        longest_ms=max((one.length_ms for one in cut), default=0.0),
        listed=sorted(longest, key=lambda one: one.start_s),
        delay_ms=Distribution.model_validate(json.loads(delays)),
        histogram=histogram,
    )


def _cut(pause: RawPause, start_s: float, end_s: float) -> Pause | None:
    """Return the part of a pause within a window, which counts as begun in the middle of what is possible."""
    begin_s = max((pause.earliest_s + pause.latest_s) / 2, start_s)
    length_s = min(pause.end_s, end_s) - begin_s
    if length_s <= 0:
        return None
    within_s = (pause.latest_s - pause.earliest_s) / 2
    return Pause(
        start_s=round(begin_s - start_s, 6),
        length_ms=round(length_s * 1e3, 3),
        within_ms=round(within_s * 1e3, 3),
    )


def together(*sides: Pauses | None) -> list[Stretch]:
    """Return the stretches in which any of the sides stood still, as far as listed."""
    stretches = sorted((one.start_s, one.end_s) for side in sides if side for one in side.listed)
    merged: list[Stretch] = []
    for start_s, end_s in stretches:
        if merged and start_s <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end_s, merged[-1][1]))
        else:
            merged.append((start_s, end_s))
    return merged


def time_within(stretches: Iterable[Stretch], start_s: float, end_s: float) -> float:
    """Return how much of the time from ``start_s`` to ``end_s`` lies in stretches, which do not overlap."""
    return sum(max(min(end_s, end) - max(start_s, start), 0.0) for start, end in stretches)
