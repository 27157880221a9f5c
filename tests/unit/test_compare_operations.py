"""Two runs of a load with several requests, compared request by request."""

import json

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.comparison import OF_OPERATIONS, compare_runs
from loadcurve.report.comparison import changes_in_words, comparison_lines
from loadcurve.result.folder import read_run
from support import requests_run
from support.command import Command
from support.terminal import printed

SLOWER = 1.5
REQUESTS = dict(requests_run.LATENCY_MS)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Command:
    """Folders of runs: a base, and one whose request POST /echo alone takes half as long again."""
    command = Command(tmp_path_factory.mktemp("runs"))
    for name, factor in (("base", 1.0), ("slower", SLOWER)):
        latency_ms = REQUESTS | {"POST /echo": REQUESTS["POST /echo"] * factor}
        requests_run.several_requests(command.work / name, latency_ms)
    return command


def analysed(command: Command, name: str) -> Analysis:
    return analyse(read_run(command.work / name))


def test_the_one_request_that_became_slower_is_named_with_its_ratio(runs):
    comparison = compare_runs(analysed(runs, "base"), analysed(runs, "slower"))
    shown = [change for change in comparison.operations if change.shown]
    assert {(change.server, change.measure.title) for change in shown} == {
        (server, f"{name} of POST /echo") for server in requests_run.SERVERS for name in OF_OPERATIONS
    }
    for change in shown:
        ratio = change.ratio.estimate
        assert ratio.value == pytest.approx(SLOWER)
        assert ratio.low < SLOWER < ratio.high
    assert changes_in_words(shown[:1])[0].startswith("nginx: p50 of POST /echo is worse: 1.50 (1.4")
    assert " times the base's over the whole curve" in changes_in_words(shown[:1])[0]


def test_each_request_of_both_runs_is_compared_though_only_differences_have_rows(runs):
    comparison = compare_runs(analysed(runs, "base"), analysed(runs, "slower"))
    assert len(comparison.operations) == len(REQUESTS) * len(requests_run.SERVERS) * len(OF_OPERATIONS)
    lines = printed(comparison_lines(comparison)).splitlines()
    assert [line.split()[:3] for line in lines if "/echo  " in line or "GET /" in line] == [
        [server, "POST", "/echo"] for server in requests_run.SERVERS
    ]
    assert "4 more rows without a difference that is shown" in lines


def test_equal_runs_show_no_row_of_a_request(runs):
    comparison = compare_runs(analysed(runs, "base"), analysed(runs, "base"))
    assert comparison.operations
    text = printed(comparison_lines(comparison))
    assert "No difference is shown" in text
    assert "each request" not in text


def test_a_gate_fails_where_one_request_became_slower(runs):
    failed = runs.run("compare", "base", "slower", "--fail-on-regression", "20%")
    assert failed.returncode == 3
    assert "nginx: p99 of POST /echo is worse: 1.50" in failed.stdout
    assert "GET /json is" not in failed.stdout
    assert runs.run("compare", "base", "slower", "--fail-on-regression", "60%").returncode == 0


def test_the_json_has_every_request_under_its_label(runs):
    data = json.loads(runs.run("compare", "base", "slower", "--json").stdout)
    assert {one["operation"] for one in data["operations"]} == set(REQUESTS)
    assert {one["operation"] for one in (*data["curves"], *data["points"])} == {None}
