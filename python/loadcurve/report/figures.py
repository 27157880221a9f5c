"""The figures of a run, gathered for the page and for pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.bars import Bar, bar_figure
from loadcurve.report.charts.both import throughput_latency_figure
from loadcurve.report.charts.distribution import ALL_POINTS, density_figure, distribution_figure
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.overlay import Overlay
from loadcurve.report.charts.sweep import (
    RESOURCE_TITLES,
    errors_figure,
    latency_figure,
    loading_figure,
    operation_figures,
    resource_figure,
    throughput_figure,
)
from loadcurve.report.distribution import latency_distribution
from loadcurve.result.folder import Run
from loadcurve.stats.curves import Curve, LatencyStatistic
from loadcurve.stats.operations import kinds_of
from loadcurve.stats.price import MILLION, scaled
from loadcurve.stats.shape import SliceShapes
from loadcurve.stats.sweep import Slice, slices

SHOWN_STATISTICS: dict[LatencyStatistic, str] = {
    "p50": "Median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "max": "Longest",
}


@dataclass(frozen=True, slots=True)
class Part:
    """The figures of one slice of the sweep; ``heading`` is ``None`` where there is only one slice."""

    heading: str | None
    throughput: Figure
    latency: dict[str, Figure]
    resources: dict[str, Figure]
    errors: Figure | None
    throughput_latency: Figure | None
    """Throughput and latency on one figure with two axes."""
    operations: dict[str, dict[str, Figure]]
    """Of a database: the figures of each kind of operation, by their titles."""
    loading: Figure | None
    """Of a database: how fast its records were loaded."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The latency distribution, with the points to choose from by their place in the figures' data."""

    figure: Figure
    density: Figure
    choices: dict[int, str]
    chosen: int


def parts(
    run: Run,
    found: list[Curve],
    looks: Mapping[str, Appearance],
    odd: Sequence[Finding],
    shaped: Sequence[SliceShapes],
) -> list[Part]:
    """Return the curves of every slice of the sweep in which anything was measured."""
    shown = slices(run.sweep_points)
    resource_titles = {resource: run.words(title) for resource, title in RESOURCE_TITLES.items()}
    found_parts = []
    for one in shown:
        overlay = _overlay(run, one, odd, shaped)
        throughput = throughput_figure(one, found, looks, overlay, run.words)
        if throughput is None:
            continue
        latency = {
            title: figure
            for statistic, title in SHOWN_STATISTICS.items()
            if (figure := latency_figure(statistic, one, found, looks, overlay))
        }
        resources = {
            title: figure
            for resource, title in resource_titles.items()
            if (figure := resource_figure(resource, one, found, looks, run.words))
        }
        heading = text.point(one.fixed) if len(shown) > 1 else None
        errors = errors_figure(one, found, looks, run.words)
        both = throughput_latency_figure(one, found, looks, run.words)
        operations = {kind: operation_figures(kind, one, found, looks) for kind in kinds_of(run)}
        loading = loading_figure(one, found, looks)
        found_parts.append(Part(heading, throughput, latency, resources, errors, both, operations, loading))
    return found_parts


def _overlay(run: Run, shown: Slice, odd: Sequence[Finding], shaped: Sequence[SliceShapes]) -> Overlay:
    load = run.run.study.get("load", {})
    has_ceiling = load.get("model") == "closed" and load.get("pipeline") in (None, 1)
    here = next((one for one in shaped if one.part.key == shown.key and one.part.fixed == shown.fixed), None)
    reached = {one.server: one.capacity.load for one in here.shapes if one.capacity} if here else {}
    return Overlay(
        ceiling=run.run.ceiling if has_ceiling else None,
        objective=here.objective if here else None,
        capacities={server: estimate.value for server, estimate in reached.items() if estimate},
        findings=[one for one in odd if any(shown.fixed.items() <= point.items() for point in one.points)],
    )


def bars(run: Run, found: SliceShapes, looks: Mapping[str, Appearance]) -> list[Figure]:
    """Return bars of what each server reaches, and of what that gives for a dollar where there are prices."""
    labels = {
        name: f"{name}, {server.machine.name}" if server.machine and server.machine.name != name else name
        for name, server in run.run.servers.items()
    }
    reached = {
        "Greatest throughput, requests/s": {one.server: one.peak.value for one in found.shapes if one.peak},
        f"Capacity, {text.load_unit(found.part.key or '')}": {
            one.server: one.capacity.load for one in found.shapes if one.capacity and one.capacity.load
        },
        "Million requests for a dollar": {
            one.server: scaled(one.cost.requests_per_usd, 1 / MILLION) for one in found.shapes if one.cost
        },
    }
    figures = (
        bar_figure(
            run.words(title), [Bar(name, labels[name], value) for name, value in values.items()], looks
        )
        for title, values in reached.items()
    )
    return [figure for figure in figures if figure is not None]


def distribution(run: Run, found: Sequence[Curve], looks: Mapping[str, Appearance]) -> Distribution | None:
    """Return the distributions of latency at every point; ``None`` where no request was answered."""
    by_point = []
    for place, point in enumerate(run.sweep_points):
        by_server = {curve.server: latency_distribution(curve.server, curve.points[place]) for curve in found}
        by_point.append((text.point(point), {server: one for server, one in by_server.items() if one}))
    choices = {place: name for place, (name, measured) in enumerate(by_point) if measured}
    if not choices:
        return None
    chosen = list(choices)[len(choices) // 2]
    figure = distribution_figure(by_point, chosen, looks)
    density = density_figure(by_point, chosen, looks, run.words)
    if len(choices) > 1:
        choices[ALL_POINTS] = "all points at once"
    return Distribution(figure, density, choices, chosen) if figure and density else None
