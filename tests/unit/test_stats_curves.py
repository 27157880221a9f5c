"""Curves over a run with a known truth."""

from pathlib import Path

import pytest

from loadcurve.analysis.curves import CurvePoint, curves
from loadcurve.result.folder import Run, read_run
from loadcurve.result.measures import MEASURES, THROUGHPUT
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic


def at(run: Run, server: str, connections: int) -> CurvePoint:
    [curve] = [curve for curve in curves(run) if curve.server == server]
    [point] = [point for point in curve.points if point.point == {"connections": connections}]
    return point


@pytest.mark.parametrize("connections", synthetic.CONNECTIONS)
def test_the_geometric_mean_over_the_trials_is_the_truth(run: Run, connections: int):
    truth = synthetic.SERVERS["nginx"].throughput_rps(connections)
    estimate = at(run, "nginx", connections).estimate(THROUGHPUT)
    assert (estimate.value, estimate.n) == (pytest.approx(truth), 3)
    assert (estimate.low, estimate.high) == pytest.approx(
        (truth / synthetic.REACH, truth * synthetic.REACH), rel=1e-6
    )


def test_a_percentile_is_taken_within_each_trial_and_averaged_over_the_trials(run: Run):
    median = synthetic.SERVERS["nginx"].latency_ms(25, (250 - 0.5) / synthetic.SAMPLES)
    estimate = at(run, "nginx", 25).estimate(MEASURES["p50"])
    assert estimate.value == pytest.approx(median)
    assert estimate.high == pytest.approx(median * synthetic.REACH, rel=1e-6)


def test_what_the_server_used_is_averaged_over_the_trials_with_an_interval(run: Run):
    truth = synthetic.SERVERS["apache"]
    point = at(run, "apache", 10)
    resources = {name: point.estimate(measure) for name, measure in MEASURES.items()}
    assert resources["memory_mean_mib"].value == pytest.approx(truth.memory_bytes(10) / 2**20)
    cpu_us = resources["cpu_per_request_us"]
    assert (cpu_us.value, cpu_us.n) == (pytest.approx(45), 3)
    assert (cpu_us.low, cpu_us.high) == pytest.approx((45 / synthetic.REACH, 45 * synthetic.REACH), rel=1e-6)
    assert resources["cpu_share"].value == pytest.approx(truth.throughput_rps(10) * 45e-6)
    assert resources["memory_peak_mib"].value == pytest.approx(1.1 * truth.memory_bytes(10) / 2**20)
    assert (resources["processes_max"].value, resources["processes_max"].high) == pytest.approx((4, 4))


def test_processor_time_too_short_to_be_measured_is_averaged_as_it_is(run: Run):
    def idle(record: PointRecord) -> PointRecord:
        used = record.probe.server.model_copy(update={"cpu_share": 0.0 if record.block else 0.3})
        return record.model_copy(update={"probe": record.probe.model_copy(update={"server": used})})

    records = [idle(one) for one in run.points if one.server == "nginx"]
    share = at(synthetic.with_records(run, records), "nginx", 1).estimate(MEASURES["cpu_share"])
    assert (share.value, share.n) == (pytest.approx(0.1), 3)
    assert share.method.startswith("mean,")


def test_a_server_that_the_probe_did_not_see_has_no_estimate_and_not_zero(run: Run):
    blind = [
        one.model_copy(update={"probe": one.probe.model_copy(update={"server": None})}) for one in run.points
    ]
    point = at(synthetic.with_records(run, blind), "nginx", 1)
    assert {point.estimate(one) for one in MEASURES.values() if one.column.startswith("server_")} == {None}


def test_an_invalid_trial_is_in_no_estimate_but_sets_the_verdict(run: Run):
    point = at(run, "tiny", 100)
    truth = synthetic.SERVERS["tiny"].throughput_rps(100)
    assert point.estimate(THROUGHPUT) is not None
    assert point.estimate(THROUGHPUT).value == pytest.approx(truth * (1 / 1.02) ** 0.5)
    assert (point.estimate(THROUGHPUT).n, len(point.trials), point.verdict) == (2, 3, "invalid")


def test_a_suspect_trial_counts_and_is_reported(run: Run):
    point = at(run, "nginx", 200)
    assert point.estimate(THROUGHPUT) is not None
    assert (point.estimate(THROUGHPUT).n, point.verdict) == (3, "suspect")


def test_a_failed_trial_leaves_fewer_trials_from_its_failure_on(run: Run):
    trials = [len(at(run, "apache", connections).trials) for connections in synthetic.CONNECTIONS]
    assert trials == [3, 3, 3, 3, 3, 2, 2, 2]


def test_a_missing_server_has_no_curve(run: Run):
    assert [curve.server for curve in curves(run)] == ["nginx", "apache", "tiny"]


def test_a_percentile_that_no_trial_bounds_stays_null(run: Run):
    assert at(run, "nginx", 1).estimate(MEASURES["p99_9"]) is None


def test_the_longest_latency_is_that_of_any_usable_trial(run: Run):
    slowest = synthetic.SERVERS["nginx"].latency_ms(50, (synthetic.SAMPLES - 0.5) / synthetic.SAMPLES) * 1.02
    assert at(run, "nginx", 50).latency_max_ms == pytest.approx(slowest)


def test_a_point_that_nothing_measured_is_null_throughout(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path, records=[]))
    for curve in curves(run):
        assert len(curve.points) == len(synthetic.CONNECTIONS)
        for point in curve.points:
            assert point.estimate(THROUGHPUT) is None
            assert {figure.estimate for figure in point.figures.values()} == {None}
            assert (point.verdict, point.failed_requests, point.latency_max_ms) == (None, None, None)


def test_a_point_with_only_invalid_trials_has_no_estimate(run: Run):
    point = at(synthetic.with_records(run, map(synthetic.spoiled, run.points)), "nginx", 1)
    assert (point.estimate(THROUGHPUT), point.verdict) == (None, "invalid")
