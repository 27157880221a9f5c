"""A request that alone is slow among several, and loads in which none is."""

import pytest

from loadcurve.explain.all import findings
from loadcurve.result.folder import read_run
from support import requests_run
from support import synthetic_database_run as databases
from support.explained_run import CONNECTIONS, Data, Planted, distribution_of, found


def several(record: Data, latency_ms: dict[str, float], **changes: object) -> None:
    """Let a load have these requests, each with one latency."""
    record["load"]["operations"] = requests_run.operations(1_000, latency_ms)
    record["load"] |= changes


def test_a_request_that_alone_is_slow_is_named_with_its_factor_and_its_share_of_the_time():
    latency_ms = {"GET /json": 1.0, "GET /": 2.0, "POST /echo": 50.0}
    [finding] = found(lambda record, *_: several(record, latency_ms)).values()
    assert finding.code == "slow_request"
    assert "POST /echo alone is slow" in finding.seen
    assert "50 ms, 25 times the 2 ms of GET /" in finding.seen
    # 200 answers of 50 ms, among 500 of 1 ms and 300 of 2 ms: 10,000 of 11,100 ms.
    assert "20 % of the answers took 90 % of the time" in finding.seen
    assert [point["connections"] for point in finding.points] == list(CONNECTIONS)


def test_it_is_seen_only_at_loads_at_which_the_others_are_fast():
    def plant(record: Data, _trial: int, connections: float) -> None:
        # At 50 connections and more all wait for the server.
        wait_ms = 0.0 if connections < 50 else 40.0
        several(record, {"GET /json": 1 + wait_ms, "GET /": 2 + wait_ms, "POST /echo": 20 + wait_ms})

    [finding] = found(plant).values()
    assert [point["connections"] for point in finding.points] == [5, 10, 25]


def test_two_slow_requests_of_five_are_one_finding():
    latency_ms = {"GET /a": 1.0, "GET /b": 1.0, "GET /c": 1.5, "GET /d": 30.0, "POST /e": 90.0}
    [finding] = found(lambda record, *_: several(record, latency_ms)).values()
    assert "POST /e and GET /d are slow" in finding.seen
    assert {one.name for one in finding.evidence} >= {"median latency of POST /e", "median latency of GET /d"}


@pytest.mark.parametrize(
    "latency_ms",
    [
        {"GET /json": 10.0, "GET /": 12.0, "POST /echo": 35.0},
        {"GET /json": 0.01, "GET /": 0.02, "POST /echo": 0.9},
        {"GET /json": 1.0, "GET /a": 50.0, "GET /b": 60.0},
        {"GET /json": 50.0},
    ],
    ids=["below 3 times", "below 1 ms more", "more than half are slow", "a single request"],
)
def test_where_requests_differ_little_or_most_are_slow_nothing_is_found(latency_ms):
    assert found(lambda record, *_: several(record, latency_ms)) == {}


def test_medians_of_few_answers_are_chance_and_make_no_request_slow():
    def planted(answers: int) -> Planted:
        latency_ms = {"GET /json": 1.0, "GET /": 2.0, "POST /echo": 50.0}
        # The last one has a fifth of all answers.
        each = requests_run.operations(5 * answers, latency_ms)
        return lambda record, *_: record["load"].update(operations=each)

    assert found(planted(29)) == {}
    assert set(found(planted(30))) == {"slow_request"}


def test_requests_are_alike_of_which_about_half_the_answers_are_slow():
    def plant(record: Data, *_: float) -> None:
        # 51 of 100 answers to one take 40 ms, and 49 of 100 to the other.
        record["load"]["operations"] = [
            {
                "operation": label,
                "answered": 100,
                "ok": 100,
                "failed": 0,
                "latency_ms": distribution_of([2.0] * (100 - slow) + [40.0] * slow),
            }
            for label, slow in (("GET /a", 51), ("GET /b", 49))
        ]

    assert found(plant) == {}


def test_kinds_of_operations_on_a_database_are_no_requests(tmp_path):
    kinds = requests_run.operations(1_000, {"read": 1.0, "scan": 50.0})
    records = [databases.point_record("postgresql", 4, block, operations=kinds) for block in range(3)]
    run = read_run(databases.synthetic_run.write_run(tmp_path / "run", databases.run_record(), records))
    assert "slow_request" not in {one.code for one in findings(run)}
