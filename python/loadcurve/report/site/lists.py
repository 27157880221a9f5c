"""The pages that list published runs: the front page, and those of a study, a server and a machine."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from loadcurve import units
from loadcurve.report import text
from loadcurve.report.appearance import Appearance, appearances
from loadcurve.report.arms import caution_of_loads
from loadcurve.report.ranking_words import places_words
from loadcurve.report.site.chart import Chart, Line, Mark, chart
from loadcurve.report.site.filters import Filter, filter_of, platform_of
from loadcurve.report.site.profiles import ANSWERING, profiles_of
from loadcurve.report.site.result_page import Group, groups_of
from loadcurve.report.site.values import TITLES, cell, heading, shown_unit
from loadcurve.result.publication import PublishedMachine
from loadcurve.result.site_index import HEADLINES, Headline, IndexedRun, IndexedServer, SiteIndex

COMPARED_RUNS_MAX = 200
"""On the page of a study the rows of the newest runs can be compared."""
FINGERPRINT_CHARACTERS = 16
OVER_TIME_LEAST = 3
"""Runs of one server under the same conditions that make a curve over time."""


@dataclass(frozen=True, slots=True)
class Row:
    """A server of a run, in a list."""

    run: IndexedRun
    server: IndexedServer
    point: str
    cells: list[tuple[str, str, str]]
    rank: str
    """Its places by the measure that answers the study, or nothing."""


@dataclass(frozen=True, slots=True)
class OfConditions:
    """The runs of a study that put the same load on the same content, on one machine."""

    machine: str
    newest: IndexedRun
    groups: tuple[Group, ...]
    """The newest run's ranking by the measure that answers its study."""
    answer: str
    """The title of that measure."""
    caution: str | None
    """What must be known of it where servers had different loads."""
    rows: list[Row]
    older: list[IndexedRun]
    lines: tuple[tuple[str, Appearance], ...]
    """The servers of the charts, with how each is drawn."""
    charts: list[Chart]

    def tagged(self, tags: Mapping[str, str]) -> list[tuple[Row, dict[str, str]]]:
        """Return the rows, each with the attribute by which it is filtered."""
        return [(row, {"language": tags[row.server.name]}) for row in self.rows]


def moment_of(run: IndexedRun) -> str:
    """Return what a run is called in lists: when it started, and that it was interrupted."""
    return text.moment(run.started_at) + ("" if run.complete else ", interrupted")


def headings() -> list[str]:
    """Return what is over the columns of all lists of servers."""
    return [heading(name, *TITLES[name]) for name in HEADLINES]


def answering(run: IndexedRun) -> str:
    """Return the measure that answers a run's study; throughput where the run is not ranked by it."""
    is_ranked = run.ranked_by in ANSWERING and any(run.ranked_by in one.ranks for one in run.servers)
    return run.ranked_by if is_ranked else HEADLINES[0]


def rows_of(run: IndexedRun, servers: Iterable[IndexedServer] | None = None) -> list[Row]:
    """Return the rows of a run's servers, the best first, and those in no ranking last."""
    measure = answering(run)
    return [
        Row(
            run,
            server,
            "" if server.point is None else text.point(server.point),
            [cell(server.figures.get(name), name, TITLES[name][1]) for name in HEADLINES],
            places_words(*server.ranks[measure]) if measure in server.ranks else "",
        )
        for server in _in_order(run, run.servers if servers is None else servers)
    ]


def _in_order(run: IndexedRun, servers: Iterable[IndexedServer]) -> list[IndexedServer]:
    """Return servers of a run by throughput, or by their places where another measure answers its study."""
    measure = answering(run)

    def order(server: IndexedServer) -> tuple[bool, tuple[float, float], float, str]:
        places = (0, 0) if measure == HEADLINES[0] else server.ranks.get(measure, (math.inf, math.inf))
        figure = server.figures.get(HEADLINES[0])
        return server.unranked is not None, places, -figure.value if figure else 0.0, server.name

    return sorted(servers, key=order)


def front_values(index: SiteIndex, languages: Mapping[str, str]) -> dict[str, Any]:
    """Return what the template of the front page is given."""
    protocols = filter_of("protocol", "Protocol", (one for run in index.listed for one in _protocols(run)))
    platforms = filter_of("platform", "Platform", (platform_of(run.machine) for run in index.listed))
    by_language = language_filter(index.listed, languages)
    studies: dict[str, list[IndexedRun]] = {}
    servers: dict[str, tuple[str, set[str], int]] = {}
    machines: dict[str, tuple[str, int]] = {}
    for run in index.listed:
        studies.setdefault(run.subject, []).append(run)
        machines[run.machine.slug] = (run.machine.name, machines.get(run.machine.slug, ("", 0))[1] + 1)
        for server in run.servers:
            _, versions, count = servers.get(server.slug, ("", set(), 0))
            versions |= {server.version} if server.version else set()
            # As many as its page has rows, those without a usable point too: a failure is a result.
            servers[server.slug] = (server.title, versions, count + 1)
    return {
        "studies": [
            {
                "subject": subject,
                "title": runs[-1].title,
                "question": runs[-1].question,
                "runs": units.plural(len(runs), "run"),
                "newest": moment_of(runs[-1]),
                "machines": sorted({run.machine.name for run in runs}),
                "protocol": protocols.tags(*(one for run in runs for one in _protocols(run))),
                "platform": platforms.tags(*(platform_of(run.machine) for run in runs)),
            }
            for subject, runs in sorted(studies.items())
        ],
        "servers": [
            {
                "slug": slug,
                "title": title,
                "versions": units.plural(len(versions), "version") if versions else "",
                "results": units.plural(count, "result"),
                "language": by_language.tags(languages.get(slug)),
            }
            for slug, (title, versions, count) in sorted(servers.items())
        ],
        "machines": [
            {
                "slug": slug,
                "name": name,
                "runs": units.plural(count, "run"),
                "platform": platforms.tags(
                    *(platform_of(run.machine) for run in index.listed if run.machine.slug == slug)
                ),
            }
            for slug, (name, count) in sorted(machines.items())
        ],
        "runs": len(index.listed),
        "profiles": profiles_of(_of_newest_machine(index)),
        "filters": [by_language, protocols, platforms],
        "tags": {slug: by_language.tags(languages.get(slug)) for slug in servers},
        "protocol": lambda run: protocols.tags(*_protocols(run)),
    }


def language_filter(runs: Sequence[IndexedRun], languages: Mapping[str, str]) -> Filter:
    """Return the choice among the languages of the servers of runs."""
    slugs = {server.slug for run in runs for server in run.servers}
    return filter_of("language", "Language", map(languages.get, slugs))


def _protocols(run: IndexedRun) -> list[str]:
    """Return what the loads of a run spoke, each once."""
    return list(dict.fromkeys(server.protocol for server in run.servers))


def _of_newest_machine(index: SiteIndex) -> list[IndexedRun]:
    """Return the runs of the machine that has the newest one."""
    return [run for run in index.listed if run.machine.slug == index.listed[-1].machine.slug]


def study_values(subject: str, runs: Sequence[IndexedRun], languages: Mapping[str, str]) -> dict[str, Any]:
    """Return what the template of a study's page is given; ``runs`` are its runs, the oldest first."""
    by_language = language_filter(runs, languages)
    platforms = filter_of("platform", "Platform", (platform_of(run.machine) for run in runs))
    by_conditions: dict[str, dict[str, list[IndexedRun]]] = {}
    for run in runs:
        on = by_conditions.setdefault(run.conditions, {})
        on.setdefault(run.machine.fingerprint or run.place, []).append(run)
    tags = {
        server.name: by_language.tags(languages.get(server.slug)) for run in runs for server in run.servers
    }
    return {
        "subject": subject,
        "title": runs[-1].title,
        "question": runs[-1].question,
        "count": units.plural(len(runs), "run"),
        "headings": headings(),
        "conditions": [
            [_of_conditions(of_machine, tags) for of_machine in on.values()]
            for on in sorted(by_conditions.values(), key=_newest_of, reverse=True)
        ],
        "compared": _compared(runs[-COMPARED_RUNS_MAX:]),
        "are_all_compared": len(runs) <= COMPARED_RUNS_MAX,
        "compared_max": COMPARED_RUNS_MAX,
        "filters": [by_language, platforms],
        "tags": tags,
        "platform": lambda run: platforms.tags(platform_of(run.machine)),
        "moment": moment_of,
    }


def _newest_of(on_machines: Mapping[str, Sequence[IndexedRun]]) -> str:
    """Return when the newest of the runs with the same load was started."""
    return max(runs[-1].started_at for runs in on_machines.values())


def names_of(runs: Sequence[IndexedRun]) -> list[str]:
    """Return the names of all servers of some runs, in the order in which they first appear."""
    return list(dict.fromkeys(server.name for run in runs for server in run.servers))


def _of_conditions(runs: Sequence[IndexedRun], tags: Mapping[str, str]) -> OfConditions:
    newest = runs[-1]
    # Places in different works are of different rankings.
    measure = answering(newest)
    ranked = [one for one in newest.servers if newest.works == 1 and measure in one.ranks]
    in_order = sorted(ranked, key=lambda one: one.ranks[measure])
    return OfConditions(
        machine=newest.machine.name,
        newest=newest,
        groups=groups_of((one.name, one.ranks[measure]) for one in in_order),
        answer=ANSWERING[measure][0],
        caution=caution_of_loads({one.name: one.load for one in ranked}),
        rows=rows_of(newest),
        older=list(reversed(runs[:-1])),
        lines=tuple(appearances(names_of(runs)).items()),
        charts=over_time(runs, tags=tags),
    )


def over_time(
    runs: Sequence[IndexedRun],
    names: Sequence[str] = (),
    places: Sequence[str] = (),
    *,
    slug: str | None = None,
    least: int = OVER_TIME_LEAST,
    tags: Mapping[str, str] = MappingProxyType({}),
) -> list[Chart]:
    """Return charts of servers along runs of one machine and the same load, where there are enough.

    They are of all servers unless they have ``names``, and then of those with the ``slug`` alone. The places
    are days unless they have ``places``.
    ``tags`` are for the filter by language.
    """
    if len(runs) < least:
        return []
    names = names or names_of(runs)
    looks = appearances(names)
    axis = "" if places else "run"
    places = places or [f"{run.started_at[:10]}" for run in runs]
    found = []
    for measure in HEADLINES:
        title, unit = TITLES[measure]
        _, factor = shown_unit(measure, unit)
        lines = [
            Line(
                name,
                looks[name],
                tuple(Mark.of(_figure(run, name, slug, measure), factor) for run in runs),
                tags.get(name),
            )
            for name in names
        ]
        drawing = chart(
            heading(measure, title, unit), places, axis, lines, from_zero=measure != "latency_p99_s"
        )
        found += [drawing] if drawing is not None else []
    return found


def _figure(run: IndexedRun, name: str, slug: str | None, measure: str) -> Headline | None:
    """Return a figure of a server; of a slug, because another run may have another server of that name."""
    named = (one for one in run.servers if one.name == name and slug in {None, one.slug})
    return next((one.figures.get(measure) for one in named), None)


def _compared(runs: Sequence[IndexedRun]) -> dict[str, Any]:
    """Return the rows that can be chosen, with what decides whether two can be compared."""
    return {
        "measures": [TITLES[name][0] for name in HEADLINES],
        "better": ["higher", "lower", "lower", "lower"],
        "rows": [
            {
                "key": f"{run.place.removesuffix('.json')}:{server.name}",
                "name": f"{server.name} {server.version or ''}".strip(),
                "run": run.place,
                "moment": moment_of(run),
                "machine": run.machine.name,
                "fingerprint": run.machine.fingerprint,
                "conditions": run.conditions,
                "load": server.load,
                "version": run.loadcurve_version,
                "point": text.point(server.point),
                "unranked": server.unranked,
                "figures": [
                    None
                    if (one := server.figures.get(name)) is None
                    else [one.value, one.low, one.high, one.n]
                    for name in HEADLINES
                ],
            }
            for run in reversed(runs)
            for server in _in_order(run, run.servers)
            if server.point is not None
        ],
    }


def machine_values(runs: Sequence[IndexedRun], languages: Mapping[str, str]) -> dict[str, Any]:
    """Return what the template of a machine's page is given."""
    machine = runs[-1].machine
    protocols = filter_of("protocol", "Protocol", (one for run in runs for one in _protocols(run)))
    by_language = language_filter(runs, languages)
    return {
        "machine": machine,
        "memory": None if machine.memory_bytes is None else units.memory_limit(machine.memory_bytes),
        "fingerprints": list(dict.fromkeys(_fingerprint(run.machine) for run in reversed(runs))),
        "short": _fingerprint,
        "kernels": list(dict.fromkeys(run.machine.kernel for run in runs if run.machine.kernel)),
        "runs": list(reversed(runs)),
        "profiles": profiles_of(runs),
        "filters": [by_language, protocols],
        "tags": {
            server.slug: by_language.tags(languages.get(server.slug))
            for run in runs
            for server in run.servers
        },
        "protocol": lambda run: protocols.tags(*_protocols(run)),
        "moment": moment_of,
        "count": units.plural(len(runs), "run"),
    }


def _fingerprint(machine: PublishedMachine) -> str:
    """Return the first digits of the digest of a machine's hardware."""
    return "unknown" if machine.fingerprint is None else machine.fingerprint[:FINGERPRINT_CHARACTERS]
