"""The seconds of a long load that is under way, for whoever follows its run."""

import json
from pathlib import Path

import pytest

from loadcurve.watch.feed import Feed
from loadcurve.watch.live import (
    LIVE_FILE,
    MOST_SECONDS,
    LiveFile,
    LiveSecond,
    interval_s,
    read_live,
)


def second(at_s: float, failed: int = 0) -> LiveSecond:
    return LiveSecond(at_s=at_s, rate_rps=100.0, p50_ms=1.0, p90_ms=2.0, p99_ms=None, failed=failed)


def test_a_short_load_is_left_alone_and_of_a_long_one_few_seconds_are_kept():
    assert interval_s(1.0, 8.0) is None
    assert interval_s(0.0, 10.0) == 2.0
    assert interval_s(0.0, 86_400.0) == 86_400.0 / MOST_SECONDS
    assert interval_s(0.0, None) == 2.0, "a number of requests may take long"


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
        assert json.loads(data) == [[1.0, 100.0, 1.0, 2.0, None, 0]]
        assert feed.seconds(state) is None
        file.add(second(3.0))
        _, data = feed.seconds(state)
        assert len(json.loads(data)) == 2
    gone = feed.seconds(state)
    assert gone is not None
    assert gone[1] == "[]"
