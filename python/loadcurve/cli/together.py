"""The results of several loads on one machine: their summaries, their reports, and one page of all."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from loadcurve.analysis.interference import together_by
from loadcurve.analysis.numbers import keep_numbers, read_analysed
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import fail_where_left_out, tell_damage
from loadcurve.errors import BadInput
from loadcurve.report.html import write_page
from loadcurve.report.run_summary import numbers_of
from loadcurve.report.section import Report
from loadcurve.report.terminal import print_findings, summary
from loadcurve.report.together import terminal, write_together
from loadcurve.result.folder import Run
from loadcurve.result.several import read_loads
from loadcurve.result.summary import source_of
from loadcurve.stats.slo import Objective

if TYPE_CHECKING:
    from loadcurve.analysis.analysis import Analysis


def show_together(
    folder: Path,
    talk: Console,
    *,
    interrupted: bool,
    before_path: Callable[[Sequence[Run]], None] = lambda _: None,
) -> list[Run]:
    """Print the summary of each load and what they do to each other; write the reports, the last path last.

    ``before_path`` says what else there is to say of the runs.

    Raises ``LoadcurveError``: a report cannot be made; what was measured is kept.
    """
    if interrupted:
        talk.print("interrupted: what was measured is kept")
    out = new_console()
    runs = []
    analyses: dict[str, Analysis] = {}
    reports: dict[str, Report] = {}
    faults = []
    record = read_loads(folder)
    for load in record.loads:
        source = source_of(folder / load.name)
        run, analysis = read_analysed(folder / load.name)
        keep_numbers(run.folder, numbers_of(analysis, source))
        analyses[load.name], reports[load.name] = analysis, Report(run, analysis)
        write_page(reports[load.name])
        tell_damage(analysis, run.folder)
        out.print(Text(f"{load.name}: {load.server}", style="bold"))
        out.print(summary(reports[load.name]))
        print_findings(reports[load.name], out)
        out.print()
        runs.append(run)
        faults += analysis.not_computed
    together = together_by(record, analyses)
    page = write_together(folder, together, reports)
    out.print(terminal(together))
    if interrupted and not all(analysis.complete for analysis in analyses.values()):
        talk.print(f"To resume it: loadcurve run --resume {shlex.quote(str(folder))}", soft_wrap=True)
    before_path(runs)
    out.print(page, soft_wrap=True)
    fail_where_left_out(faults)
    return runs


def page_of_all(folder: Path) -> Path:
    """Write the reports of several loads, and return the path of the page of all.

    Raises ``LoadcurveError``: the folder cannot be read, or a report cannot be written.
    """
    analyses: dict[str, Analysis] = {}
    reports: dict[str, Report] = {}
    record = read_loads(folder)
    for load in record.loads:
        run, analyses[load.name] = read_analysed(folder / load.name)
        reports[load.name] = Report(run, analyses[load.name])
        write_page(reports[load.name])
    return write_together(folder, together_by(record, analyses), reports)


def report_together(folder: Path, objective: Objective | None) -> None:
    """Write the reports of several loads, and print what the loads do to each other.

    Raises ``LoadcurveError``: the folder cannot be read, or a report cannot be written.
    """
    if objective is not None:
        raise BadInput(
            f"--slo is for one load, and {folder} has several: give the folder of one, such as "
            f"{folder / read_loads(folder).loads[0].name}"
        )
    show_together(folder, new_console(stderr=True), interrupted=False)
