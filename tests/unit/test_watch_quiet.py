"""Figures are made while nothing is measured."""

import pytest

from loadcurve.watch.feed import LONGEST_LOOK_INTERVAL_S, LOOK_INTERVAL_S, is_quiet, until_next_look_s
from loadcurve.watch.progress import RunProgress
from support.followed_run import progress

BEGUN_S = 1000.0
WARMUP_S = 2.0


@pytest.mark.parametrize(
    ("now_s", "needed_s", "quiet"),
    [
        (BEGUN_S, 0.5, True),
        (BEGUN_S + 1.5, 0.5, True),
        (BEGUN_S + 1.6, 0.5, False),
        (BEGUN_S, 2.5, False),
        (BEGUN_S + 2.0, 0.5, False),
        (BEGUN_S + 500.0, 0.5, False),
    ],
)
def test_a_load_is_quiet_as_long_as_its_warm_up_goes_on_for_long_enough(now_s, needed_s, quiet):
    at = progress(point={"connections": 1}, since_monotonic_s=BEGUN_S, warmup_s=WARMUP_S, duration_s=10.0)
    assert is_quiet(at, now_s, needed_s) == quiet


def test_a_load_without_a_warm_up_is_never_quiet():
    at = progress(point={"connections": 1}, since_monotonic_s=BEGUN_S, warmup_s=0.0, duration_s=10.0)
    assert not is_quiet(at, BEGUN_S, 0.1)


@pytest.mark.parametrize("at", [None, progress(point=None, since_monotonic_s=BEGUN_S)])
def test_without_a_load_it_is_quiet(at: RunProgress | None):
    assert is_quiet(at, BEGUN_S + 500, 5.0)


@pytest.mark.parametrize(
    ("now_s", "pause_s"),
    [
        # In the warm-up, in the middle of seven seconds, near their end, and when they should be over.
        (BEGUN_S + 1.0, LOOK_INTERVAL_S),
        (BEGUN_S + WARMUP_S + 1.0, LONGEST_LOOK_INTERVAL_S),
        (BEGUN_S + WARMUP_S + 4.0, 3.0),
        (BEGUN_S + WARMUP_S + 6.9, LOOK_INTERVAL_S),
        (BEGUN_S + WARMUP_S + 500, LOOK_INTERVAL_S),
    ],
)
def test_a_short_load_is_left_alone_until_its_end(now_s: float, pause_s: float):
    at = progress(point={"connections": 1}, since_monotonic_s=BEGUN_S, warmup_s=WARMUP_S, duration_s=7.0)
    assert until_next_look_s(at, now_s) == pause_s


def test_a_long_load_is_looked_at_as_often_as_seconds_of_it_are_kept():
    long = progress(point={"connections": 1}, since_monotonic_s=BEGUN_S, warmup_s=0.0, duration_s=900.0)
    assert until_next_look_s(long, BEGUN_S + 5) == 3.0


def test_a_load_whose_end_is_not_known_is_looked_at_often():
    at = progress(point={"connections": 1}, since_monotonic_s=BEGUN_S, warmup_s=0.0, duration_s=None)
    assert until_next_look_s(at, BEGUN_S + 5) == LOOK_INTERVAL_S
