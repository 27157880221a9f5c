"""A published run: one JSON file with every trial's figures, in a folder that Git holds and that grows.

A file is ``SUBJECT/results/YYYYMMDD/MACHINE-DIGEST.json``: the study, the day, the machine, and the first
digits of the digest of the run's files, so that runs of one day never meet in a file, in whatever order they
come. Files are added and never changed. Figures are in seconds, bytes, and counts per second.
"""

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from loadcurve.errors import BadInput
from loadcurve.files import make_folder, read_regular, write_whole
from loadcurve.loads.kinds import WorkName
from loadcurve.loads.values import Point
from loadcurve.record import Count, Many, Record, contradiction
from loadcurve.result.checksum import digest, sealed, unsealed, with_checksum
from loadcurve.result.measures import point_key
from loadcurve.result.other_formats import require_known_format
from loadcurve.result.records import OWN_PROGRAM, RUNNING_SERVER, SINGLE_LOAD
from loadcurve.result.trial_lines import first_problem
from loadcurve.units import cut

PUBLISHED_FORMAT: Final = "loadcurve-published/1"
PUBLISHED_BYTES_MAX: Final = 16 * 2**20
PARTS_MAX: Final = 1_000_000
"""A file with more lists and objects is refused: in memory each takes many times its text."""
FILES_MAX: Final = 100_000
RESULTS_FOLDER: Final = "results"
DIGEST_CHARACTERS: Final = 8
SLUG_CHARACTERS_MAX: Final = 64
LINE_CHARACTERS_MAX: Final = 2_000
SERVERS_FOLDER: Final = "servers"
MACHINES_FOLDER: Final = "machines"
RESERVED_SUBJECTS: Final = frozenset({SERVERS_FOLDER, MACHINES_FOLDER})
"""Folders of the site's own pages, in which no study has its results."""
LATENCY: Final = "latency_"
"""With this the names of measures of latency begin."""
_SLUG = rf"[a-z0-9](?:[a-z0-9.-]{{0,{SLUG_CHARACTERS_MAX - 2}}}[a-z0-9])?"
_PLACE = re.compile(rf"(?P<subject>{_SLUG})/results/(?P<day>\d{{8}})/(?P<machine>{_SLUG})\.json")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")

Slug = Annotated[str, Field(pattern=f"^{_SLUG}$")]
"""A name that is part of a path and of a link."""
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Line = Annotated[str, Field(max_length=LINE_CHARACTERS_MAX)]
"""A text of a person or of a program, which may hold anything and is never long."""


class PublishedMeasure(Record):
    """What a figure is of."""

    name: Annotated[str, Field(pattern="^[a-z0-9_]{1,64}$")]
    """With its unit at the end, as figures name it."""
    title: Line
    unit: Literal["s", "bytes", "1/s", ""]
    better: Literal["higher", "lower"] | None


class PublishedFigure(Record):
    """One measure at one point: of each trial, and over those whose verdict is not invalid."""

    values: Many[float | None]
    value: float | None
    """The geometric mean; ``None`` where no usable trial has a value."""
    low: float | None
    high: float | None
    """Of the 95 % interval over trials; ``None`` of one trial."""
    n: Count

    @model_validator(mode="after")
    def _are_numbers_of_measures(self) -> Self:
        found = [*self.values, self.value, self.low, self.high]
        if not all(value is None or math.isfinite(value) for value in found):
            raise contradiction("a figure is infinite, or no number")
        if any(value is not None and value < 0 for value in self.values):
            raise contradiction("a trial has a figure below 0, which no measure has")
        return self


class PublishedPoint(Record):
    """One server at one point, over the trials that measured it; all lists are in their order."""

    server: Line
    point: Point
    blocks: Many[Count]
    verdicts: Many[Literal["valid", "suspect", "invalid"]]
    reason: Line | None
    """Why no trial can be used."""
    figures: dict[str, PublishedFigure]
    late_blocks: Many[Count] = Field(default_factory=list)
    """At a fixed rate: in which blocks the generator was late, so that rankings by latency leave them out.

    Earlier versions did not publish it.
    """

    @model_validator(mode="after")
    def _lists_are_of_the_same_trials(self) -> Self:
        lengths = {len(self.blocks), len(self.verdicts), *(len(one.values) for one in self.figures.values())}
        if len(lengths) > 1:
            raise contradiction(f"{self.server} has figures of other numbers of trials than it has verdicts")
        if not all(map(math.isfinite, self.point.values())):
            raise contradiction(f"{self.server} was measured at a point that is no number")
        if len(set(self.blocks)) != len(self.blocks):
            raise contradiction(f"{self.server} has two trials of one block at a point")
        return self


class PublishedServer(Record):
    """A server of the study, measured or not."""

    name: Line
    slug: Slug
    """By which all results of the same server are found; of a program or a URL that the study names, those of
    the study alone."""
    title: Line
    version: Line | None
    settings: dict[str, Any]
    configuration: dict[str, Digest]
    """The digest of each configuration file."""
    programs: dict[str, Digest]
    """The digest of each program that was started."""
    documentation: Line | None
    missing: bool
    cpus: Count | None
    """On how many CPUs it ran."""


class PublishedRank(Record):
    """A server's places, counted from 1: the best and the worst that cannot be ruled out."""

    server: Line
    best: Count
    worst: Count


class PublishedWork(Record):
    """Servers that were asked for the same: they are ranked among themselves."""

    options: dict[str, Any]
    """What they were asked for, by the options of the load in which works differ; empty of a single one."""
    servers: Many[Line]


class PublishedRanking(Record):
    """Servers by one measure over the curve, as far as they can be told apart."""

    work: Count
    """The place of their work among those of the run."""
    measure: str
    groups: Many[list[Line]]
    """The largest sets of servers that cannot be told apart; a server may be in several."""
    ranks: Many[PublishedRank]
    """The best first."""


class Unranked(Record):
    """A server in no ranking, with the reason; one that the run left out is not among its servers."""

    server: Line
    reason: Line


class PublishedFinding(Record):
    """Something odd that was seen of a server; earlier versions did not publish where, and how sure it is."""

    server: Line
    weight: Literal["invalidates", "distorts", "explains"]
    seen: Line
    cause: Line
    certainty: Literal["shown", "likely"] | None = None
    """Whether the evidence shows the cause, or only fits it."""
    points: Many[Point] = Field(default_factory=list)
    """Where it was seen, in the order of the sweep."""
    trials: Count | None = None
    """In how many trials it was seen there."""
    trials_measured: Count | None = None
    """In how many trials at least one of these points was measured."""


class PublishedMachine(Record):
    """The machine that a run was measured on, without what says whose it is."""

    slug: Slug
    name: Line
    fingerprint: Digest | None
    """The digest of its hardware; ``None`` where the run does not know it."""
    cpu_model: Line | None
    cpus: Count | None
    memory_bytes: Count | None
    architecture: Line | None
    virtual_machine: bool | None
    kernel: Line | None
    operating_system: Line | None


class PublishedRun(Record):
    """A run as it is published."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=with_checksum)

    format: Literal["loadcurve-published/1"]
    run: Digest
    """The digest of the run's files."""
    subject: Slug
    title: Line
    question: Line | None
    complete: bool
    started_at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT[0-9:.+Z-]{1,32}$")]
    loadcurve_version: Line
    conditions: Digest
    """Of what decides whether figures can be compared: load and content."""
    conditions_before: Many[Digest] = Field(default_factory=list)
    """What earlier versions made of the same: they digested what is off, as far as they knew it."""
    work: WorkName
    """What the load does."""
    load: dict[str, Any]
    """The options of the load."""
    study: Annotated[str, Field(max_length=200_000)] | None
    """The study's file; ``None`` where it names what is private, or was not kept."""
    study_sha256: Digest | None
    seed: int | None
    """By which trials were put in order, and content was made."""
    options: Many[Line]
    """The options that changed the study."""
    private_facts: Annotated[bool, Field(exclude_if=lambda is_kept: not is_kept)] = False
    """Whether its publisher kept folders, addresses and names of machines and people on purpose."""
    ranked_by: str
    """The measure that answers the study's question."""
    machine: PublishedMachine
    noise: Annotated[float, Field(ge=0)] | None
    """As a share: 95 % of the throughputs of one server lie that near one another, by ``doctor --noise``."""
    measures: Many[PublishedMeasure]
    servers: Many[PublishedServer]
    points: Many[PublishedPoint]
    works: Many[PublishedWork]
    rankings: Many[PublishedRanking]
    unranked: Many[Unranked]
    findings: Many[PublishedFinding]

    def with_own_pages(self) -> Self:
        """Return the run with pages of their own for its programs and URLs that no catalogue knows.

        Of another study one of the same name is another server. A point is in no other slug, so that no two
        names give the same one.
        """
        return self.model_copy(update={"servers": [self._on_own_page(one) for one in self.servers]})

    def _on_own_page(self, server: PublishedServer) -> PublishedServer:
        entry = server.settings.get("catalog_entry")
        # No set: a damaged file may have a list as its entry.
        if entry not in (OWN_PROGRAM, RUNNING_SERVER):
            return server
        if self.subject == SINGLE_LOAD and "://" in server.title:
            # All of them have one name, and the URL as their title.
            is_cut = "{" in server.title
            name, title = f"{server.title}-{self.run[:DIGEST_CHARACTERS] if is_cut else ''}", server.title
        else:
            name, title = server.name, cut(f"{server.name} ({self.title})", LINE_CHARACTERS_MAX)
        return server.model_copy(update={"slug": _slug_within(self.subject, name), "title": title})

    @property
    def day(self) -> str:
        """Return the day of its start, in UTC as recorded, such as ``20261128``."""
        return self.started_at[:10].replace("-", "")

    def own_load(self, server: str) -> dict[str, Any]:
        """Return the options that the load of a server has in place of the run's."""
        by_server = self.load.get("servers")
        own = by_server.get(server) if isinstance(by_server, dict) else None
        return own if isinstance(own, dict) else {}

    @property
    def place(self) -> str:
        """Return where its file is, from the site's folder."""
        name = f"{self.machine.slug}-{self.run[:DIGEST_CHARACTERS]}"
        return f"{self.subject}/{RESULTS_FOLDER}/{self.day}/{name}.json"

    @model_validator(mode="after")
    def _names_what_it_has(self) -> Self:
        names = [one.name for one in self.servers]
        measures = {one.name for one in self.measures}
        if len(set(names)) != len(names):
            raise contradiction("two servers have the same name")
        named = {
            *(one.server for one in self.points),
            *(one.server for ranking in self.rankings for one in ranking.ranks),
            *(name for work in self.works for name in work.servers),
        }
        if unknown := named - set(names):
            raise contradiction(f"{min(unknown)} is not among the servers")
        measured = [(one.server, point_key(one.point)) for one in self.points]
        if len(set(measured)) != len(measured):
            raise contradiction("a server has figures twice at one point")
        if any(one.work >= len(self.works) for one in self.rankings):
            raise contradiction("a ranking is of no work that the run has")
        of_points = {name for one in self.points for name in one.figures}
        ranked_by = {self.ranked_by, *(one.measure for one in self.rankings)}
        if unknown := (of_points | ranked_by) - measures:
            raise contradiction(f"{min(unknown)} is not among the measures")
        return self


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of a site: where it is from the site's folder, and its digest."""

    place: str
    sha256: str
    bytes: int


Published = Literal["published", "already there"]


def slug(text: str) -> str:
    """Return a text as part of a path and of a link, such as ``apache-event``; never empty."""
    found = _NOT_IN_SLUG.sub("-", text.lower()).strip("-")[:SLUG_CHARACTERS_MAX].strip("-")
    return found or "unnamed"


def _slug_within(subject: str, name: str) -> str:
    """Return the slug of what has this name in a study alone, with a digest where both are too long."""
    whole = f"{subject}.{slug(name)}"
    if len(whole) <= SLUG_CHARACTERS_MAX and len(name) <= SLUG_CHARACTERS_MAX:
        return whole
    end = digest(f"{subject}.{name}".encode())[:DIGEST_CHARACTERS]
    return f"{whole[: SLUG_CHARACTERS_MAX - len(end) - 1]}-{end}"


def subject_of(study: str) -> str:
    """Return the folder of a study, by its name; one of a name that the site itself uses has another folder.

    What was published under such a name before stays where it is.
    """
    subject = slug(study)
    return f"{subject}-study" if subject in RESERVED_SUBJECTS else subject


def publish_run(site: Path, run: PublishedRun) -> Published:
    """Add a run to a site's folder, which is made where there is none; nothing that is there is changed.

    Raises ``BadInput`` where it cannot be written, another file has its place, or it is there already under
    the name of another machine or study.
    """
    path = site / run.place
    if (other := _same_run(site, run)) is not None:
        raise BadInput(
            f"{site / other.place} is the same run already, as one of the study {other.subject} on the "
            f"machine {other.machine.name}. A second file would count it as another run: keep that one, or "
            "remove it to publish the run under another name."
        )
    text = sealed(run.model_dump_json(indent=1)) + b"\n"
    if len(text) > PUBLISHED_BYTES_MAX or _parts_of(text) > PARTS_MAX:
        raise BadInput(
            f"{path} is not written: it would have {len(text):,} bytes and {_parts_of(text):,} lists and "
            f"objects, and at most {PUBLISHED_BYTES_MAX:,} and {PARTS_MAX:,} are read. Publish runs of fewer "
            "points or trials."
        )
    try:
        if os.path.lexists(path):
            if read_regular(path, PUBLISHED_BYTES_MAX) != text and not _is_of_an_earlier_form(path, run):
                raise BadInput(
                    f"{path} is there already, with other content. A published result is never changed: "
                    "remove the file to publish this run in its place."
                )
            return "already there"
        make_folder(path.parent)
        write_whole(path, text, durably=True)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}. Choose another folder: --to") from error
    return "published"


def _same_run(site: Path, run: PublishedRun) -> PublishedRun | None:
    """Return what a site has of a run in another place than its own."""
    end = f"-{run.run[:DIGEST_CHARACTERS]}.json"
    for file in _all_places(site):
        if file.endswith(end) and file != run.place and (found := read_published(site, file)).run == run.run:
            return found
    return None


def _is_of_an_earlier_form(path: Path, run: PublishedRun) -> bool:
    """Whether a file is the run as an earlier version published it, with another digest of its conditions."""
    found = read_published_file(path)
    digests = {name: getattr(found, name) for name in ("conditions", "conditions_before")}
    return found.conditions in run.conditions_before and run.model_copy(update=digests) == found


def files_of(site: Path) -> list[PublishedFile]:
    """Return the published files of a site, by their places; what else is in the folder is left alone.

    Raises ``BadInput`` where there is no folder, or a folder or a file cannot be read, or is a link.
    """
    if not site.is_dir():
        raise BadInput(f"{site} is no folder. Publish a run into it first: loadcurve publish RUN --to {site}")
    return [_file(site, place) for place in _all_places(site)]


def _all_places(site: Path) -> list[str]:
    found = list(islice(_places(site), FILES_MAX + 1))
    if len(found) > FILES_MAX:
        raise BadInput(f"{site} has more than {FILES_MAX:,} published files.")
    return sorted(found)


def _places(site: Path) -> Iterator[str]:
    try:
        for subject in (one.name for one in (site.iterdir() if site.is_dir() else ())):
            for day in _names(site / subject / RESULTS_FOLDER):
                for name in _names(site / subject / RESULTS_FOLDER / day):
                    place = f"{subject}/{RESULTS_FOLDER}/{day}/{name}"
                    if _PLACE.fullmatch(place):
                        yield place
                    elif name.endswith(".json"):
                        raise BadInput(
                            f"{site / place} is no place of a published result: expected "
                            "SUBJECT/results/YYYYMMDD/MACHINE.json, in small letters, digits and hyphens."
                        )
    except OSError as error:
        raise BadInput(f"{error.filename} cannot be read: {error.strerror}.") from error


def _names(folder: Path) -> list[str]:
    """Return the names in a folder; nothing where there is none.

    Raises ``BadInput`` where it is a link: what it leads to is no part of the site.
    """
    if not folder.is_dir():
        return []
    for one in (folder, folder.parent):
        if one.is_symlink():
            raise BadInput(f"{one} is a link: the published results of a site are in its folders alone.")
    return [one.name for one in folder.iterdir()]


def _file(site: Path, place: str) -> PublishedFile:
    data = _bytes_of(site / place)
    return PublishedFile(place, digest(data), len(data))


def read_published(site: Path, place: str) -> PublishedRun:
    """Return a published run by its place in a site's folder.

    Raises ``BadInput``: it cannot be read, was changed, is of a newer version, or is not where it belongs.
    """
    run = read_published_file(site / place)
    if run.place != place:
        raise BadInput(
            f"{site / place} is the result that belongs at {run.place}: a published file keeps its name."
        )
    return run


def read_published_file(path: Path) -> PublishedRun:
    """Return a published run from a file, wherever that is.

    Raises ``BadInput``: it cannot be read, was changed since it was published, or is of a newer version.
    """
    data = _bytes_of(path)
    text = unsealed(data)
    if text.state != "intact":
        require_known_format(path, data, PUBLISHED_FORMAT)
        raise BadInput(
            f"{path} was changed since it was published: its content does not have the digest that it "
            "states. Fetch it again, or publish the run anew."
        )
    try:
        return PublishedRun.model_validate_json(text.content).with_own_pages()
    except ValidationError as error:
        require_known_format(path, text.content, PUBLISHED_FORMAT)
        raise BadInput(f"{path} cannot be read as a published result: {first_problem(error)}") from error


def _parts_of(text: bytes) -> int:
    """Return how many lists and objects a text of JSON has at most."""
    return text.count(b"{") + text.count(b"[")


def _bytes_of(path: Path) -> bytes:
    try:
        data = read_regular(path, PUBLISHED_BYTES_MAX)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    if _parts_of(data) > PARTS_MAX:
        raise BadInput(f"{path} is refused: it has more than {PARTS_MAX:,} lists and objects.")
    return data
