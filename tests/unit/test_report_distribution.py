"""The two forms of the distribution of latency."""

from itertools import pairwise
from pathlib import Path

import pytest

from loadcurve.report.appearance import appearances
from loadcurve.report.charts.distribution import ALL_POINTS, density_figure
from loadcurve.report.distribution import CLASS_RATIO, density, latency_distribution
from loadcurve.report.figures import distribution
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic


def test_a_class_holds_the_requests_between_its_ends_and_all_together_are_one():
    # Half of the requests took 1 ms, three in ten 1.05 ms, which is less than a tenth more, and a fifth 2 ms.
    found = density([(50, 1.0), (80, 1.05), (100, 2.0)])
    assert (found[0].from_ms, found[0].share) == (1, pytest.approx(0.8))
    assert found[-1].from_ms <= 2 < found[-1].from_ms * CLASS_RATIO
    assert found[-1].share == pytest.approx(0.2)
    assert sum(one.share for one in found) == pytest.approx(1)


def test_classes_without_requests_are_zero_and_not_left_out():
    found = density([(50, 1.0), (100, 100.0)])
    steps = [after.from_ms / before.from_ms for before, after in pairwise(found)]
    assert steps == pytest.approx([CLASS_RATIO] * len(steps))
    assert {one.share for one in found[1:-1]} == {0}


def test_times_of_zero_have_no_class():
    assert density([(100, 0.0)]) == []
    assert sum(one.share for one in density([(25, 0.0), (100, 3.0)])) == pytest.approx(0.75)


def records_at(run: Run, server: str, connections: int) -> list[PointRecord]:
    at = {"connections": connections}
    return [one for one in run.points if (one.server, one.point) == (server, at)]


def test_the_density_of_a_known_distribution_is_that_distribution(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    found = latency_distribution("nginx", records_at(run, "nginx", 25))
    truth = synthetic.SERVERS["nginx"]
    median = truth.latency_ms(25)
    below = sum(one.share for one in found.density if one.from_ms * CLASS_RATIO <= median)
    # The class that holds the median may hold as much as it does of a log-normal distribution: 9 %.
    assert 0.5 - 0.1 < below <= 0.5


def test_points_of_invalid_trials_alone_are_not_in_the_figure(run: Run):
    records = [synthetic.spoiled(one) if one.point == {"connections": 1} else one for one in run.points]
    looks = appearances(run.run.servers)
    shown, without = distribution(run, looks), distribution(synthetic.with_records(run, records), looks)
    assert shown is not None
    assert without is not None
    assert {*shown.choices.values()} - {*without.choices.values()} == {"connections = 1"}


def test_the_figure_shows_one_point_or_all(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    found = latency_distribution("nginx", records_at(run, "nginx", 1))
    assert found is not None
    figure = density_figure([("connections = 1", {"nginx": found})], 0, appearances(["nginx"]))
    for layer in figure.specification["layer"]:
        assert {"filter": f"point === {ALL_POINTS} || datum.place === point"} in layer["transform"]
    [rows] = figure.specification["datasets"].values()
    assert sum(row["y"] for row in rows) == pytest.approx(100, rel=1e-4)


def test_the_highest_step_of_a_density_has_the_mark_of_its_server(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    found = {
        server: distribution
        for server in synthetic.SERVERS
        if (distribution := latency_distribution(server, records_at(run, server, 1))) is not None
    }
    figure = density_figure([("connections = 1", found)], 0, appearances(found))
    [rows] = figure.specification["datasets"].values()
    for server in found:
        of_server = [row for row in rows if row["server"] == server]
        [marked] = [row for row in of_server if row["top"]]
        assert marked["y"] == max(row["y"] for row in of_server)
    marks = [layer for layer in figure.specification["layer"] if layer["mark"]["type"] == "point"]
    assert [layer["encoding"]["shape"]["field"] for layer in marks] == ["server"]


def test_a_histogram_that_counts_nothing_has_no_distribution():
    record = synthetic.point_record()
    empty = record.load.histograms.model_copy(update={"latency": synthetic.EMPTY_HISTOGRAM})
    assert latency_distribution("nginx", [synthetic.with_load(record, histograms=empty)]) is None
