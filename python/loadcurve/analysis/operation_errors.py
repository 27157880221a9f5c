"""The errors of a load and of each request on both sides of a comparison: their share and its change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadcurve.analysis.curves import CurvePoint
from loadcurve.analysis.missing import Side
from loadcurve.loads.values import Point
from loadcurve.result.operations import ended_of, errors_of, share_of
from loadcurve.stats.interval import Estimate
from loadcurve.stats.power import ERROR_RATE
from loadcurve.stats.ranking import holm_steps
from loadcurve.stats.shares import CountedShare, ShareDifference


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """Requests that failed or were answered with another status than is expected, of one label or of all."""

    errors: int
    trials: int
    """The points of trials that counted them."""


@dataclass(frozen=True, slots=True)
class OperationErrors:
    """The errors of one request of one server, or of its whole load, over the points that both sides have."""

    server: str
    operation: str | None
    """``None`` of the whole load."""
    base: ErrorCount
    new: ErrorCount
    change: ShareDifference | None = None
    """Of the share of those that have ended, or of the whole load's that were due, at the points that every
    trial of both sides has counted; ``None`` where there is no such point.
    """
    step: int = 1
    """By how many its p-value is multiplied, because it is one of several requests."""

    @property
    def differs(self) -> bool:
        """Whether the two sides have another number of them per trial."""
        return self.base.errors * self.new.trials != self.new.errors * self.base.trials

    @property
    def confidence(self) -> float:
        """The confidence of the interval: 0.95, and more where there are several requests."""
        return 1 - ERROR_RATE / self.step

    @property
    def estimate(self) -> Estimate | None:
        """The difference of the shares with the interval that decides."""
        return None if self.change is None else self.change.estimate_at(self.confidence)

    @property
    def adjusted_p_value(self) -> float | None:
        """The p-value, adjusted for the number of requests; ``None`` without one."""
        p_value = None if self.change is None else self.change.p_value
        return None if p_value is None else min(1.0, self.step * p_value)

    @property
    def shown(self) -> bool:
        """Whether chance alone does not explain the difference: its interval does not contain 0."""
        return self.adjusted_p_value is not None and self.adjusted_p_value <= ERROR_RATE

    @property
    def is_worse(self) -> bool:
        """Whether the new side has the greater share."""
        return self.change is not None and self.change.value > 0

    def is_regression(self, least: float) -> bool:
        """Say whether the share is shown to be greater, and is so by ``least`` of the base's or more."""
        if self.change is None or not (self.shown and self.is_worse):
            return False
        return self.change.new.value >= (1 + least) * self.change.base.value


def errors_of_load(
    sides: Sequence[tuple[Side, Side]], labels: Sequence[str], points: Sequence[Point]
) -> Iterator[OperationErrors]:
    """Yield the errors of each server's whole load, and of each request; none that a side has not counted.

    A point that is invalid because of its errors alone is counted. The whole load is a separate question;
    the changes of its requests are adjusted for their number by Holm's method.
    """
    for base, new in sides:
        yield from _found(base, new, [None], points)
        yield from _adjusted([*_found(base, new, labels, points)])


def _found(
    base: Side, new: Side, labels: Sequence[str | None], points: Sequence[Point]
) -> Iterator[OperationErrors]:
    for label in labels:
        of_base, of_new = (_count(side, label, points) for side in (base, new))
        if of_base is not None and of_new is not None:
            yield OperationErrors(new.server, label, of_base, of_new, _change(base, new, label, points))


def _adjusted(found: Sequence[OperationErrors]) -> list[OperationErrors]:
    p_values = {
        place: p_value
        for place, one in enumerate(found)
        if one.change is not None and (p_value := one.change.p_value) is not None
    }
    steps = dict(zip(p_values, holm_steps([*p_values.values()], ERROR_RATE), strict=True))
    return [replace(one, step=steps.get(place, 1)) for place, one in enumerate(found)]


Counts = tuple[Sequence[float | None], Sequence[float | None]]
"""The errors of each trial, and how many they are a share of; ``None`` where that is not known."""


def _counts(at: CurvePoint, label: str | None) -> Counts:
    if label is not None:
        return at.values(errors_of(label)), at.values(ended_of(label))
    found = at.requests
    # Another generator that counts no failures may know of no error at all.
    errors = [
        wrong if wrong or failed is not None else None
        for wrong, failed in zip(found.wrong, found.failed, strict=True)
    ]
    return errors, found.due


def _count(side: Side, label: str | None, points: Sequence[Point]) -> ErrorCount | None:
    found = [at for point in points if (at := side.at(point)) is not None]
    values = [_counts(at, label)[0][place] for at in found for place in at.counted]
    counted = [round(value) for value in values if value is not None]
    return ErrorCount(sum(counted), len(counted)) if counted else None


def _change(base: Side, new: Side, label: str | None, points: Sequence[Point]) -> ShareDifference | None:
    """Return the difference between two sides, whose unit is the trial: of points that all trials have."""
    counts = [_by_trial(side, label, points) for side in (base, new)]
    # What a load of few connections answers has another share of errors than that of many.
    whole = [
        place
        for place in range(len(points))
        if all(trials and all(place in trial for trial in trials.values()) for trials in counts)
    ]
    if not whole:
        return None
    shares = []
    for trials in counts:
        errors = [sum(trial[place][0] for place in whole) for trial in trials.values()]
        ended = [sum(trial[place][1] for place in whole) for trial in trials.values()]
        shares.append(CountedShare(errors, ended))
    return ShareDifference(shares[1], shares[0])


def _by_trial(
    side: Side, label: str | None, points: Sequence[Point]
) -> dict[int, dict[int, tuple[int, int]]]:
    """Return the errors and the ended requests of each trial at the places of points where they count."""
    found: dict[int, dict[int, tuple[int, int]]] = {}
    for place, point in enumerate(points):
        at = side.at(point)
        if at is None:
            continue
        errors, ended = _counts(at, label)
        for index in at.counted:
            if (counted := share_of(errors[index], ended[index])) is not None:
                found.setdefault(at.trials[index], {})[place] = counted
    return found
