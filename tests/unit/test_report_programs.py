"""The time of a request, divided among the programs of its server; in every form of the report."""

import json

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.report.formats.tables import report_tables
from loadcurve.report.formats.write import FORMATS
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.report.terminal import summary
from support.explained_run import CONNECTIONS, TRIALS, Data, planted_run
from support.schemas import validate
from support.terminal import printed

REQUEST_US = 1000.0


def plant(record: Data, trial: int, connections: float) -> None:
    """At one point of one trial the programs work at the same time, for longer than the request lasts."""
    is_beyond = (trial, connections) == (1, CONNECTIONS[1])
    record["load"]["service_time_ms"]["mean"] = REQUEST_US / 1000
    record["probe"]["server"]["programs"] = [
        program("nginx", cpu_us=50, run_delay_us=20),
        program("node", cpu_us=300, run_delay_us=80),
        program("postgres", cpu_us=900 if is_beyond else 150, run_delay_us=0),
    ]


def program(name: str, cpu_us: float, run_delay_us: float | None) -> Data:
    return {
        "name": name,
        "cpu_share": cpu_us / 1000,
        "cpu_per_request_us": cpu_us,
        "run_delay_share": None if run_delay_us is None else run_delay_us / 1000,
        "run_delay_per_request_us": run_delay_us,
        "memory_mean_bytes": 64 << 20,
        "memory_peak_bytes": 65 << 20,
    }


@pytest.fixture(scope="module")
def run():
    return planted_run(plant)


@pytest.fixture(scope="module")
def analysis(run) -> Analysis:
    found = analyse(run)
    assert found.not_computed == []
    return found


def test_what_no_program_spent_of_a_request_was_elsewhere(analysis: Analysis):
    first = analysis.divided[0]
    assert (first.server, first.point) == ("nginx", {"connections": CONNECTIONS[0]})
    parts = {part.name: (part.cpu_us.value, part.run_delay_us.value) for part in first.programs}
    assert parts == {
        "node": (pytest.approx(300), pytest.approx(80)),
        "postgres": (pytest.approx(150), 0),
        "nginx": (pytest.approx(50), pytest.approx(20)),
    }
    assert list(parts) == ["node", "postgres", "nginx"], "the one with the most processor time comes first"
    assert first.request_us.value == pytest.approx(REQUEST_US)
    assert first.elsewhere_us.value == pytest.approx(REQUEST_US - 300 - 80 - 150 - 50 - 20)
    assert first.elsewhere_us.n == TRIALS


def test_programs_that_spend_more_than_the_request_lasts_leave_nothing_to_say_of_elsewhere(
    analysis: Analysis,
):
    assert [one.elsewhere_us is None for one in analysis.divided] == [False, True, False, False, False]


def test_a_wait_that_the_kernel_does_not_count_leaves_elsewhere_open():
    def without(record: Data, _trial: int, _connections: float) -> None:
        programs = [program("node", 300, None), program("postgres", 150, 0)]
        record["probe"]["server"]["programs"] = programs

    first = analyse(planted_run(without)).divided[0]
    assert first.programs[0].run_delay_us is None
    assert first.elsewhere_us is None


def test_invalid_points_say_nothing_of_programs():
    def invalid(record: Data, trial: int, connections: float) -> None:
        plant(record, trial, connections)
        if trial == 0:
            record["load"]["verdict"]["status"] = "invalid"
            record["probe"]["server"]["programs"][1]["cpu_per_request_us"] = 1e6

    first = analyse(planted_run(invalid)).divided[0]
    assert first.programs[0].cpu_us.value == pytest.approx(300)
    assert first.programs[0].cpu_us.n == TRIALS - 1


def test_a_server_of_one_program_has_nothing_to_divide():
    run = planted_run()
    found = analyse(run)
    assert found.divided == []
    content = Report(run, found)
    assert everything(content)["programs"] is None
    assert 'id="programs"' not in render_page(content)
    assert "programs" not in report_tables(Report(run, found))
    assert "by program" not in printed(summary(Report(run, found)))


def test_page_markdown_and_terminal_divide_the_time_of_a_request(run, analysis: Analysis):
    content = Report(run, analysis)
    assert everything(content)["programs"].titles[2:] == [
        "time of a request, µs",
        "CPU per request by program, µs",
        "waiting for a CPU by program, µs",
        "elsewhere, µs",
        "of a CPU by program, %",
        "memory by program, MiB",
    ]
    row = everything(content)["programs"].rows[0]
    assert row[:2] == ["nginx", "5"]
    assert row[3:5] == ["node 300, postgres 150, nginx 50.0", "node 80.0, postgres 0, nginx 20.0"]
    assert row[6:] == ["node 30.0, postgres 15.0, nginx 5.00", "node 64.0, postgres 64.0, nginx 64.0"]
    page = render_page(content)
    assert '<h2 id="programs">Time of a request by program</h2>' in page
    markdown = dict(FORMATS["md"](Report(run, analysis)))["report.md"].decode()
    assert "### Time of a request by program" in markdown
    said = printed(summary(Report(run, analysis)))
    assert "time of a request by program" in said
    assert "CPU: node 300, postgres 150, nginx 50.0" in said
    assert "elsewhere: 400" in said
    assert "of a CPU, %: node 30.0, postgres 15.0, nginx 5.00" in said
    assert "memory, MiB: node 64.0, postgres 64.0, nginx 64.0" in said


def test_the_division_is_a_table_of_the_other_forms(run, analysis: Analysis):
    table = report_tables(Report(run, analysis))["programs"]
    assert table.columns[:5] == ["server", "connections", "part", "program", "unit"]
    rows = {
        (row["part"], row["program"]): row["value"]
        for row in table.rows(named=True)
        if row["connections"] == CONNECTIONS[0]
    }
    assert rows["request", None] == pytest.approx(REQUEST_US)
    assert rows["cpu", "node"] == pytest.approx(300)
    assert rows["run_delay", "node"] == pytest.approx(80)
    assert rows["elsewhere", None] == pytest.approx(400)
    assert rows["cpu_share", "node"] == pytest.approx(0.3)
    assert rows["memory", "node"] == pytest.approx(64)


def test_the_numbers_of_a_run_have_the_division(run, analysis: Analysis):
    numbers = json.loads(dict(FORMATS["json"](Report(run, analysis)))["report.json"])
    validate(numbers, "numbers")
    assert numbers["analysis"]["divided"][0]["programs"][0]["name"] == "node"
