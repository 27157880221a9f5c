"""Whose the time of CPUs was, in every form of the report."""

import json

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.report.formats.write import FORMATS
from loadcurve.report.html import render_page
from loadcurve.report.load import load_summary
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.report.terminal import summary
from loadcurve.result.load import LoadResult
from support import synthetic_run as synthetic
from support.explained_run import CONNECTIONS, TRIALS, Data, planted_run
from support.schemas import validate
from support.terminal import printed


def division(others: float, server: float | None = 0.5, generator: float | None = None) -> Data:
    known = (server or 0) + (generator or 0)
    program = {"name": "cc1", "processes": 2, "pid": 7, "cpu": 0, "cpu_share": others}
    return {
        "cpus": [0],
        "server": server,
        "generator": generator,
        "kernel": 0.1,
        "host": 0.0,
        "others": others,
        "idle": 0.9 - known - others,
        "softirq_share": 0.08,
        "uncertain": 0.003,
        "programs": [program],
    }


def plant(record: Data, trial: int, connections: float) -> None:
    """At one point of one trial other programs take most of the load's CPU, and a little elsewhere."""
    others = 0.3 if (trial, connections) == (1, CONNECTIONS[1]) else 0.0
    record["probe"]["cpu_time"] = division(0.02)
    record["load"]["generator"]["cpu_time"] = division(others, None, 0.4)


@pytest.fixture(scope="module")
def run():
    return planted_run(plant)


@pytest.fixture(scope="module")
def analysis(run) -> Analysis:
    found = analyse(run)
    assert found.not_computed == []
    return found


def test_each_point_has_the_mean_of_its_trials_and_the_worst_of_them(analysis: Analysis):
    first = analysis.cpu_times[0]
    assert (first.server, first.side, first.cpus) == ("nginx", "server", [0])
    assert first.parts == pytest.approx(
        {"server": 0.5, "generator": None, "kernel": 0.1, "host": 0, "others": 0.02, "idle": 0.38}
    )
    [worst] = [
        one
        for one in analysis.cpu_times
        if one.server == "nginx" and one.side == "load" and one.point == {"connections": CONNECTIONS[1]}
    ]
    assert worst.parts["others"] == pytest.approx(0.3 / TRIALS)
    assert worst.others_most == pytest.approx(0.3)
    assert [program.name for program in worst.programs] == ["cc1"]


def test_parts_of_every_point_sum_to_the_whole(analysis: Analysis):
    for one in analysis.cpu_times:
        assert sum(share or 0 for share in one.parts.values()) == pytest.approx(1.0)


def test_the_page_has_a_bar_for_each_side_of_each_point(run, analysis: Analysis):
    content = Report(run, analysis)
    page = render_page(content)
    assert page.count('class="strip"') == len(analysis.cpu_times)
    assert "30 %: cc1 (2 processes) 30 % of a CPU" in page
    for strip in everything(content)["cpu_times"].rows:
        assert sum(width for _, _, width in strip.parts) == pytest.approx(100, abs=0.05)


def test_the_terminal_shows_the_point_of_each_server_at_which_others_took_most(run, analysis: Analysis):
    shown = printed(summary(Report(run, analysis)), width=80)
    said = shown[shown.index("whose CPU time it was") :].splitlines()
    assert max(map(len, said)) <= 80
    rows = {line.split()[-7]: line.split()[-6:] for line in said[2:4]}
    assert rows["server"] == ["50", "—", "10", "0", "2", "38"]
    assert rows["load"] == ["—", "40", "10", "0", str(round(30 / TRIALS)), str(round(50 - 30 / TRIALS))]


def test_one_load_has_a_line_in_the_terminal():
    data = synthetic.load_result("nginx", 10)
    data["generator"] = {**data["generator"], "cpu_time": division(0.15, 0.2, 0.3)}
    shown = printed(load_summary(LoadResult.model_validate(data)), width=80)
    [line] = [line for line in shown.splitlines() if line.startswith("CPU time")]
    said = " ".join(line.removeprefix("CPU time").split())
    assert said == "CPU 0, %: server 20, generator 30, kernel 10, others 15, idle 25"


def test_programs_find_it_in_the_numbers(run, analysis: Analysis):
    numbers = json.loads(dict(FORMATS["json"](Report(run, analysis)))["report.json"])
    validate(numbers, "numbers")
    first = numbers["analysis"]["cpu_times"][0]
    assert (first["side"], first["parts"]["server"]) == ("server", pytest.approx(0.5))


def test_runs_that_lack_it_have_no_section():
    run = planted_run(lambda *_: None)
    found = analyse(run)
    assert found.cpu_times == []
    assert 'id="cpu-time"' not in render_page(Report(run, found))
