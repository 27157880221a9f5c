"""The page of a published run: rankings, curves, every figure, and any two servers side by side."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from loadcurve import units
from loadcurve.report import text
from loadcurve.report.appearance import Appearance, appearances
from loadcurve.report.arms import caution_of_loads, options_in_words, own_load_in_words
from loadcurve.report.findings import CAUSE_TITLES, points_and_trials
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.ranking_words import places_words
from loadcurve.report.site.bars import Bars, bars
from loadcurve.report.site.chart import Chart, Line, Mark, chart
from loadcurve.report.site.filters import filter_of
from loadcurve.report.site.prices import COST, Price, PriceTable, price_of
from loadcurve.report.site.values import AT_LOWEST_TITLES, Interval, cell, heading, shown_unit
from loadcurve.result.measures import point_key
from loadcurve.result.publication import (
    LATENCY,
    PublishedFigure,
    PublishedFinding,
    PublishedMeasure,
    PublishedPoint,
    PublishedRanking,
    PublishedRun,
    PublishedServer,
)
from loadcurve.result.site_index import AT_LOWEST, lowest_load, lowest_of

CHARTS = (
    ("throughput_rps", True),
    ("latency_p99_s", False),
    ("server_cpu_per_request_s", True),
    ("server_memory_mean_bytes", True),
)
"""The measures that have a chart, and whether its axis starts at zero."""
COLUMNS = (
    *("throughput_rps", "latency_p50_s", "latency_p99_s"),
    *("server_cpu_cpus", "server_cpu_per_request_s", "server_memory_mean_bytes"),
)
"""The measures of the table of all points."""
EMPTY: Mapping[str, str] = MappingProxyType({})
THROUGHPUT, PROCESSOR = "throughput_rps", "server_cpu_per_request_s"
DRAWN_MAX = 12
"""A chart has at most the curves of this many servers, those with the highest throughput."""


FigureOf = Callable[[PublishedPoint | None], Interval | None]
"""What a chart draws of a server at a point."""


@dataclass(frozen=True, slots=True)
class Group:
    """Servers of a ranking that share a place, as far as can be told."""

    places: str
    """Such as ``1`` or ``2 to 4``."""
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeasureRanking:
    """A ranking by one measure, in groups."""

    title: str
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class WorkRankings:
    """The rankings of servers that were asked for the same."""

    words: str
    """What they were asked for; nothing where it is the same of all servers."""
    caution: str | None
    """What must be known of the rankings where servers had different loads."""
    rankings: tuple[MeasureRanking, ...]


@dataclass(frozen=True, slots=True)
class SeenFinding:
    """A finding in words."""

    weight: str
    server: str
    where: str
    """At which points, and in how many trials; nothing where the file does not have it."""
    seen: str
    cause: str
    """Whether it is likely only, where that is known, and the cause."""


def result_values(
    run: PublishedRun,
    sha256: str,
    prices: PriceTable | None = None,
    languages: Mapping[str, str] = EMPTY,
) -> dict[str, Any]:
    """Return what the template of a run's page is given; ``languages`` are those of servers by slug."""
    by_language = filter_of("language", "Language", (languages.get(one.slug) for one in run.servers))
    tags = {one.name: by_language.tags(languages.get(one.slug)) for one in run.servers}
    price = price_of(run, prices)
    looks = appearances(one.name for one in run.servers)
    measures = {one.name: one for one in run.measures}
    columns = [measures[name] for name in COLUMNS if name in measures]
    drawn = _drawn(run)
    return {
        "run": run,
        "sha256": sha256,
        "moment": text.moment(run.started_at),
        "looks": looks,
        "works": works_of(run),
        "alone": dict(_alone(run)),
        "points": len({point_key(one.point) for one in run.points}),
        "charts": _charts(run, drawn, looks, measures, price=price, tags=tags),
        "filters": [by_language],
        "tags": tags,
        "left_out": list(_left_out(run)),
        "late": _late(run),
        "lowest": _lowest(run, tags),
        "not_at_lowest": [one.name for one in run.servers if lowest_of(run, one.name) is None],
        "lowest_point": text.point(lowest_load(run) or {}),
        "price": price,
        "drawn": drawn,
        "measured": _measured(run),
        "headings": [
            *(heading(one.name, one.title, one.unit) for one in columns),
            *([price.heading] if price else []),
        ],
        "rows": [_row(one, columns, price) for one in run.points],
        "compared": _compared(run, columns),
        "findings": [_finding(one) for one in run.findings],
        "settings": {
            server.name: "; ".join(f"{key}: {value}" for key, value in _settings(run, server))
            for server in run.servers
        },
        "load": [(key, value) for key, value in text.flattened(run.load)],
        "repeat": _repeat(run),
        "rerun": {server.name: _rerun(run, server.name) for server in run.servers},
        "noise": None if run.noise is None else units.percent(run.noise),
        "memory": None if run.machine.memory_bytes is None else units.memory_limit(run.machine.memory_bytes),
    }


def works_of(run: PublishedRun) -> list[WorkRankings]:
    """Return the rankings of each work of a run that has any."""
    found = [
        WorkRankings(
            own_load_in_words(run.load.get("model"), work.options) if work.options else "",
            caution_of_loads({name: run.own_load(name) for name in _ranked(run, place)}),
            tuple(_ranking(run, one) for one in run.rankings if one.work == place),
        )
        for place, work in enumerate(run.works)
    ]
    return [one for one in found if one.rankings]


def _alone(run: PublishedRun) -> Iterator[tuple[str, str]]:
    """Yield the servers that alone were asked for something, with what that is; not those with a reason."""
    unranked = {one.server for one in run.unranked}
    for work in run.works:
        if work.options and len(work.servers) == 1 and work.servers[0] not in unranked:
            yield work.servers[0], own_load_in_words(run.load.get("model"), work.options)


def _ranked(run: PublishedRun, work: int) -> list[str]:
    """Return the servers that any ranking of a work has, in the order of the study."""
    ranked = {one.server for ranking in run.rankings if ranking.work == work for one in ranking.ranks}
    return [server.name for server in run.servers if server.name in ranked]


def _ranking(run: PublishedRun, ranking: PublishedRanking) -> MeasureRanking:
    title = next(one.title for one in run.measures if one.name == ranking.measure)
    return MeasureRanking(title, groups_of((one.server, (one.best, one.worst)) for one in ranking.ranks))


def groups_of(ranked: Iterable[tuple[str, tuple[int, int]]]) -> tuple[Group, ...]:
    """Return servers by the places that cannot be ruled out, in the order in which these first appear."""
    groups: dict[tuple[int, int], list[str]] = {}
    for server, places in ranked:
        groups.setdefault(places, []).append(server)
    return tuple(Group(places_words(*places), tuple(servers)) for places, servers in groups.items())


def _left_out(run: PublishedRun) -> Iterator[tuple[str, str]]:
    """Yield the ranked servers that have no usable trial at some points, with these in words."""
    ranked = {one.server for ranking in run.rankings for one in ranking.ranks}
    points = {point_key(one.point): one.point for one in run.points}
    usable = {
        (one.server, point_key(one.point))
        for one in run.points
        if any(verdict != "invalid" for verdict in one.verdicts)
    }
    for server in (one.name for one in run.servers if one.name in ranked):
        lacking = [point for key, point in points.items() if (server, key) not in usable]
        if lacking:
            yield server, points_in_words(lacking)


def _late(run: PublishedRun) -> list[tuple[str, str]]:
    """Return the servers with trials that rankings by latency leave out, and where, in words."""
    found: dict[str, list[PublishedPoint]] = {}
    for one in run.points:
        if one.late_blocks:
            found.setdefault(one.server, []).append(one)
    return [(server, _where_late(at)) for server, at in found.items()]


def _where_late(at: Sequence[PublishedPoint]) -> str:
    late = {block for one in at for block in one.late_blocks}
    measured = {block for one in at for block in one.blocks}
    return points_and_trials([one.point for one in at], len(late), len(measured))


def _measured(run: PublishedRun) -> int:
    """Return how many servers have a throughput that can be used."""
    return len(
        {one.server for one in run.points if (at := _figure(one, THROUGHPUT)) and at.value is not None}
    )


def _drawn(run: PublishedRun) -> list[str]:
    """Return the servers whose curves are drawn, in the order of the study."""
    peaks: dict[str, float] = {}
    for one in run.points:
        figure = one.figures.get(THROUGHPUT)
        if figure is not None and figure.value is not None:
            peaks[one.server] = max(peaks.get(one.server, 0.0), figure.value)
    fastest = set(sorted(peaks, key=lambda name: -peaks[name])[:DRAWN_MAX])
    return [server.name for server in run.servers if server.name in fastest]


def _charts(
    run: PublishedRun,
    drawn: Sequence[str],
    looks: dict[str, Appearance],
    measures: dict[str, PublishedMeasure],
    *,
    price: Price | None,
    tags: Mapping[str, str],
) -> list[Chart]:
    points = list({point_key(one.point): one.point for one in run.points}.values())
    keys = list(dict.fromkeys(key for point in points for key in point))
    places = [text.point_values(point, keys) for point in points]
    by_place = {(one.server, point_key(one.point)): one for one in run.points}
    at = [point_key(point) for point in points]
    found: list[Chart] = []

    def add(title: str, figure_of: FigureOf, factor: float = 1.0, *, from_zero: bool = True) -> None:
        lines = [
            Line(
                server,
                looks[server],
                tuple(Mark.of(figure_of(by_place.get((server, key))), factor) for key in at),
                tags[server],
            )
            for server in drawn
        ]
        drawing = chart(title, places, text.keys_title(keys), lines, from_zero=from_zero)
        found.extend([drawing] if drawing is not None else [])

    for name, from_zero in CHARTS:
        if name in measures:
            measure = measures[name]
            _, factor = shown_unit(name, measure.unit)
            add(
                heading(name, measure.title, measure.unit),
                partial(_figure, measure=name),
                factor,
                from_zero=from_zero,
            )
    if price is not None:
        add(price.heading, partial(_cost, price=price))
    return found


def _lowest(run: PublishedRun, tags: Mapping[str, str]) -> list[Bars]:
    """Return what each server needs at the lowest load; nothing of a run with a single point."""
    if len({point_key(one.point) for one in run.points}) == 1:
        return []
    lowest = [(one.name, {"language": tags[one.name]}, lowest_of(run, one.name)) for one in run.servers]
    found = (
        bars(
            name,
            *AT_LOWEST_TITLES[name],
            ((words, own, None if at is None else at.figures.get(name)) for words, own, at in lowest),
        )
        for name in AT_LOWEST
    )
    return [one for one in found if one is not None]


def _cost(point: PublishedPoint | None, price: Price) -> Interval | None:
    return price.cost(_figure(point, PROCESSOR))


def _figure(point: PublishedPoint | None, measure: str) -> PublishedFigure | None:
    return None if point is None else point.figures.get(measure)


def _row(point: PublishedPoint, columns: Sequence[PublishedMeasure], price: Price | None) -> dict[str, Any]:
    words, status = text.verdict(point.verdicts)
    return {
        "server": point.server,
        "point": text.point(point.point),
        "used": sum(one != "invalid" for one in point.verdicts),
        "verdict": words,
        "status": status,
        "reason": point.reason,
        "cells": [
            *(cell(point.figures.get(one.name), one.name, one.unit) for one in columns),
            *([cell(_cost(point, price), COST, "")] if price else []),
        ],
    }


def _finding(finding: PublishedFinding) -> SeenFinding:
    where = ""
    if finding.points and finding.trials is not None and finding.trials_measured is not None:
        where = points_and_trials(finding.points, finding.trials, finding.trials_measured)
    cause = finding.cause
    if finding.certainty is not None:
        cause = f"{CAUSE_TITLES[finding.certainty]}: {cause}"
    return SeenFinding(finding.weight, finding.server, where, finding.seen, cause)


def _compared(run: PublishedRun, columns: Sequence[PublishedMeasure]) -> dict[str, Any]:
    """Return every usable trial's figures, for the comparison of two servers by pairs within blocks."""
    ranked = [one.server for one in run.rankings[0].ranks] if run.rankings else []
    rows: dict[str, dict[str, dict[int, list[float | None]]]] = {}
    for one in run.points:
        of_point = rows.setdefault(one.server, {}).setdefault(text.point(one.point), {})
        for place, (block, verdict) in enumerate(zip(one.blocks, one.verdicts, strict=True)):
            if verdict != "invalid":
                of_point[block] = [_compared_value(one, place, measure.name) for measure in columns]
    return {
        "measures": [one.title for one in columns],
        "better": [one.better for one in columns],
        "unranked": {one.server: one.reason for one in run.unranked},
        "loads": {name: run.own_load(name) for name in rows if run.own_load(name)},
        "points": list(dict.fromkeys(text.point(one.point) for one in run.points)),
        "order": [*ranked, *(name for name in rows if name not in ranked)],
        "servers": rows,
    }


def _compared_value(point: PublishedPoint, place: int, measure: str) -> float | None:
    """Return the figure of a trial; nothing of a latency that the generator's delay is part of."""
    figure = point.figures.get(measure)
    is_late = measure.startswith(LATENCY) and point.blocks[place] in point.late_blocks
    return None if figure is None or is_late else figure.values[place]


def _settings(run: PublishedRun, server: PublishedServer) -> Iterator[tuple[str, str]]:
    """Yield the settings of a server, and the options that its load has in place of the run's."""
    yield from text.flattened(server.settings)
    own = run.own_load(server.name)
    for key, value in options_in_words(run.load.get("model"), own, own).items():
        yield f"load: {key}", value


def _repeat(run: PublishedRun) -> str:
    """Return the command that measures the study with the options and the order of this run."""
    seed = [] if run.seed is None else ["--seed", str(run.seed)]
    return shlex.join(["loadcurve", "run", "study.toml", *seed, *run.options])


def _rerun(run: PublishedRun, server: str) -> str:
    file = run.place.rpartition("/")[2]
    return shlex.join(["loadcurve", "rerun", file, "--row", server])
