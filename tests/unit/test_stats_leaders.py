"""Who leads in which range of load: no server that another beats, and by name where another is ahead."""

from statistics import geometric_mean

import numpy as np

from loadcurve.stats.leaders import Leader, Leaders, Standing, leaders
from loadcurve.stats.ranking import Better, rank

BLOCKS = 5


def standings(curves: dict[str, list[list[float]]], loads: list[float], better: Better) -> list[Standing]:
    """Return servers at each load; a curve has a list of the blocks' figures for each load, NaN for none."""
    found = []
    for place, load in enumerate(loads):
        values = {server: np.array(curve[place]) for server, curve in curves.items()}
        known = {server: one[np.isfinite(one)] for server, one in values.items()}
        ranking = rank({server: np.log(one)[:, None] for server, one in values.items()}, better)
        figures = {server: geometric_mean(one) for server, one in known.items() if len(one)}
        found.append(Standing(load, ranking, figures))
    return found


def lead(curves: dict[str, list[list[float]]], loads: list[float], better: Better = "higher") -> Leaders:
    return leaders(standings(curves, loads, better), better)


def clear(curve: list[float], seed: int) -> list[list[float]]:
    """Return trials that spread by 1 %."""
    random = np.random.default_rng(seed)
    return [(one * np.exp(random.normal(0, 0.01, BLOCKS))).tolist() for one in curve]


def test_who_leads_changes_where_the_curves_cross():
    curves = {"a": clear([10, 20, 20, 20], 1), "b": clear([5, 15, 30, 40], 2)}
    assert lead(curves, [1, 10, 100, 1000]).ranges == (Leader("a", (1, 10)), Leader("b", (100, 1000)))
    # Of what is the better the lower it is, the other one leads.
    assert lead(curves, [1, 10, 100, 1000], "lower").ranges == (
        Leader("b", (1, 10)),
        Leader("a", (100, 1000)),
    )


def test_another_that_is_ahead_within_chance_is_named_with_its_loads():
    # a and b have the same five figures at the second load, in another order, and b one that is 1 % better.
    a = [[100.0, 101, 102, 103, 104], [100.0, 110, 120, 130, 140]]
    b = [[50.0, 51, 52, 53, 54], [111.1, 120, 130, 140, 100]]
    [leader] = lead({"a": a, "b": b}, [1, 10]).ranges
    assert (leader.server, leader.loads, leader.ahead) == ("a", (1, 10), {"b": (10,)})


def test_a_server_of_wide_spread_is_not_put_beside_the_leader_before_a_better_one():
    # c spreads so widely that nothing tells it apart, though b, which is told apart from a, is ahead of it.
    spread = [0.99, 1.0, 1.01, 0.995, 1.005]
    a, b = [100 * one for one in spread], [90 * one for one in spread[::-1]]
    [leader] = lead({"a": [a], "b": [b], "c": [[120.0, 40, 130, 35, 60]]}, [1]).ranges
    assert (leader.server, leader.ahead, leader.alike) == ("a", {}, {"c": (1,)})


def test_a_server_that_was_measured_once_may_be_ahead_but_does_not_lead():
    none = [float("nan")] * BLOCKS
    once = [[500.0, *none[1:]]]
    found = lead({"a": clear([10], 1), "b": clear([5], 2), "once": once}, [1])
    [leader] = found.ranges
    assert (leader.server, leader.ahead) == ("a", {"once": (1,)})


def test_a_load_at_which_nothing_can_be_compared_is_named_and_ends_no_range():
    none = [float("nan")] * BLOCKS
    a = [clear([10], 1)[0], [20.0, *none[1:]], clear([10], 2)[0]]
    b = [clear([5], 3)[0], [10.0, *none[1:]], clear([5], 4)[0]]
    assert lead({"a": a, "b": b}, [1, 2, 3]) == Leaders((Leader("a", (1, 3)),), not_compared=(2,))
    # Nothing was measured at the second load at all.
    nothing = {"a": [a[0], none, a[2]], "b": [b[0], none, b[2]]}
    assert lead(nothing, [1, 2, 3]) == Leaders((Leader("a", (1, 3)),), not_compared=())


def test_nobody_leads_where_one_trial_alone_has_measured():
    once = {"a": [[3.0], [3.0]], "b": [[1.0], [1.0]]}
    assert lead(once, [1, 2]) == Leaders((), not_compared=(1, 2))
