"""The report of a run on databases: operations and threads, kinds of operations, and loading."""

import re

import pytest
from rich.console import Console

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.comparison import compare_runs
from loadcurve.analysis.shape import shapes
from loadcurve.explain.all import findings
from loadcurve.report.answer import answer
from loadcurve.report.answer import answer_words as answer_in_short
from loadcurve.report.formats.tables import report_tables
from loadcurve.report.section import Report
from loadcurve.report.terminal import print_shapes, summary
from loadcurve.result.folder import Run, read_run
from loadcurve.stats.slo import parse_objective
from support import synthetic_database_run as synthetic
from support.report_pages import render_report

REASON = "the request was rejected"
"""What the database says, whose words stay its own."""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("databases") / "run"))


@pytest.fixture(scope="module")
def page(run) -> str:
    return render_report(run.folder)


def printed(run: Run) -> str:
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(summary(Report(run, analyse(run))))
        print_shapes(Report(run, analyse(run)), console)
    return captured.get()


def test_the_page_says_operations_and_threads_everywhere(page):
    assert "Operations answered per second" in page
    assert "failed operations" in page
    text = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    said = re.findall(r"[^.>\"]*\brequests?\b[^.<\"]*", text.split("<main>")[1])
    assert said == []


def test_two_runs_are_compared_by_the_cost_of_an_operation(run):
    changes = compare_runs(analyse(run), analyse(run)).curves
    assert {change.measure.title for change in changes} == {
        "throughput", "p50", "p99", "CPU time per operation", "mean memory",
    }  # fmt: skip


def test_the_page_draws_each_kind_of_operation_and_the_loading(page):
    for kind in ("read", "update"):
        assert f"<h3>{kind}</h3>" in page
    assert "Kinds of operations" in page
    assert "Loading the records" in page


def test_the_terminal_fits_80_columns_and_speaks_of_operations(run):
    shown = printed(run)
    assert max(map(len, shown.splitlines())) <= 80
    assert "operations/s" in shown
    assert "request" not in shown


def test_the_answer_ranks_databases_by_throughput_in_a_closed_loop(run):
    said = answer(analyse(run))
    assert said.ranked_by == "throughput"
    assert said.sentences[0].startswith("Over the curve, postgresql")
    assert "postgresql" in answer_in_short(analyse(run))


def test_threads_are_a_load_with_a_peak_and_a_capacity(run):
    [found] = shapes(run, parse_objective("p99 < 1s"))
    assert found.part.key == "threads"
    peaks = {shape.server: (shape.peak.load, round(shape.peak.value.value)) for shape in found.shapes}
    assert peaks == {"ferretdb": (16, 1600), "postgresql": (16, 6400)}
    assert {shape.capacity.bound for shape in found.shapes} == {"at_least"}


def test_the_throughput_of_the_kinds_adds_up_to_that_of_the_load(run):
    estimates = {
        (curve.server, at.point["threads"], column): figure.estimate.value
        for curve in analyse(run).curves
        for at in curve.points
        for column, figure in at.figures.items()
        if figure.estimate
    }
    at = ("postgresql", 4)
    assert estimates[*at, "throughput_rps"] == pytest.approx(1600)
    assert estimates[*at, "read_rps"] == pytest.approx(1200)
    assert estimates[*at, "update_rps"] == pytest.approx(400)
    # By Little's law a thread that answers 400 per second takes 2.5 ms each; an update takes twice as long.
    assert estimates[*at, "read_latency_p50_ms"] == pytest.approx(2.5)
    assert estimates[*at, "update_latency_max_ms"] == pytest.approx(5.0)
    assert estimates[*at, "loading_rps"] == pytest.approx(800)


def test_units_of_the_estimates_are_those_of_operations(run):
    units = {measure.column: measure.unit for measure in analyse(run).measures}
    assert units["throughput_rps"] == units["read_rps"] == "operations/s"
    assert units["loading_rps"] == "records/s"


def test_the_table_of_operations_has_the_phases_apart(run):
    table = report_tables(Report(run, analyse(run)))["operations"]
    rows = table.select("phase", "operation").unique(maintain_order=True).rows()
    assert rows == [("load", "insert"), ("run", "read"), ("run", "update")]
    assert table.height == 3 * len(run.points)


def test_a_finding_of_a_database_speaks_of_operations(tmp_path):
    failing = [
        synthetic.point_record(
            server,
            threads,
            block,
            errors=dict.fromkeys(synthetic.load_result(server, threads)["errors"], 0) | {"rejected": 100},
            requests=dict.fromkeys(("never_sent", "unanswered"), 0)
            | {"due": 500, "sent": 500, "answered": 400, "ok": 400, "failed": 100},
            error_messages=[{"operation": "read", "error": "rejected", "text": REASON, "count": 100}],
        )
        for block in range(synthetic.TRIALS)
        for server in synthetic.PER_THREAD_RPS
        for threads in synthetic.THREADS
    ]
    run = read_run(synthetic.synthetic_run.write_run(tmp_path / "run", synthetic.run_record(), failing))
    found = [one for one in findings(run) if "correct answer" in one.seen]
    assert found
    for one in found:
        assert "operations" in one.seen
        assert one.seen.endswith(f"Most frequent reason, of 100: {REASON}.")
        ours = one.seen.removesuffix(f"{REASON}.")
        said = " ".join([ours, one.cause, one.advice, *(figure.name for figure in one.evidence)])
        assert "request" not in said
