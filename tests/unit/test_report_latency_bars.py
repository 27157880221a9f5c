"""The histogram of latency that a load ends with in the terminal."""

import io
from itertools import pairwise

import pytest
from rich.console import Console

from loadcurve.report.latency_bars import (
    BAR_WIDTH,
    LatencyBars,
    LatencyClass,
    bar,
    latency_bars,
    latency_classes,
)
from loadcurve.result.load import LoadResult
from support import synthetic_run as synthetic
from support import terminal

UNIFORM = [(percentile, percentile / 10) for percentile in range(1, 101)]
"""Of 100 requests each took 0.1 ms longer than the one before, up to 10 ms."""


def test_each_class_counts_the_requests_that_took_longer_than_its_start_and_at_most_its_end():
    classes = latency_classes(UNIFORM, 100)
    for one in classes:
        assert one.count == sum(one.above_ms < time_ms <= one.up_to_ms for _, time_ms in UNIFORM)
    assert sum(one.count for one in classes) == 100


def test_the_classes_join_and_are_equally_wide_on_a_logarithmic_axis():
    classes = latency_classes(UNIFORM, 100)
    assert all(before.up_to_ms == after.above_ms for before, after in pairwise(classes))
    assert classes[-1].up_to_ms == 10
    [*ratios] = {round(one.up_to_ms / one.above_ms, 9) for one in classes}
    assert len(ratios) == 1


@pytest.mark.parametrize("time_ms", [0.02, 7.0])
def test_equal_times_are_one_class(time_ms):
    [only] = latency_classes([(50, time_ms), (100, time_ms)], 7)
    assert (only.up_to_ms, only.count) == (time_ms, 7)


def test_what_took_no_time_at_all_belongs_to_the_first_class_and_alone_has_none():
    assert [one.count for one in latency_classes([(10, 0.0), (100, 1.0)], 10)] == [10]
    assert latency_classes([(100, 0.0)], 10) == []


def test_rounding_loses_no_request():
    classes = latency_classes([(100 / 3, 1.0), (200 / 3, 10.0), (100, 100.0)], 1_000_001)
    assert sum(one.count for one in classes) == 1_000_001


def test_a_bar_is_as_long_as_its_share_of_the_longest_and_never_invisible():
    assert bar(1) == "█" * BAR_WIDTH
    assert bar(0.5) == "█" * (BAR_WIDTH // 2)
    assert bar(1.5 / BAR_WIDTH) == "█▌"
    assert (bar(1e-9), bar(0)) == ("▏", "")
    assert bar(0.5, ascii_only=True) == "#" * (BAR_WIDTH // 2)
    assert (bar(1e-9, ascii_only=True), bar(0, ascii_only=True)) == (".", "")


WIDEST = LatencyBars([LatencyClass(1234.5, 99999.4, 10**9), LatencyClass(0.0001234, 0.0002345, 1)])


def test_large_figures_fit_80_columns():
    assert "< 0.01 %  ▏" in terminal.printed(WIDEST)


def test_an_output_without_blocks_gets_plain_signs():
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(file=output, width=80).print(WIDEST)


def test_a_load_that_was_not_answered_or_has_no_histogram_has_no_bars():
    result = synthetic.load_result("nginx", 1)
    without = {**result, "histograms": {**result["histograms"], "latency": None}}
    assert latency_bars(LoadResult.model_validate(without)) is None
    assert latency_bars(LoadResult.model_validate(result)) is not None
