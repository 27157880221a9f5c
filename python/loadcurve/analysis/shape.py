"""The shape of each curve of a run: peak, knee, scalability, capacity, cost, and which to take where."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.analysis.curves import Curve, at_point, curves, usable_logs
from loadcurve.analysis.limits import CLIENT_KEYS, has_messages, observed, observed_failure
from loadcurve.analysis.ranking import least_told_apart
from loadcurve.analysis.sweep import Slice, TrialCurves, slices, trial_curves
from loadcurve.errors import BadInput
from loadcurve.result.folder import Run
from loadcurve.result.measures import LATENCIES, MEASURES, THROUGHPUT, Measure, point_key
from loadcurve.result.operations import labels_of
from loadcurve.stats.capacity import (
    Capacity,
    JudgedLoad,
    Observation,
    Unjudged,
    capacity,
    judged_loads,
    unjudged,
)
from loadcurve.stats.leaders import Leaders, Standing, leaders
from loadcurve.stats.peak import Greatest, knee, peak
from loadcurve.stats.price import Cost, Offer, cheapest, cost
from loadcurve.stats.ranking import Ranking, rank
from loadcurve.stats.slo import (
    LATENCY_FIELDS,
    OF_MESSAGES,
    RATE_KEPT,
    Objective,
    parse_objective,
    unknown_operations,
)
from loadcurve.stats.usl import NoFit, ScalabilityFit, fit_scalability


@dataclass(frozen=True, slots=True)
class Shape:
    """One server's curve; what could not be found, or was not asked for, is ``None``.

    ``scalability`` is ``None`` but for closed loops over connections or threads. ``cost`` is that of requests
    at the capacity, or at the peak where no limits were given, for a server with a machine type.
    """

    server: str
    peak: Greatest | None
    knee: Greatest | None
    scalability: ScalabilityFit | NoFit | None
    capacity: Capacity | None
    cost: Cost | None
    unjudged: Unjudged | None = None
    """The loads at which limits could not be judged, and why."""
    judged: tuple[JudgedLoad, ...] = ()
    """What trials say of the limits at each load; empty without limits."""


@dataclass(frozen=True, slots=True)
class SliceShapes:
    """The curves of one slice of the sweep, over the loads of its key."""

    part: Slice
    objective: Objective | None
    """The limits that were given, that were searched for, or that the study names."""
    shapes: list[Shape]
    cheapest: list[Offer]
    """Who keeps the limits for the least money, range by range; empty without limits or prices."""
    leaders: Leaders | None
    """Who is the fastest without regard to price, range by range; ``None`` with fewer than two servers."""
    leading_measure: str
    """What the leaders lead by: the latency that is limited, as limits name it, or a measure by its name."""
    by_peak: Ranking | None = None
    """The ranking of the servers, each at its own peak, where that answers the study's question."""

    @property
    def has_figures(self) -> bool:
        """Whether there is anything to say of any curve: without limits, none has a figure without a peak."""
        return bool(self.shapes) and (self.objective is not None or any(one.peak for one in self.shapes))


def shapes(run: Run, objective: Objective | None) -> list[SliceShapes]:
    """Return the shapes of every slice of the sweep whose key is a load.

    If no limits are given, those of a search or of the study apply. A search has no curve but its capacities:
    each of its trials measures other loads.

    Raises ``BadInput``: limits are given, and the run has no such slice or no load that they apply to.
    """
    search = run.run.search
    if objective is None and search is not None:
        objective = parse_objective(search.slo)
    parts = _parts(run)
    if objective is not None:
        _require_loads(run, parts, objective)
    else:
        objective = _limits_of_study(run, parts)
    is_closed = run.is_closed_loop
    return [_slice_shapes(run, part, objective, is_closed=is_closed) for part in parts]


def _parts(run: Run) -> list[Slice]:
    """Return the slices along a load; a search is one along its own key, however few loads it measured."""
    search = run.run.search
    if search is not None:
        return [Slice(search.key, {}, run.sweep_points)]
    return [part for part in slices(run.sweep_points) if part.key in run.kind.load_keys]


def _require_loads(run: Run, parts: list[Slice], objective: Objective) -> None:
    if not parts:
        raise BadInput(
            f"{run.folder} has no capacity: expected a sweep over {', '.join(run.kind.load_keys)}, "
            "or a search with `loadcurve capacity`"
        )
    loads = [point.load for point in run.points]
    if loads and (unknown := next(unknown_operations(objective, labels_of(loads)), None)):
        raise BadInput(unknown)
    for limit in objective.limits:
        if limit.measure == RATE_KEPT and all(point.load.rate_rps.asked is None for point in run.points):
            raise BadInput(
                f'"{limit.text}" requires a load with a rate; the model of this run is '
                f"{run.run.study.get('load', {}).get('model')}. Limit a latency or the errors instead."
            )
        required = OF_MESSAGES.get(limit.measure)
        if loads and required and not any(has_messages(load, required) for load in loads):
            text = f'"{limit.text}" requires a load with {required}; no load of this run has that'
            raise BadInput(f"{text}. Limit a latency or the errors instead.")


def _limits_of_study(run: Run, parts: list[Slice]) -> Objective | None:
    """Return the limits by which the study's question is answered, where they apply to what was measured."""
    limits = run.run.study.get("limits")
    if not isinstance(limits, str):
        return None
    # What was measured may be less than the study: of one load, or nothing yet. Then the limits say nothing.
    with contextlib.suppress(BadInput):
        objective = parse_objective(limits)
        _require_loads(run, parts, objective)
        return objective
    return None


def _slice_shapes(run: Run, part: Slice, objective: Objective | None, *, is_closed: bool) -> SliceShapes:
    of_trials = [curve for curve in trial_curves(run, part) if curve.blocks]
    is_scalable = is_closed and part.key in CLIENT_KEYS
    found = [_shape(run, curve, objective, is_scalable=is_scalable) for curve in of_trials]
    latency = None if objective is None else _limited_latency(objective)
    measure = latency or run.default_measure
    is_comparable = len(of_trials) > 1 and run.run.search is None
    leading = _leaders(run, part, MEASURES[LATENCY_FIELDS.get(measure, measure)]) if is_comparable else None
    by_peak = (
        ranked_at_peaks(curves(run, [THROUGHPUT]), part, found, at_rates=run.is_at_rates)
        if run.is_answered_by_peak
        else None
    )
    return SliceShapes(part, objective, found, _cheapest(found), leading, measure, by_peak)


def ranked_at_peaks(
    found: Sequence[Curve], part: Slice, of_part: Sequence[Shape], *, at_rates: bool
) -> Ranking:
    """Rank servers by their throughputs at their peaks, paired by block; ``found`` are their curves."""
    _, logs = usable_logs(found, THROUGHPUT)
    places = {point_key(at.point): place for place, at in enumerate(found[0].points)} if found else {}
    at_peaks = {
        shape.server: logs[shape.server][:, [places[point_key(part.at(shape.peak.load))]]]
        for shape in of_part
        if shape.peak is not None
    }
    return rank(at_peaks, "higher", least=least_told_apart(THROUGHPUT.column, at_rates=at_rates))


def _shape(run: Run, curve: TrialCurves, objective: Objective | None, *, is_scalable: bool) -> Shape:
    throughput = curve.figures(THROUGHPUT.value)
    latency = curve.figures(LATENCIES["mean"].value)
    is_sweep = run.run.search is None
    top = peak(curve.loads, throughput) if is_sweep else None
    bend = knee(curve.loads, throughput, latency) if is_sweep else None
    scales = fit_scalability(curve.loads, throughput) if is_sweep and is_scalable else None
    seen = [] if objective is None else observations_of(run, curve, objective)
    limit = None if objective is None else capacity(seen, objective)
    at_limit = limit.throughput_rps if limit else None
    rate = at_limit if objective is not None else top and top.value
    machine = run.run.servers[curve.server].machine
    return Shape(
        server=curve.server,
        peak=top,
        knee=bend,
        scalability=scales,
        capacity=limit,
        cost=cost(rate, machine.price_usd_per_hour) if rate and machine else None,
        unjudged=unjudged(seen),
        judged=judged_loads(seen, limit),
    )


def capacity_of(run: Run, curve: TrialCurves, objective: Objective) -> Capacity | None:
    """Return the highest load at which one server keeps limits; ``None`` where no trial can be judged."""
    return capacity(observations_of(run, curve, objective), objective)


def observations_of(run: Run, curve: TrialCurves, objective: Objective) -> list[list[Observation]]:
    """Return of each trial at which of its loads one server kept limits."""
    trials = {
        block: [
            observed(record, load, objective)
            for load, record in zip(curve.loads, row, strict=True)
            if record is not None
        ]
        for block, row in zip(curve.blocks, curve.records, strict=True)
    }
    for failure in run.failures:
        point = failure.point or {}
        load, is_here = point.get(curve.key), curve.fixed.items() <= point.items()
        if failure.server == curve.server and is_here and load is not None:
            trials.setdefault(failure.block, []).append(observed_failure(failure, load))
    return list(trials.values())


def _cheapest(found: list[Shape]) -> list[Offer]:
    """Return who is the cheapest where; a load counts as kept up to the safe end of a capacity's interval."""
    return cheapest(
        [
            Offer(
                server=shape.server,
                usd_per_hour=shape.cost.usd_per_hour,
                up_to=shape.capacity.safe_load,
                is_end_of_sweep=shape.capacity.bound == "at_least",
            )
            for shape in found
            if shape.cost and shape.capacity
        ]
    )


def _limited_latency(objective: Objective) -> str | None:
    """Return the first latency that is limited of all requests, by which servers lead."""
    limited = (one.measure for one in objective.limits if one.operation is None)
    return next((measure for measure in limited if measure in LATENCY_FIELDS), None)


def _leaders(run: Run, part: Slice, measure: Measure) -> Leaders | None:
    """Return who leads, by the figures and the rankings that the report shows at each load."""
    key, better = part.key, measure.better
    if key is None or better is None:
        return None
    found = curves(run, [measure])
    places = {point_key(at.point): place for place, at in enumerate(found[0].points)}
    _, logs = usable_logs(found, measure)
    least = least_told_apart(measure.column, at_rates=run.is_at_rates)
    standings = []
    for point in part.rising:
        place = places[point_key(point)]
        estimates = {curve.server: curve.points[place].estimate(measure) for curve in found}
        figures = {server: one.value for server, one in estimates.items() if one is not None}
        standings.append(Standing(point[key], rank(at_point(logs, place), better, least=least), figures))
    return leaders(standings, better)
