"""``loadcurve run``."""

from pathlib import Path

from rich.console import Console

from loadcurve.cli.console import new_console
from loadcurve.cli.display import RunDisplay, shown
from loadcurve.errors import NothingMeasured
from loadcurve.result.folder import Run
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
    talk = new_console(stderr=True)
    with shown(RunDisplay(talk, live=talk.is_terminal), talk) as display:
        study_run = StudyRun(find_study(argument), options, display)
        display.begins(study_run.study, study_run.order)
        interrupted = measured(study_run)
    run = show_results(study_run.folder, talk, interrupted=interrupted)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_DONE if run and has_usable_points(run) else EXIT_INVALID


def measured(study_run: StudyRun) -> bool:
    """Take a run to its end and say whether it was interrupted before.

    Raises:
        LoadcurveError: nothing was measured, or a record could not be written.

    """
    try:
        points = study_run.measure()
    except KeyboardInterrupt:
        return True
    if not points:
        raise NothingMeasured(
            f"no point could be measured; {study_run.folder}/trials.jsonl says why for each trial"
        )
    return False


def show_results(folder: Path, talk: Console, *, interrupted: bool) -> Run | None:
    """Print the summary and write the report, its path last, on stdout; return the run, if there is any."""
    if interrupted and not (folder / "run.json").exists():
        talk.print("interrupted before anything was measured")
        return None
    # An exception in the middle of an import may be lost or turned into another one by native code.
    with interrupts_deferred():
        from loadcurve.explain.all import findings
        from loadcurve.report.findings import findings_text
        from loadcurve.report.html import write_run_report
        from loadcurve.report.run_summary import summary_of
        from loadcurve.report.terminal import print_shapes, summary
        from loadcurve.result.folder import read_run
        from loadcurve.result.summary import keep_summary, source_of

    if interrupted:
        talk.print("interrupted: what was measured is kept")
    run = read_run(folder)
    # The report is written first: it stays, whatever becomes of stdout.
    report = write_run_report(run)
    found = findings(run)
    keep_summary(folder, summary_of(run, found, source_of(folder)))
    out = new_console()
    out.print(summary(run))
    print_shapes(run, out)
    out.print(findings_text(found, "brief"))
    out.print(report, soft_wrap=True)
    return run


def has_usable_points(run: Run) -> bool:
    """Say whether any point of a run can be used."""
    from loadcurve.stats.curves import is_usable

    return any(map(is_usable, run.points))
