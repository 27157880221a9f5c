"""How often the verdict of the machine doubts a point of a machine that is quiet but not perfectly so.

The machine: each CPU of a side loses 1 % of its time by steal, in ticks of 10 ms that come at random, as the
kernel counts it; each side is paused once in two seconds on average, for 5 ms on average.
"""

import math
import random

import pytest

from loadcurve.result.machine import judged
from loadcurve.result.pauses import RawPause, pauses_within
from support.disturbed import cpus, load, probe

STEAL = 0.01
TICK_S = 0.01
CPUS_OF_A_SIDE = 2
PAUSES_PER_S = 0.5
PAUSE_S = 0.005
WINDOWS = 2_000
BASE = load()


def poisson(drawn: random.Random, mean: float) -> int:
    """A number of events, counted by the times between them."""
    count, time = 0, drawn.expovariate(1)
    while time < mean:
        count, time = count + 1, time + drawn.expovariate(1)
    return count


def pauses_of(drawn: random.Random, window_s: float, pauses_per_s: float):
    """The pauses of one side."""
    begins = [drawn.uniform(0, window_s) for _ in range(poisson(drawn, pauses_per_s * window_s))]
    found = [(begin, begin + drawn.expovariate(1 / PAUSE_S)) for begin in sorted(begins)]
    return pauses_within(
        [RawPause(earliest_s=begin, latest_s=begin, end_s=end) for begin, end in found], 0.0, window_s
    )


def steal_shares(drawn: random.Random, window_s: float, steal: float) -> list[float]:
    """The share of steal of each CPU of a side."""
    means = [steal * window_s / TICK_S] * CPUS_OF_A_SIDE
    return [min(1.0, poisson(drawn, mean) * TICK_S / window_s) for mean in means]


def doubted(window_s: float, *, steal: float = STEAL, pauses_per_s: float = PAUSES_PER_S) -> float:
    """The share of windows of this length that are suspect or invalid."""
    drawn = random.Random(f"{window_s} {steal} {pauses_per_s}")
    count = 0
    for _ in range(WINDOWS):
        ours = {
            "steal_share": max(steal_shares(drawn, window_s, steal)),
            "pauses": pauses_of(drawn, window_s, pauses_per_s),
        }
        generator = BASE.generator.model_copy(update=ours)
        seen = probe(cpus=cpus(*steal_shares(drawn, window_s, steal)))
        seen = seen.model_copy(update={"pauses": pauses_of(drawn, window_s, pauses_per_s)})
        measured = BASE.model_copy(update={"generator": generator, "duration_s": window_s})
        count += judged(measured, seen, range(CPUS_OF_A_SIDE)).verdict.status != "valid"
    return count / WINDOWS


def tail(mean: float, least: int) -> float:
    """The probability that a Poisson count is this large."""
    return 1 - sum(math.exp(-mean) * mean**count / math.factorial(count) for count in range(least))


@pytest.mark.parametrize("window_s", [1.0, 2.0])
def test_steal_alone_is_doubted_as_often_as_the_ticks_of_one_of_the_cpus_reach_the_threshold(window_s):
    # 5 % of the window and at least 50 ms, on one of the four CPUs.
    ticks = math.ceil(max(0.05 * window_s, 0.05) / TICK_S - 1e-9)
    expected = 1 - (1 - tail(STEAL * window_s / TICK_S, ticks)) ** (2 * CPUS_OF_A_SIDE)
    spread = math.sqrt(expected * (1 - expected) / WINDOWS)
    assert doubted(window_s, pauses_per_s=0.0) == pytest.approx(expected, abs=4 * spread + 1 / WINDOWS)


@pytest.mark.parametrize(("window_s", "most"), [(1.0, 0.02), (2.0, 0.005), (10.0, 0.001)])
def test_few_points_of_a_quiet_machine_are_doubted_and_fewer_of_those_that_are_repeated(window_s, most):
    assert doubted(window_s) <= most


def test_a_machine_with_ten_times_the_steal_is_doubted_in_nearly_every_window():
    assert doubted(10.0, steal=0.1) > 0.99
