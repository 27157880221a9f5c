"""The peak and the knee of a curve, over trials.

The **peak** is the load with the greatest throughput. The **knee** is the load with the greatest *power*,
throughput divided by mean latency: below it, more load brings more throughput than delay, and above it more
delay than throughput (L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in
computer communications", ICC 1979; R. Jain, *The Art of Computer Systems Performance Analysis*, 1991, section
3.3). Unlike the geometric definitions (Satopää et al., "Finding a 'Kneedle' in a haystack", 2011), it has no
parameter and does not move when the sweep is made longer.

Both are the load at which a figure is greatest, and both are answered by :func:`greatest`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loadcurve.stats.complete import complete_rows, not_beaten
from loadcurve.stats.interval import CONFIDENCE, Estimate, geometric_interval

Place = Literal["first", "inside", "last"]


@dataclass(frozen=True, slots=True)
class Greatest:
    """Where a figure is greatest along the loads.

    ``place`` says whether that is at an end of what could be used: at the last load the true peak was not
    reached. ``alike`` are the loads that cannot be told apart from the greatest, itself included; ``None``
    with a single trial, which shows no difference. ``not_compared`` are loads with a figure that most trials
    lack: what is said holds for the others.
    """

    load: float
    value: Estimate
    place: Place
    alike: tuple[float, ...] | None
    not_compared: tuple[float, ...] = ()


def peak(loads: Sequence[float], throughput_rps: Sequence[Sequence[float | None]]) -> Greatest | None:
    """Return the peak of trials (rows) along ascending loads (columns); ``None`` without usable points."""
    return greatest(loads, throughput_rps)


def knee(
    loads: Sequence[float],
    throughput_rps: Sequence[Sequence[float | None]],
    latency_ms: Sequence[Sequence[float | None]],
) -> Greatest | None:
    """Return the knee, as :func:`peak`; its value is the power in requests/s per ms of mean latency."""
    power = [
        [None if rate is None or not latency else rate / latency for rate, latency in zip(*rows, strict=True)]
        for rows in zip(throughput_rps, latency_ms, strict=True)
    ]
    return greatest(loads, power)


def greatest(loads: Sequence[float], trials: Sequence[Sequence[float | None]]) -> Greatest | None:
    """Return the load whose geometric mean over the trials is greatest, and the value there.

    A load's mean is that of all trials that have it. The loads that are alike are those that no other beats
    in the trials that have all, see :func:`loadcurve.stats.complete.not_beaten`.

    A value that was chosen for being the greatest had luck, and the truth may be at any of the loads that
    are alike. So the interval of the greatest true value reaches from the greatest of their lower ends, each
    at the level 5 % / k for k of them, to the greatest of their upper ends: it holds the truth in at least 95
    of 100 studies (Bonferroni's inequality), and with a single such load it is Student's t.
    """
    kept, rows = complete_rows(loads, trials)
    if not rows:
        return None
    present = {
        load: [value for row in trials if (value := row[place]) is not None and value > 0]
        for place, load in enumerate(loads)
    }
    columns = [present[load] for load in kept]
    means = [geometric_interval(column) for column in columns]
    best = max(range(len(kept)), key=lambda place: means[place].value)
    alike = [place for place, may in enumerate(not_beaten(rows)) if may or place == best]
    adjusted = 1 - (1 - CONFIDENCE) / len(alike)
    lows = [low for j in alike if (low := geometric_interval(columns[j], adjusted).low) is not None]
    # A load whose interval has no end above may have the greatest value of all.
    highs = [means[j].high for j in alike]
    high = max((high for high in highs if high is not None), default=None) if None not in highs else None
    place: Place = "inside"
    if best in {0, len(kept) - 1}:
        place = "last" if best else "first"
    return Greatest(
        load=kept[best],
        value=replace(means[best], low=max(lows, default=None), high=high),
        place=place,
        alike=tuple(kept[j] for j in alike) if len(rows) > 1 else None,
        not_compared=tuple(load for load in loads if present[load] and load not in kept),
    )


def may_be_greatest(trials: Sequence[Sequence[float]], confidence: float = CONFIDENCE) -> list[int]:
    """Return the places of the loads (columns) that may have the greatest figure over trials (rows).

    The load of the truly greatest figure is among them with this confidence, see
    :func:`loadcurve.stats.complete.not_beaten`; that of the greatest geometric mean always is.
    """
    return [place for place, may in enumerate(not_beaten(trials, confidence)) if may]
