"""The index of a site: what its pages say of each published run without reading its file again.

It is made of the published files alone, so that the same files give the same index in whatever order they
came. An entry holds as long as its file has the digest that it names.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, ValidationError

from loadcurve.files import read_regular
from loadcurve.loads.values import Point
from loadcurve.protocol import HTTP3
from loadcurve.record import Count, Many, Record
from loadcurve.result.checksum import sealed, unsealed, with_checksum
from loadcurve.result.history import today
from loadcurve.result.measures import point_key
from loadcurve.result.publication import (
    Digest,
    PublishedFile,
    PublishedMachine,
    PublishedPoint,
    PublishedRun,
    PublishedServer,
    Slug,
    read_published,
)

INDEX_FILE: Final = "index.json"
INDEX_BYTES_MAX: Final = 256 * 2**20
HEADLINES: Final = (
    "throughput_rps",
    "latency_p99_s",
    "server_cpu_per_request_s",
    "server_memory_mean_bytes",
)
"""What lists say of a server, at the point of its highest throughput."""
AT_LOWEST: Final = ("latency_p50_s", "latency_p99_s", *HEADLINES[2:])
"""What is said of a server at the lowest load."""


class Headline(Record):
    """A figure over trials."""

    value: float
    low: float | None
    high: float | None
    n: Count


class AtPoint(Record):
    """What is known of a server at one point."""

    point: Point
    figures: dict[str, Headline]


class IndexedServer(Record):
    """A server of a published run."""

    name: str
    slug: Slug
    title: str
    version: str | None
    point: Point | None
    """The point of its highest throughput; ``None`` where none of its points can be used."""
    figures: dict[str, Headline]
    """At that point, by the name of the measure: what lists say, and what answers the study's question."""
    ranks: dict[str, tuple[Count, Count]]
    """By the name of a measure: the best and the worst place that cannot be ruled out."""
    unranked: str | None
    """Why it is in no ranking."""
    protocol: str
    """What the load spoke with it, such as ``HTTP/2 over TLS``."""
    settings: dict[str, Any]
    load: dict[str, Any]
    """The options that its load has in place of the run's."""
    lowest: AtPoint | None
    """At the lowest load of the sweep; ``None`` where that point cannot be used."""


class IndexedRun(Record):
    """A published run."""

    place: str
    sha256: Digest
    """Of its file."""
    run: Digest
    """Of the run's files, by which it is the same run whatever its machine is called."""
    complete: bool
    superseded_by: str | None = None
    """Of a run that was published while it was interrupted, and again: where its later state is."""
    subject: Slug
    title: str
    question: str | None
    conditions: Digest
    conditions_before: Many[Digest] = Field(default_factory=list)
    """What earlier versions made of the same conditions."""
    ranked_by: str
    """The measure that answers the study's question."""
    started_at: str
    seed: int | None
    loadcurve_version: str
    machine: PublishedMachine
    model: str
    """Of its load, such as ``open``; nothing where the run does not say it."""
    load: dict[str, Any]
    """The run's value of each option that the load of a server has another one of."""
    works: Count
    """How many different things its servers were asked for, which are ranked apart."""
    verdicts: dict[Literal["valid", "suspect", "invalid"], Count]
    servers: Many[IndexedServer]

    @property
    def page(self) -> str:
        """Return where its page is, from the site's folder."""
        return f"{self.place.removesuffix('.json')}.html"


class SiteIndex(Record):
    """All published runs of a site."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=with_checksum)

    format: Literal["loadcurve-site/1"] = "loadcurve-site/1"
    runs: Many[IndexedRun] = Field(default_factory=list)
    """The oldest first."""

    @property
    def listed(self) -> list[IndexedRun]:
        """Return the runs that lists have: each once, however often it was published."""
        return [one for one in self.runs if one.superseded_by is None]


def indexed(file: PublishedFile, run: PublishedRun) -> IndexedRun:
    """Return the entry of a published run."""
    ranks: dict[str, dict[str, tuple[int, int]]] = {}
    for ranking in run.rankings:
        for one in ranking.ranks:
            ranks.setdefault(one.server, {})[ranking.measure] = (one.best, one.worst)
    unranked = {one.server: one.reason for one in run.unranked}
    peaks = {server.name: peak_of(run, server.name) for server in run.servers}
    verdicts = Counter(verdict for one in run.points for verdict in one.verdicts)
    return IndexedRun(
        place=file.place,
        sha256=file.sha256,
        run=run.run,
        complete=run.complete,
        subject=run.subject,
        title=run.title,
        question=run.question,
        conditions=run.conditions,
        conditions_before=run.conditions_before,
        ranked_by=run.ranked_by,
        started_at=run.started_at,
        seed=run.seed,
        loadcurve_version=run.loadcurve_version,
        machine=run.machine,
        model=str(run.load.get("model") or ""),
        load={key: run.load.get(key) for one in run.servers for key in run.own_load(one.name)},
        works=len(run.works),
        verdicts={name: verdicts[name] for name in ("valid", "suspect", "invalid")},
        servers=[
            IndexedServer(
                name=server.name,
                slug=server.slug,
                title=server.title,
                version=server.version,
                point=None if (peak := peaks[server.name]) is None else peak.point,
                figures={} if peak is None else headlines_of(peak, (*HEADLINES, run.ranked_by)),
                protocol=protocol_of(run, server),
                settings=server.settings,
                load=run.own_load(server.name),
                lowest=lowest_of(run, server.name),
                ranks=ranks.get(server.name, {}),
                unranked=unranked.get(server.name),
            )
            for server in run.servers
        ],
    )


def peak_of(run: PublishedRun, server: str) -> PublishedPoint | None:
    """Return the point of a server's highest throughput; ``None`` where none can be used."""
    known = [
        (figure.value, one)
        for one in run.points
        if one.server == server
        and (figure := one.figures.get(HEADLINES[0])) is not None
        and figure.value is not None
    ]
    return max(known, key=lambda one: one[0])[1] if known else None


def lowest_load(run: PublishedRun) -> Point | None:
    """Return the point of the lowest load, each key in turn; ``None`` without any point."""
    return min((one.point for one in run.points), key=point_key, default=None)


def lowest_of(run: PublishedRun, server: str) -> AtPoint | None:
    """Return what is known of a server at the lowest load; ``None`` where no trial there can be used."""
    lowest = lowest_load(run)
    found = (one for one in run.points if one.server == server and one.point == lowest)
    figures = {} if (one := next(found, None)) is None else headlines_of(one, AT_LOWEST)
    return AtPoint(point=lowest, figures=figures) if lowest is not None and figures else None


def protocol_of(run: PublishedRun, server: PublishedServer) -> str:
    """Return what the load of a run spoke with a server, such as ``HTTP/2 over TLS``, or its work."""
    http = {**run.load, **run.own_load(server.name)}.get("http")
    if run.work != "http" or not isinstance(http, str):
        return run.work.upper()
    if http.startswith(HTTP3):
        return f"HTTP/{HTTP3}"
    settings = server.settings.get("settings")
    is_encrypted = isinstance(settings, dict) and settings.get("tls") is True
    return f"HTTP/{http} over TLS" if is_encrypted else f"HTTP/{http}"


def headlines_of(point: PublishedPoint, names: Iterable[str] = HEADLINES) -> dict[str, Headline]:
    """Return what lists say of a point."""
    return {
        name: Headline(value=figure.value, low=figure.low, high=figure.high, n=figure.n)
        for name in names
        if (figure := point.figures.get(name)) is not None and figure.value is not None
    }


def read_index(site: Path) -> Mapping[str, IndexedRun]:
    """Return the entries of a site's index by their places; nothing where it is damaged or absent."""
    try:
        text = unsealed(read_regular(site / INDEX_FILE, INDEX_BYTES_MAX))
        if text.state != "intact":
            return {}
        found = SiteIndex.model_validate_json(text.content)
    except (OSError, ValidationError):
        return {}
    return {one.place: one for one in found.runs}


def index_of(site: Path, files: Iterable[PublishedFile], known: Mapping[str, IndexedRun]) -> SiteIndex:
    """Return the index of published files; only those that ``known`` does not hold as they are, are read.

    Raises ``BadInput`` where one of them cannot be read as a published result.
    """
    runs = [
        kept
        if (kept := known.get(file.place)) is not None and kept.sha256 == file.sha256
        else indexed(file, read_published(site, file.place))
        for file in files
    ]
    return SiteIndex(runs=_with_later_states(sorted(runs, key=lambda one: (one.started_at, one.place))))


def _with_later_states(runs: Sequence[IndexedRun]) -> list[IndexedRun]:
    """Return runs with what superseded each: the whole run, or that with most trials, of the same start."""
    latest = {
        _start(one): one
        for one in sorted(runs, key=lambda one: (one.complete, sum(one.verdicts.values()), one.place))
    }
    return [
        one.model_copy(
            update={
                "superseded_by": None
                if one.complete or (later := latest[_start(one)].place) == one.place
                else later
            }
        )
        for one in runs
    ]


def _start(run: IndexedRun) -> tuple[object, ...]:
    return run.subject, run.started_at, run.seed, run.machine.fingerprint


def joined(runs: Sequence[IndexedRun]) -> list[IndexedRun]:
    """Return the runs, those of earlier versions with the digest that today is made of their conditions.

    That is known where a newer run has the same.
    """
    names = today(runs)
    return [
        one.model_copy(update={"conditions": names[one.conditions]}) if one.conditions in names else one
        for one in runs
    ]


def index_text(index: SiteIndex) -> bytes:
    """Return the text of an index's file."""
    return sealed(index.model_dump_json()) + b"\n"
