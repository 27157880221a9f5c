"""Two runs compared, with known changes, none, and chance."""

import dataclasses
import math

import numpy as np
import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.change import Change, Outcome
from loadcurve.analysis.comparison import RunComparison, compare_runs
from loadcurve.analysis.curves import Curve
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES
from loadcurve.stats.independent import IndependentRatio
from loadcurve.stats.ranking import holm_steps
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


def test_the_points_of_a_measure_are_adjusted_for_their_number_and_the_curve_is_one_question(run: Run):
    slower = [synthetic.with_throughput(one, 2 / 3) if one.server == "nginx" else one for one in run.points]
    comparison = compared(run, synthetic.with_records(run, slower))
    points = [one for one in comparison.points if (one.server, one.measure.name) == ("nginx", "throughput")]
    least = min(points, key=lambda change: change.ratio.p_value)
    # Holm multiplies the least by their number.
    assert least.adjusted_p_value == pytest.approx(len(points) * least.ratio.p_value)
    curve = change_of(comparison.curves, "nginx")
    assert curve.adjusted_p_value == curve.ratio.p_value


def independent(logarithm: float, error: float, step: int = 1, degrees: float = 3.0) -> Change:
    ratio = IndependentRatio(logarithm, error, degrees, 4)
    return Change("nginx", MEASURES["throughput"], None, ratio, step)


def test_an_interval_beyond_the_limit_is_a_regression_and_never_not_decided():
    # t(0.975, 3) = 3.182: 0.43 times the base's, with an interval of 0.27 to 0.67.
    change = independent(math.log(0.43), math.log(0.67 / 0.43) / 3.182)
    assert (change.estimate.low, change.estimate.high) == (
        pytest.approx(0.276, abs=0.001),
        pytest.approx(0.67, abs=0.001),
    )
    assert change.outcome(0.05) is Outcome.FAILED
    # As much faster is no regression, and decided.
    assert independent(-math.log(0.43), math.log(0.67 / 0.43) / 3.182).outcome(0.05) is Outcome.PASSED


@pytest.mark.parametrize("step", [1, 2, 5, 30])
def test_an_interval_excludes_one_exactly_where_a_change_is_shown(step: int):
    # From certain to hopeless, through the edge at which the p-value is that of the step.
    for error in np.linspace(0.01, 1.0, 100):
        change = independent(-0.5, float(error), step)
        assert change.estimate.high is not None
        assert change.shown == (change.estimate.high < 1)
        assert (change.outcome(0.05) is Outcome.UNDECIDED) == (not change.shown)


def test_more_trials_than_there_are_would_decide_what_they_have_not():
    # By Student's t of the mean's 3 degrees four trials would do; with Welch's 1.2 they did not.
    change = independent(-0.5, 0.09, degrees=1.2)
    assert change.outcome(0.05) is Outcome.UNDECIDED
    assert change.trials_to_decide(0.05) == 5


def test_holm_s_steps_end_at_the_first_that_is_not_rejected():
    # 4 * 0.001 and 3 * 0.01 are at most 0.05; 2 * 0.03 is not, and so 0.04 is not rejected, either.
    assert holm_steps([0.03, 0.001, 0.04, 0.01], 0.05) == [2, 4, 2, 3]


def test_of_comparisons_of_equal_servers_at_most_one_in_twenty_shows_a_change(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    # Measures that do not scatter would only make the test of those that do easier to pass.
    monkeypatch.setattr("loadcurve.analysis.comparison.COMPARED", ("throughput",))
    random = np.random.default_rng(11)
    alarms = {"curves": 0, "points": 0}
    studies = 300
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
        for part, changes in (("curves", comparison.curves), ("points", comparison.points)):
            alarms[part] += any(change.shown for change in changes if change.server == "nginx")
    # Three standard errors of the share above 5 %, for 300 studies.
    assert max(alarms.values()) / studies <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / studies)
