"""Profiles side by side: the newest run of each study on one machine, each with a separate ranking.

A column is one question, and no figure is made of several. Servers stand in the order of their names.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from loadcurve.analysis.published_figures import si_name, si_of
from loadcurve.report import text
from loadcurve.report.ranking_words import places_words
from loadcurve.report.site.values import cell, heading
from loadcurve.result.measure_names import RankedMeasureName
from loadcurve.result.measures import MEASURES
from loadcurve.result.site_index import HEADLINES, IndexedRun, IndexedServer

PROFILES_MAX: Final = 24
PROFILES_LEAST: Final = 2
LATENCIES: Final = "latency_"
"""How the names of measures of latency start."""
PROCESSOR: Final = "server_cpu_per_request_s"
"""What is ranked besides latency: at a fixed rate it is what servers differ by."""
ANSWERING: Final = {
    si_name(MEASURES[name]): (MEASURES[name].title, si_of(MEASURES[name]).unit)
    for name in get_args(RankedMeasureName)
}
"""The title and the unit of each measure that may answer a study."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A column: one measure of one run."""

    run: IndexedRun
    measure: str
    heading: str


@dataclass(frozen=True, slots=True)
class Place:
    """What a profile says of a server."""

    words: str
    """Its places in the ranking; nothing where it has none."""
    sorted_by: str
    """Its best and its worst place, two whole numbers with a point between them."""
    figure: str
    interval: str
    value: str
    """The figure with more digits, which leaves the page as CSV."""
    point: str
    """Where the figure is from."""
    unranked: str | None
    """Why it is in no ranking."""


@dataclass(frozen=True, slots=True)
class ProfiledServer:
    """A row; a profile without the server has ``None``."""

    name: str
    which: str
    """Tells it from other servers of that name, such as ``(A file of 1 KiB)``; nothing of the only one."""
    slug: str
    places: tuple[Place | None, ...]


@dataclass(frozen=True, slots=True)
class Profiles:
    """The table of a machine."""

    machine: str
    slug: str
    columns: tuple[Profile, ...]
    rows: tuple[ProfiledServer, ...]


def profiles_of(runs: Sequence[IndexedRun]) -> Profiles | None:
    """Return the profiles of one machine's runs, the oldest first; ``None`` where studies share no server."""
    if not runs:
        return None
    machine = runs[-1].machine
    newest = {run.subject: run for run in runs if run.machine.fingerprint == machine.fingerprint}
    studies = sorted(newest.values(), key=lambda run: run.started_at)[-PROFILES_MAX:]
    named = [set(map(_named, run.servers)) for run in studies]
    shared = any(one & other for place, one in enumerate(named) for other in named[:place])
    if len(studies) < PROFILES_LEAST or not shared:
        return None
    columns = tuple(column for run in studies for column in _columns(run))
    by_name = [{_named(server): server for server in column.run.servers} for column in columns]
    servers = {_named(server): server.title for run in studies for server in run.servers}
    of_name = Counter(name for name, _ in servers)
    rows = (
        ProfiledServer(
            name,
            "" if of_name[name] == 1 else title.removeprefix(f"{name} "),
            slug,
            tuple(
                None if (server := of_run.get((name, slug))) is None else _place(column, server)
                for column, of_run in zip(columns, by_name, strict=True)
            ),
        )
        for (name, slug), title in sorted(servers.items())
    )
    return Profiles(machine.name, machine.slug, columns, tuple(rows))


def _named(server: IndexedServer) -> tuple[str, str]:
    """Return what makes a server the same one in two studies: its name there, and the page that it is on."""
    return server.name, server.slug


def _columns(run: IndexedRun) -> Iterator[Profile]:
    # A newer version may know a measure that this one does not.
    answering = run.ranked_by if run.ranked_by in ANSWERING else HEADLINES[0]
    for measure in (answering, *([PROCESSOR] if answering.startswith(LATENCIES) else [])):
        yield Profile(run, measure, heading(measure, *ANSWERING[measure]))


def _place(column: Profile, server: IndexedServer) -> Place:
    # Places in different works are of different rankings.
    ranks = server.ranks.get(column.measure) if column.run.works == 1 else None
    _, unit = ANSWERING[column.measure]
    figure, interval, value = cell(server.figures.get(column.measure), column.measure, unit)
    return Place(
        words="" if ranks is None else places_words(*ranks),
        sorted_by="" if ranks is None else f"{ranks[0]}.{ranks[1]}",
        figure=figure,
        interval=interval,
        value=value,
        point="" if server.point is None else text.point(server.point),
        unranked=server.unranked,
    )
