"""Memory that grows with requests, with time, or with connections."""

import math
from collections.abc import Callable

import pytest

from loadcurve.explain.finding import Finding
from support import synthetic_run as synthetic
from support.explained_run import Data, Setup, found, series

SAMPLES = 50
"""Of five seconds."""
ONE_PROCESS = {"min": 1, "max": 1}


def test_memory_for_each_connection_is_reported_with_its_interval():
    def plant(record: Data, trial: int, connections: float) -> None:
        bytes_each = 256 * 1024 * (1 + 0.01 * (trial - 2))
        memory = 8 * 2**20 + bytes_each * connections
        record["probe"]["server"] |= {"processes": ONE_PROCESS, "memory_mean_bytes": memory}

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("memory_per_connection", "shown")
    each = finding.evidence[0]
    assert each.value == pytest.approx(256 * 1024)
    # s = 1.5811 % of it, t(0.975, 4) = 2.776445, over the root of 5.
    assert each.high - each.value == pytest.approx(
        2.776445 * 0.01581139 / math.sqrt(5) * 256 * 1024, rel=1e-5
    )


def test_memory_that_does_not_grow_in_proportion_has_no_figure_for_each_connection():
    """As a heap that has its size from 10 connections on: 40 MiB more from 5 to 10, and 4 MiB from there."""

    def plant(record: Data, trial: int, connections: float) -> None:
        memory = {5: 60, 10: 100, 25: 101, 50: 102, 100: 104}[int(connections)] + 0.1 * trial
        record["probe"]["server"] |= {"processes": ONE_PROCESS, "memory_mean_bytes": memory * 2**20}

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("memory_per_connection", "likely")
    assert "not in proportion to them: from 60.2 MiB at 5 connections to 104 MiB at 100" in finding.seen
    assert all("per connection" not in one.name for one in finding.evidence)


def test_a_single_trial_off_the_line_leaves_the_figure_for_each_connection():
    """As with a helper that still runs in the first point of one trial of five."""

    def plant(record: Data, trial: int, connections: float) -> None:
        helper = 8 if (trial, connections) == (2, 5) else 0
        memory = (8 + helper) * 2**20 + 256 * 1024 * connections
        record["probe"]["server"] |= {"processes": ONE_PROCESS, "memory_mean_bytes": memory}

    assert "per connection" in found(plant)["memory_per_connection"].seen


def test_memory_that_jumps_about_is_not_blamed_on_connections():
    def plant(record: Data, trial: int, connections: float) -> None:
        memory = 64 if (trial + int(connections)) % 2 else 16
        record["probe"]["server"] |= {"processes": ONE_PROCESS, "memory_mean_bytes": memory * 2**20}

    assert found(plant) == {}


def test_buffers_that_a_process_for_each_connection_shares_are_not_memory_of_the_connections():
    # Each process maps the same 16 MiB and has 1 MiB for itself; half of the records lack the divided figure.
    def plant(record: Data, trial: int, connections: float) -> None:
        divided = (16 + connections) * 2**20 if trial % 2 else None
        record["probe"]["server"] |= {
            "processes": {"min": int(connections), "max": int(connections)},
            "memory_mean_bytes": 17 * 2**20 * connections,
            "proportional_memory_bytes": divided,
        }

    each = found(plant)["memory_per_connection"].evidence[0]
    assert each.value == pytest.approx(2**20)


def test_processes_whose_shared_pages_are_not_known_tell_nothing_of_their_memory():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["probe"]["server"]["memory_mean_bytes"] = 17 * 2**20 * connections
        record["probe"]["series"] = series(SAMPLES, memory_bytes=leak(512))

    assert found(plant) == {}


def leak(bytes_per_request: float) -> list[float]:
    rate = synthetic.SERVERS["nginx"].throughput_rps(50)
    return [16 * 2**20 + bytes_per_request * rate * 0.1 * sample for sample in range(SAMPLES)]


@pytest.mark.parametrize(
    ("processes", "column"),
    [(ONE_PROCESS, "memory_bytes"), ({"min": 3, "max": 3}, "proportional_memory_bytes")],
)
def test_memory_that_grows_with_requests_is_reported_by_the_bytes_of_each(processes, column):
    def plant(record: Data, trial: int, rate: float) -> None:
        record["probe"]["series"] = series(SAMPLES, **{column: leak(512)})
        record["probe"]["server"]["processes"] = processes

    [finding] = found(plant, Setup(key="rate", values=(100, 200, 300))).values()
    assert finding.code == "memory_grows_with_requests"
    # The rate differs between trials by a percent.
    assert finding.evidence[0].value == pytest.approx(512, rel=0.02)


LEAK = leak(512)
LEVEL = [16.0 * 2**20] * SAMPLES
RISE_TO_A_LEVEL = [16 * 2**20 + 8 * 2**20 * min(sample, 20) / 20 for sample in range(SAMPLES)]
TEETH = [16 * 2**20 + 4 * 2**20 * (sample % 5) + sample * 2**18 for sample in range(SAMPLES)]


@pytest.mark.parametrize(
    "memory_bytes",
    [
        pytest.param(lambda trial, connections: RISE_TO_A_LEVEL, id="comes to a level"),
        # The same in a window of a second, in which it has not come to its level yet.
        pytest.param(lambda trial, connections: leak(5120)[:10] + [None] * (SAMPLES - 10), id="for a second"),
        pytest.param(lambda trial, connections: TEETH, id="is given back"),
        pytest.param(lambda trial, connections: LEAK if connections < 50 else LEVEL, id="as it warms up"),
        pytest.param(lambda trial, connections: LEAK if trial else LEVEL, id="in some trials only"),
    ],
)
def test_memory_that_does_not_grow_with_all_requests_is_no_leak(memory_bytes: Callable[..., list[float]]):
    def plant(record: Data, trial: int, connections: float) -> None:
        record["probe"]["series"] = series(SAMPLES, memory_bytes=memory_bytes(trial, connections))
        record["probe"]["server"]["processes"] = ONE_PROCESS

    assert found(plant) == {}


SHORT = 20
"""Samples of a window of two seconds, of which several on one start are as long as one that tells a leak."""


def rising_memory(slopes: dict[float, float], jump: float, samples: int = SHORT) -> dict[float, list[float]]:
    """The memory in the windows of a sweep: these bytes at each sample, a jump between two windows."""
    memory, windows = 16.0 * 2**20, {}
    for value, slope in slopes.items():
        windows[value] = [memory + slope * sample for sample in range(samples)]
        memory = windows[value][-1] + jump
    return windows


def swept(windows: dict[float, list[float]], rates: dict[float, float]) -> dict[str, Finding]:
    """What is found where a start of the server is taken through these windows at these rates of answers."""

    def plant(record: Data, _trial: int, connections: float) -> None:
        memory = windows[connections]
        record["probe"]["series"] = series(len(memory), memory_bytes=memory)
        record["probe"]["server"] |= {
            "processes": ONE_PROCESS,
            "memory_mean_bytes": sum(memory) / len(memory),
        }
        record["load"]["rate_rps"]["answered"] = rates[connections]

    return found(plant, Setup(values=tuple(windows)))


RATES = {5: 500.0, 10: 1000.0, 25: 2500.0, 50: 5000.0, 100: 10_000.0}


@pytest.mark.parametrize("samples", [SHORT, 40], ids=["2 s", "4 s"])
def test_a_leak_along_a_sweep_is_that_of_requests_and_not_of_connections(samples):
    # 1,000 bytes of each request, a tenth of a second each sample, and half a second of warm-up at 1,000/s.
    windows = rising_memory({n: 1000 * rps * 0.1 for n, rps in RATES.items()}, 1000 * 500, samples)
    [finding] = swept(windows, RATES).values()
    assert (finding.code, finding.certainty) == ("memory_grows_with_requests", "likely")
    assert finding.evidence[0].value == pytest.approx(1000)


def test_memory_that_grows_at_any_rate_of_requests_grows_with_time():
    windows = rising_memory(dict.fromkeys(RATES, 500_000), 500_000 * 5)
    [finding] = swept(windows, RATES).values()
    assert (finding.code, finding.certainty) == ("memory_grows_with_time", "likely")
    assert finding.evidence[0].value == pytest.approx(5_000_000)


def test_a_leak_in_windows_too_short_to_tell_is_not_blamed_on_connections():
    windows = rising_memory({n: 1000 * rps * 0.1 for n, rps in RATES.items()}, 1000 * 500, samples=4)
    assert swept(windows, RATES) == {}


def test_memory_that_comes_with_the_connections_is_theirs_though_it_wavers_within_the_windows():
    windows = rising_memory(dict.fromkeys(RATES, 2**10), 8 * 2**20)
    assert swept(windows, RATES).keys() == {"memory_per_connection"}
