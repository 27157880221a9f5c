"""What a run ends with: its summary in the terminal, and its report."""

import contextlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from loadcurve.cli.console import new_console
from loadcurve.errors import NO_MEMORY, BadInput, LoadcurveError, refusal, sentence
from loadcurve.result.folder import Run
from loadcurve.server.interrupts import interrupts_deferred

if TYPE_CHECKING:
    from loadcurve.report.section import Report


@contextmanager
def results_prepared() -> Iterator[None]:
    """Import what results are shown by beside what the block does, which waits for native code mostly."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(_prepare)
        yield


def _prepare() -> None:
    # What fails here fails again where it is needed, and is reported there.
    with contextlib.suppress(Exception):
        import loadcurve.analysis.numbers
        import loadcurve.report.html
        import loadcurve.report.run_summary
        import loadcurve.report.terminal  # noqa: F401


def show_results(
    folder: Path,
    talk: Console,
    *,
    interrupted: bool,
    before_path: Callable[[Sequence[Run]], None] = lambda _: None,
) -> Run | None:
    """Print the summary and write the report, its path last, on stdout; return the run, if there is any.

    ``before_path`` says what else there is to say of the run, so that the path stays the last line.

    Raises ``LoadcurveError``: the report cannot be made; what was measured is kept.
    """
    if interrupted and not (folder / "run.json").exists():
        talk.print("interrupted before anything was measured")
        return None
    with _faults_of_reports(folder):
        return _show_results(folder, talk, before_path, interrupted=interrupted)


@contextmanager
def _faults_of_reports(folder: Path) -> Iterator[None]:
    """Say of what fails inside the block that the report could not be written."""
    try:
        yield
    except (BadInput, ImportError, OSError, MemoryError) as error:
        said = _in_words(error)
        raise LoadcurveError(
            f"the report could not be written: {sentence(said)} What was measured is kept. To write the "
            f"report: loadcurve report {folder}"
        ) from error


def _in_words(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return NO_MEMORY
    return refusal(error) if isinstance(error, OSError) else str(error)


def written_report(folder: Path) -> "tuple[Report, Path]":
    """Write the report and the numbers of a run; return its contents and its path.

    Raises ``LoadcurveError``: the report cannot be made; what was measured is kept.
    """
    with _faults_of_reports(folder):
        return _written_report(folder)


def _written_report(folder: Path) -> "tuple[Report, Path]":
    # An exception in the middle of an import may be lost or turned into another one by native code.
    with interrupts_deferred():
        from loadcurve.analysis.analysis import analyse
        from loadcurve.analysis.numbers import keep_numbers
        from loadcurve.report.html import write_page
        from loadcurve.report.run_summary import numbers_of
        from loadcurve.report.section import Report
        from loadcurve.result.folder import read_run
        from loadcurve.result.summary import source_of

    source = source_of(folder)
    run = read_run(folder)
    # The report is written first: it stays, whatever becomes of stdout.
    analysis = analyse(run)
    keep_numbers(folder, numbers_of(analysis, source))
    report = Report(run, analysis)
    return report, write_page(report)


def _show_results(
    folder: Path, talk: Console, before_path: Callable[[Sequence[Run]], None], *, interrupted: bool
) -> Run:
    # An exception in the middle of an import may be lost or turned into another one by native code.
    with interrupts_deferred():
        from loadcurve.cli.damage import fail_where_left_out
        from loadcurve.report.terminal import print_results

    if interrupted:
        talk.print("interrupted: what was measured is kept")
    report, page = _written_report(folder)
    run, analysis = report.run, report.analysis
    out = new_console()
    print_results(report, out)
    if interrupted and run.run.search is None and not analysis.complete:
        talk.print(f"To resume it: loadcurve run --resume {shlex.quote(str(folder))}", soft_wrap=True)
    before_path([run])
    out.print(page, soft_wrap=True)
    fail_where_left_out(analysis.not_computed)
    return run
