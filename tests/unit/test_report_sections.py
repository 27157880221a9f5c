"""A section that a fault of ours leaves out says so in its place; the others are there."""

import inspect
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from loadcurve.analysis import analysis, comparison
from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.comparison import compare_runs
from loadcurve.analysis.sections import Sections
from loadcurve.errors import BadInput
from loadcurve.report.comparison import comparison_json, comparison_lines
from loadcurve.report.formats import tables, write
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.formats.tables import report_tables
from loadcurve.report.formats.workbook import workbook_bytes
from loadcurve.report.html import render_page
from loadcurve.report.section import Report, Section
from loadcurve.report.sections import SECTIONS
from loadcurve.report.terminal import print_results
from loadcurve.result.folder import Run, read_run
from loadcurve.stats.slo import parse_objective
from loadcurve.watch import feed, status
from support import synthetic_run as synthetic
from support.command import Command
from support.findings import finding
from support.terminal import printed

REASON = "OverflowError: math range error"
NO_SECTIONS = {
    analysis: {"analyse", "_facts", "servers_of", "conditions_of", "server_facts", "unknown_ending",
               "unknown_disturbance", "unknown_noise", "unranked", "labels_in", "measures_of", "kind_of_work",
               "place_of", "missing_in_words"},
    comparison: {"compare_runs", "condition_differences", "server_differences", "_adjusted", "holm_adjusted",
                 "measures", "between_reported", "is_imported", "compare_arms", "_all_changes"},
    tables: {"report_tables"},
    feed: {"read_progress", "_file_state", "is_regular", "is_quiet", "until_next_look_s"},
    status: {"status", "_title"},
}  # fmt: skip
"""Functions of the modules that compute sections: what puts these together, and what a run is known by."""


def planted(*modules: ModuleType) -> list[tuple[ModuleType, str]]:
    """Return every function that the modules call, so that none can be forgotten."""
    return [
        (module, name)
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__.startswith("loadcurve.") and name not in NO_SECTIONS[module]
    ]


def names(case: object) -> str | None:
    return case.__name__.removeprefix("loadcurve.") if isinstance(case, ModuleType) else None


def every_function_of(*modules: ModuleType) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("module", "function"), planted(*modules), ids=names)


class Fault:
    """Fails in the place of a function, and knows whether it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *_arguments: object, **_named: object) -> None:
        self.calls += 1
        raise OverflowError("math range error")


@pytest.fixture
def fault(module: ModuleType, function: str, monkeypatch: pytest.MonkeyPatch) -> Fault:
    planted_fault = Fault()
    monkeypatch.setattr(module, function, planted_fault)
    return planted_fault


@pytest.fixture(autouse=True)
def faults_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for people; in other tests they are raised."""
    monkeypatch.setattr("loadcurve.analysis.sections.are_faults_raised", False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of few points, with a failed trial and an invalid point."""
    return read_run(synthetic.write_points(tmp_path_factory.mktemp("runs") / "run", 1, 50, 100))


@pytest.fixture(scope="module")
def whole(run: Run) -> Analysis:
    """Its analysis, by limits, in which nothing was left out."""
    return analyse(run, parse_objective("p99 < 10ms"))


@pytest.fixture
def analysed(whole: Analysis) -> Analysis:
    return replace(whole, not_computed=[])


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The run in a folder of runs."""
    synthetic.write_points(tmp_path / "runs" / "run", 1, 50, 100)
    return Command(tmp_path)


@every_function_of(analysis)
def test_everything_is_reported_without_a_part_of_the_analysis_that_fails(
    module: ModuleType, function: str, run: Run, fault: Fault
):
    found = analyse(run)
    assert bool(found.not_computed) == bool(fault.calls)
    report_tables(Report(run, found))
    assert (REASON in shown_by(Report(run, found))) == bool(fault.calls)
    assert (REASON in render_page(Report(run, found))) == bool(fault.calls)


def page_of(report: Report) -> str:
    """The page, after the other forms were made."""
    assert "nginx" in shown_by(report)
    assert report.analysis.run.title in markdown_bytes(report).decode()
    page = render_page(report)
    assert page.rstrip().endswith("</html>")
    return page


@contextmanager
def replaced(section: Section, part: str, value: object) -> Iterator[None]:
    """Change a part of a section, which nothing else can, for as long as the block lasts."""
    before = getattr(section, part)
    object.__setattr__(section, part, value)
    try:
        yield
    finally:
        object.__setattr__(section, part, before)


@pytest.mark.parametrize(
    ("section", "part"),
    [
        pytest.param(one, part, id=f"{one.name}-{part}", marks=[] if part == "compute" else pytest.mark.long)
        for one in SECTIONS
        for part in ("compute", "words", "terminal", "markdown")
        if getattr(one, part) is not None
    ],
)
def test_every_form_is_made_without_a_section_that_fails(
    section: Section, part: str, run: Run, analysed: Analysis
):
    planted_fault = Fault()
    with replaced(section, part, planted_fault):
        page = page_of(Report(run, analysed))
    assert planted_fault.calls or part != "compute"
    left_out = {one.section for one in analysed.not_computed}
    assert left_out == ({section.title} if planted_fault.calls else set())
    assert (REASON in page) == bool(planted_fault.calls)


@pytest.mark.parametrize("section", [one for one in SECTIONS if one.page], ids=lambda one: one.name)
def test_the_page_says_in_its_place_that_a_section_cannot_be_drawn(
    section: Section, run: Run, analysed: Analysis
):
    report = Report(run, analysed)
    with replaced(section, "page", "of-no-such-name"):
        page = page_of(report)
    missing = f"{section.title.capitalize()} is missing because of an error in Loadcurve."
    assert (missing in page) == bool(report.of(section))


@every_function_of(tables)
def test_the_other_tables_are_written_without_one_that_fails(
    module: ModuleType, function: str, run: Run, analysed: Analysis, fault: Fault
):
    report = Report(run, analysed)
    made = report.of(tables.TABLES)
    assert "points" in made or function == "points_table"
    assert bool(analysed.not_computed) == bool(fault.calls)
    assert workbook_bytes(report)


def shown_by(report: Report) -> str:
    """What the terminal shows at the end of a run."""
    out = io.StringIO()
    console = Console(file=out, width=200)
    print_results(report, console)
    return out.getvalue()


@pytest.mark.parametrize("options", [[], ["--format", "md,csv"]], ids=["page", "formats"])
def test_the_command_ends_with_1_and_names_what_was_left_out(
    options: list[str], command: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(analysis, "rank_run", Fault())
    finished = command.run("report", "runs/run", *options)
    assert finished.returncode == 1
    assert (
        f"Left out because of an error in Loadcurve: the ranking by throughput ({REASON})." in finished.stderr
    )
    written = [command.work / line for line in finished.stdout.splitlines() if "/report" in line]
    assert written
    assert all(path.is_file() for path in written)


@pytest.mark.parametrize("form", [name for name in write.FORMATS if name not in {"png", "pdf", "svg"}])
def test_the_other_forms_are_written_without_one_that_fails(
    form: str, command: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(write.FORMATS, form, Fault())
    finished = command.run("report", "runs/run", "--format", f"{form},md,json", "--out", "out")
    assert finished.returncode == 1
    assert f"Loadcurve: the form {form} ({REASON})." in finished.stderr
    assert {"report.md", "report.json"} - {f"report.{form}"} <= {
        path.name for path in (command.work / "out").iterdir()
    }


@every_function_of(comparison)
def test_runs_are_compared_without_a_measure_that_fails(
    module: ModuleType, function: str, analysed: Analysis, fault: Fault
):
    compared = compare_runs(analysed, analysed)
    assert bool(comparison_json(compared, None)["not_computed"]) == bool(fault.calls)
    assert (REASON in printed(comparison_lines(compared), width=200)) == bool(fault.calls)


def test_runs_are_compared_with_a_fault_by_exit_code_1(command: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(comparison, "usable_logs", Fault())
    finished = command.run("compare", "runs/run", "runs/run")
    assert finished.returncode == 1
    assert "Left out because of an error in Loadcurve: the changes of throughput" in finished.stderr


def test_the_other_runs_are_listed_beside_one_that_fails(command: Command, monkeypatch: pytest.MonkeyPatch):
    assert command.run("runs", "runs").returncode == 0
    synthetic.write_points(command.work / "runs" / "other", 1)
    monkeypatch.setattr("loadcurve.report.run_summary.summary_of", Fault())
    finished = command.run("runs", "runs")
    assert finished.returncode == 1
    words = " ".join(finished.stdout.split())
    assert "Left out because of an error in Loadcurve: the summary of runs/other" in words
    assert "three-servers" in words or "One static file" in words


@every_function_of(status, feed)
def test_the_page_of_a_run_goes_on_without_what_fails(
    module: ModuleType, function: str, run: Run, fault: Fault
):
    follows = feed.Feed(run.folder)
    follows.look()
    follows.draw(is_first=True)
    said = status.status(follows.look().seen, now_s=0.0)
    assert said["title"] == synthetic.Texts().title
    assert (REASON in json.dumps(said)) == bool(fault.calls)


def test_what_is_said_in_its_own_words_is_no_fault_of_a_section():
    def refuse() -> None:
        raise BadInput("no limits here")

    with pytest.raises(BadInput):
        Sections().get("the shapes", refuse, None)


def test_a_fault_that_several_forms_meet_is_reported_once():
    sections = Sections()
    for _ in range(2):
        assert sections.several("the figures", Fault()) == []
    assert len(sections.not_computed) == 1


def test_a_fault_is_raised_in_other_tests(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("loadcurve.analysis.sections.are_faults_raised", True)
    with pytest.raises(OverflowError):
        Sections().several("the figures", Fault())


def test_the_terminal_says_beside_the_answer_which_figures_not_to_rely_on(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    limit = finding(100, weight="invalidates", code="rig_limit")
    said = shown_by(Report(run, replace(analyse(run), findings=[limit])))
    caution = "Caution. Do not rely on the figures of nginx at connections = 100: "
    assert said.index("Answer") < said.index(caution) < said.index("Findings")
