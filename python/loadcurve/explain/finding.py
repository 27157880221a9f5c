"""A finding: something odd that was seen, with the figures that show it, its cause, and what to do."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Literal

from pydantic import Field

from loadcurve.loads.values import Point
from loadcurve.record import Count, Record
from loadcurve.stats.interval import Estimate

Weight = Literal["invalidates", "distorts", "explains"]
"""``invalidates``: the figure is not the server's, or counts what is no answer. ``distorts``: something other
than serving is part of it. ``explains``: the figure is the server's, and this is why it is so."""
WEIGHTS: tuple[Weight, ...] = ("invalidates", "distorts", "explains")
"""In falling order."""

Certainty = Literal["shown", "likely"]
"""Whether the evidence shows the cause, or only fits it."""


class Evidence(Record):
    """A named figure; ``low`` and ``high`` are ``None`` where it is a single one.

    As a ``range`` they are the least and the greatest over the finding's points and trials, and ``value`` is
    the median. As an ``interval`` they are the 95 % interval over trials.
    """

    name: str
    value: float
    unit: str
    """A unit such as ``ms``, or ``share`` for a part of 1, or nothing for a count."""
    low: float | None = None
    high: float | None = None
    spread: Literal["range", "interval"] | None = None


@dataclass(frozen=True, slots=True)
class FindingCode:
    """What findings of one cause are called, where they are seen, and why there."""

    code: str
    title: str
    """What happened, in a few words without figures."""
    seen_where: str
    because: str
    of_machine: bool = False
    """Whether it is about the machine at that time, and not about the server."""


class Finding(Record):
    """What was seen of one server at some points, in some of its trials."""

    code: str
    weight: Weight
    certainty: Certainty
    server: str
    points: Annotated[list[Point], Field(min_length=1)]
    """Where it was seen, in the order of the sweep."""
    trials: Annotated[list[Count], Field(min_length=1)]
    """The trials in which it was seen, by their numbers in the run."""
    trials_measured: Count
    """In how many trials at least one of the points was measured."""
    seen: str
    evidence: Annotated[list[Evidence], Field(min_length=1)]
    cause: str
    advice: str
    briefly: str | None = None
    """For the answer: what stands out and its shown cause, as a clause without the server and the points."""


def ranged(name: str, unit: str, values: Iterable[float | None]) -> list[Evidence]:
    """Return the evidence of a figure over points and trials; nothing where it was measured in none."""
    measured = [value for value in values if value is not None]
    if not measured:
        return []
    low, high = min(measured), max(measured)
    if low == high:
        return [Evidence(name=name, value=low, unit=unit)]
    return [Evidence(name=name, value=median(measured), unit=unit, low=low, high=high, spread="range")]


def estimated(name: str, unit: str, estimate: Estimate) -> Evidence:
    """Return the evidence of a figure with its interval over trials."""
    spread: Literal["interval"] | None = None if estimate.low is None else "interval"
    return Evidence(
        name=name, value=estimate.value, unit=unit, low=estimate.low, high=estimate.high, spread=spread
    )
