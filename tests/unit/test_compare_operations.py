"""Two runs of a load with several requests, compared request by request."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.change import Outcome
from loadcurve.analysis.comparison import OF_OPERATIONS, RunComparison, compare_runs
from loadcurve.analysis.curves import curves
from loadcurve.analysis.gate import Gate
from loadcurve.analysis.operation_errors import OperationErrors
from loadcurve.report.comparison import changes_in_words, comparison_json, comparison_lines
from loadcurve.report.comparison_formats import comparison_markdown
from loadcurve.report.side_by_side import render_side_by_side, side_by_side
from loadcurve.result.folder import read_run
from loadcurve.result.operations import share_of
from loadcurve.result.outcomes import Verdict
from support import requests_run
from support import synthetic_run as synthetic
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
        (server, f"{name} of POST /echo") for server in requests_run.SERVERS for name in ("p50", "p99")
    }
    for change in shown:
        ratio = change.ratio.estimate
        assert ratio.value == pytest.approx(SLOWER)
        assert ratio.low < SLOWER < ratio.high
    assert changes_in_words(shown[:1])[0].startswith("nginx: p50 of POST /echo is worse: 1.50 (1.4")
    assert " times the base's over the whole curve" in changes_in_words(shown[:1])[0]


def run_of_echoes(folder: Path, answered: int, wrong: int = 0) -> Analysis:
    """A run whose answers to POST /echo, and those that are wrong, can change; the others stay."""
    others = {name: one_ms for name, one_ms in REQUESTS.items() if name != "POST /echo"}
    operations = [
        *requests_run.operations(5_000, others),
        *requests_run.operations(answered * 5, {"POST /echo": 50.0}, wrong={"POST /echo": wrong}),
    ]
    # A block's machine is up to 2 % faster, and the load took five seconds.
    records = [
        requests_run.record(
            server,
            connections,
            block,
            operations=operations,
            rate_rps={"asked": None, "sent": rate_rps, "answered": rate_rps},
        )
        for block in range(requests_run.TRIALS)
        for server in requests_run.SERVERS
        for connections in requests_run.CONNECTIONS
        for rate_rps in [(4_000 + answered) / 5 * (1 + 0.01 * block)]
    ]
    return analyse(read_run(synthetic.write_run(folder, records=records)))


def test_the_request_that_alone_is_answered_less_often_is_named_with_its_ratio(tmp_path):
    base, fewer = (run_of_echoes(tmp_path / str(count), count) for count in (1_000, 500))
    shown = [one for one in compare_runs(base, fewer).operations if one.shown]
    assert {(one.server, one.measure.title) for one in shown} == {
        (server, "throughput of POST /echo") for server in requests_run.SERVERS
    }
    assert shown[0].ratio.estimate.value == pytest.approx(0.5)
    row = next(
        line for line in printed(comparison_lines(compare_runs(base, fewer))).splitlines() if "/echo" in line
    )
    assert "0.50" in row


@pytest.fixture(scope="module")
def wrong(tmp_path_factory) -> Command:
    """Folders of runs: in two none and in one seven answers to POST /echo of each load are wrong."""
    command = Command(tmp_path_factory.mktemp("wrong"))
    for name, count in (("none", 0), ("again", 0), ("seven", 7)):
        run_of_echoes(command.work / name, 1_000, count)
    return command


def of_echo(comparison: RunComparison) -> OperationErrors:
    return next(one for one in comparison.errors if (one.server, one.operation) == ("nginx", "POST /echo"))


def test_errors_of_a_request_are_counted_on_both_sides_and_their_share_is_compared(wrong):
    comparison = compare_runs(analysed(wrong, "none"), analysed(wrong, "seven"))
    # Three trials of three points, each with seven of 1,000.
    said = "errors of POST /echo, nginx: 0 in 9 loads of base, 63 in 9 loads of new: worse, 0.700 ("
    assert said in " ".join(printed(comparison_lines(comparison)).split())
    assert said in comparison_markdown(comparison, None)
    assert "errors of GET" not in comparison_markdown(comparison, None)
    echo = of_echo(comparison)
    assert (echo.shown, echo.is_worse, echo.change.value) == (True, True, pytest.approx(7 / 1_000))
    # It is one of the three requests, and the one that differs.
    assert echo.step == len(REQUESTS)
    data = next(
        one
        for one in comparison_json(comparison, None)["errors"]
        if (one["server"], one["operation"]) == ("nginx", "POST /echo")
    )
    assert (data["base"], data["new"]) == ({"errors": 0, "loads": 9}, {"errors": 63, "loads": 9})
    assert (data["base_share"], data["new_share"]) == (0, pytest.approx(7 / 1_000))
    assert 0 < data["low"] < data["difference"] < data["high"]
    assert data["shown"]


def test_runs_side_by_side_say_which_request_has_more_errors(wrong):
    runs = [(wrong.work / name, analysed(wrong, name)) for name in ("none", "seven")]
    page = render_side_by_side(side_by_side(runs, wrong.work))
    assert "errors of POST /echo, nginx: 0 in 9 loads of A, 63 in 9 loads of B: worse, 0.700 (" in page


def test_fewer_errors_of_a_request_are_better(wrong):
    comparison = compare_runs(analysed(wrong, "seven"), analysed(wrong, "none"))
    assert (of_echo(comparison).shown, of_echo(comparison).is_worse) == (True, False)
    assert "better, 0.700 (" in " ".join(printed(comparison_lines(comparison)).split())
    assert Gate.of(comparison, 0.2).outcome is not Outcome.FAILED


def test_a_gate_fails_where_a_request_has_more_errors_and_says_so(wrong):
    failed = wrong.run("compare", "none", "seven", "--fail-on-regression", "20%", "--format", "junit")
    assert failed.returncode == 3
    assert "errors of POST /echo, nginx: 0 in 9 loads of base, 63 in 9 loads of new: worse" in " ".join(
        failed.stderr.split()
    )
    cases = ElementTree.fromstring(failed.stdout).iter("testcase")
    names = [case.get("name") for case in cases if case.find("failure") is not None]
    assert names == ["errors of POST /echo over the whole curve"] * len(requests_run.SERVERS)
    assert wrong.run("compare", "none", "again", "--fail-on-regression", "20%").returncode == 0


def one_request(folder: Path, *wrong: int) -> Analysis:
    """A run of one request at one point, with this number of wrong answers of 1,000 in each trial of nginx.

    From 1 % on the load is invalid, because of them alone.
    """
    records = []
    for block, count in enumerate(wrong):
        reason = {"code": "error_status", "text": f"{count} of 1,000 answers have an error status"}
        status = "invalid" if count > 10 else "suspect" if count else "valid"
        one = requests_run.record(
            "nginx", 10, block, operations=requests_run.operations(1_000, {"GET /": 4.0})
        )
        requests = one.load.requests.model_copy(
            update={"due": 1_000, "sent": 1_000, "answered": 1_000, "ok": 1_000 - count}
        )
        verdict = Verdict.model_validate({"status": status, "reasons": [reason] if count else []})
        records.append(synthetic.with_load(one, requests=requests, verdict=verdict))
    return analyse(synthetic.with_records(read_run(synthetic.write_points(folder, 10)), records))


def test_errors_of_a_load_with_one_request_are_compared_those_that_make_it_invalid_too(tmp_path):
    clean, wrong = one_request(tmp_path / "a", 0, 0, 0, 0), one_request(tmp_path / "b", 5, 12, 8, 15)
    comparison = compare_runs(clean, wrong)
    (errors,) = comparison.errors
    assert (errors.operation, errors.base.errors, errors.new.errors) == (None, 0, 5 + 12 + 8 + 15)
    assert (errors.base.trials, errors.new.trials) == (4, 4)
    # 40 of 4,000 beside 0 of 4,000: a percentage point, which chance gives once in 10^12 by Fisher's test.
    assert (errors.shown, errors.change.value) == (True, pytest.approx(0.01))
    assert Gate.of(comparison, 0.05).errors == (errors,)
    said = " ".join(printed(comparison_lines(comparison)).split())
    assert (
        "errors of the whole load, nginx: 0 in 4 loads of base, 40 in 4 loads of new: worse, 1.00 (" in said
    )


@pytest.mark.parametrize("code", ["generator_late", "stopped_answering"])
def test_errors_beside_another_reason_that_can_spoil_a_load_are_not_counted(tmp_path, code):
    run = read_run(synthetic.write_points(tmp_path, 10))
    reasons = [{"code": "errors", "text": "2 % failed"}, {"code": code, "text": "also"}]
    verdict = Verdict.model_validate({"status": "invalid", "reasons": reasons})
    spoiled = [synthetic.with_load(one, verdict=verdict) for one in run.points if one.server == "nginx"]
    (curve,) = (one for one in curves(synthetic.with_records(run, spoiled)) if one.server == "nginx")
    assert [at.counted for at in curve.points] == [[]]


def test_each_request_of_both_runs_is_compared_though_only_differences_have_rows(runs):
    comparison = compare_runs(analysed(runs, "base"), analysed(runs, "slower"))
    assert len(comparison.operations) == len(REQUESTS) * len(requests_run.SERVERS) * len(OF_OPERATIONS)
    lines = printed(comparison_lines(comparison)).splitlines()
    assert [line.split()[:3] for line in lines if "/echo  " in line or "GET /" in line] == [
        [server, "POST", "/echo"] for server in requests_run.SERVERS
    ]
    assert "4 more rows without a difference that is shown" in lines


def few(folder: Path, factor: float) -> Analysis:
    """A run of two servers at whose loads there are too few answers to POST /echo for its latency."""
    records = []
    for block in range(requests_run.TRIALS):
        for server in requests_run.SERVERS:
            times = REQUESTS | {"GET /": REQUESTS["GET /"] * factor}
            one = requests_run.operations(
                requests_run.ANSWERED, {k: v * (1 + block / 100) for k, v in times.items()}
            )
            for operation in one:
                if operation["operation"] == "POST /echo":
                    operation["latency_ms"] |= {"p50": None, "p99": None}
            records += [
                requests_run.record(server, connections, block, operations=one)
                for connections in requests_run.CONNECTIONS
            ]
    return analyse(read_run(synthetic.write_run(folder, records=records)))


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_requests_with_too_few_answers_for_their_latency_are_said_to_have_none_to_compare(tmp_path, factor):
    base, head = few(tmp_path / "base", 1.0), few(tmp_path / "head", factor)
    text = " ".join(printed(comparison_lines(compare_runs(base, head))).split())
    assert "without a difference that is shown; of 2 no latency can be compared" in text
    assert ("each request, new / base" in text) == (factor > 1)


def test_a_request_far_from_the_base_that_too_few_trials_show_is_named(tmp_path):
    def one_trial(name: str, factor: float) -> Analysis:
        times = REQUESTS | {"POST /echo": REQUESTS["POST /echo"] * factor}
        records = [requests_run.record("nginx", 10, 0, times)]
        return analyse(read_run(synthetic.write_run(tmp_path / name, records=records)))

    base, far, near = one_trial("base", 1.0), one_trial("far", 12.0), one_trial("near", 1.5)
    text = " ".join(printed(comparison_lines(compare_runs(base, far))).split())
    assert "farthest apart is the p50 of POST /echo, 12.0" in text
    assert "farthest" not in printed(comparison_lines(compare_runs(base, near)))


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


@pytest.mark.parametrize(("part", "whole"), [(-1, 10), (11, 10), (0, 0), (None, 10), (3, None)])
def test_counts_that_contradict_each_other_are_no_share(part, whole):
    assert share_of(part, whole) is None
