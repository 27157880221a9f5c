"""The records as tables."""

from pathlib import Path

import polars
import pytest

from loadcurve.report.formats.records import failures_table, points_table
from loadcurve.result.folder import Run, read_run
from support import synthetic_run as synthetic


def test_every_measured_point_of_every_trial_is_one_row(run: Run):
    table = points_table(run)
    assert table.height == 69
    assert table.select("server", "trial", "connections").is_unique().all()


def test_a_row_carries_the_trials_numbers_under_names_with_units(run: Run):
    truth = synthetic.SERVERS["tiny"]
    row = points_table(run).row(
        by_predicate=(polars.col("server") == "tiny")
        & (polars.col("block") == 1)
        & (polars.col("connections") == 10),
        named=True,
    )
    assert row["throughput_rps"] == pytest.approx(truth.throughput_rps(10))
    assert row["latency_p50_ms"] == pytest.approx(truth.latency_ms(10), rel=0.01)
    assert (row["latency_count"], row["errors"], row["errors_reset"], row["verdict"]) == (500, 0, 0, "valid")
    assert row["generator_cpu_per_request_us"] == 6.5
    assert row["server_cpu_per_request_us"] == pytest.approx(truth.cpu_us)
    assert row["server_memory_peak_bytes"] == round(truth.memory_bytes(10) * 1.1)
    assert (row["server_processes_max"], row["server_threads_max"], row["throttled_s"]) == (4, 5, 0.05)
    share = truth.throughput_rps(10) * truth.cpu_us / 1e6
    assert row["server_busiest_process_share"] == pytest.approx(share / 2)
    assert row["server_busiest_thread_share"] == pytest.approx(share / 3)
    assert (row["listen_backlog"], row["listen_queue_max"]) == (511, 3)


def test_what_was_not_measured_is_null_and_never_zero(run: Run):
    table = points_table(run)
    lateness = ("generator_lateness_p99_ms", "generator_lateness_p99_9_ms")
    for column in ("latency_p99_9_ms", "rate_asked_rps", "server_proportional_memory_bytes", *lateness):
        assert table[column].null_count() == table.height


def test_verdicts_keep_their_codes(run: Run):
    codes = points_table(run).filter(polars.col("verdict") != "valid").select("verdict", "verdict_codes")
    assert sorted(codes.rows()) == [("invalid", ["errors"]), ("suspect", ["unsettled"])]


def test_a_failure_is_a_row_of_its_own(run: Run):
    [row] = failures_table(run).rows(named=True)
    assert (row["server"], row["block"], row["connections"], row["reason_code"]) == (
        *synthetic.FAILED,
        synthetic.FAILED_BEFORE,
        "server_exited",
    )


def test_a_run_without_points_has_the_same_columns(run: Run, tmp_path: Path):
    empty = read_run(synthetic.write_run(tmp_path / "empty", records=[]))
    assert points_table(empty).schema == points_table(run).schema
    assert points_table(empty).height == failures_table(empty).height == 0
