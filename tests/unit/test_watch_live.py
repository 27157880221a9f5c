"""The seconds of a long load that is under way, for whoever follows its run."""

import json
from pathlib import Path

import pytest

from loadcurve.cli.live_seconds import LiveSeconds
from loadcurve.generate.generator import CpuSeconds, LastSecond, Progress
from loadcurve.watch.feed import Feed
from loadcurve.watch.live import (
    LIVE_FILE,
    MOST_SECONDS,
    LiveFile,
    LiveSecond,
    interval_of_one_load_s,
    interval_s,
    read_live,
)
from loadcurve.watch.so_far import verdict_so_far


def second(at_s: float, failed: int = 0) -> LiveSecond:
    return LiveSecond(at_s=at_s, rate_rps=100.0, p50_ms=1.0, p90_ms=2.0, p99_ms=None, failed=failed)


def test_a_short_load_is_left_alone_and_of_a_long_one_few_seconds_are_kept():
    assert interval_s(1.0, 8.0) is None
    assert interval_s(0.0, 10.0) == 2.0
    assert interval_s(0.0, 86_400.0) == 86_400.0 / MOST_SECONDS
    assert interval_s(0.0, None) == 2.0, "a number of requests may take long"


def test_of_a_load_that_is_the_only_one_each_second_is_kept_where_it_is_short():
    assert interval_of_one_load_s(0.0, 3.0) == 1.0
    assert interval_of_one_load_s(0.0, 10.0) == 2.0
    assert interval_of_one_load_s(0.0, None) == 2.0


def test_what_is_kept_is_read_again_and_gone_with_the_run(tmp_path: Path):
    with LiveFile(tmp_path) as file:
        file.begins(2.0)
        assert file.is_due(1.0)
        file.add(second(1.0))
        assert not file.is_due(2.9)
        file.add(second(3.0, failed=7))
        assert [(one.at_s, one.failed) for one in read_live(tmp_path)] == [(1.0, 0), (3.0, 7)]
        file.begins(None)
        assert read_live(tmp_path) == []
        assert not file.is_due(100.0)
    assert not (tmp_path / LIVE_FILE).exists()


def test_what_a_killed_run_has_left_is_not_taken_for_the_next_ones(tmp_path: Path):
    (tmp_path / LIVE_FILE).write_text(second(9.0).model_dump_json() + "\n")
    with LiveFile(tmp_path) as file:
        file.begins(2.0)
        file.add(second(1.0))
        assert [one.at_s for one in read_live(tmp_path)] == [1.0]


@pytest.mark.parametrize("text", ["", "half a li", "no JSON\n", '{"at_s": -1}\n'])
def test_a_file_that_is_none_of_ours_has_no_seconds(tmp_path: Path, text: str):
    (tmp_path / LIVE_FILE).write_text(text)
    assert read_live(tmp_path) == []


def test_a_file_that_cannot_be_written_ends_no_run(tmp_path: Path):
    with LiveFile(tmp_path / "missing") as file:
        file.begins(2.0)
        file.add(second(1.0))


def test_readers_get_the_seconds_once_when_there_are_new_ones(tmp_path: Path):
    feed = Feed(tmp_path)
    assert feed.seconds(None) is None
    with LiveFile(tmp_path) as file:
        file.begins(2.0)
        file.add(second(1.0))
        state, data = feed.seconds(None)
        assert json.loads(data)["seconds"] == [[1.0, 100.0, 1.0, 2.0, None, 0, None, None]]
        assert feed.seconds(state) is None
        file.add(second(3.0))
        _, data = feed.seconds(state)
        assert len(json.loads(data)["seconds"]) == 2
    gone = feed.seconds(state)
    assert gone is not None
    assert json.loads(gone[1]) == {"seconds": [], "so_far": None}


def taken(*shown: tuple[float, CpuSeconds]) -> list[tuple[float | None, float | None]]:
    """The CPUs of both sides that seconds have, which end then, where so much had been used."""
    kept: list[LiveSecond] = []

    class File:
        def is_due(self, _: float) -> bool:
            return True

        def add(self, one: LiveSecond) -> None:
            kept.append(one)

    seconds = LiveSeconds(File())
    for at_s, used in shown:
        last = LastSecond(1.0, 100, (1.0, 2.0, 3.0))
        seconds.take(Progress(at_s, 100, last_second=last, cpu=lambda used=used: used))
    return [(one.server_cpus, one.generator_cpus) for one in kept]


def test_the_cpus_of_both_sides_are_those_used_since_the_second_before():
    assert taken(
        (1.0, CpuSeconds(10.0, 5.0, 1.0)),
        (3.0, CpuSeconds(12.0, 6.0, 4.0)),
        (5.0, CpuSeconds(14.0, 6.5, 5.0)),
    ) == [(None, None), (0.5, 1.5), (0.25, 0.5)]


def test_of_a_server_elsewhere_or_one_that_has_ended_no_cpu_is_known():
    shown = taken((1.0, CpuSeconds(10.0, None, 1.0)), (3.0, CpuSeconds(12.0, None, 2.0)))
    assert shown[1] == (None, 0.5)
    shown = taken((1.0, CpuSeconds(10.0, 5.0, 1.0)), (3.0, CpuSeconds(12.0, 0.5, 2.0)))
    assert shown[1] == (None, 0.5), "what an ended process has used is not counted any more"


@pytest.mark.parametrize(
    ("answered", "failed", "point", "status"),
    [
        (1000, 0, {"connections": 50}, "valid"),
        (999, 1, {"connections": 50}, "suspect"),
        (980, 20, {"connections": 50}, "invalid"),
        (0, 7, {"connections": 50}, "invalid"),
        (0, 0, None, "invalid"),
        # 1,000 in 10 s.
        (1000, 0, {"rate": 100}, "valid"),
        (1000, 0, {"rate": 200}, "suspect"),
    ],
)
def test_the_verdict_so_far_follows_from_failures_and_the_rate(answered, failed, point, status):
    one = second(10.0, failed).model_copy(update={"answered": answered})
    found = verdict_so_far([one], point)
    assert found is not None
    assert found.status == status


def test_nothing_is_said_of_a_load_whose_answers_are_not_told():
    assert verdict_so_far([], {"rate": 5}) is None
    assert verdict_so_far([second(1.0)], {"rate": 5}) is None
