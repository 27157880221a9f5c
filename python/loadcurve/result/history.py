"""A history: a folder of one file for each run, which Git or a shared disk merges without a conflict.

A file is named by the digest of the run it was made of, so that a run which two writers add is one file with
one content, and different runs never meet in one. Files are added and never changed.
"""

import errno
import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from pydantic import ConfigDict, Field, ValidationError

from loadcurve.errors import BadInput
from loadcurve.files import make_folder, read_regular, write_whole
from loadcurve.loads.values import Point
from loadcurve.record import Count, Many, Record
from loadcurve.result.checksum import sealed, unsealed, with_checksum
from loadcurve.result.other_formats import require_known_format
from loadcurve.result.trial_lines import first_problem

HISTORY_FORMAT: Final = "loadcurve-history/1"
ENTRY_BYTES_MAX = 4 * 2**20
_SUFFIX = ".json"


class HistoryFigure(Record):
    """A figure over the trials of one arm at one point."""

    arm: str
    point: Point
    measure: str
    """Its column, whose name ends with the unit."""
    value: float
    low: float | None
    high: float | None
    n: Count
    noise: float | None = None
    """As a share: 95 % of such figures of one server lie that near one another by ``doctor --noise``.

    ``None`` where that has not been measured.
    """


class HistoryMachine(Record):
    """The machine that a run was measured on."""

    fingerprint: str | None
    """The digest of its hardware; ``None`` where the run does not know it, as those of other tools."""
    name: str
    """What a person knows it by: its processor, its CPUs and its memory."""
    kernel: str | None


class HistoryEntry(Record):
    """A run in a history."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=with_checksum)

    format: Literal["loadcurve-history/1"]
    run: str = Field(pattern="^[0-9a-f]{64}$")
    """The digest of the run's files, by which the entry's file is named."""
    folder: str
    """Where the run was when it was added; a relative path begins at the history."""
    loadcurve_version: str
    started_at: str
    commit: str | None
    """The revision of what was measured, by Git or as it was given."""
    title: str
    study_sha256: str | None
    """The digest of the study's file; of a search that of the run, which alone was to measure its loads."""
    conditions: str
    """The digest of what decides whether figures can be compared: load and content."""
    conditions_before: Many[str] = Field(default_factory=list)
    """What earlier versions made of the same: they digested what is off, as far as they knew it."""
    machine: HistoryMachine
    servers: dict[str, str | None]
    """The version of each server, by arm."""
    figures: Many[HistoryFigure]


@dataclass(frozen=True, slots=True)
class History:
    """A history as it was read: its entries by time, and sentences on the files that are left out."""

    folder: Path
    entries: tuple[HistoryEntry, ...]
    damage: tuple[str, ...]


Added = Literal["added", "already there"]


def add_entry(folder: Path, entry: HistoryEntry) -> Added:
    """Add a run to a history, which is made where there is none; nothing that is there is changed.

    Raises ``BadInput`` where it cannot be written, or has the run already with another commit.
    """
    path = folder / f"{entry.run}{_SUFFIX}"
    try:
        if os.path.lexists(path):
            return _require_same(path, entry)
        make_folder(folder)
        write_whole(path, sealed(entry.model_dump_json()) + b"\n", durably=True)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}. Choose another folder: --to") from error
    return "added"


def read_history(folder: Path) -> History:
    """Read a history; files that are damaged are left out and named, earlier states of a run are left out.

    Raises ``BadInput`` where there is no history, or one of a newer version of Loadcurve.
    """
    try:
        with os.scandir(folder) as found:
            names = sorted(one.name for one in found if one.name.endswith(_SUFFIX) and one.name[0] != ".")
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be read as a history: {error.strerror}. Add a run first: loadcurve history add "
            f"RUN --to {folder}"
        ) from error
    entries: list[HistoryEntry] = []
    damage: list[str] = []
    with _without_collection():
        for name in names:
            read = _read(folder / name)
            if isinstance(read, HistoryEntry):
                entries.append(read)
            else:
                damage.append(read)
    latest = sorted(_latest_states(entries), key=lambda one: (one.started_at, one.run))
    return History(folder, tuple(latest), tuple(damage))


def _latest_states(entries: Iterable[HistoryEntry]) -> Iterable[HistoryEntry]:
    """Return an entry for each run: one that was added before it was resumed, and after, has two digests."""
    latest: dict[tuple[object, ...], HistoryEntry] = {}
    for entry in entries:
        # Runs of other tools do not say where and when they began. Loads of one study begin together.
        where = entry.machine.fingerprint or entry.run
        run = (entry.started_at, where, entry.study_sha256, entry.conditions, *sorted(entry.servers))
        known = latest.get(run)
        if known is None or _trials(entry) > _trials(known):
            latest[run] = entry
    return latest.values()


def _trials(entry: HistoryEntry) -> int:
    return sum(figure.n for figure in entry.figures)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keep the collector of cycles off: it took 40 % of the time, and entries have no cycles.

    What was made meanwhile is never looked through for cycles, which would take as long a moment later.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.enable()


def _require_same(path: Path, entry: HistoryEntry) -> Added:
    known = _read(path)
    if isinstance(known, str):
        raise BadInput(f"{known} Remove that file, and add the run again.")
    if known.commit != entry.commit and entry.commit is not None:
        raise BadInput(
            f"{path} has this run already, with the commit {known.commit or 'unknown'} and not "
            f"{entry.commit}. An entry is never changed: remove that file, and add the run again."
        )
    return "already there"


def _read(path: Path) -> HistoryEntry | str:
    """Return an entry, or a sentence on what is wrong with its file."""
    try:
        data = read_regular(path, ENTRY_BYTES_MAX)
    except OSError as error:
        named = os.strerror(error.errno) if error.errno == errno.ENOENT else error.strerror
        return f"{path} cannot be read: {named}."
    text = unsealed(data)
    if text.state != "intact":
        require_known_format(path, data, HISTORY_FORMAT)
        return f"{path} was changed since it was written, or is no entry of a history: it is left out."
    try:
        entry = HistoryEntry.model_validate_json(text.content)
    except ValidationError as error:
        require_known_format(path, text.content, HISTORY_FORMAT)
        return f"{path} cannot be read as an entry of a history: {first_problem(error)}"
    if path.name != f"{entry.run}{_SUFFIX}":
        return f"{path} is the entry of another run, {entry.run}: a file of a history keeps its name."
    return entry


def of_conditions(entries: Iterable[HistoryEntry]) -> dict[str, list[HistoryEntry]]:
    """Return entries by what they measured: figures of different loads or content are never joined."""
    known = list(entries)
    names = today(known)
    found: dict[str, list[HistoryEntry]] = {}
    for entry in known:
        found.setdefault(names.get(entry.conditions, entry.conditions), []).append(entry)
    return found


class OfConditions(Protocol):
    """What has a digest of its load and content, with those that earlier versions made of them."""

    @property
    def conditions(self) -> str: ...  # noqa: D102
    @property
    def conditions_before(self) -> Sequence[str]: ...  # noqa: D102


def today(known: Iterable[OfConditions]) -> dict[str, str]:
    """Return the digest of today for each that earlier versions made of the conditions of these."""
    return {before: one.conditions for one in known for before in one.conditions_before}
