"""The run folder: ``run.json``, ``trials.jsonl`` and ``study.toml``, written while measuring, read later."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, get_args

from pydantic import ValidationError

from loadcurve import __version__
from loadcurve.errors import BadInput, LoadcurveError
from loadcurve.files import append_regular, read_regular, write_whole
from loadcurve.load.kinds import LoadKind, kind_of_model
from loadcurve.load.values import Point
from loadcurve.result.records import (
    FailureRecord,
    PointRecord,
    ResumedRecord,
    RunFormat,
    RunRecord,
    TrialLine,
    read_trial_record,
)
from loadcurve.result.resumed import Gap, lines_cut_off, used_records
from loadcurve.result.run_files import RUN_FILE, STUDY_FILE, TRIALS_FILE, require_run_folder

BYTES_PER_POINT = 512 * 1024
"""A generous size for one line of ``trials.jsonl``: five histograms, and both series of two minutes."""
POINTS_PER_SEARCH = 25
"""A generous number of points for one trial of a search."""
BYTES_PER_RUN = 8 * 1024 * 1024
"""Room for the files that do not grow with the points, the report among them."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder as it was read.

    ``records`` are in the order in which they were written, without those of blocks that were interrupted
    and begun anew; ``cut_off`` says that the last line of ``trials.jsonl`` was left unfinished by a kill and
    is not among them.
    """

    folder: Path
    run: RunRecord
    records: list[PointRecord | FailureRecord]
    study_text: str
    cut_off: bool
    gaps: tuple[Gap, ...] = ()
    """Where the run was interrupted and resumed."""

    @property
    def points(self) -> list[PointRecord]:
        """The measured points, in the order of measuring."""
        return [record for record in self.records if isinstance(record, PointRecord)]

    @property
    def failures(self) -> list[FailureRecord]:
        """The starts that ended early, in the order of failing."""
        return [record for record in self.records if isinstance(record, FailureRecord)]

    @property
    def kind(self) -> LoadKind:
        """What kind of load the run's is."""
        return kind_of_model(self._model)

    @property
    def is_closed_loop(self) -> bool:
        """Whether what is asked next waits for the answer, so that throughput is found and not asked for."""
        return self.kind.is_closed_loop(self._model, has_rate=self._has_rate)

    @property
    def default_measure(self) -> Literal["throughput", "p99"]:
        """The measure by which its servers are compared where nobody says."""
        return self.kind.default_measure(self._model, has_rate=self._has_rate)

    @property
    def _has_rate(self) -> bool:
        rates = [self.load_of(name).get("rate_rps") for name in self.run.servers]
        return "rate" in self.run.study.get("sweep", {}) or any(rate is not None for rate in rates)

    def load_of(self, server: str) -> dict[str, Any]:
        """Return the load of a server at any point, without what is swept: its own, or else the study's."""
        study = self.run.study
        own = study.get("servers", {}).get(server, {}).get("load")
        # In an old run this may be a setting that a person's own description had.
        load: dict[str, Any] = own if isinstance(own, dict) else study.get("load", {})
        return load

    def own_load(self, server: str) -> dict[str, Any]:
        """Return the options of a server's load that differ from the study's."""
        common = self.run.study.get("load", {})
        return {name: value for name, value in self.load_of(server).items() if value != common.get(name)}

    @property
    def _model(self) -> str | None:
        model: str | None = self.run.study.get("load", {}).get("model")
        return model

    @property
    def sweep_points(self) -> list[Point]:
        """The settings along the curves: those of the sweep, or those that a search measured, rising."""
        search = self.run.search
        if search is None:
            return self.run.points
        measured = {record.point[search.key]: record.point for record in self.points}
        return [measured[load] for load in sorted(measured)]

    @property
    def points_expected(self) -> int:
        """How many points the plan holds: trials times settings of the sweep; none of a search.

        Of a run that ends when its intervals are narrow these are the most; see ``stats.stopping``.
        """
        return len(self.run.order) * len(self.run.points)

    @property
    def points_lost(self) -> int:
        """Points of the sweep that were never measured because their server failed."""
        if self.run.study["trials"]["restart"] == "point":
            return len(self.failures)
        failed = {record.trial for record in self.failures}
        measured_in_failed = sum(1 for record in self.points if record.trial in failed)
        return len(failed) * len(self.run.points) - measured_in_failed

    @property
    def complete(self) -> bool:
        """Whether every planned point was measured or lost to a recorded failure.

        A run that ends when its intervals are narrow may be over before; ``stats.stopping.ending`` shows. A
        search, of which no points are planned, counts as complete if its last trial has begun.
        """
        if self.run.search is not None:
            last = max((planned.trial for planned in self.run.order), default=None)
            return any(record.trial == last for record in self.records)
        return len(self.points) + self.points_lost >= self.points_expected


def read_run(folder: Path) -> Run:
    """Read a run folder, finished or not.

    An unfinished last line of ``trials.jsonl`` is what a killed run leaves behind: it is skipped and noted in
    ``cut_off``.

    Raises ``BadInput`` where ``folder`` is no run folder, and where a file in it cannot be read as what it
    should be.
    """
    require_run_folder(folder)
    run_record = _read_run_record(folder / RUN_FILE)
    lines, cut_off = _read_trials(folder / TRIALS_FILE, run_record)
    records, gaps = used_records(lines)
    study_file = folder / STUDY_FILE
    study_text = _read_text(study_file) if os.path.lexists(study_file) else ""
    return Run(folder, run_record, records, study_text, cut_off=cut_off, gaps=gaps)


class RunFolder:
    """The folder of a run under way; a record is safe on the disk before anything else goes on.

    As long as it is open its ``trials.jsonl`` is locked, so that no two runs write into one folder. The
    kernel drops the lock however the run ends.
    """

    def __init__(self, path: Path, trials: FileIO) -> None:
        """Stand for the run folder ``path``, whose records go to ``trials``.

        Raises ``BlockingIOError`` where another run writes to it.
        """
        fcntl.flock(trials.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = path
        self._trials = trials

    def __enter__(self) -> Self:
        """Begin; the folder exists."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write no more."""
        self._trials.close()

    @classmethod
    def create(cls, path: Path, run_record: RunRecord, study_text: str) -> "RunFolder":
        """Make the folder with its three files, so that a run that is stopped at once can still be read.

        Raises ``BadInput`` where the folder is already in use, cannot be written, or lies on a disk without
        room for the planned points.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise BadInput(
                    f"{path} is not empty: a run is written into a new folder. Choose another with --out."
                )
            points_each = len(run_record.points) if run_record.search is None else POINTS_PER_SEARCH
            _require_room(path, points=len(run_record.order) * points_each)
            write_whole(path / STUDY_FILE, study_text.encode(), durably=True)
            write_whole(path / TRIALS_FILE, b"", durably=True)
            # The file that makes this a run folder comes last.
            record = run_record.model_dump_json(by_alias=True, indent=2) + "\n"
            write_whole(path / RUN_FILE, record.encode(), durably=True)
            _sync_folder(path)
            return cls(path, append_regular(path / TRIALS_FILE))
        except OSError as error:
            raise BadInput(
                f"the results cannot be written to {path}: {error.strerror}. "
                "Choose another folder with --out."
            ) from error

    @classmethod
    def reopen(cls, path: Path) -> "RunFolder":
        """Open the folder of a run that was interrupted; nothing is written before the first record.

        Raises ``BadInput`` where it is no run folder, its run is still under way, or it cannot be written.
        """
        require_run_folder(path)
        try:
            return cls(path, append_regular(path / TRIALS_FILE))
        except BlockingIOError:
            raise BadInput(
                f"the run in {path} is still under way: another process writes into the folder. "
                f"Wait for its end, or follow it: loadcurve watch {path}"
            ) from None
        except OSError as error:
            named = f"{error.filename or path}: {error.strerror}"
            raise BadInput(f"the run in {path} cannot be resumed: {named}.") from error

    def append(self, record: TrialLine) -> None:
        """Append one line to ``trials.jsonl`` and return when the disk has it.

        The file stays open, so that a process that may open no more files loses nothing.

        Raises ``LoadcurveError`` where the line cannot be written, the disk being full for instance; the
        records before it are kept.
        """
        line = record.model_dump_json(by_alias=True) + "\n"
        if isinstance(record, ResumedRecord) and self._ends_within_a_line():
            line = "\n" + line
        trials_file = self.path / TRIALS_FILE
        if not trials_file.exists():
            raise LoadcurveError(
                f"{trials_file} was moved or removed during the run; if moved, what was measured is in it."
            )
        try:
            left = memoryview(line.encode())
            while left:
                left = left[self._trials.write(left) :]
            os.fsync(self._trials.fileno())
        except OSError as error:
            raise LoadcurveError(
                f"a result cannot be written to {trials_file}: {error.strerror}. What was measured before is "
                f"kept, and this makes its report elsewhere: loadcurve report {self.path} --out DIR"
            ) from error

    def _ends_within_a_line(self) -> bool:
        """Say whether a kill has cut off the last line."""
        trials = self._trials.fileno()
        length = os.fstat(trials).st_size
        return length > 0 and os.pread(trials, 1, length - 1) != b"\n"


def _read_run_record(path: Path) -> RunRecord:
    text = _read_text(path)
    try:
        return RunRecord.model_validate_json(text)
    except ValidationError as error:
        problem = _first_problem(error)
        written = _json_object(text)
        if "format" in written:
            version, format_name = written.get("loadcurve_version"), written["format"]
            raise _another_version(path.parent, version, format_name, problem) from error
        raise BadInput(f"{path} cannot be read as a run record: {problem}") from error


def _another_version(folder: Path, version: object, format_name: object, problem: str) -> BadInput:
    """Return the error that the records in a folder are not those that this version writes."""
    formats = " and ".join(get_args(RunFormat))
    return BadInput(
        f"{folder} was written by another version of Loadcurve, or changed since ({problem}): its {RUN_FILE} "
        f"names version {version} and format {format_name}, and this is version {__version__}, which reads "
        f"{formats}. Use the version that wrote it, or measure again: loadcurve run {folder / STUDY_FILE}"
    )


def _json_object(text: str) -> dict[str, Any]:
    """Return the object that a JSON text is; an empty one where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _read_trials(path: Path, run: RunRecord) -> tuple[list[TrialLine], bool]:
    """Read all lines of a run but those that were cut off, and whether that was the last one."""
    if not os.path.lexists(path):
        return [], False
    text = _read_text(path, undecodable="replace")
    # A record and its line end are written together: a last line without one was cut off, even if it parses.
    finished, _, rest = text.rpartition("\n")
    lines = list(_numbered_lines(finished))
    cut_off = lines_cut_off([line.encode() for _, line in lines])
    records = [
        _read_record(path, run, number, line)
        for place, (number, line) in enumerate(lines)
        if place not in cut_off
    ]
    return records, bool(rest)


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with content and their numbers from 1; only a line feed ends a line."""
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _read_record(path: Path, run: RunRecord, number: int, line: str) -> TrialLine:
    try:
        return read_trial_record(line, run.format)
    except ValidationError as error:
        problem = _first_problem(error)
        if "kind" in _json_object(line):
            place = f"{path.name}, line {number}, {problem}"
            raise _another_version(path.parent, run.loadcurve_version, run.format, place) from error
        raise BadInput(f"{path}, line {number}, is not a record of a trial: {problem}") from error


def _first_problem(error: ValidationError) -> str:
    """Say where the first problem lies and what it is, in one line."""
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place}: {problem['msg']}" if place else problem["msg"]


def _read_text(path: Path, undecodable: str = "strict") -> str:
    try:
        return read_regular(path).decode("utf-8", errors=undecodable)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text (byte {error.start}).") from error


def _require_room(path: Path, points: int) -> None:
    """Raise ``BadInput`` unless the disk under ``path`` has room for a run of so many points."""
    needed = points * BYTES_PER_POINT + BYTES_PER_RUN
    free = shutil.disk_usage(path).free
    if free < needed:
        raise BadInput(
            f"the disk of {path} has {free:,} bytes free, "
            f"and the {points:,} points of this run may need {needed:,}. "
            "Free some space or choose another folder with --out."
        )


def _sync_folder(path: Path) -> None:
    """Make the names of the new files durable too; on Linux that takes an fsync of the folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
