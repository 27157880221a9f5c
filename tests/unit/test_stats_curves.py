"""Curves over a run with a known truth."""

from pathlib import Path

import pytest

from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord
from loadcurve.stats.curves import CurvePoint, curves
from support import synthetic_run as synthetic


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return read_run(synthetic.write_run(tmp_path))


def at(run: Run, server: str, connections: int) -> CurvePoint:
    [curve] = [curve for curve in curves(run) if curve.server == server]
    [point] = [point for point in curve.points if point.point == {"connections": connections}]
    return point


@pytest.mark.parametrize("connections", synthetic.CONNECTIONS)
def test_the_mean_over_the_trials_is_the_truth(run: Run, connections: int):
    truth = synthetic.SERVERS["nginx"].throughput_rps(connections)
    estimate = at(run, "nginx", connections).throughput_rps
    assert estimate is not None
    assert (estimate.value, estimate.n) == (pytest.approx(truth), 3)
    # The trials lie at 0.98, 1 and 1.02 of the truth, so s = 2 % of it; t(0.975, 2) = 4.302653.
    assert estimate.half_width == pytest.approx(4.302653 * 0.02 * truth / 3**0.5, rel=1e-6)


def test_a_percentile_is_taken_within_each_trial_and_averaged_over_the_trials(run: Run):
    median = synthetic.SERVERS["nginx"].latency_ms(25, (250 - 0.5) / synthetic.SAMPLES)
    estimate = at(run, "nginx", 25).latency_ms["p50"]
    assert estimate is not None
    assert estimate.value == pytest.approx(sum(median / factor for factor in synthetic.TRIAL_FACTORS) / 3)


def test_an_invalid_trial_is_in_no_estimate_but_sets_the_verdict(run: Run):
    point = at(run, "tiny", 100)
    truth = synthetic.SERVERS["tiny"].throughput_rps(100)
    assert point.throughput_rps is not None
    assert point.throughput_rps.value == pytest.approx(truth * (0.98 + 1.00) / 2)
    assert (point.throughput_rps.n, len(point.trials), point.verdict) == (2, 3, "invalid")


def test_a_suspect_trial_counts_and_is_told(run: Run):
    point = at(run, "nginx", 200)
    assert point.throughput_rps is not None
    assert (point.throughput_rps.n, point.verdict) == (3, "suspect")


def test_a_failed_trial_leaves_fewer_trials_from_its_failure_on(run: Run):
    trials = [len(at(run, "apache", connections).trials) for connections in synthetic.CONNECTIONS]
    assert trials == [3, 3, 3, 3, 3, 2, 2, 2]


def test_a_missing_server_has_no_curve(run: Run):
    assert [curve.server for curve in curves(run)] == ["nginx", "apache", "tiny"]


def test_a_percentile_that_no_trial_bounds_stays_null(run: Run):
    assert at(run, "nginx", 1).latency_ms["p99_9"] is None


def test_the_longest_latency_is_that_of_any_usable_trial(run: Run):
    slowest = synthetic.SERVERS["nginx"].latency_ms(50, (synthetic.SAMPLES - 0.5) / synthetic.SAMPLES) / 0.98
    assert at(run, "nginx", 50).latency_max_ms == pytest.approx(slowest)


def test_a_point_that_nothing_measured_is_null_throughout(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path, records=[]))
    for curve in curves(run):
        assert len(curve.points) == len(synthetic.CONNECTIONS)
        for point in curve.points:
            assert point.throughput_rps is None
            assert set(point.latency_ms.values()) == {None}
            assert (point.verdict, point.failed_requests, point.latency_max_ms) == (None, None, None)


def test_a_point_with_only_invalid_trials_has_no_estimate(tmp_path: Path):
    record = synthetic.run_record()
    verdict = {"status": "invalid", "reasons": [{"code": "errors", "text": "all failed"}]}
    load = synthetic.load_result("nginx", 1, verdict=verdict)
    invalid = PointRecord.model_validate(
        {"kind": "point", "trial": 0, "block": 0, "server": "nginx", "point": {"connections": 1}}
        | {"started_at": "2026-03-14T09:27:00Z", "load": load, "limit_use": None}
    )
    point = at(read_run(synthetic.write_run(tmp_path, record, [invalid])), "nginx", 1)
    assert (point.throughput_rps, point.verdict) == (None, "invalid")
