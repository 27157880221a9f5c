"""``numbers.json``: the analysis of a run, kept in its folder so that it is computed once."""

import contextlib
import functools
from pathlib import Path
from typing import cast

from pydantic import ConfigDict, ValidationError
from pydantic_core import CoreSchema, SchemaValidator

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.files import write_whole
from loadcurve.result.checksum import sealed, with_checksum
from loadcurve.result.folder import Run, read_run
from loadcurve.result.run_files import NUMBERS_FILE
from loadcurve.result.summary import NumbersHead, kept_text
from loadcurve.stats.slo import Objective


class Numbers(NumbersHead):
    """The analysis of a run, what it was made of, and the run in a few lines."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=with_checksum)

    analysis: Analysis

    def to_json(self) -> bytes:
        """Return the text of the file."""
        return sealed(self.model_dump_json(by_alias=True)) + b"\n"


def read_analysis(folder: Path) -> Analysis | None:
    """Return the analysis in a run folder; ``None`` where none fits what the folder holds."""
    text = kept_text(folder)
    try:
        return None if text is None else _numbers_reader().validate_json(text).analysis
    except ValidationError:
        return None


@functools.cache
def _numbers_reader() -> SchemaValidator:
    """Return what reads numbers and ends at the first wrong item of any list or table in them.

    Those that came with a folder may hold millions, and pydantic would describe an error for each.
    """
    quick = cast("CoreSchema", _failing_fast(Numbers.__pydantic_core_schema__))
    # Otherwise the models in it would be read as their own schemas say.
    return SchemaValidator(quick, _use_prebuilt=False)


def _failing_fast(schema: object) -> object:
    match schema:
        case dict():
            quick = {"fail_fast": True} if schema.get("type") in _COLLECTIONS else {}
            return {key: _failing_fast(value) for key, value in schema.items()} | quick
        case list():
            return [_failing_fast(one) for one in schema]
        case _:
            return schema


_COLLECTIONS = frozenset({"list", "tuple", "dict"})


def read_analysed(folder: Path, objective: Objective | None = None) -> tuple[Run, Analysis]:
    """Read a run folder and its analysis, which is made anew where none fits.

    With limits it is made in any case, because theirs are not kept.

    Raises ``BadInput`` where the folder cannot be read as a run, or the limits do not apply to it.
    """
    kept = read_analysis(folder) if objective is None else None
    run = read_run(folder)
    # One that was made before the damage would hold what the rest of a report lacks.
    return run, analyse(run, objective) if kept is None or run.damage else kept


def analysis_of(folder: Path) -> Analysis:
    """Return the analysis of a run folder; measurements are read only where none that fits was kept.

    Raises ``BadInput`` where the folder cannot be read as a run.
    """
    return read_analysis(folder) or analyse(read_run(folder))


def keep_numbers(folder: Path, numbers: Numbers) -> None:
    """Write the numbers into their run folder, where that can be written to."""
    with contextlib.suppress(OSError):
        write_whole(folder / NUMBERS_FILE, numbers.to_json())
