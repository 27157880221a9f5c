"""The tables of a report as CSV and Parquet."""

import io
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean

import polars
import pytest

from loadcurve.report.formats.delimited import csv_bytes
from support import synthetic_run as synthetic
from support.report_formats import RUNS_IN_A_SPREADSHEET, formats_of

NAMES = (
    "estimates",
    "points",
    "operations",
    "ranking",
    "ratios",
    "shapes",
    "findings",
    "evidence",
    "failures",
)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, polars.DataFrame]:
    files = formats_of(tmp_path_factory.mktemp("run"), "parquet", limits="p99 < 10ms")
    return {
        name.removeprefix("report-").removesuffix(".parquet"): polars.read_parquet(io.BytesIO(data))
        for name, data in files.items()
    }


def at(table: polars.DataFrame, **wanted: object) -> dict[str, object]:
    [row] = table.filter(**wanted).rows(named=True)
    return row


def test_every_table_is_a_file_of_its_own(parquet: dict[str, polars.DataFrame]):
    assert tuple(parquet) == NAMES


def test_an_estimate_is_the_truth_with_its_interval_and_its_trials(parquet: dict[str, polars.DataFrame]):
    row = at(parquet["estimates"], measure="throughput_rps", server="nginx", connections=1)
    # 42,000 at most, half of it at 9 connections: 4,200 at one.
    assert (row["value"], row["low"], row["high"]) == pytest.approx(
        (4200, 4200 / synthetic.REACH, 4200 * synthetic.REACH)
    )
    assert (row["unit"], row["n"], row["trials"], row["verdict"]) == ("requests/s", 3, 3, "valid")
    assert "geometric mean" in str(row["method"])


def test_an_invalid_trial_is_counted_among_the_trials_and_not_in_the_estimate(
    parquet: dict[str, polars.DataFrame],
):
    row = at(parquet["estimates"], measure="latency_p50_ms", server="tiny", connections=100)
    assert (row["n"], row["trials"], row["verdict"]) == (2, 3, "invalid")


def test_what_was_not_measured_is_null_with_no_trial(parquet: dict[str, polars.DataFrame]):
    rows = parquet["estimates"].filter(measure="latency_p99_99_ms")
    assert rows.height == 3 * len(synthetic.CONNECTIONS)
    assert rows["value"].null_count() == rows.height
    assert set(rows["n"]) == {0}


def test_a_measure_of_a_server_stands_along_the_rising_sweep(parquet: dict[str, polars.DataFrame]):
    rows = parquet["estimates"].filter(measure="throughput_rps", server="tiny")
    assert tuple(rows["connections"]) == synthetic.CONNECTIONS


def test_ranks_and_ratios_over_the_curve_have_no_settings(parquet: dict[str, polars.DataFrame]):
    over_curve = polars.col("connections").is_null()
    ranks = parquet["ranking"].filter(over_curve, measure="throughput_rps")
    assert ranks.select("server", "rank_best", "rank_worst").rows() == [
        ("nginx", 1, 1), ("apache", 2, 2), ("tiny", 3, 3),
    ]  # fmt: skip
    [ratio] = (
        parquet["ratios"]
        .filter(over_curve, measure="throughput_rps", first="nginx", second="tiny")
        .rows(named=True)
    )
    nginx, tiny = synthetic.SERVERS["nginx"], synthetic.SERVERS["tiny"]
    truth = geometric_mean(nginx.throughput_rps(c) / tiny.throughput_rps(c) for c in synthetic.CONNECTIONS)
    assert ratio["value"] == pytest.approx(truth)
    assert ratio["told_apart"] is True


def test_the_shapes_have_peak_and_capacity(parquet: dict[str, polars.DataFrame]):
    row = at(parquet["shapes"], server="nginx")
    assert (row["load"], row["peak_load"], row["peak_place"]) == ("connections", 200, "last")
    assert row["limits"] == "p99 < 10ms"
    # p99 is 6.6 ms at 100 connections and 12.6 ms at 200.
    assert 100 < float(str(row["capacity_load"])) < 200


def test_the_failure_is_there_with_its_reason(parquet: dict[str, polars.DataFrame]):
    [row] = parquet["failures"].rows(named=True)
    assert (row["server"], row["reason_code"]) == (synthetic.FAILED[0], "server_exited")


def test_every_finding_has_its_evidence_under_its_number(parquet: dict[str, polars.DataFrame]):
    assert set(parquet["evidence"]["finding"]) == set(parquet["findings"]["finding"])


def test_csv_has_the_same_values_as_parquet(tmp_path: Path):
    files = formats_of(tmp_path, "csv", "parquet")
    for name in NAMES:
        table = polars.read_parquet(io.BytesIO(files[f"report-{name}.parquet"]))
        lists = [key for key, kind in table.schema.items() if isinstance(kind, polars.List)]
        flat = table.with_columns(polars.col(key).list.join(" ") for key in lists)
        # An empty list is an empty text here.
        again = polars.read_csv(io.BytesIO(files[f"report-{name}.csv"]), schema=flat.schema)
        assert again.equals(flat), name


def test_the_name_of_a_server_that_would_run_is_a_text_in_every_row(tmp_path: Path):
    estimates = formats_of(tmp_path, "csv", server=RUNS_IN_A_SPREADSHEET)["report-estimates.csv"]
    servers = set(polars.read_csv(io.BytesIO(estimates))["server"])
    assert servers == {"nginx", "apache", f"'{RUNS_IN_A_SPREADSHEET}"}


def test_every_beginning_of_a_formula_is_taken_off_by_one_apostrophe():
    texts = [RUNS_IN_A_SPREADSHEET, "+1", "-1", "@x", "\t=1", "'x", "\N{FULLWIDTH EQUALS SIGN}1"]
    written = csv_bytes(polars.DataFrame({"+name": [*texts, "nginx"]}))
    again = polars.read_csv(io.BytesIO(written))
    assert again["'+name"].to_list() == [*(f"'{text}" for text in texts), "nginx"]


def test_a_run_without_points_has_all_tables_with_their_columns(tmp_path: Path):
    from loadcurve.report.formats.write import write_formats

    run = synthetic.write_run(tmp_path, records=[])
    for path in write_formats(run, ["parquet"], None, None).paths:
        assert polars.read_parquet(path).width > 0, path


def test_tables_are_written_without_loading_what_draws_figures(tmp_path: Path):
    run = synthetic.write_run(tmp_path)
    program = (
        "import sys; from pathlib import Path; from loadcurve.cli.report_formats import formats_command; "
        "formats_command(Path(sys.argv[1]), 'csv,parquet', None, None); "
        "sys.exit(', '.join({'altair', 'vl_convert', 'xlsxwriter', 'jinja2'} & set(sys.modules)))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, str(run)], capture_output=True, text=True, check=False
    )
    assert finished.stderr.strip() == ""
    assert len(finished.stdout.splitlines()) == 2 * len(NAMES)
