"""The slowest requests of a load that fell into pauses of the platform."""

import pytest

from support.disturbed import pauses
from support.explained_run import Data, evidence, found, slow_request

PAUSE_MS = (1000.0, 1100.0)


def paused(record: Data, held_up: int, latency_ms: float, side: str = "generator") -> None:
    """CPUs do not run from 1.0 to 1.1 s; some of ten slow requests are due 20 ms before, others at 0.2 s."""
    record["load"]["silences"] = []
    record["load"]["slowest"] = [
        slow_request(0.98, latency_ms) if number < held_up else slow_request(0.2, 45) for number in range(10)
    ]
    of_side = record["probe"] if side == "probe" else record["load"]["generator"]
    of_side["pauses"] = pauses(PAUSE_MS).model_dump()


@pytest.mark.parametrize("side", ["generator", "probe"])
def test_slowest_requests_in_a_pause_of_either_side_are_counted(side: str):
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 2 and connections == 10:
            paused(record, 6, 130, side)

    finding = found(plant)["slowest_in_pauses"]
    assert (finding.trials, finding.points) == ([2], [{"connections": 10}])
    assert "Of the 10 slowest requests, 6 spent half or more of their time in a pause" in finding.seen
    assert finding.briefly == (
        "6 of the 10 slowest requests, the slowest of them of 130 ms, spent half or more of their time in "
        "pauses of this machine"
    )
    shown = evidence(finding)
    assert shown["slowest requests in pauses"] == 6
    assert shown["longest pause"] == pytest.approx(100)
    assert shown["longest latency of the slowest requests outside pauses"] == 45


@pytest.mark.parametrize(
    ("held_up", "latency_ms", "is_found"),
    # Of 200 ms, 100 lie in the pause: half. Of 201, less; and four of ten requests are fewer than half.
    [(5, 200, True), (5, 201, False), (4, 130, False)],
)
def test_half_of_the_requests_and_half_of_their_time_are_the_least(
    held_up: int, latency_ms: float, is_found: bool
):
    def plant(record: Data, trial: int, connections: float) -> None:
        paused(record, held_up, latency_ms)

    assert ("slowest_in_pauses" in found(plant)) == is_found


def test_pauses_have_no_part_in_a_window_without_length():
    def plant(record: Data, trial: int, connections: float) -> None:
        paused(record, 6, 130)
        record["load"]["duration_s"] = 0.0

    shown = evidence(found(plant)["slowest_in_pauses"])
    assert shown["slowest requests in pauses"] == 6
    assert "share of the window in pauses" not in shown


@pytest.mark.parametrize(("silence_start_s", "is_stall"), [(1.0, False), (0.5, True)])
def test_a_silence_within_a_pause_is_no_stall_of_the_server(silence_start_s: float, is_stall: bool):
    def plant(record: Data, trial: int, connections: float) -> None:
        paused(record, 0, 0, "probe")
        record["load"]["silences"] = [{"start_s": silence_start_s, "length_ms": 100}]
        record["load"]["slowest"] = [slow_request(silence_start_s - 0.01, 120) for _ in range(10)]

    assert ("stall" in found(plant)) == is_stall
