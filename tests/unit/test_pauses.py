"""Pauses of the platform, as they are found and as records have them."""

import pytest
from benches.pauses import on_both_sides

from loadcurve.result.pauses import Pause, RawPause, pauses_within, together


def raw(earliest_ms: float, latest_ms: float, end_ms: float) -> RawPause:
    return RawPause(earliest_s=earliest_ms / 1e3, latest_s=latest_ms / 1e3, end_s=end_ms / 1e3)


def test_a_pause_begins_in_the_middle_of_what_is_possible_and_counts_from_the_start_of_the_window():
    pauses = pauses_within([raw(1_100, 1_103, 1_141.5)], 1.0, 3.0)
    assert pauses.listed == [Pause(start_s=0.1015, length_ms=40, within_ms=1.5)]
    assert (pauses.count, pauses.longest_ms) == (1, 40)
    assert pauses.paused_s == pytest.approx(0.040)


@pytest.mark.parametrize(
    ("pause", "lengths_ms"),
    [
        pytest.param(raw(900, 900, 990), [], id="before"),
        pytest.param(raw(3_001, 3_001, 3_020), [], id="behind"),
        pytest.param(raw(900, 900, 1_030), [30], id="into its start"),
        pytest.param(raw(2_990, 2_990, 3_030), [10], id="out of its end"),
        pytest.param(raw(500, 500, 4_000), [2_000], id="around it"),
    ],
)
def test_only_the_part_of_a_pause_within_the_window_counts(pause, lengths_ms):
    pauses = pauses_within([pause], 1.0, 3.0)
    assert [one.length_ms for one in pauses.listed] == lengths_ms
    assert pauses.paused_s == pytest.approx(sum(lengths_ms) / 1e3)


def test_what_pauses_do_to_requests_is_what_is_left_of_them_at_each_moment():
    # Of 2,000 moments 40 lie in the pause, delayed by 40, 39, … 1 ms: 1 % of all, 20, by more than 20 ms.
    delays = pauses_within([raw(1_100, 1_100, 1_140)], 1.0, 3.0).delay_ms
    assert (delays.count, delays.max) == (2_000, 40)
    assert delays.mean == pytest.approx(sum(range(1, 41)) / 2_000)
    assert delays.p99 == pytest.approx(20, rel=0.01)


def test_of_many_pauses_the_longest_are_listed_and_all_count():
    found = [raw(10 * number, 10 * number, 10 * number + 1 + number % 5) for number in range(1_000)]
    pauses = pauses_within(found, 0.0, 10.0)
    assert (pauses.count, len(pauses.listed)) == (1_000, 300)
    assert pauses.paused_s == pytest.approx(3.0)
    # 200 have each of the lengths from 1 to 5 ms.
    assert sorted(round(one.length_ms) for one in pauses.listed) == [4] * 100 + [5] * 200
    assert [one.start_s for one in pauses.listed] == sorted(one.start_s for one in pauses.listed)


def test_two_sides_that_look_at_other_moments_leave_less_of_a_begin_possible():
    # It began at 100.4 ms and ended at 125 ms. One side ran at 99, the other at 100.3.
    ours = pauses_within([raw(99, 102, 125.05)], 0.0, 1.0).listed
    theirs = pauses_within([raw(100.3, 103.5, 125.1)], 0.0, 1.0).listed
    [both] = on_both_sides(ours, theirs)
    assert both.start_s == pytest.approx(0.10115)
    assert both.within_ms == pytest.approx(0.85)
    assert both.length_ms == pytest.approx(125.05 - 101.15)


def test_pauses_that_end_apart_are_not_the_same():
    ours, theirs = (pauses_within([raw(100, 103, end)], 0.0, 1.0).listed for end in (125, 130))
    assert on_both_sides(ours, theirs) == []


def test_a_time_in_which_either_side_stood_still_counts_once():
    ours = pauses_within([raw(100, 100, 120), raw(300, 300, 310)], 0.0, 1.0)
    theirs = pauses_within([raw(110, 110, 130)], 0.0, 1.0)
    stretches = [(pytest.approx(0.1), pytest.approx(0.13)), (pytest.approx(0.3), pytest.approx(0.31))]
    assert together(ours, theirs) == stretches
    assert together(ours, None) == [(0.1, pytest.approx(0.12)), stretches[1]]
    assert together(None, None) == []
