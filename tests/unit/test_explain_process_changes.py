"""Processes and threads that come and go, and what that does to the throughput."""

import math

import pytest

from loadcurve.explain.process_changes import throughput_beside_neighbours
from loadcurve.explain.subject import subjects
from support.explained_run import CONNECTIONS, Data, Setup, found, planted_run


def test_a_process_started_at_a_load_is_reported_with_the_bump_of_the_throughput_there():
    def plant(record: Data, trial: int, connections: float) -> None:
        counts = {"min": 3, "max": 4} if connections == 25 else {"min": 4, "max": 4}
        if connections < 25:
            counts = {"min": 3, "max": 3}
        record["probe"]["server"]["processes"] = counts
        # Along a power law, which is a line in logarithms, and 10 % above it at 25.
        bump = 1.10 if connections == 25 else 1.0
        noise = math.exp(0.003 * (trial - 2))
        record["load"]["rate_rps"]["answered"] = 1000 * math.sqrt(connections) * bump * noise

    [finding] = found(plant).values()
    assert finding.code == "processes_changed"
    assert [point["connections"] for point in finding.points] == [25]
    assert "from 3 to 4" in finding.seen
    assert "10 % above" in finding.seen
    moved = finding.evidence[-1]
    assert moved.value == pytest.approx(1.10, rel=1e-9)
    assert moved.spread == "interval"
    assert finding.briefly == (
        "throughput lies 10 % above what its neighbours let expect, where its processes went from 3 to 4"
    )


def test_at_one_load_alone_there_are_no_points_on_both_sides():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["probe"]["server"]["processes"] = {"min": 2, "max": 2 + trial}
        record["probe"]["server"]["threads"] = {"min": 2, "max": 2 + trial}

    [finding] = found(plant, Setup(values=(50,))).values()
    assert "different numbers of them served parts of this load" in finding.cause
    assert "curve" not in finding.advice


def test_a_change_without_effect_says_that_no_bump_is_shown():
    def plant(record: Data, trial: int, connections: float) -> None:
        processes = 3 if connections < 25 else 4
        record["probe"]["server"]["processes"] = {"min": processes, "max": processes}

    [finding] = found(plant).values()
    assert finding.code == "processes_changed"
    assert "No bump or dip of the throughput is shown there." in finding.seen
    assert finding.briefly is None


def test_processes_that_change_at_every_point_explain_no_single_one_in_the_answer():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["probe"]["server"]["processes"] = {"min": 3, "max": 4}
        bump = 1.10 if connections == 25 else 1.0
        noise = math.exp(0.003 * (trial - 2))
        record["load"]["rate_rps"]["answered"] = 1000 * math.sqrt(connections) * bump * noise

    [finding] = found(plant).values()
    assert "what its neighbours let expect" in finding.seen
    assert finding.briefly is None


@pytest.mark.parametrize("of", ["processes", "threads"])
def test_a_server_that_starts_one_for_each_connection_follows_the_load_and_no_rules_of_its_own(of):
    def plant(record: Data, trial: int, connections: float) -> None:
        # A helper is there at some moments of the last point.
        most = int(connections) + (1 if connections == CONNECTIONS[-1] else 0)
        record["probe"]["server"][of] = {"min": int(connections), "max": most}

    assert found(plant) == {}


def test_one_for_each_of_a_few_connections_follows_the_load_too():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["probe"]["server"]["processes"] = dict.fromkeys(("min", "max"), int(connections) + 1)

    assert found(plant, Setup(values=(1, 2, 4))) == {}


def test_what_is_left_of_the_point_before_does_not_hide_that_there_is_one_for_each_connection():
    """A sweep that goes down: the server ends a process when it sees that its connection was closed."""

    def plant(record: Data, trial: int, connections: float) -> None:
        most = 51 if connections == 1 else int(connections) + 1
        record["probe"]["server"]["processes"] = {"min": int(connections) + 1, "max": most}

    assert found(plant, Setup(values=(50, 1))) == {}


def test_processes_that_a_server_has_kept_are_reported_when_it_ends_them():
    """As with Apache, which ends spare processes one by one."""

    def plant(record: Data, trial: int, connections: float) -> None:
        least = 30 if connections == 1 else 51
        record["probe"]["server"]["processes"] = {"min": least, "max": 51}

    [finding] = found(plant, Setup(values=(50, 1))).values()
    assert "went from 51 to 30" in finding.seen


@pytest.mark.parametrize(
    ("least", "codes"),
    [(1, set()), (10, {"processes_changed"})],
    ids=["one for each connection", "spare ones that stay"],
)
def test_processes_that_end_with_always_as_many_connections_are_the_loads_doing(least, codes):
    def plant(record: Data, trial: int, rate: float) -> None:
        record["load"]["load"] |= {"connections": 50}
        record["probe"]["server"]["processes"] = {"min": least, "max": 51}

    assert set(found(plant, Setup(key="rate", values=(100, 200, 300)))) == codes


FEW = ((1, 5), (1, 6), (1, 5), (1, 1))
"""The least and the most processes at four connections, of which some are just being made or were closed."""


@pytest.mark.parametrize(
    ("connections", "codes"),
    [(4, set()), (8, {"processes_changed"})],
    ids=["one for each connection", "fewer than connections"],
)
def test_processes_that_come_and_go_with_connections_are_the_loads_doing(connections, codes):
    def plant(record: Data, trial: int, calls: float) -> None:
        record["load"]["load"] |= {"connections": connections, "calls": int(calls)}
        counted = FEW[(1, 5, 20, 50).index(calls)]
        record["probe"]["server"]["processes"] = dict(zip(("min", "max"), counted, strict=True))

    assert set(found(plant, Setup(key="calls", values=(1, 5, 20, 50)))) == codes


def test_one_process_more_is_reported_for_a_sweep_that_goes_up_by_one_connection():
    """As with Apache's worker processes, each of which serves 25 connections."""

    def plant(record: Data, trial: int, connections: float) -> None:
        children = math.ceil(connections / 25)
        record["probe"]["server"]["processes"] = {"min": 1 + children, "max": 1 + children}

    [finding] = found(plant, Setup(values=range(44, 57))).values()
    assert [point["connections"] for point in finding.points] == [51]


@pytest.mark.parametrize(
    "curve",
    [
        pytest.param(lambda connections: connections / (connections + 9), id="slowly"),
        pytest.param(lambda connections: min(connections, 8), id="sharply, where a CPU is full"),
        pytest.param(lambda connections: min(connections, 8) / (1 + connections / 100), id="and falls"),
    ],
)
@pytest.mark.parametrize("loads", [CONNECTIONS, (1, 8, 64, 128), (1, 4, 16, 64, 256)])
def test_a_curve_that_bends_is_no_bump_however_far_apart_its_points_are(curve, loads):
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["rate_rps"]["answered"] = 1e4 * curve(connections)

    [subject] = subjects(planted_run(plant, Setup(values=loads)))
    found = [throughput_beside_neighbours(subject, place) for place in range(1, len(loads) - 1)]
    ratios = [one.ratio.value for one in found if one and one.ratio]
    # Along its straight parts a curve is on the line, but for the last digits.
    assert ratios == pytest.approx([1.0] * len(ratios), abs=1e-9)


def test_a_dip_in_a_curve_that_bends_is_shown():
    def plant(record: Data, trial: int, connections: float) -> None:
        dip = 0.8 if connections == 64 else 1.0
        record["load"]["rate_rps"]["answered"] = 1e4 * min(connections, 8) * dip * math.exp(0.003 * trial)

    [subject] = subjects(planted_run(plant, Setup(values=(1, 8, 64, 128))))
    # The neighbours are at the limit, both of them, so that the line between them is flat.
    assert throughput_beside_neighbours(subject, 2).ratio.value == pytest.approx(0.8, rel=1e-9)


def test_at_the_ends_of_the_sweep_nothing_is_expected():
    [subject] = subjects(planted_run())
    assert throughput_beside_neighbours(subject, 0) is None
    assert throughput_beside_neighbours(subject, len(CONNECTIONS) - 1) is None


def test_a_curve_that_its_neighbours_let_expect_beyond_all_numbers_is_beside_none():
    loads = (1, 2, 1_000, 1_000_000, 1_000_001)

    def plant(record: Data, trial: int, connections: float) -> None:
        # Through the last two, one part in a million apart, the line is nearly upright.
        record["load"]["rate_rps"]["answered"] = 1e9 if connections == loads[-1] else 1e-9

    [subject] = subjects(planted_run(plant, Setup(values=loads, key="rate")))
    assert throughput_beside_neighbours(subject, 2).ratio is None


def test_a_single_thread_that_comes_and_goes_is_no_change():
    assert found(lambda record, *_: record["probe"]["server"].update(threads={"min": 7, "max": 8})) == {}
