"""The run folder: ``run.json``, ``trials.jsonl`` and ``study.toml``, written while measuring, read later."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from pydantic import ValidationError

from loadcurve.errors import BadInput, LoadcurveError
from loadcurve.files import append_regular, make_folder, open_regular, read_regular, write_whole
from loadcurve.loads.kinds import LoadKind, kind_of_work
from loadcurve.loads.values import Point
from loadcurve.result.checksum import digest, sealed, unsealed
from loadcurve.result.measure_names import PEAK, RankedMeasureName
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.records import (
    FailureRecord,
    PointRecord,
    ResumedRecord,
    RunFormat,
    RunRecord,
    TrialLine,
    run_record_of,
)
from loadcurve.result.run_files import (
    RUN_BYTES_MAX,
    RUN_COPY_FILE,
    RUN_FILE,
    STUDY_FILE,
    TRIALS_FILE,
    require_run_folder,
)
from loadcurve.result.trial_lines import (
    OBJECTS_MAX,
    DamagedLine,
    TrialReader,
    UnknownRecordError,
    first_problem,
    json_object,
    trial_line,
    whole_lines,
)
from loadcurve.result.which_count import (
    Gap,
    counted,
    curve_ends,
    damaged_lines,
    until_drop,
    used_records,
    without_measured,
)
from loadcurve.version import VERSION

BYTES_PER_POINT = 512 * 1024
"""A generous size for one line of ``trials.jsonl``: five histograms, and both series of two minutes."""
POINTS_PER_SEARCH = 25
"""A generous number of points for one trial of a search."""
BYTES_PER_RUN = 8 * 1024 * 1024
"""Room for the files that do not grow with the points, the report among them."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder as it was read.

    ``records`` are in the order in which they were written, one for each point of a trial, without those of
    blocks that were interrupted and begun anew; ``cut_off`` says that the last line of ``trials.jsonl`` was
    left unfinished by a kill and is not among them. ``damage`` are sentences, each of a file or a record that
    was changed since it was written, and what became of it.
    """

    folder: Path
    run: RunRecord
    records: list[PointRecord | FailureRecord]
    study_text: str
    cut_off: bool
    gaps: tuple[Gap, ...] = ()
    """Where the run was interrupted and resumed."""
    damage: tuple[str, ...] = ()
    repeated: tuple[PointRecord, ...] = ()
    """Attempts at points that were measured again, because the machine was disturbed, and do not count."""

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
        return kind_of_work(self.run.study["load"]["work"])

    @property
    def is_closed_loop(self) -> bool:
        """Whether what is asked next waits for the answer, so that throughput is found and not asked for."""
        return self.kind.is_closed_loop(self.load_model, has_rate=self._has_rate)

    @property
    def is_at_rates(self) -> bool:
        """Whether any load asked for a rate."""
        return any(one.load.load.is_open_loop for one in self.points)

    @property
    def default_measure(self) -> str:
        """The name of the measure that answers the study's question: the study's, or that of its load."""
        asked = self.run.study.get("answer_by")
        if asked in get_args(RankedMeasureName):
            return str(asked)
        return self.kind.default_measure(self.load_model, has_rate=self._has_rate)

    @property
    def is_answered_by_peak(self) -> bool:
        """Whether the greatest throughput of each server along the sweep answers the study's question."""
        return bool(self.run.study.get("answer_by") == PEAK)

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
        own = {name: value for name, value in self.load_of(server).items() if value != common.get(name)}
        swept = self.run.study.get("servers", {}).get(server, {}).get("sweep")
        if not isinstance(swept, dict):
            return own
        # Its load lacks what the server sweeps.
        return {**{name: value for name, value in own.items() if value is not None}, **swept}

    @property
    def load_model(self) -> str | None:
        """The load model of the study."""
        model: str | None = self.run.study.get("load", {}).get("model")
        return model

    @property
    def sweep_points(self) -> list[Point]:
        """The settings along the curves: those of the sweep, or those that a search measured, rising.

        Where curves end before the end of the sweep, those that no trial has reached are not among them.
        """
        search = self.run.search
        if search is None:
            if until_drop(self.run.study) is None:
                return self.run.points
            reached = {point_key(record.point) for record in self.records if record.point is not None}
            places = [place for place, point in enumerate(self.run.points) if point_key(point) in reached]
            return self.run.points[: places[-1] + 1] if places else self.run.points
        measured = {record.point[search.key]: record.point for record in self.points}
        return [measured[load] for load in sorted(measured)]

    def places(self) -> dict[PointKey, int]:
        """Return the place of each of these settings in their list."""
        return {point_key(point): place for place, point in enumerate(self.sweep_points)}

    @property
    def points_expected(self) -> int:
        """How many points the plan holds: those of all trials; none of a search.

        Of a run that ends when its intervals are narrow, and as long as curves may still end, these are the
        most; see ``stats.stopping`` and ``result.curve_end``.
        """
        return sum(self.points_of_trials.values())

    @property
    def curve_ends(self) -> dict[int, PointRecord]:
        """By trial, the point at which its curve ended before the end of the sweep."""
        last = self.run.points[-1:]
        ends = curve_ends(self.run.study, self.points)
        return {trial: end for trial, end in ends.items() if end.point not in last}

    @property
    def points_of_trials(self) -> dict[int, int]:
        """By trial, how many points it was to measure: those of the sweep, up to where its curve ended."""
        whole = len(self.run.points)
        lengths = {
            trial: self.run.points.index(end.point) + 1
            for trial, end in self.curve_ends.items()
            if end.point in self.run.points
        }
        return {planned.trial: lengths.get(planned.trial, whole) for planned in self.run.order}

    @property
    def points_lost(self) -> int:
        """Points of the sweep that were never measured because their server failed."""
        if self.run.starts_each_point:
            return len(without_measured(self.failures, self.points))
        failed = {record.trial for record in self.failures}
        measured_in_failed = sum(1 for record in self.points if record.trial in failed)
        return sum(self.points_of_trials.get(trial, 0) for trial in failed) - measured_in_failed

    @property
    def complete(self) -> bool:
        """Whether every planned point was measured or lost to a recorded failure.

        A run that ends when its intervals are narrow may be over before; ``stats.stopping.ending`` shows. A
        search, which plans no points, counts as complete if its last trial has begun.
        """
        if self.run.search is not None:
            last = max((planned.trial for planned in self.run.order), default=None)
            return any(record.trial == last for record in self.records)
        return len(self.points) + self.points_lost >= self.points_expected


def read_run(folder: Path) -> Run:
    """Read a run folder, finished or not.

    An unfinished last line of ``trials.jsonl`` is what a killed run leaves behind: it is skipped and noted in
    ``cut_off``. What does not match its checksum is left out or shown, and named in ``damage``.

    Raises ``BadInput`` where ``folder`` is no run folder, and where a file in it cannot be read as what it
    should be.
    """
    run_record, run_damage = read_run_record(folder)
    lines, cut_off = _read_trials(folder / TRIALS_FILE, run_record)
    used, gaps = used_records(lines)
    records, repeated = counted(used, run_record.server_cpus)
    study_text, study_damage = read_study(folder, run_record)
    return Run(
        folder=folder,
        run=run_record,
        records=records,
        study_text=study_text,
        cut_off=cut_off,
        gaps=gaps,
        damage=(*run_damage, *study_damage, *map(str, damaged_lines(lines))),
        repeated=repeated,
    )


def read_run_record(folder: Path) -> tuple[RunRecord, list[str]]:
    """Read ``run.json``, or its copy where it does not match its checksum; return, too, sentences of damage.

    Raises ``BadInput`` as :func:`read_run`.
    """
    require_run_folder(folder)
    path = folder / RUN_FILE
    found = unsealed(_read(path))
    if found.state == "intact":
        return _run_record(path, found.content), []
    copy = _intact_copy(folder)
    if copy is not None:
        problem = f"{RUN_FILE} was changed since it was written: the report uses {RUN_COPY_FILE} instead."
        return _run_record(folder / RUN_COPY_FILE, copy), [problem]
    record = _run_record(path, found.content)
    if found.state == "without":
        return record, []
    problem = f"{RUN_FILE} was changed since it was written: what it records of the run may be wrong."
    return record, [problem]


def read_study(folder: Path, run: RunRecord) -> tuple[str, list[str]]:
    """Return the text of a run's study, and whether it is another than when it was written, in a sentence.

    Raises ``BadInput`` where it cannot be read.
    """
    path = folder / STUDY_FILE
    if not os.path.lexists(path):
        return "", [f"{STUDY_FILE} is missing."] if run.study_sha256 else []
    study = _read(path)
    is_changed = run.study_sha256 not in {None, digest(study)}
    damage = (
        [f"{STUDY_FILE} was changed since it was written: the report shows it unchanged."]
        if is_changed
        else []
    )
    return study.decode(errors="replace"), damage


def _intact_copy(folder: Path) -> bytes | None:
    try:
        copy = unsealed(read_regular(folder / RUN_COPY_FILE, RUN_BYTES_MAX))
    except OSError:
        return None
    return copy.content if copy.state == "intact" else None


def require_new_folder(path: Path) -> None:
    """Make the folder of a run; raises ``BadInput`` where it is in use or cannot be made."""
    try:
        make_folder(path)
        is_used = any(path.iterdir())
    except OSError as error:
        raise _not_written(path, error) from error
    if is_used:
        raise _in_use(path)


def refuse_used_folder(path: Path) -> None:
    """Raise ``BadInput`` where a folder is in use, and make none: before what takes time, it saves that."""
    with contextlib.suppress(OSError):
        if any(path.iterdir()):
            raise _in_use(path)


def _in_use(path: Path) -> BadInput:
    return BadInput(f"{path} is not empty: a run requires a new or empty folder. Choose another with --out.")


def _not_written(path: Path, error: OSError) -> BadInput:
    return BadInput(
        f"the results cannot be written to {path}: {error.strerror}. Choose another folder with --out."
    )


class RunFolder:
    """The folder of a run under way; a record is safe on the disk before anything else continues.

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
    def create(
        cls,
        path: Path,
        run_record: RunRecord,
        study_text: str,
        begins: Callable[[bytes], None] = lambda _: None,
        copy_inputs: Callable[[Path], None] = lambda _: None,
    ) -> "RunFolder":
        """Make the folder with its three files, so that a run that is stopped at once can still be read.

        ``begins`` is called with what ``run.json`` will hold, before the file is there, and ``copy_inputs``
        before that with the folder.

        Raises ``BadInput`` where the folder is already in use, cannot be written, or lies on a disk without
        room for the planned points.
        """
        require_new_folder(path)
        try:
            # Two runs may find a folder empty at the same time: who makes this file has it.
            os.close(
                os.open(path / TRIALS_FILE, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            )
        except FileExistsError:
            raise _in_use(path) from None
        except OSError as error:
            raise _not_written(path, error) from error
        try:
            trials = cls(path, append_regular(path / TRIALS_FILE))
            points_each = len(run_record.points) if run_record.search is None else POINTS_PER_SEARCH
            _require_room(path, points=len(run_record.order) * points_each)
            copy_inputs(path)
            write_whole(path / STUDY_FILE, study_text.encode(), durably=True)
            # The file that makes this a run folder comes last.
            record = run_record.model_copy(update={"study_sha256": digest(study_text.encode())})
            text = sealed(record.model_dump_json(by_alias=True, indent=2)) + b"\n"
            begins(text)
            for name in (RUN_COPY_FILE, RUN_FILE):
                write_whole(path / name, text, durably=True)
        except OSError as error:
            raise _not_written(path, error) from error
        return trials

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
                f"the run in {path} is still in progress: another process is writing to the folder. Wait "
                f"until it ends, or follow it: loadcurve watch {path}"
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
        line = trial_line(record)
        if isinstance(record, ResumedRecord) and self._ends_within_a_line():
            line = b"\n" + line
        trials_file = self.path / TRIALS_FILE
        if not trials_file.exists():
            raise LoadcurveError(
                f"{trials_file} was moved, removed or unmounted during the run; if it was moved, it "
                "contains what was measured."
            )
        try:
            left = memoryview(line)
            while left:
                left = left[self._trials.write(left) :]
            os.fsync(self._trials.fileno())
        except OSError as error:
            raise LoadcurveError(
                f"a result cannot be written to {trials_file}: {error.strerror}. What was measured before "
                f"is kept. To write its report elsewhere: loadcurve report {self.path} --out DIR"
            ) from error

    def _ends_within_a_line(self) -> bool:
        """Say whether a kill has cut off the last line."""
        trials = self._trials.fileno()
        length = os.fstat(trials).st_size
        return length > 0 and os.pread(trials, 1, length - 1) != b"\n"


def _run_record(path: Path, text: bytes) -> RunRecord:
    if text.count(b"{") > OBJECTS_MAX:
        raise BadInput(f"{path} cannot be read as a run record: it has more than {OBJECTS_MAX:,} objects.")
    try:
        return run_record_of(text)
    except ValidationError as error:
        problem = first_problem(error)
        written = json_object(text)
        if "format" in written:
            version, format_name = written.get("loadcurve_version"), written["format"]
            raise _another_version(path.parent, version, format_name, problem) from error
        raise BadInput(f"{path} cannot be read as a run record: {problem}") from error


def _another_version(folder: Path, version: object, format_name: object, problem: str) -> BadInput:
    """Return the error that the records in a folder are not those that this version writes."""
    *older, newest = get_args(RunFormat)
    formats = f"{', '.join(older)} and {newest}"
    return BadInput(
        f"{folder} was written by another version of Loadcurve, or changed since ({problem}): its {RUN_FILE} "
        f"names version {version} and format {format_name}, and this is version {VERSION}, which reads "
        f"{formats}. Use the version that wrote it, or measure again: loadcurve run {folder / STUDY_FILE}"
    )


def _read_trials(path: Path, run: RunRecord) -> tuple[list[TrialLine | DamagedLine], bool]:
    """Read all lines of a run, and whether the last one is unfinished."""
    if not os.path.lexists(path):
        return [], False
    reader = TrialReader(run.format)
    lines: list[TrialLine | DamagedLine] = []
    try:
        with open_regular(path) as file:
            for number, line in enumerate(whole_lines(file), start=1):
                lines += reader.read(number, line)
            is_cut_off = file.tell() < os.fstat(file.fileno()).st_size
        reader.require_known()
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnknownRecordError as unknown:
        raise another_version(path.parent, run, unknown) from unknown
    return lines, is_cut_off


def another_version(folder: Path, run: RunRecord, unknown: UnknownRecordError) -> BadInput:
    """Return the error that a record of a run is unknown to this version."""
    return _another_version(folder, run.loadcurve_version, run.format, f"{TRIALS_FILE}, {unknown}")


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, RUN_BYTES_MAX)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be read: {error.strerror}.")


def _require_room(path: Path, points: int) -> None:
    """Raise ``BadInput`` unless the disk under ``path`` has room for a run of this many points."""
    needed = points * BYTES_PER_POINT + BYTES_PER_RUN
    free = shutil.disk_usage(path).free
    if free < needed:
        raise BadInput(
            f"the disk of {path} has {free:,} bytes free, and the {points:,} points of this run may need "
            f"{needed:,}. Free some space or choose another folder with --out."
        )
