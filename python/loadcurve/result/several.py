"""Folders of several run folders: of loads at once by ``loads.json``, of a suite by ``suite.json``.

``interference.json`` says what the loads do to each other.
"""

from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import Field, ValidationError

from loadcurve.errors import BadInput
from loadcurve.files import read_regular, write_whole
from loadcurve.loads.values import Point
from loadcurve.record import Count, Many, Record
from loadcurve.result.run_files import LOADS_FILE, RUN_BYTES_MAX, SUITE_RECORD_FILE
from loadcurve.result.trial_lines import first_problem

LEAST_LOADS = 2
SUITE_FORMAT: Final = "loadcurve-suite/1"
Kind = TypeVar("Kind", bound=Record)


class LoadOfSeveral(Record):
    """One of the loads, whose run folder goes by its name."""

    name: str
    server: str
    """The arm of its server alone."""
    together: str
    """The arm of its server beside the others."""


class SeveralLoadsRecord(Record):
    """The loads of a folder."""

    format: Literal["loadcurve-loads/1"]
    title: str
    question: str | None
    loads: Many[LoadOfSeveral]


class TogetherRatio(Record):
    """A measure of a server beside the others, over the same alone, with its 95 % interval over blocks."""

    measure: str
    """Its column."""
    point: Point | None
    """``None`` for the whole curve."""
    value: float | None
    """``None`` where no block has both."""
    low: float | None
    high: float | None
    trials: Count
    """The blocks that have both."""
    shown: bool
    """Whether the interval leaves 1 out."""


class TakenEstimate(Record):
    """What a server used, with its 95 % interval over trials."""

    value: float
    low: float | None
    high: float | None
    trials: Count


class TogetherTaken(Record):
    """What a server used of the machine at one point, or what was left for it."""

    measure: str
    """Its column."""
    unit: str
    point: Point
    alone: TakenEstimate | None
    """``None`` where it was not measured."""
    together: TakenEstimate | None


class LoadInterference(Record):
    """What the other loads do to one."""

    load: LoadOfSeveral
    ratios: Many[TogetherRatio]
    taken: Many[TogetherTaken] = Field(default_factory=list)
    """Of CPUs, memory and files; a folder of an earlier version may lack it."""


class InterferenceRecord(Record):
    """``interference.json``: what several loads on one machine do to each other."""

    format: Literal["loadcurve-interference/1"]
    title: str
    question: str | None
    loads: Many[LoadInterference]


class SuiteRecord(Record):
    """A suite as it was begun."""

    format: Literal["loadcurve-suite/1"]
    name: str
    options: Many[str]
    """Those that change its studies, as they are given on the command line."""
    seed: int | None
    """That of all its runs; ``None`` where each draws another one."""


def write_loads(folder: Path, record: SeveralLoadsRecord) -> None:
    """Write what the loads are; raises ``BadInput`` where the folder cannot be written."""
    _write(folder / LOADS_FILE, record)


def read_loads(folder: Path) -> SeveralLoadsRecord:
    """Read what the loads of a folder are.

    Raises:
        BadInput: the file cannot be read, or names too few loads, one twice, or what is no folder in it.

    """
    path = folder / LOADS_FILE
    record = _read(path, SeveralLoadsRecord, "a record of loads")
    names = [load.name for load in record.loads]
    if len(names) < LEAST_LOADS or len({*names}) < len(names):
        raise BadInput(
            f"{path} names {len(names)} loads; expected at least {LEAST_LOADS}, each with a different name."
        )
    for load in record.loads:
        if load.name in {"", ".", ".."} or "/" in load.name:
            raise BadInput(f'{path} names "{load.name}", which is not a folder in {folder}.')
        if (folder / load.name).is_symlink():
            raise BadInput(
                f"{folder / load.name} is a link, and may lead out of the run's folder: give the folder "
                "that it leads to."
            )
    return record


def write_suite(folder: Path, record: SuiteRecord) -> None:
    """Write what a folder's suite is; raises ``BadInput`` where the folder cannot be written."""
    _write(folder / SUITE_RECORD_FILE, record)


def read_suite_record(folder: Path) -> SuiteRecord:
    """Read what a folder's suite is; raises ``BadInput`` where the file cannot be read."""
    return _read(folder / SUITE_RECORD_FILE, SuiteRecord, "the record of a suite")


def _write(path: Path, record: Record) -> None:
    try:
        write_whole(path, record.model_dump_json(indent=2).encode() + b"\n", durably=True)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from error


def _read(path: Path, kind: type[Kind], title: str) -> Kind:
    try:
        return kind.model_validate_json(read_regular(path, RUN_BYTES_MAX))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise BadInput(f"{path} cannot be read as {title}: {first_problem(error)}") from error
