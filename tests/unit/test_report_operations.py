"""Figures of each request of a load that has several: in the terminal, on the page and in tables."""

import math

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.formats.tables import report_tables
from loadcurve.report.load import load_summary
from loadcurve.report.section import Report
from loadcurve.report.terminal import summary
from loadcurve.result.folder import Run, read_run
from loadcurve.result.load import LoadResult
from loadcurve.result.operations import MOST_MEASURED, latency_of, throughput_of
from support import requests_run, terminal
from support import synthetic_run as synthetic
from support.report_pages import render_run

ANSWERED = 1_000
WORDS = ("GET ", "POST ", "request ", "5 more ")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return requests_run.several_requests(tmp_path_factory.mktemp("requests") / "run")


def printed_load(operations: list[dict]) -> list[str]:
    """The lines of a load's summary that begin with a request, and what counts the others."""
    requests = dict.fromkeys(("failed", "unanswered", "never_sent"), 0)
    requests |= dict.fromkeys(("due", "sent", "answered", "ok"), ANSWERED)
    rate = {"asked": None, "sent": 500.0, "answered": 500.0}
    data = synthetic.load_result("nginx", 1, operations=operations, requests=requests, rate_rps=rate)
    lines = terminal.printed(load_summary(LoadResult.model_validate(data | {"slowest": []}))).splitlines()
    return [line.rstrip() for line in lines if line.startswith(WORDS) and " at " not in line]


def test_each_request_has_a_row_with_its_share_and_the_slowest_is_the_first():
    found = printed_load(requests_run.operations(ANSWERED, wrong={"POST /echo": 7}))
    assert [line.split() for line in found if line.startswith(("request ", "GET /json", "POST"))] == [
        ["request", "requests/s", "share", "errors", "p50,", "ms", "p99,", "ms", "max,", "ms"],
        ["POST", "/echo", "100", "20", "%", "7", "50.0", "—", "50.0"],
        ["GET", "/json", "250", "50", "%", "0", "2.000", "2.000", "2.000"],
    ]
    assert [line.split("  ")[0] for line in found[1:]] == ["POST /echo", "GET /", "GET /json"]


def test_a_single_request_has_no_row_because_its_figures_are_those_of_the_load():
    assert printed_load(requests_run.operations(ANSWERED, {"GET /json": 2.0})) == []


def test_of_many_requests_the_ten_slowest_are_shown_and_the_others_counted():
    many = {f"GET /{number:02}": float(number) for number in range(1, 16)}
    found = printed_load(requests_run.operations(ANSWERED, many))
    rows = [line.split()[1] for line in found if line.startswith("GET ")]
    assert rows == [f"/{number:02}" for number in range(15, 5, -1)]
    assert found[-1] == "5 more requests, faster than these: 500 answered, 0 errors"


def test_without_a_p99_of_all_the_medians_order_requests_and_no_single_slow_answer_does():
    times = {"GET /once": [1.0] * 59 + [100.0], "GET /always": [3.0] * 60, "GET /fast": [0.5] * 5_000}
    found = [
        {"operation": label, "answered": len(one), "failed": 0, "latency_ms": synthetic.distribution(one)}
        for label, one in times.items()
    ]
    rows = [line.split()[1] for line in printed_load(found) if line.startswith("GET ")]
    assert rows == ["/always", "/once", "/fast"]


def test_long_names_fold_within_80_columns():
    long = "GET /api/v1/customers/with/a/very/long/path/that/never/ends?and=a&query=too"
    terminal.printed(
        load_summary(
            LoadResult.model_validate(
                synthetic.load_result(
                    "nginx", 1, operations=requests_run.operations(100, {long: 1, "GET /": 2})
                )
            )
        )
    )


def test_the_figures_of_a_request_are_estimated_over_the_trials(run):
    found = analyse(run)
    assert found.labels == ["GET /json", "GET /", "POST /echo"]
    [curve] = [curve for curve in found.curves if curve.server == "nginx"]
    at = curve.points[[one.point["connections"] for one in curve.points].index(50)]
    p50 = at.estimate(latency_of(found.load_kind, "POST /echo", "p50"))
    assert p50.value == pytest.approx(50 * math.prod((1, 1.01, 1.02)) ** (1 / 3))
    assert p50.low < 50 < p50.high or p50.low < p50.value < p50.high
    assert p50.n == requests_run.TRIALS
    rates = [at.estimate(throughput_of(found.load_kind, label)).value for label in found.labels]
    whole = at.figures["throughput_rps"].estimate.value
    assert sum(rates) == pytest.approx(whole)
    assert rates[0] == pytest.approx(0.5 * whole, rel=0.01)


def test_a_run_of_a_single_request_has_no_figures_by_request(tmp_path):
    folder = synthetic.write_run(tmp_path / "run")
    run = read_run(folder)
    assert analyse(run).labels == []
    assert "Each request" not in render_run(run)


def test_of_a_hundred_requests_the_most_frequent_have_curves(tmp_path):
    many = [
        {"operation": f"GET /{number}", "answered": number, "failed": 0}
        | {"latency_ms": synthetic.distribution([1.0] * number)}
        for number in range(1, 101)
    ]
    records = [requests_run.record("nginx", 50, block, operations=many) for block in range(2)]
    found = analyse(read_run(synthetic.write_run(tmp_path / "run", records=records)))
    assert found.labels == [f"GET /{number}" for number in range(101 - MOST_MEASURED, 101)]


def test_the_terminal_of_a_run_has_each_request_at_the_last_point(run):
    lines = terminal.printed(summary(Report(run, analyse(run)))).splitlines()
    first = next(place for place, line in enumerate(lines) if "each request at the last point" in line)
    rows = [line.split() for line in lines[first + 1 :][:8]]
    nginx = next(place for place, row in enumerate(rows) if row[:2] == ["nginx", "200"])
    assert rows[nginx][2:4] == ["POST", "/echo"]
    assert rows[nginx + 1][:2] == ["GET", "/"]
    assert rows[nginx + 2][:2] == ["GET", "/json"]


def test_the_page_draws_and_lists_each_request(run):
    page = render_run(run)
    assert "Each request" in page
    assert page.count("<code>POST /echo</code>") == len(requests_run.SERVERS) * len(requests_run.CONNECTIONS)
    assert '<p class="measure">POST /echo</p>' in page


def test_where_the_p99_is_known_at_few_points_the_medians_are_drawn(tmp_path):
    records = [
        requests_run.record("nginx", connections, block, operations=requests_run.operations(answered))
        for block in range(2)
        for connections, answered in ((1, 100), (50, 100), (200, 5_000))
    ]
    page = render_run(read_run(synthetic.write_run(tmp_path / "run", records=records)))
    assert "<h3>Median of the latency, ms</h3>" in page
    assert "<h3>99th percentile of the latency, ms</h3>" not in page


def test_markdown_lists_each_request(run):
    text = markdown_bytes(Report(run, analyse(run))).decode()
    assert "### Each request" in text
    assert "POST /echo" in text


def test_the_table_of_estimates_names_the_request_beside_the_measure(run):
    tables = report_tables(Report(run, analyse(run)))
    rows = tables["operation_estimates"].filter(operation="POST /echo", server="nginx", connections=50)
    assert dict(rows.select("measure", "unit").rows()) == {
        "throughput_rps": "requests/s",
        "latency_p50_ms": "ms",
        "latency_p99_ms": "ms",
        "latency_max_ms": "ms",
        "errors": "",
    }
    assert tables["estimates"].filter(measure="throughput_rps", server="nginx", connections=50).height == 1
    assert tables["operations"].filter(operation="POST /echo").height == len(run.points)


def test_errors_of_a_request_are_failures_and_wrong_statuses_of_all_trials(tmp_path):
    records = [
        requests_run.record(
            "nginx", 50, block, operations=requests_run.operations(ANSWERED, wrong={"POST /echo": 3 + block})
        )
        for block in range(2)
    ]
    page = render_run(read_run(synthetic.write_run(tmp_path / "run", records=records)))
    row = page[page.index("<code>POST /echo</code>") :].partition("</tr>")[0]
    assert row.rstrip().endswith('data-sort="7">7</td>')
