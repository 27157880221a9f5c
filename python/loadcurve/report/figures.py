"""The figures of a run, gathered for the page and for pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import Curve, labels_in, protocol_measures_in
from loadcurve.analysis.shape import SliceShapes
from loadcurve.analysis.sweep import Slice, slices
from loadcurve.explain.all import FINDINGS
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.bars import Bar, bar_figure
from loadcurve.report.charts.both import throughput_latency_figure
from loadcurve.report.charts.distribution import ALL_POINTS, density_figure, distribution_figure
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.overlay import NOTHING, Overlay
from loadcurve.report.charts.sweep import SHOWN_RESOURCES, errors_figure, measure_figure
from loadcurve.report.distribution import latency_distribution
from loadcurve.report.reasons import CAVEATS
from loadcurve.report.section import Report, Section
from loadcurve.result.folder import Run
from loadcurve.result.load import LoadResult
from loadcurve.result.measures import (
    LOADING,
    MEASURES,
    MESSAGE_MEASURES,
    Measure,
    PointKey,
    is_usable,
    measures,
    point_key,
)
from loadcurve.result.operations import latency_of, operation_measures
from loadcurve.result.rig import Ceiling, CeilingCurve
from loadcurve.stats.price import MILLION, scaled
from loadcurve.stats.slo import LATENCY_FIELDS

if TYPE_CHECKING:
    from loadcurve.result.records import PointRecord

SHOWN_LATENCIES = ("p50", "p90", "p99", "max")
LATENCY_TITLES = {
    "mean": "Mean",
    "p50": "Median",
    "p75": "75th percentile",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p99_9": "99.9th percentile",
    "p99_99": "99.99th percentile",
    "max": "Longest",
}
"""By the names of the measures; all of these are latencies."""
MOST_REQUESTS = 6
"""Of more requests than these, the slowest are drawn; the table below has all."""


@dataclass(frozen=True, slots=True)
class Part:
    """The figures of one slice of the sweep; ``heading`` is ``None`` where there is only one slice."""

    heading: str | None
    throughput: Figure
    latency: dict[str, Figure]
    resources: dict[str, Figure]
    connections: dict[str, Figure]
    """Of handshakes and streams, by their titles."""
    messages: dict[str, Figure]
    """Of answers that are streams of messages, by their titles."""
    errors: Figure | None
    throughput_latency: Figure | None
    """Throughput and latency on one figure with two axes."""
    operations: dict[str, dict[str, Figure]]
    """Of a database the figures of each kind of operation by their titles; of several requests a
    percentile of each of the slowest."""
    loading: Figure | None
    """Of a database: how fast its records were loaded."""
    main_latency: str | None
    """The title of the latency that is shown beside throughput: the one that answers the study's question,
    or else the p99, or the first that is known."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The latency distribution, with the points to choose from by their place in the figures' data."""

    figure: Figure
    density: Figure
    choices: dict[int, str]
    chosen: int
    has_pauses: bool
    """Whether pauses of the machine were seen at any point, which are drawn beside the latency."""


def parts(run: Run, analysis: Analysis, looks: Mapping[str, Appearance]) -> list[Part]:
    """Return the curves of every slice in which anything was measured, with the words on them."""
    return curve_parts(run, analysis.curves, looks, lambda shown: _overlay(run, shown, analysis))


def curve_parts(
    run: Run,
    found: Sequence[Curve],
    looks: Mapping[str, Appearance],
    overlay_of: Callable[[Slice], Overlay] = lambda _: NOTHING,
) -> list[Part]:
    """Return the curves of every slice of the sweep in which anything was measured."""
    shown, named = slices(run.sweep_points), measures(run.kind)
    resources = {named[name].heading: named[name] for name in SHOWN_RESOURCES}
    operations = _operations(run, found)
    spoken = protocol_measures_in(found)
    connections = {one.heading: one for one in spoken if one not in MESSAGE_MEASURES}
    messages = {one.heading: one for one in spoken if one in MESSAGE_MEASURES}
    found_parts = []
    for one in shown:
        overlay = overlay_of(one)
        throughput = measure_figure(named["throughput"], one, found, looks, overlay, is_main=True)
        if throughput is None:
            continue
        main = _main_latency(run, overlay)
        names = sorted({*SHOWN_LATENCIES, main}, key=list(LATENCY_TITLES).index)
        latencies = {
            LATENCY_TITLES[name]: measure_figure(
                MEASURES[name], one, found, looks, overlay, is_main=name == main
            )
            for name in names
        }
        known = {title: figure for title, figure in latencies.items() if figure is not None}
        wanted = LATENCY_TITLES[main]
        found_parts.append(
            Part(
                heading=text.point(one.fixed) if len(shown) > 1 else None,
                throughput=throughput,
                latency=known,
                resources=_figures(resources, one, found, looks),
                connections=_figures(connections, one, found, looks),
                messages=_figures(messages, one, found, looks, overlay),
                errors=errors_figure(one, found, looks, run.kind, overlay),
                throughput_latency=throughput_latency_figure(one, found, looks, run.kind),
                operations={
                    title: drawn
                    for title, titled in operations.items()
                    if (drawn := _figures(titled, one, found, looks, overlay))
                },
                loading=measure_figure(LOADING, one, found, looks),
                main_latency=wanted if wanted in known else next(iter(known), None),
            )
        )
    return found_parts


def _operations(run: Run, found: Sequence[Curve]) -> dict[str, dict[str, Measure]]:
    """Return what is drawn of operations, by their titles within those of groups."""
    kind, labels = run.kind, labels_in(run)
    if kind.by_operation:
        return {label: {one.heading: one for one in operation_measures(kind, label)} for label in labels}
    by_name = {name: {label: latency_of(kind, label, name) for label in labels} for name in ("p99", "p50")}
    # Panels are compared with one another, so all have the same percentile: one that is known at most points.
    known = {name: [_points_with(one, found) for one in by_name[name].values()] for name in by_name}
    name = "p99" if all(2 * p99 > p50 for p99, p50 in zip(*known.values(), strict=True)) else "p50"
    slowest = sorted(labels, key=lambda label: _greatest(by_name[name][label], found), reverse=True)
    drawn = {label: by_name[name][label] for label in slowest[:MOST_REQUESTS]}
    return {f"{LATENCY_TITLES[name]} of the latency, ms": drawn}


def _points_with(measure: Measure, found: Sequence[Curve]) -> int:
    return sum(at.estimate(measure) is not None for curve in found for at in curve.points)


def _greatest(measure: Measure, found: Sequence[Curve]) -> float:
    estimates = (at.estimate(measure) for curve in found for at in curve.points)
    return max((one.value for one in estimates if one is not None), default=0.0)


def _main_latency(run: Run, overlay: Overlay) -> str:
    """Return the name of the latency by which the study's question is answered, or else the p99."""
    limits = overlay.objective.limits if overlay.objective else ()
    limited = [
        LATENCY_FIELDS[limit.measure]
        for limit in limits
        if limit.measure in LATENCY_FIELDS and limit.operation is None
    ]
    asked = next(iter(limited), run.default_measure)
    return asked if asked in LATENCY_TITLES else "p99"


def _figures(
    titled: Mapping[str, Measure],
    shown: Slice,
    found: Sequence[Curve],
    looks: Mapping[str, Appearance],
    overlay: Overlay = NOTHING,
) -> dict[str, Figure]:
    """Return the figures of measures by their titles, without those that nothing was measured of."""
    drawn = {
        title: measure_figure(measure, shown, found, looks, overlay) for title, measure in titled.items()
    }
    return {title: figure for title, figure in drawn.items() if figure is not None}


def _ceiling(ceiling: Ceiling | None, results: Sequence[LoadResult]) -> CeilingCurve | None:
    """Return the ceiling that all these loads have in common, if there is one.

    Over rates there is none: it is measured in a closed loop, over connections.
    """
    if ceiling is None:
        return None
    curves = [ceiling.curve_of(one) if one.load.model == "closed" else None for one in results]
    return curves[0] if curves and all(curve == curves[0] for curve in curves) else None


def _overlay(run: Run, shown: Slice, analysis: Analysis) -> Overlay:
    measured = [record.load for record in run.points if shown.fixed.items() <= record.point.items()]
    here = next(
        (one for one in analysis.shapes if one.part.key == shown.key and one.part.fixed == shown.fixed), None
    )
    reached = {one.server: one.capacity.load for one in here.shapes if one.capacity} if here else {}
    return Overlay(
        ceiling=_ceiling(run.run.ceiling, measured),
        objective=here.objective if here else None,
        capacities={server: estimate.value for server, estimate in reached.items() if estimate},
        findings=[
            one
            for one in analysis.findings
            # What only explains the server's own figures casts no doubt on a point.
            if one.weight != "explains"
            and not FINDINGS[one.code].of_machine
            and any(shown.fixed.items() <= point.items() for point in one.points)
        ],
    )


def bars(run: Run, found: SliceShapes, looks: Mapping[str, Appearance]) -> list[Figure]:
    """Return bars of what each server reaches, and of what that gives for a dollar where there are prices."""
    labels = {
        name: f"{name}, {server.machine.name}" if server.machine and server.machine.name != name else name
        for name, server in run.run.servers.items()
    }
    reached = {
        f"Greatest throughput, {run.kind.per_second}": {
            one.server: one.peak.value for one in found.shapes if one.peak
        },
        f"Capacity, {text.load_unit(found.part.key or '')}": {
            one.server: one.capacity.load for one in found.shapes if one.capacity and one.capacity.load
        },
        f"Million {run.kind.requests} per dollar": {
            one.server: scaled(one.cost.requests_per_usd, 1 / MILLION) for one in found.shapes if one.cost
        },
    }
    figures = (
        bar_figure(title, [Bar(name, labels[name], value) for name, value in values.items()], looks)
        for title, values in reached.items()
    )
    return [figure for figure in figures if figure is not None]


def distribution(run: Run, looks: Mapping[str, Appearance]) -> Distribution | None:
    """Return the distributions of latency at every point; ``None`` where no request was answered."""
    measured: dict[PointKey, dict[str, list[PointRecord]]] = {}
    for record in run.points:
        if is_usable(record):
            by_server = measured.setdefault(point_key(record.point), {})
            by_server.setdefault(record.server, []).append(record)
    by_point = []
    for point in run.sweep_points:
        at = measured.get(point_key(point), {})
        found = {
            server: latency_distribution(server, at[server]) for server in run.run.servers if server in at
        }
        by_point.append((text.point(point), {server: one for server, one in found.items() if one}))
    choices = {place: name for place, (name, found) in enumerate(by_point) if found}
    if not choices:
        return None
    chosen = list(choices)[len(choices) // 2]
    figure = distribution_figure(by_point, chosen, looks)
    density = density_figure(by_point, chosen, looks, run.kind)
    if len(choices) > 1:
        choices[ALL_POINTS] = "all points at once"
    has_pauses = any(one.pauses for _, found in by_point for one in found.values())
    return Distribution(figure, density, choices, chosen, has_pauses) if figure and density else None


def _loads(run: Run) -> dict[float, str]:
    return {load: units.setting(load) for part in slices(run.sweep_points)[:1] for load in part.values}


def _parts_with(figures: str) -> Callable[[Report], list[Part]]:
    """Return what finds the slices that have figures of one kind, by the name of their field."""
    return lambda report: [part for part in report.of(PARTS) if getattr(part, figures)]


LOADS: Section[dict[float, str]] = Section(
    "loads", "the loads to choose from", lambda report: _loads(report.run), {}
)
PARTS: Section[list[Part]] = Section(
    "parts", "the figures", lambda report: parts(report.run, report.analysis, report.looks), []
)
THROUGHPUT: Section[list[Part]] = Section(
    "throughput",
    "throughput and latency at other settings",
    lambda report: report.of(PARTS)[1:],
    [],
    page="throughput",
)
LATENCY: Section[list[Part]] = Section(
    "latency",
    "the figures of latency",
    lambda report: report.of(PARTS),
    [],
    page="latency",
    heading="Latency",
)
OPERATIONS: Section[list[Part]] = Section(
    "operations", "the figures of operations", _parts_with("operations"), []
)
MESSAGES: Section[list[Part]] = Section(
    "messages",
    "the figures of messages",
    _parts_with("messages"),
    [],
    page="messages",
    heading="Messages",
)
LOADING_RECORDS: Section[list[Part]] = Section(
    "loading",
    "the figures of loading",
    _parts_with("loading"),
    [],
    page="loading",
    heading="Loading the records",
)
BOTH: Section[list[Part]] = Section(
    "both",
    "throughput and latency together",
    _parts_with("throughput_latency"),
    [],
    page="throughput_latency",
)
ERRORS: Section[list[Part]] = Section(
    "errors",
    "the figures of errors",
    _parts_with("errors"),
    [],
    page="errors",
    heading="Errors",
)
RESOURCES: Section[list[Part]] = Section(
    "resources",
    "the figures of resources",
    lambda report: report.of(PARTS) if report.of(CAVEATS) or _parts_with("resources")(report) else [],
    [],
    page="resources",
    heading="CPU and memory of the server",
)
DISTRIBUTION: Section[Distribution | None] = Section(
    "distribution",
    "the distribution of latencies",
    lambda report: distribution(report.run, report.looks),
    None,
    page="distribution",
    heading="Distribution of latency",
)
