"""What a study requires of its servers, judged by the intervals of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.analysis.curves import Curve, CurvePoint
from loadcurve.analysis.limits import DEATHS, servers_fault
from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import Measure, is_usable, measures, point_key
from loadcurve.result.operations import error_count, labels_of, measure_of
from loadcurve.result.records import PointRecord
from loadcurve.stats.interval import CONFIDENCE, Estimate, estimate_over_trials
from loadcurve.stats.shares import CountedShare, share_interval
from loadcurve.stats.slo import ERRORS, expected_operation
from loadcurve.study.require import Direction, RequireTable, required_of

RequirementOutcome = Literal["held", "failed", "cannot_tell"]
RequirementObstacle = Literal[
    "server_fault",
    "not_measured",
    "invalid",
    "not_sent",
    "no_figure",
    "one_trial",
    "interval_holds_bound",
]
"""Why a requirement is not held although no interval lies beyond its bound."""


@dataclass(frozen=True, slots=True)
class Room:
    """How far a figure lies within its bound, as a share of the bound; below 0 where it is beyond it."""

    value: float
    least: float | None
    """By the end of the interval that is nearer to the wrong side; ``None`` without an interval."""
    most: float | None


@dataclass(frozen=True, slots=True)
class JudgedRequirement:
    """One requirement at one point of one server."""

    place: int
    """Its place among the tables of the study, from 0."""
    server: str
    point: Point
    measure: str
    """The name of the measure."""
    direction: Direction
    bound: float
    """In the unit of the measure."""
    bound_text: str
    """As the study has it."""
    confidence: float
    outcome: RequirementOutcome
    estimate: Estimate | None
    """With an interval of that confidence."""
    room: Room | None
    obstacle: RequirementObstacle | None = None
    why: str | None = None
    """What was recorded of the obstacle: the reason of a verdict or a failure, or what was sent instead."""
    request: str | None = None
    """The name of the request that alone is judged; ``None`` of the whole load."""


def judged_requirements(run: Run, found: Sequence[Curve]) -> list[JudgedRequirement]:
    """Return every requirement of a run at each point and server that it is about; none of a search.

    A server that could not be started has its points, too: nothing holds there.
    """
    if run.run.search is not None:
        return []
    return [
        judged
        for place, required in enumerate(required_of(run.run.study))
        for judged in _judged_at_points(run, found, place, required)
    ]


def _judged_at_points(
    run: Run, found: Sequence[Curve], place: int, required: RequireTable
) -> Iterator[JudgedRequirement]:
    measured = {
        (curve.server, point_key(at.point)): at for curve in found for at in curve.points if at.trials
    }
    planned = [required.server] if required.server else _planned(run)
    points = [point for point in run.run.points if required.at.items() <= point.items()]
    for server in planned:
        for point in points or [dict(required.at)]:
            at = measured.get((server, point_key(point)))
            yield _judged(run, (place, required), server, point, at)


def _planned(run: Run) -> list[str]:
    """Return the servers of all trials, in the order of the study."""
    in_trials = {trial.server for trial in run.run.order}
    return [name for name in run.run.servers if name in in_trials]


def _judged(
    run: Run, numbered: tuple[int, RequireTable], server: str, point: Point, at: CurvePoint | None
) -> JudgedRequirement:
    place, required = numbered
    estimate = None if at is None else _estimate(run, server, at, required)
    fault = _fault(run, server, point)
    unknown = _not_sent(run, server, at, required.request) or _unknown(run, server, at, estimate)
    outcome: RequirementOutcome
    obstacle: RequirementObstacle | None
    why: str | None = None
    if fault is not None:
        outcome, obstacle, why = "failed", "server_fault", fault
    elif unknown is not None:
        outcome, (obstacle, why) = "cannot_tell", unknown
    else:
        outcome, obstacle = _by_interval(required, estimate)
    return JudgedRequirement(
        place=place,
        server=server,
        point=point,
        measure=required.measure,
        direction=required.direction,
        bound=required.bound,
        bound_text=required.bound_text,
        confidence=required.confidence,
        outcome=outcome,
        estimate=estimate,
        room=None if estimate is None else _room(required, estimate),
        obstacle=obstacle,
        why=why,
        request=required.request,
    )


def _estimate(run: Run, server: str, at: CurvePoint, required: RequireTable) -> Estimate | None:
    if required.measure == ERRORS:
        return _error_share(run, server, at, required)
    measure = _measure(run, required)
    if required.confidence == CONFIDENCE and measure.column in at.figures:
        return at.estimate(measure)
    # Curves have the most frequent requests, and of those some statistics alone.
    records = [one for one in _records_at(run, server, at) if is_usable(one)]
    return estimate_over_trials(map(measure.value, records), required.confidence)


def _error_share(run: Run, server: str, at: CurvePoint, required: RequireTable) -> Estimate | None:
    """Return the share of errors, with the interval of counts: none of few requests is not none at all."""
    records = [one for one in _records_at(run, server, at) if is_usable(one)]
    counts = [found for one in records if (found := error_count(one, required.request)) is not None]
    if not counts:
        return None
    errors, ended = zip(*counts, strict=True)
    return share_interval(CountedShare(errors, ended), required.confidence)


def _measure(run: Run, required: RequireTable) -> Measure:
    if required.request is None:
        return measures(run.kind)[required.measure]
    return measure_of(run.kind, required.request, required.measure)


def _records_at(run: Run, server: str, at: CurvePoint) -> list[PointRecord]:
    key = point_key(at.point)
    return [one for one in run.points if one.server == server and point_key(one.point) == key]


def _not_sent(
    run: Run, server: str, at: CurvePoint | None, request: str | None
) -> tuple[RequirementObstacle, str] | None:
    """Return what was sent instead of a request; ``None`` where it was sent, or no record says what was."""
    if at is None or request is None:
        return None
    sent = labels_of(one.load for one in _records_at(run, server, at))
    return ("not_sent", expected_operation(request, sent)) if sent and request not in sent else None


def _unknown(
    run: Run, server: str, at: CurvePoint | None, estimate: Estimate | None
) -> tuple[RequirementObstacle, str | None] | None:
    """Return what keeps a point from having a figure, with what was recorded; ``None`` where it has one."""
    if at is None:
        return "not_measured", _why_not_measured(run, server)
    if not at.usable:
        return "invalid", at.invalid_because
    return ("no_figure", None) if estimate is None else None


def _by_interval(
    required: RequireTable, estimate: Estimate | None
) -> tuple[RequirementOutcome, RequirementObstacle | None]:
    if estimate is None or estimate.low is None or estimate.high is None:
        is_single = estimate is not None and estimate.n == 1
        return "cannot_tell", "one_trial" if is_single else "interval_holds_bound"
    low, high, bound = estimate.low, estimate.high, required.bound
    is_below, is_above = high < bound, low > bound
    if is_below or is_above:
        return ("held" if is_below == (required.direction == "below") else "failed"), None
    return "cannot_tell", "interval_holds_bound"


def _room(required: RequireTable, estimate: Estimate) -> Room:
    sign = 1 if required.direction == "below" else -1
    value, low, high = (
        None if figure is None else sign * (1 - figure / required.bound)
        for figure in (estimate.value, estimate.low, estimate.high)
    )
    least, most = (high, low) if required.direction == "below" else (low, high)
    assert value is not None, "an estimate has a value"  # noqa: S101
    return Room(value, least, most)


def _fault(run: Run, server: str, point: Point) -> str | None:
    """Return what the server has done that keeps nothing at a point: answered wrongly, or not survived."""
    key = point_key(point)
    for record in run.points:
        if record.server != server or point_key(record.point) != key:
            continue
        if (reason := servers_fault(record)) is not None:
            return reason.text
    for failure in run.failures:
        is_here = failure.point is None or point_key(failure.point) == key
        if failure.server == server and is_here and failure.reason.code in DEATHS:
            return failure.reason.text
    return None


def _why_not_measured(run: Run, server: str) -> str | None:
    return next((one.reason.text for one in reversed(run.failures) if one.server == server), None)
