"""``loadcurve run``."""

from pathlib import Path

from rich.console import Console

from loadcurve.cli.display import display_for
from loadcurve.errors import NothingMeasured
from loadcurve.run.study import RunOptions, StudyRun
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.study.read import find_study

EXIT_DONE = 0
EXIT_INVALID = 3
EXIT_INTERRUPTED = 130


def run_command(argument: str, options: RunOptions) -> int:
    """Run a study, show its progress and its summary, and return the exit code.

    Raises:
        LoadcurveError: nothing was measured, or a record could not be written; its exit code says which.

    """
    talk = Console(stderr=True, highlight=False)
    with display_for(talk) as display:
        study_run = StudyRun(find_study(argument), options, display)
        display.begins(study_run.study, study_run.order)
        try:
            measured = study_run.measure()
        except KeyboardInterrupt:
            interrupted = True
        else:
            interrupted = False
            if not measured:
                raise NothingMeasured(
                    f"no point could be measured; {study_run.folder}/trials.jsonl says why for each trial"
                )
    if interrupted and not (study_run.folder / "run.json").exists():
        talk.print("interrupted before anything was measured")
        return EXIT_INTERRUPTED
    usable = _show(study_run.folder, talk, interrupted=interrupted)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_DONE if usable else EXIT_INVALID


def _show(folder: Path, talk: Console, *, interrupted: bool) -> bool:
    """Print the summary and write the report, its path last, on stdout; say whether any point can be used."""
    # An exception in the middle of an import may be lost or turned into another one by native code.
    with interrupts_deferred():
        from loadcurve.explain.all import findings
        from loadcurve.report.findings import findings_text
        from loadcurve.report.html import write_report
        from loadcurve.report.terminal import summary
        from loadcurve.result.folder import read_run

    if interrupted:
        talk.print("interrupted: what was measured is kept")
    run = read_run(folder)
    # The report is written first: it stays, whatever becomes of stdout.
    report = write_report(folder)
    out = Console(highlight=False)
    out.print(summary(run))
    out.print(findings_text(findings(run)))
    out.print(report, soft_wrap=True)
    return any(point.load.verdict.status != "invalid" for point in run.points)
