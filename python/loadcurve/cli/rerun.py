"""``loadcurve rerun``: a run measured again from its folder, beside the figures that it published."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from loadcurve.analysis.numbers import analysis_of
from loadcurve.analysis.rerun import RerunOutcome, judge_rerun
from loadcurve.cli.agreement import require_agreement
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import tell_damage
from loadcurve.cli.output import one_object_on_stdout
from loadcurve.cli.regression import share_of
from loadcurve.cli.run import run_command
from loadcurve.errors import BadInput
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID, EXIT_UNDECIDED
from loadcurve.report.rerun import rerun_json, rerun_lines
from loadcurve.result.folder import read_run_record
from loadcurve.result.records import RunRecord
from loadcurve.result.run_files import STUDY_FILE, new_folder
from loadcurve.runs.study import RunOptions

_CODES: dict[RerunOutcome, int] = {
    "reproduced": EXIT_DONE,
    "not_reproduced": EXIT_INVALID,
    "cannot_tell": EXIT_DONE,
    "another_machine": EXIT_DONE,
}


@dataclass(frozen=True)
class RerunOptions:
    """What the person changes about a second run."""

    rows: tuple[str, ...] = ()
    """The servers to measure; empty for all."""
    out: Path | None = None
    within: str = "10%"
    is_strict: bool = False
    """Whether a second run that cannot tell is a failure."""
    as_json: bool = False
    agrees: bool = False
    """Whether the person agrees to what the study runs."""


def rerun_command(folder: Path, options: RerunOptions) -> int:
    """Measure a run again, and say whether its figures are reproduced; return the exit code.

    Raises ``LoadcurveError``: the run cannot be measured again, or nothing was measured.
    """
    margin = share_of("--within", options.within)
    record, damage = read_run_record(folder)
    _require_study(folder, record, options.rows)
    for sentence in damage:
        new_console(stderr=True).print(f"loadcurve: {sentence}", soft_wrap=True)
    study = folder / STUDY_FILE
    require_agreement(str(study), is_given=options.agrees)
    out = options.out or new_folder("rerun")
    of_run = RunOptions.of_run(folder, record)
    only = options.rows or of_run.only
    with one_object_on_stdout(is_asked=options.as_json):
        code = run_command(str(study), replace(of_run, out=out, only=only))
    if code == EXIT_INTERRUPTED:
        return EXIT_INTERRUPTED
    base, new = analysis_of(folder), analysis_of(out)
    tell_damage(base, folder)
    found = judge_rerun(base, new, margin)
    if options.as_json:
        typer.echo(json.dumps(rerun_json(found), indent=2))
    else:
        new_console().print(rerun_lines(found))
    if found.outcome == "cannot_tell" and options.is_strict:
        return EXIT_UNDECIDED
    return _CODES[found.outcome]


def _require_study(folder: Path, record: RunRecord, rows: tuple[str, ...]) -> None:
    """Refuse runs that no study's sweep makes, and servers that the run does not have."""
    what = (
        "imported from files of other tools"
        if record.imported is not None
        else "a gate"
        if record.gate is not None
        else "a search for the capacity"
        if record.search is not None
        else None
    )
    if what is not None:
        raise BadInput(
            f"{folder} is {what}, and not a sweep of a study, which alone can be measured again beside its "
            "figures. The report has the command that repeats it."
        )
    if unknown := [name for name in rows if name not in record.servers]:
        raise BadInput(
            f"--row {unknown[0]}: the run has no such server; expected one of {', '.join(record.servers)}"
        )
