"""When the readers of a run's page are notified of something new."""

import time
from pathlib import Path

import pytest

from loadcurve.watch import feed as feed_module
from loadcurve.watch.feed import Feed
from support.followed_run import GrowingRun


@pytest.fixture
def run(tmp_path: Path) -> GrowingRun:
    return GrowingRun(tmp_path / "run")


def drawn_points(feed: Feed) -> int:
    feed.look()
    drawn = feed.draw()
    return drawn.points if drawn else 0


def test_nothing_new_is_reported_where_nothing_has_changed(run: GrowingRun):
    run.says()
    feed = Feed(run.folder)
    first = feed.look()
    assert feed.look().number == first.number
    run.says(over=1)
    assert feed.look().number == first.number + 1
    run.add(1)
    assert feed.look().number == first.number + 2


def test_no_curve_is_drawn_in_the_middle_of_a_load(run: GrowingRun):
    feed = Feed(run.folder)
    measuring = {
        "point": {"connections": 2},
        "since_monotonic_s": time.monotonic() - 5,
        "warmup_s": 1.0,
        "over": 1,
    }
    run.says(**measuring, duration_s=100.0)
    run.add(1)
    latest = feed.look()
    assert len(latest.seen.run.points) == 1
    assert feed.draw() is None
    run.says(point=None, over=1)
    assert drawn_points(feed) == 1


def test_a_warm_up_that_is_long_enough_is_a_time_to_draw(run: GrowingRun):
    feed = Feed(run.folder)
    run.add(1)
    run.says(point={"connections": 2}, since_monotonic_s=time.monotonic(), warmup_s=60.0)
    assert drawn_points(feed) == 1


def test_curves_that_have_waited_for_long_are_drawn_in_any_case(run, monkeypatch):
    now_s = 1000.0
    monkeypatch.setattr(feed_module.time, "monotonic", lambda: now_s)
    feed = Feed(run.folder)
    run.says(point={"connections": 2}, since_monotonic_s=time.monotonic(), warmup_s=0.0)
    run.add(1)
    assert drawn_points(feed) == 0
    now_s += feed_module.LONGEST_WAIT_S - 1
    assert drawn_points(feed) == 0
    now_s += 1
    assert drawn_points(feed) == 1


def test_a_reader_who_has_nothing_yet_does_not_wait(run: GrowingRun):
    feed = Feed(run.folder)
    run.says(point={"connections": 2}, since_monotonic_s=time.monotonic(), warmup_s=0.0)
    run.add(1)
    feed.look()
    drawn = feed.draw(is_first=True)
    assert drawn.points == 1


def test_a_run_that_is_over_is_drawn_at_once(run: GrowingRun):
    feed = Feed(run.folder)
    run.says(point={"connections": 2}, since_monotonic_s=time.monotonic(), warmup_s=0.0)
    run.add_all()
    assert drawn_points(feed) == 0
    run.ends()
    assert drawn_points(feed) == 69


def test_a_run_that_has_ended_and_still_says_where_it_stands_was_killed(run: GrowingRun):
    feed = Feed(run.folder)
    run.says()
    assert feed.look().seen.phase == "going"
    assert feed.look(run_has_ended=True).seen.phase == "killed"
