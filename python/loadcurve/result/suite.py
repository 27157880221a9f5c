"""``suite.json``: what makes a folder that of a suite; in it lies a run folder of each of its studies."""

from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from loadcurve.errors import BadInput
from loadcurve.files import read_regular, write_whole
from loadcurve.record import Many, Record
from loadcurve.result.run_files import RUN_BYTES_MAX, SUITE_RECORD_FILE
from loadcurve.result.trial_lines import first_problem

SUITE_FORMAT: Final = "loadcurve-suite/1"


class SuiteRecord(Record):
    """A suite as it was begun."""

    format: Literal["loadcurve-suite/1"]
    name: str
    options: Many[str]
    """Those that change its studies, as they are given on the command line."""
    seed: int | None
    """That of all its runs; ``None`` where each draws another one."""


def write_suite(folder: Path, record: SuiteRecord) -> None:
    """Write what a folder's suite is; raises ``BadInput`` where the folder cannot be written."""
    path = folder / SUITE_RECORD_FILE
    try:
        write_whole(path, record.model_dump_json(indent=2).encode() + b"\n", durably=True)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from error


def read_suite_record(folder: Path) -> SuiteRecord:
    """Read what a folder's suite is; raises ``BadInput`` where the file cannot be read."""
    path = folder / SUITE_RECORD_FILE
    try:
        return SuiteRecord.model_validate_json(read_regular(path, RUN_BYTES_MAX))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise BadInput(f"{path} cannot be read as the record of a suite: {first_problem(error)}") from error
