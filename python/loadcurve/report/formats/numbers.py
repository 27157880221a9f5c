"""The numbers of a run as the records of a report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcurve.explain.all import findings
from loadcurve.explain.finding import Finding
from loadcurve.report.formats.records import (
    CapacityRecord,
    EstimateRecord,
    MeasuredRecord,
    PlaceRecord,
    PublishedRecord,
    RankRecord,
    RatioRecord,
    ShapeRecord,
)
from loadcurve.report.published import matched_figures
from loadcurve.result.folder import Run
from loadcurve.result.records import Point
from loadcurve.result.words import Words
from loadcurve.stats.capacity import Capacity
from loadcurve.stats.curves import (
    LATENCY_STATISTICS,
    RESOURCE_STATISTICS,
    CurvePoint,
    ResourceStatistic,
    curves,
    estimate_over_trials,
    point_key,
)
from loadcurve.stats.measures import MEASURES, MeasureName
from loadcurve.stats.operations import (
    OPERATION_STATISTICS,
    kinds_of,
    loading_rps,
    operation_latency_ms,
    operation_rps,
)
from loadcurve.stats.peak import Greatest
from loadcurve.stats.published import unit_of
from loadcurve.stats.ranking import Ranking, rank_run
from loadcurve.stats.shape import Shape, SliceShapes, shapes
from loadcurve.stats.slo import Objective
from loadcurve.stats.sweep import Slice, slices

if TYPE_CHECKING:
    from loadcurve.stats.interval import Estimate

THROUGHPUT = "throughput_rps"
RESOURCE_UNITS: dict[ResourceStatistic, str] = {
    "cpu_share": "CPUs",
    "cpu_per_request_us": "µs",
    "memory_mean_mib": "MiB",
    "memory_peak_mib": "MiB",
    "processes_max": "",
}


@dataclass(frozen=True, slots=True)
class Numbers:
    """Everything that a report says in numbers."""

    estimates: list[MeasuredRecord]
    """By measure, then server, then slice of the sweep, and along each slice by its rising key."""
    ranking: list[RankRecord]
    ratios: list[RatioRecord]
    shapes: list[ShapeRecord]
    published: list[PublishedRecord]
    findings: list[Finding]


def numbers_of(run: Run, objective: Objective | None) -> Numbers:
    """Return the numbers of a run; with limits, the capacities among them.

    Raises ``BadInput`` where there are limits that do not apply to the run.
    """
    rankings = list(_rankings(run))
    return Numbers(
        estimates=_estimates(run),
        ranking=[record for name, point, one in rankings for record in _ranks(name, point, one)],
        ratios=[record for name, point, one in rankings for record in _ratios(name, point, one)],
        shapes=[_shape(part, shape) for part in shapes(run, objective) for shape in part.shapes],
        published=list(_published(run)),
        findings=findings(run),
    )


def _estimates(run: Run) -> list[MeasuredRecord]:
    along = [point_key(point) for part in slices(run.sweep_points) for point in _rising(part)]
    by_measure: dict[str, list[MeasuredRecord]] = {}
    kinds = kinds_of(run)
    for curve in curves(run):
        at = {point_key(one.point): one for one in curve.points}
        for key in along:
            for record in _measured(curve.server, at[key], run.words, kinds):
                by_measure.setdefault(record.measure, []).append(record)
    return [record for records in by_measure.values() for record in records]


def _rising(part: Slice) -> list[Point]:
    key = part.key
    return part.points if key is None else sorted(part.points, key=lambda point: point[key])


def _measured(server: str, at: CurvePoint, words: Words, kinds: Sequence[str]) -> Iterable[MeasuredRecord]:
    figures: list[tuple[str, str, Estimate | None]] = [(THROUGHPUT, words("requests/s"), at.throughput_rps)]
    figures += [(f"latency_{name}_ms", "ms", at.latency_ms[name]) for name in LATENCY_STATISTICS]
    figures += [(f"server_{name}", RESOURCE_UNITS[name], at.resources[name]) for name in RESOURCE_STATISTICS]
    figures += _of_operations(at, kinds)
    for measure, unit, estimate in figures:
        yield MeasuredRecord(
            server=server,
            point=at.point,
            measure=measure,
            unit=unit,
            estimate=EstimateRecord.of(estimate),
            trials=len(at.trials),
            verdict=at.verdict,
        )


def _of_operations(at: CurvePoint, kinds: Sequence[str]) -> Iterable[tuple[str, str, "Estimate | None"]]:
    """Yield what is measured of each kind of operation on a database, and of loading its records."""
    for kind in kinds:
        name = kind.replace("-", "_")
        rates = (operation_rps(trial, kind) for trial in at.usable)
        yield f"{name}_rps", "operations/s", estimate_over_trials(rates)
        for statistic in OPERATION_STATISTICS:
            latencies = (operation_latency_ms(trial, kind, statistic) for trial in at.usable)
            yield f"{name}_latency_{statistic}_ms", "ms", estimate_over_trials(latencies)
    if kinds:
        yield "loading_rps", "records/s", estimate_over_trials(map(loading_rps, at.usable))


def _rankings(run: Run) -> Iterable[tuple[str, Point | None, Ranking]]:
    """Yield every ranking of the run; a search compares nothing, for each trial measures other points."""
    if run.run.search is not None:
        return
    for measure in MEASURES.values():
        if measure.better is None:
            continue
        ranked = rank_run(run, measure)
        name = _measure_name(measure.name)
        yield name, None, ranked.over_curve
        for point, ranking in ranked.at_points:
            yield name, point, ranking


def _measure_name(name: MeasureName) -> str:
    """Return the measure's name as it is in the estimates."""
    if name == "throughput":
        return THROUGHPUT
    return f"latency_{name}_ms" if name in LATENCY_STATISTICS else f"server_{name}"


def _ranks(measure: str, point: Point | None, ranking: Ranking) -> Iterable[RankRecord]:
    for rank in ranking.ranks:
        yield RankRecord(
            measure=measure,
            point=point,
            server=rank.server,
            best=rank.best if ranking.decides else None,
            worst=rank.worst if ranking.decides else None,
        )


def _ratios(measure: str, point: Point | None, ranking: Ranking) -> Iterable[RatioRecord]:
    for pair in ranking.pairs:
        yield RatioRecord(
            measure=measure,
            point=point,
            first=pair.first,
            second=pair.second,
            ratio=EstimateRecord.of(pair.ratio),
            p_value=pair.p_value,
            told_apart=pair.told_apart,
        )


def _shape(part: SliceShapes, shape: Shape) -> ShapeRecord:
    return ShapeRecord(
        server=shape.server,
        key=part.part.key or "",
        fixed=part.part.fixed,
        peak=_place(shape.peak),
        peak_throughput_rps=EstimateRecord.of(shape.peak.value) if shape.peak else None,
        knee=_place(shape.knee),
        capacity=_capacity(part, shape.capacity),
        usd_per_hour=shape.cost.usd_per_hour if shape.cost else None,
        requests_per_usd=EstimateRecord.of(shape.cost.requests_per_usd) if shape.cost else None,
    )


def _place(found: Greatest | None) -> PlaceRecord | None:
    return None if found is None else PlaceRecord(load=found.load, place=found.place, alike=found.alike)


def _capacity(part: SliceShapes, found: Capacity | None) -> CapacityRecord | None:
    if found is None or part.objective is None:
        return None
    return CapacityRecord(
        limits=part.objective.text,
        load=EstimateRecord.of(found.load),
        bound=found.bound,
        safe_load=found.safe_load,
        throughput_rps=EstimateRecord.of(found.throughput_rps),
    )


def _published(run: Run) -> Iterable[PublishedRecord]:
    for matched in matched_figures(run):
        figure = matched.figure
        for pair in matched.pairs:
            for place, value in pair.published.items():
                yield PublishedRecord(
                    figure=figure.title,
                    point={**matched.part.fixed, figure.axis: place},
                    measure=figure.measure,
                    series=pair.series,
                    published=value,
                    published_unit=figure.unit,
                    server=pair.server,
                    estimate=EstimateRecord.of(pair.measured.get(place)),
                    unit=unit_of(figure.measure),
                )
