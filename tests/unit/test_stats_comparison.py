"""Two runs compared, with known changes, none, and chance."""

import dataclasses
import math

import numpy as np
import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.comparison import Change, RunComparison, compare_runs
from loadcurve.analysis.curves import Curve
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES
from support import synthetic_run as synthetic


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


def test_a_run_compared_with_itself_shows_nothing(run: Run):
    comparison = compared(run, run)
    assert [change for change in (*comparison.curves, *comparison.points) if change.shown] == []
    assert {change.ratio.logarithm for change in comparison.curves} == {0.0}


def test_a_server_that_became_a_third_slower_is_shown_at_every_point_and_over_the_curve(run: Run):
    slower = [synthetic.with_throughput(one, 2 / 3) if one.server == "nginx" else one for one in run.points]
    comparison = compared(run, synthetic.with_records(run, slower))
    curve = change_of(comparison.curves, "nginx")
    assert curve.ratio.estimate.value == pytest.approx(2 / 3)
    assert curve.shown
    assert curve.worse_by == pytest.approx(1 / 3)
    assert all(change_of(comparison.points, "nginx", connections=c).shown for c in synthetic.CONNECTIONS)
    assert {change.server for change in comparison.regressions(0.05)} == {"nginx"}


def test_a_regression_below_the_share_that_was_asked_for_is_none(run: Run):
    slower = [synthetic.with_throughput(one, 0.7) for one in run.points]
    comparison = compared(run, synthetic.with_records(run, slower))
    assert comparison.regressions(0.25) != []
    assert comparison.regressions(0.35) == []


def test_more_throughput_is_better_and_never_a_regression(run: Run):
    comparison = compared(
        run, synthetic.with_records(run, [synthetic.with_throughput(one, 2.0) for one in run.points])
    )
    change = change_of(comparison.curves, "apache")
    assert change.shown
    assert change.worse_by == pytest.approx(-1.0)
    assert comparison.regressions(0.0) == []


def test_a_change_that_the_trials_scatter_hides_is_no_regression_however_large(run: Run):
    factors = {0: 0.3, 1: 1.4, 2: 0.6}
    wild = [synthetic.with_throughput(one, factors[one.block]) for one in run.points]
    comparison = compared(run, synthetic.with_records(run, wild))
    change = change_of(comparison.curves, "nginx")
    assert change.worse_by > 0.3
    assert comparison.regressions(0.05) == []


def test_single_trials_show_nothing(run: Run):
    first = synthetic.with_records(run, [one for one in run.points if one.block == 0])
    slower = synthetic.with_records(run, [synthetic.with_throughput(one, 0.1) for one in first.points])
    comparison = compared(first, slower)
    assert {change.adjusted_p_value for change in (*comparison.curves, *comparison.points)} == {None}
    assert comparison.regressions(0.05) == []


def test_invalid_points_are_in_no_ratio(run: Run):
    server, block, connections = synthetic.INVALID
    comparison = compared(run, run)
    assert change_of(comparison.points, server, connections=connections).ratio.n == len(synthetic.ORDER) - 1
    assert change_of(comparison.points, server, connections=1).ratio.n == len(synthetic.ORDER)
    # Over the curve that point is left out of every trial, so no trial is.
    assert change_of(comparison.curves, server).ratio.n == len(synthetic.ORDER)
    assert block in {one.block for one in run.points}


def test_servers_and_points_of_one_run_alone_are_named_and_not_compared(run: Run):
    fewer = synthetic.with_records(run, [one for one in run.points if one.server != "tiny"])
    points = [point for point in run.run.points if point != {"connections": 200}]
    fewer = dataclasses.replace(fewer, run=run.run.model_copy(update={"points": points}))
    comparison = compared(run, fewer)
    assert comparison.servers_in_one == ("tiny",)
    assert comparison.points_in_one == ({"connections": 200},)
    assert {"tiny"}.isdisjoint(change.server for change in (*comparison.curves, *comparison.points))
    assert all(change.point != {"connections": 200} for change in comparison.points)


def test_curves_and_points_are_adjusted_each_at_half_of_the_error_rate(run: Run):
    slower = [synthetic.with_throughput(one, 2 / 3) if one.server == "nginx" else one for one in run.points]
    comparison = compared(run, synthetic.with_records(run, slower))
    for changes in (comparison.curves, comparison.points):
        tested = [change for change in changes if change.ratio.p_value is not None]
        least = min(tested, key=lambda change: change.ratio.p_value)
        # Holm multiplies the least by their number; that both families together err in 5 % doubles it.
        expected = min(1.0, 2 * len(tested) * least.ratio.p_value)
        assert 0 < expected < 1
        assert least.adjusted_p_value == pytest.approx(expected)


def test_of_comparisons_of_equal_servers_at_most_one_in_twenty_shows_a_change(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    # Measures that do not scatter would only make the test of those that do easier to pass.
    monkeypatch.setattr("loadcurve.analysis.comparison.COMPARED", ("throughput",))
    random = np.random.default_rng(11)
    alarms, studies = 0, 300
    analysed = analyse(run)
    throughput = MEASURES["throughput"].column

    def noisy_run() -> Analysis:
        return dataclasses.replace(analysed, curves=[noisy_curve(curve) for curve in analysed.curves])

    def noisy_curve(curve: Curve) -> Curve:
        """The curve of a run whose trials scatter as a whole, and at each of their points."""
        levels = {block: random.normal(0, 0.03) for block in range(3)}

        def scattered(value: float | None, block: int) -> float | None:
            return value and value * math.exp(levels[block] + random.normal(0, 0.02))

        points = []
        for at in curve.points:
            figure = at.figures[throughput]
            values = [scattered(*one) for one in zip(figure.values, at.blocks, strict=True)]
            figures = {**at.figures, throughput: dataclasses.replace(figure, values=values)}
            points.append(dataclasses.replace(at, figures=figures))
        return dataclasses.replace(curve, points=points)

    for _ in range(studies):
        comparison: RunComparison = compare_runs(noisy_run(), noisy_run())
        alarms += any(change.shown for change in (*comparison.curves, *comparison.points))
    # Three standard errors of the share above 5 %, for 300 studies.
    assert alarms / studies <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / studies)
