"""Memory that grows with requests, or with connections."""

import math

import pytest

from support import synthetic_run as synthetic
from support.explained_run import Data, Setup, found, series


def test_memory_for_each_connection_is_told_with_its_interval():
    def plant(record: Data, trial: int, connections: float) -> None:
        bytes_each = 256 * 1024 * (1 + 0.01 * (trial - 2))
        record["probe"]["server"]["memory_mean_bytes"] = 8 * 2**20 + bytes_each * connections

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("memory_per_connection", "shown")
    each = finding.evidence[0]
    assert each.value == pytest.approx(256 * 1024)
    # s = 1.5811 % of it, t(0.975, 4) = 2.776445, over the root of 5.
    assert each.high - each.value == pytest.approx(
        2.776445 * 0.01581139 / math.sqrt(5) * 256 * 1024, rel=1e-5
    )


def test_memory_that_jumps_about_is_not_blamed_on_connections():
    def plant(record: Data, trial: int, connections: float) -> None:
        memory = 64 if (trial + int(connections)) % 2 else 16
        record["probe"]["server"]["memory_mean_bytes"] = memory * 2**20

    assert found(plant) == {}


def leak(bytes_per_request: float) -> list[float]:
    rate = synthetic.SERVERS["nginx"].throughput_rps(50)
    return [16 * 2**20 + bytes_per_request * rate * 0.1 * sample for sample in range(20)]


def test_memory_that_grows_with_requests_is_told_by_the_bytes_of_each():
    def plant(record: Data, trial: int, rate: float) -> None:
        record["probe"]["series"] = series(memory_bytes=leak(512))

    [finding] = found(plant, Setup(key="rate", values=(100, 200, 300))).values()
    assert finding.code == "memory_grows_with_requests"
    # The rate differs between trials by a percent.
    assert finding.evidence[0].value == pytest.approx(512, rel=0.02)


def test_memory_that_comes_to_a_level_is_no_leak():
    level = [16 * 2**20 + 8 * 2**20 * min(sample, 8) / 8 for sample in range(20)]
    assert found(lambda record, *_: record["probe"].update(series=series(memory_bytes=level))) == {}


def test_memory_that_is_given_back_is_no_leak():
    teeth = [16 * 2**20 + 4 * 2**20 * (sample % 5) + sample * 2**18 for sample in range(20)]
    assert found(lambda record, *_: record["probe"].update(series=series(memory_bytes=teeth))) == {}


def test_a_server_that_grows_at_its_first_points_only_is_warming_up():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections < 50:
            record["probe"]["series"] = series(memory_bytes=leak(512))

    assert found(plant) == {}


def test_growth_in_some_trials_only_is_no_leak():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial:
            record["probe"]["series"] = series(memory_bytes=leak(512))

    assert found(plant) == {}
