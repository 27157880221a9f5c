"""Two runs compared, with known changes, none, and chance."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.comparison import Change, RunComparison, compare_runs
from loadcurve.analysis.curves import curves
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic


@pytest.fixture
def base(tmp_path: Path) -> Run:
    return read_run(synthetic.write_run(tmp_path))


def scaled(record: PointRecord, factor: float) -> PointRecord:
    """The record with so many times the throughput; nothing else changes."""
    rate = record.load.rate_rps.model_copy(update={"answered": record.load.rate_rps.answered * factor})
    return record.model_copy(update={"load": record.load.model_copy(update={"rate_rps": rate})})


def with_records(run: Run, records: list[PointRecord]) -> Run:
    return dataclasses.replace(run, records=records)


def change_of(
    changes: tuple[Change, ...], server: str, measure: str = "throughput", **point: float
) -> Change:
    [change] = [
        change
        for change in changes
        if (change.server, change.measure.name, change.point or {}) == (server, measure, point)
    ]
    return change


def compared(base: Run, new: Run) -> RunComparison:
    return compare_runs(analyse(base), analyse(new))


def test_a_run_compared_with_itself_shows_nothing(base: Run):
    comparison = compared(base, base)
    assert [change for change in (*comparison.curves, *comparison.points) if change.shown] == []
    assert {change.ratio.logarithm for change in comparison.curves} == {0.0}


def test_a_server_that_became_a_third_slower_is_shown_at_every_point_and_over_the_curve(base: Run):
    slower = [scaled(one, 2 / 3) if one.server == "nginx" else one for one in base.points]
    comparison = compared(base, with_records(base, slower))
    curve = change_of(comparison.curves, "nginx")
    assert curve.ratio.estimate().value == pytest.approx(2 / 3)
    assert curve.shown
    assert curve.worse_by == pytest.approx(1 / 3)
    assert all(change_of(comparison.points, "nginx", connections=c).shown for c in synthetic.CONNECTIONS)
    assert {change.server for change in comparison.regressions(0.05)} == {"nginx"}


def test_a_regression_below_the_share_that_was_asked_for_is_none(base: Run):
    slower = [scaled(one, 0.7) for one in base.points]
    comparison = compared(base, with_records(base, slower))
    assert comparison.regressions(0.25) != []
    assert comparison.regressions(0.35) == []


def test_more_throughput_is_better_and_never_a_regression(base: Run):
    comparison = compared(base, with_records(base, [scaled(one, 2.0) for one in base.points]))
    change = change_of(comparison.curves, "apache")
    assert change.shown
    assert change.worse_by == pytest.approx(-1.0)
    assert comparison.regressions(0.0) == []


def test_a_change_that_the_trials_scatter_hides_is_no_regression_however_large(base: Run):
    factors = {0: 0.3, 1: 1.4, 2: 0.6}
    wild = [scaled(one, factors[one.block]) for one in base.points]
    comparison = compared(base, with_records(base, wild))
    change = change_of(comparison.curves, "nginx")
    assert change.worse_by > 0.3
    assert comparison.regressions(0.05) == []


def test_single_trials_show_nothing(base: Run):
    first = with_records(base, [one for one in base.points if one.block == 0])
    slower = with_records(base, [scaled(one, 0.1) for one in first.points])
    comparison = compared(first, slower)
    assert {change.adjusted_p_value for change in (*comparison.curves, *comparison.points)} == {None}
    assert comparison.regressions(0.05) == []


def test_invalid_points_are_in_no_ratio(base: Run):
    server, block, connections = synthetic.INVALID
    comparison = compared(base, base)
    assert change_of(comparison.points, server, connections=connections).ratio.n == len(synthetic.ORDER) - 1
    assert change_of(comparison.points, server, connections=1).ratio.n == len(synthetic.ORDER)
    # Over the curve that point is left out of every trial, so no trial is.
    assert change_of(comparison.curves, server).ratio.n == len(synthetic.ORDER)
    assert block in {one.block for one in base.points}


def test_servers_and_points_of_one_run_alone_are_named_and_not_compared(base: Run):
    fewer = with_records(base, [one for one in base.points if one.server != "tiny"])
    points = [point for point in base.run.points if point != {"connections": 200}]
    fewer = dataclasses.replace(fewer, run=base.run.model_copy(update={"points": points}))
    comparison = compared(base, fewer)
    assert comparison.servers_in_one == ("tiny",)
    assert comparison.points_in_one == ({"connections": 200},)
    assert {"tiny"}.isdisjoint(change.server for change in (*comparison.curves, *comparison.points))
    assert all(change.point != {"connections": 200} for change in comparison.points)


def test_of_comparisons_of_equal_servers_at_most_one_in_twenty_shows_a_change(base: Run):
    random = np.random.default_rng(11)
    alarms, studies = 0, 300

    analysed = analyse(base)

    def noisy_run() -> Analysis:
        servers = {
            (server, block): math.exp(random.normal(0, 0.03))
            for server in synthetic.SERVERS
            for block in range(3)
        }
        noisy = [
            scaled(one, servers[one.server, one.block] * math.exp(random.normal(0, 0.02)))
            for one in base.points
        ]
        return dataclasses.replace(analysed, curves=curves(with_records(base, noisy)))

    for _ in range(studies):
        comparison: RunComparison = compare_runs(noisy_run(), noisy_run())
        throughput = [
            change
            for change in (*comparison.curves, *comparison.points)
            if change.measure.name == "throughput"
        ]
        alarms += any(change.shown for change in throughput)
    # Three standard errors of the share above 5 %, for 300 studies.
    assert alarms / studies <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / studies)
