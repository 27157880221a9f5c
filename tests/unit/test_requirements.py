"""Requirements of a study, held against a run whose curves and intervals are known."""

import dataclasses
from typing import Any
from xml.etree import ElementTree

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.requirements import JudgedRequirement
from loadcurve.cli.run import Ending
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.requirements import requirement_rows
from loadcurve.report.run_junit import run_junit
from loadcurve.report.section import Report
from loadcurve.result.folder import Run, read_run
from support import requests_run
from support import synthetic_run as synthetic
from support.good_study import GOOD, problems_in
from support.report_pages import render_run


@pytest.fixture(scope="module")
def synthetic_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("run")))


def with_required(run: Run, *tables: dict[str, Any]) -> Run:
    study = {**run.run.study, "require": list(tables)}
    return dataclasses.replace(run, run=run.run.model_copy(update={"study": study}))


def analysed(run: Run, *tables: dict[str, Any]) -> Analysis:
    return analyse(with_required(run, *tables))


def judged(run: Run, **table: Any) -> JudgedRequirement:
    (found,) = analysed(run, {"measure": "throughput", "server": "nginx", **table}).requirements
    return found


AT_10 = {"connections": 10}
TRUTH_RPS = 42_000 * 10 / 19


def test_a_requirement_is_held_failed_or_open_by_the_whole_interval(synthetic_run):
    # Three trials of the truth times 1 / 1.02, 1 and 1.02: the interval reaches REACH times the truth.
    ends = TRUTH_RPS / synthetic.REACH, TRUTH_RPS * synthetic.REACH
    outcomes = {
        (direction, bound): judged(synthetic_run, at=AT_10, **{direction: f"{bound:.3f}/s"}).outcome
        for direction in ("above", "below")
        for bound in (ends[0] - 1, ends[0] + 1, ends[1] - 1, ends[1] + 1)
    }
    assert [*outcomes.values()] == [
        *("held", "cannot_tell", "cannot_tell", "failed"),
        *("failed", "cannot_tell", "cannot_tell", "held"),
    ]


def test_room_is_the_share_of_the_bound_between_it_and_the_figure(synthetic_run):
    above = judged(synthetic_run, at=AT_10, above="10000/s").room
    below = judged(synthetic_run, at=AT_10, below="50000/s").room
    assert above is not None
    assert below is not None
    assert above.value == pytest.approx(TRUTH_RPS / 10_000 - 1, rel=1e-6)
    assert below.value == pytest.approx(1 - TRUTH_RPS / 50_000, rel=1e-6)
    assert below.least == pytest.approx(1 - TRUTH_RPS * synthetic.REACH / 50_000, rel=1e-4)


def test_a_higher_confidence_asks_for_more_room(synthetic_run):
    bound = f"{TRUTH_RPS / synthetic.REACH - 1:.3f}/s"
    assert judged(synthetic_run, at=AT_10, above=bound).outcome == "held"
    assert judged(synthetic_run, at=AT_10, above=bound, confidence=0.99).outcome == "cannot_tell"


def test_what_was_not_measured_never_holds(synthetic_run):
    absent = judged(synthetic_run, server="absent", at=AT_10, above="1/s")
    assert (absent.outcome, absent.obstacle) == ("cannot_tell", "not_measured")


def test_a_percentile_without_a_figure_says_how_many_answers_it_takes(synthetic_run):
    # 0.99990 to the n-th power is below 2.5 % from n = 36,887 on.
    analysis = analysed(synthetic_run, {"measure": "p99.99", "below": "1s", "server": "nginx", "at": AT_10})
    (row,) = requirement_rows(analysis)
    assert row.judged.obstacle == "no_figure"
    assert row.why == "too few answers: p99.99 requires 36,887 in a trial; a longer load gives more"


def test_without_server_and_point_every_point_of_every_server_is_judged(synthetic_run):
    found = analysed(synthetic_run, {"measure": "p99", "below": "1h"}).requirements
    places = {(one.server, one.point["connections"]) for one in found}
    assert len(found) == len(places) == 3 * len(synthetic.CONNECTIONS)


@pytest.fixture(scope="module")
def run_of_requests(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return requests_run.several_requests(tmp_path_factory.mktemp("requests") / "run")


@pytest.mark.parametrize("measure", ["p50", "p99", "p90"])
def test_a_requirement_of_a_request_is_judged_by_its_figures_and_not_by_the_loads(run_of_requests, measure):
    # Of GET /json every answer took 2 ms, and of POST /echo 50 ms, up to 2 % more in later trials.
    outcomes = {
        (request, below): judged(
            run_of_requests, measure=measure, request=request, at={"connections": 50}, below=below
        )
        for request in ("GET /json", "POST /echo")
        for below in ("10ms", "100ms")
    }
    assert [one.outcome for one in outcomes.values()] == ["held", "held", "failed", "held"]
    of_json = outcomes["GET /json", "10ms"].estimate
    assert of_json is not None
    assert of_json.value == pytest.approx(2.0 * (1.0 * 1.01 * 1.02) ** (1 / 3), rel=1e-3)


def test_the_throughput_that_a_request_must_have_is_its_share_of_the_loads(run_of_requests):
    at = {"connections": 50}
    whole = judged(run_of_requests, at=at, above="1/s").estimate
    of_json = judged(run_of_requests, request="GET /json", at=at, above="1/s").estimate
    assert whole is not None
    assert of_json is not None
    assert of_json.value == pytest.approx(whole.value * requests_run.SHARES["GET /json"], rel=1e-3)


def test_a_confidence_of_its_own_is_that_of_a_requests_interval_too(run_of_requests):
    place = {"measure": "p99", "request": "GET /json", "at": {"connections": 50}, "below": "10ms"}
    usual, high = (judged(run_of_requests, **place, confidence=one).estimate for one in (0.95, 0.99))
    assert usual is not None
    assert high is not None
    assert high.high > usual.high


@pytest.fixture(scope="module")
def run_with_errors(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One in 1,000 answers to POST /echo is wrong in each load, and every other answer is right."""
    share = requests_run.SHARES["POST /echo"]
    operations = requests_run.operations(20_000, wrong={"POST /echo": round(20_000 * share / 1_000)})
    records = [
        requests_run.record(server, connections, block, operations=operations)
        for block in range(requests_run.TRIALS)
        for server in requests_run.SERVERS
        for connections in requests_run.CONNECTIONS
    ]
    folder = tmp_path_factory.mktemp("errors") / "run"
    return read_run(synthetic.write_run(folder, records=records))


@pytest.mark.parametrize(
    ("request_", "below", "outcome"),
    [
        ("POST /echo", "1 %", "held"),
        ("POST /echo", "0.01 %", "failed"),
        ("POST /echo", "0.1 %", "cannot_tell"),
        ("GET /json", "0.5 %", "held"),
        # None of 10,000 and more does not show that there is less than one in 100,000.
        ("GET /json", "0.001 %", "cannot_tell"),
    ],
)
def test_the_share_of_errors_of_a_request_is_judged_by_its_counts(run_with_errors, request_, below, outcome):
    found = judged(run_with_errors, measure="errors", request=request_, at={"connections": 50}, below=below)
    assert found.outcome == outcome
    assert found.estimate.value == pytest.approx(0.001 if request_ == "POST /echo" else 0, rel=0.01)


def test_the_share_of_errors_of_the_whole_load_is_one_of_what_was_due(run_with_errors):
    table = {"measure": "errors", "below": "5 %", "server": "nginx", "at": {"connections": 50}}
    rows = requirement_rows(analysed(run_with_errors, table))
    assert {(row.statement, row.title) for row in rows} == {("errors below 5 %", "held")}
    assert rows[0].measured.startswith("0 % (0 to ")


def test_a_requirement_of_a_request_is_named_with_it(run_of_requests):
    table = {"measure": "p99", "request": "POST /echo", "below": "10ms", "server": "nginx"}
    analysis = analysed(run_of_requests, {**table, "at": {"connections": 50}})
    (row,) = requirement_rows(analysis)
    assert row.statement == "p99 of POST /echo below 10ms"
    (suite,) = ElementTree.fromstring(run_junit(analysis))
    names = [case.get("name") for case in suite if case.find("failure") is not None]
    assert names == ["p99 of POST /echo below 10ms at connections = 50"]


def test_a_request_that_no_record_has_never_holds_and_the_others_are_named(run_of_requests):
    found = judged(run_of_requests, measure="p99", request="GET /jason", at={"connections": 50}, below="10ms")
    assert (found.outcome, found.obstacle) == ("cannot_tell", "not_sent")
    assert found.why is not None
    assert found.why.startswith('expected one of "GET /json", "GET /", "POST /echo"')


def test_junit_markdown_and_page_say_which_failed(synthetic_run):
    tables = (
        {"measure": "throughput", "above": "1/s", "server": "nginx", "at": AT_10},
        {"measure": "throughput", "above": "1000000/s", "server": "nginx", "at": AT_10},
    )
    run = with_required(synthetic_run, *tables)
    analysis = analyse(run)
    assert [row.title for row in requirement_rows(analysis)] == ["failed", "held"]
    (suite,) = ElementTree.fromstring(run_junit(analysis))
    required = [case for case in suite if case.get("name", "").startswith("throughput above")]
    assert [len(case.findall("failure")) for case in required] == [1, 0]
    assert [
        ("held:" in case.findtext("system-out", ""), "room" in case.findtext("system-out", ""))
        for case in required
    ] == [
        (False, False),
        (True, True),
    ]
    assert suite.get("failures") == "1"
    said = "1 failed, 1 held"
    assert said in markdown_bytes(Report(run, analysis)).decode()
    assert said in render_run(run)


BAD = {
    'measure = "p98"\nbelow = "1ms"': 'require.measure: found "p98"; expected "throughput"',
    'measure = "p99"\nbelow = "5000/s"': 'require.below: found "5000/s"; p99 expects a time with its unit',
    'measure = "p99"': "require.below: missing; expected a time",
    'measure = "p99"\nbelow = "1ms"\nabove = "1ms"': "require.below: cannot be combined with above",
    'measure = "errors"\nbelow = "5ms"': 'errors expects a percentage, such as "0.1 %", above 0',
    'measure = "errors"\nabove = "1 %"': "require.above: errors have a greatest share; write below instead",
    'measure = "p99"\nbelow = "1ms"\nserver = "ngin"': 'require.server: found "ngin"; expected one of nginx',
    'measure = "p99"\nbelow = "1ms"\nrequest = "GET /2k.txt"': (
        'require.request: found "GET /2k.txt", which the load on nginx does not send; '
        'expected one of "GET /1k.txt"; did you mean "GET /1k.txt"?'
    ),
    'measure = "memory_peak_mib"\nbelow = "1MiB"\nrequest = "GET /1k.txt"': (
        "require.request: memory_peak_mib is measured of the whole load; a request has throughput, mean, p50"
    ),
    'measure = "p99"\nbelow = "1ms"\nat = { connections = 7 }': "found 7, where no point is; the sweep has",
    'measure = "p99"\nbelow = "1ms"\nat = { rate = 7 }': "not in the sweep; expected one of connections",
}


@pytest.mark.parametrize("table", BAD)
def test_a_requirement_that_cannot_be_judged_is_refused_with_what_is_allowed(tmp_path, table):
    (problem,) = problems_in(tmp_path, f"{GOOD}[[require]]\n{table}\n")
    assert BAD[table] in problem


def test_a_failed_requirement_ends_a_run_with_3_and_an_open_one_with_5_where_that_is_asked():
    for outcomes, codes in (
        ({"failed", "held"}, (3, 3)),
        ({"cannot_tell"}, (0, 5)),
        ({"held"}, (0, 0)),
        # What no figure decides is not decided, and where there is no figure at all, nothing was measured.
        ({"no_figure", "held"}, (0, 5)),
        ({"no_figure"}, (4, 4)),
        (set(), (0, 0)),
    ):
        ending = Ending.__new__(Ending)
        ending.usable, ending._outcomes = True, outcomes
        assert (ending.exit_code(is_strict=False), ending.exit_code(is_strict=True)) == codes
