"""The page of a server: versions over time, settings side by side, its cost at little load, all results."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadcurve import units
from loadcurve.report import text
from loadcurve.report.appearance import Appearance, appearances
from loadcurve.report.arms import options_in_words
from loadcurve.report.site.bars import Bars, bars
from loadcurve.report.site.chart import Chart
from loadcurve.report.site.filters import Filter, filter_of, platform_of
from loadcurve.report.site.lists import headings, moment_of, over_time, rows_of
from loadcurve.report.site.values import AT_LOWEST_TITLES, TITLES, cell, heading
from loadcurve.result.site_index import AT_LOWEST, HEADLINES, AtPoint, IndexedRun, IndexedServer

COLUMNS_MAX = 8
"""A table of settings has at most this many columns, of the newest runs."""
STUDIES_SHOWN_MAX = 4
RESULTS_MAX = 200
"""A page lists this many results and takes settings from them, the newest; the pages of studies have all."""
COURSES_MAX, RUNS_OVER_TIME_MAX = 8, 40
"""So many studies are drawn over time, those that were measured last, each with its newest runs."""
RUNS_OVER_TIME_LEAST = 2
FIXED_RATE = "open"
"""The model of a load at a fixed rate."""

Result = tuple[IndexedRun, IndexedServer]
"""What a run has of the server."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the server, and when it was measured."""

    words: str
    first: str
    last: str
    results: int


@dataclass(frozen=True, slots=True)
class Course:
    """The same load on the same machine in several runs."""

    title: str
    machine: str
    lines: tuple[tuple[str, Appearance], ...]
    """The names of the server in these runs, with how each is drawn."""
    charts: list[Chart]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings side by side."""

    title: str
    columns: tuple[str, ...]
    differing: tuple[tuple[str, tuple[str, ...]], ...]
    """The name of each setting that is not the same in all columns, with its values."""
    common: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    """Of columns that are of one run: each measure with its cells."""
    at: tuple[str, ...] = ()
    """Of each of these columns, the point of the figures."""


def server_values(slug: str, runs: Sequence[IndexedRun]) -> dict[str, Any]:
    """Return what the template of a server's page is given; ``runs`` are those with it, the oldest first."""
    results = [(run, one) for run in runs for one in run.servers if one.slug == slug]
    listed = results[-RESULTS_MAX:]
    newest = list(_newest(results))
    protocols = filter_of("protocol", "Protocol", (one.protocol for _, one in results))
    platforms = filter_of("platform", "Platform", (platform_of(run.machine) for run, _ in results))
    versions = filter_of("version", "Version", (one.version for _, one in results))
    of_runs: dict[str, list[IndexedServer]] = {}
    for run, server in listed:
        of_runs.setdefault(run.place, []).append(server)
    rows = [row for run in reversed(runs) if run.place in of_runs for row in rows_of(run, of_runs[run.place])]
    return {
        "title": results[-1][1].title,
        "slug": slug,
        "versions": _versions(results),
        "courses": list(_courses(runs, slug)),
        "settings": list(_settings(listed, newest)),
        "lowest": _lowest(newest, protocols, platforms, versions),
        "at_rates": any(run.model == FIXED_RATE for run, _ in newest),
        "filters": [protocols, platforms, versions],
        "rows": [(row, _attributes(row.run, row.server, protocols, platforms, versions)) for row in rows],
        "headings": headings(),
        "moment": moment_of,
        "count": units.plural(len(results), "result"),
        "listed": None if len(results) <= RESULTS_MAX else RESULTS_MAX,
    }


def _attributes(
    run: IndexedRun, server: IndexedServer, protocols: Filter, platforms: Filter, versions: Filter
) -> dict[str, str]:
    """Return the attributes by which a row is filtered."""
    return {
        "protocol": protocols.tags(server.protocol),
        "platform": platforms.tags(platform_of(run.machine)),
        "version": versions.tags(server.version),
    }


def _newest(results: Iterable[Result]) -> Iterator[Result]:
    """Yield the results of the newest run of each study on each machine, the newest first."""
    by_study: dict[tuple[str, str], list[Result]] = {}
    for run, server in results:
        key = run.subject, run.machine.slug
        known = by_study.setdefault(key, [])
        if known and known[0][0].place != run.place:
            known.clear()
        known.append((run, server))
    for found in sorted(by_study.values(), key=lambda one: one[0][0].started_at, reverse=True):
        yield from found


def _versions(results: Sequence[Result]) -> list[Version]:
    """Return the versions, that which was measured last before the others."""
    moments: dict[str, list[str]] = {}
    for run, server in results:
        if server.version is not None:
            moments.setdefault(server.version, []).append(run.started_at)
    found = sorted(moments.items(), key=lambda item: item[1][-1], reverse=True)
    return [Version(name, text.moment(at[0]), text.moment(at[-1]), len(at)) for name, at in found]


def _courses(runs: Sequence[IndexedRun], slug: str) -> Iterator[Course]:
    """Yield the figures over runs of a study with the same load and content on the same machine."""
    alike: dict[tuple[str, str, str], list[IndexedRun]] = {}
    for run in runs:
        if run.machine.fingerprint is not None:
            # Two studies may have the same load, with another setting of the server, such as TLS.
            alike.setdefault((run.subject, run.conditions, run.machine.fingerprint), []).append(run)
    newest = sorted(alike.values(), key=lambda found: found[-1].started_at, reverse=True)
    drawn = [found[-RUNS_OVER_TIME_MAX:] for found in newest if len(found) >= RUNS_OVER_TIME_LEAST]
    for found in drawn[:COURSES_MAX]:
        of_runs = [[one for one in run.servers if one.slug == slug] for run in found]
        names = tuple(dict.fromkeys(one.name for servers in of_runs for one in servers))
        places = [
            f"{run.started_at[:10]}\n{' / '.join(dict.fromkeys(one.version or '' for one in servers))}"
            for run, servers in zip(found, of_runs, strict=True)
        ]
        charts = over_time(found, names, places, slug=slug, least=RUNS_OVER_TIME_LEAST)
        if charts:
            looks = appearances(names)
            lines = tuple((name, looks[name]) for name in names)
            yield Course(found[-1].title, found[-1].machine.name, lines, charts)


def _lowest(newest: Sequence[Result], protocols: Filter, platforms: Filter, versions: Filter) -> list[Bars]:
    """Return what the server needs at the lowest load of its newest runs, a row for each.

    Of those at fixed rates, where there are any: a closed loop keeps a single connection busy.
    """
    at_rates = [one for one in newest if one[0].model == FIXED_RATE]
    shown = [(run, server) for run, server in at_rates or newest if server.lowest is not None]
    machines = {run.machine.slug for run, _ in shown}
    rows: list[tuple[str, dict[str, str], AtPoint]] = []
    for run, server in shown:
        if server.lowest is not None:
            parts = [run.title, text.point(server.lowest.point)]
            parts += [server.name] if sum(one.place == run.place for one, _ in shown) > 1 else []
            parts += [run.machine.name] if len(machines) > 1 else []
            own = _attributes(run, server, protocols, platforms, versions)
            rows.append((", ".join(parts), own, server.lowest))
    found = (
        bars(name, *AT_LOWEST_TITLES[name], ((words, own, at.figures.get(name)) for words, own, at in rows))
        for name in AT_LOWEST
    )
    return [one for one in found if one is not None]


def _settings(results: Sequence[Result], newest: Sequence[Result]) -> Iterator[Settings]:
    """Yield the servers of one run side by side with their figures, and the settings that runs differ by."""
    by_run: dict[str, list[Result]] = {}
    for run, server in newest:
        by_run.setdefault(run.place, []).append((run, server))
    for found in by_run.values():
        if len(found) > 1:
            names = [server.name for _, server in found[:COLUMNS_MAX]]
            yield _side_by_side(
                f"In one run: {found[0][0].title}", names, found[:COLUMNS_MAX], has_figures=True
            )
    distinct: dict[tuple[tuple[str, str], ...], list[Result]] = {}
    for run, server in reversed(results):
        distinct.setdefault(tuple(_of_server(run, server).items()), []).append((run, server))
    of_runs = list(distinct.values())[:COLUMNS_MAX]
    if len({run.place for run, _ in results}) > 1 or len(results) == 1:
        titles = [_titles(found) for found in of_runs]
        yield _side_by_side("In all runs", titles, [found[0] for found in of_runs], has_figures=False)


def _titles(found: Sequence[Result]) -> str:
    """Return what had the same settings: studies, and versions."""
    studies = list(dict.fromkeys(run.title for run, _ in found))
    versions = list(dict.fromkeys(server.version for _, server in reversed(found) if server.version))
    shown = [*studies[:STUDIES_SHOWN_MAX], *(["and others"] if len(studies) > STUDIES_SHOWN_MAX else [])]
    return f"{'; '.join(shown)} ({', '.join(versions)})" if versions else "; ".join(shown)


def _of_server(run: IndexedRun, server: IndexedServer) -> dict[str, str]:
    """Return the settings by readable names, and the options in which loads of the run differ.

    What the catalogue calls the server is no setting.
    """
    own = server.settings.get("settings")
    others = {
        key: value for key, value in server.settings.items() if key not in {"settings", "catalog_entry"}
    }
    settings = dict(text.flattened({**(own if isinstance(own, dict) else {}), **others}))
    options = options_in_words(run.model, server.load, run.load)
    return settings | {f"load: {key}": value for key, value in options.items()}


def _side_by_side(
    title: str, columns: Sequence[str], found: Sequence[Result], *, has_figures: bool
) -> Settings:
    settings = [_of_server(run, server) for run, server in found]
    names = list(dict.fromkeys(name for one in settings for name in one))
    rows = [(name, tuple(one.get(name, units.ABSENT) for one in settings)) for name in names]
    figures = [
        (
            heading(name, *TITLES[name]),
            tuple(cell(server.figures.get(name), name, TITLES[name][1]) for _, server in found),
        )
        for name in (HEADLINES if has_figures else ())
    ]
    return Settings(
        title,
        tuple(columns),
        tuple((name, values) for name, values in rows if len(set(values)) > 1),
        tuple((name, values[0]) for name, values in rows if len(set(values)) == 1),
        tuple(figures),
        tuple(text.point(server.point) if server.point else units.ABSENT for _, server in found)
        if has_figures
        else (),
    )
