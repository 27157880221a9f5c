"""Latencies in the forms of other tools, against the package of HdrHistogram and imported again."""

import io
import json
import re
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from loadcurve.report.formats import histograms as forms
from loadcurve.result.folder import Run, read_run
from loadcurve.result.measures import is_usable
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source
from support import synthetic_run as synthetic


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("run") / "run"))


def of_point(run: Run, server: str, connections: float) -> HdrHistogram:
    """The histogram of all usable trials, merged by HdrHistogram itself."""
    whole = HdrHistogram(1, 3600 * 10**9, 3)
    for record in run.points:
        if record.server == server and record.point["connections"] == connections and is_usable(record):
            whole.decode_and_add(record.load.histograms.latency)
    return whole


def file_of(files, name: str) -> bytes:
    return dict(files)[name]


def first(run: Run) -> tuple[str, int]:
    one = next(record for record in run.points if is_usable(record) and record.load.histograms.latency)
    return one.server, int(one.point["connections"])


def test_the_table_of_percentiles_is_the_one_of_hdrhistogram(run: Run):
    server, connections = first(run)
    said = io.BytesIO()
    of_point(run, server, connections).output_percentile_distribution(said, 1e6)
    ours = file_of(forms.hgrm(run), f"report-{server}-connections-{connections}.hgrm").decode()

    def rows(text: str) -> list[tuple[float, float, int]]:
        return [
            (float(found[1]), float(found[2]), int(found[3]))
            for found in re.finditer(r"^ *([0-9.]+) ([0-9.]+) +(\d+)(?: +[0-9.]+)?$", text, re.MULTILINE)
        ]

    theirs = rows(said.getvalue().decode())
    found = rows(ours)
    assert [row[2] for row in found] == [row[2] for row in theirs]
    assert [row[1] for row in found] == pytest.approx([row[1] for row in theirs])
    # It gives the lowest time of the last bucket, and the highest of all others.
    assert [row[0] for row in found] == pytest.approx([row[0] for row in theirs], rel=1e-3)


def test_files_of_points_that_differ_in_their_last_digit_have_names_that_do(run: Run):
    one = next(record for record in run.points if is_usable(record) and record.load.histograms.latency)
    points = [{"rate": 1_048_576.0}, {"rate": 1_048_577.0}]
    run = synthetic.with_records(run, [one.model_copy(update={"point": point}) for point in points])
    assert {name.rpartition("rate-")[2] for name, _ in forms.hgrm(run)} == {"1048576.hgrm", "1048577.hgrm"}


def test_a_log_is_read_by_hdrhistogram_and_imported_again(run: Run, tmp_path: Path):
    server, connections = first(run)
    name = f"report-{server}-connections-{connections}.hlog"
    (tmp_path / name).write_bytes(file_of(forms.hlog(run), name))
    whole = of_point(run, server, connections)
    reader = HistogramLogReader(str(tmp_path / name), HdrHistogram(1, 3600 * 10**9, 3))
    total = 0
    while (interval := reader.get_next_interval_histogram()) is not None:
        total += interval.get_total_count()
    assert total == whole.get_total_count()
    figures, form = read_figures(Source(tmp_path / name), None)
    assert (form.name, figures.answered) == ("hlog", total)
    for share, ours in ((50, figures.latency.distribution.p50), (75, figures.latency.distribution.p75)):
        assert ours * 1e6 == pytest.approx(whole.get_value_at_percentile(share), rel=1e-3)


def test_jsons_of_fortio_and_k6_are_read_again_as_they_were(run: Run, tmp_path: Path):
    server, connections = first(run)
    whole = of_point(run, server, connections)
    for files, ending in ((forms.fortio(run), "fortio.json"), (forms.k6_summary(run), "k6.json")):
        name = f"report-{server}-connections-{connections}.{ending}"
        (tmp_path / name).write_bytes(file_of(files, name))
        document = json.loads((tmp_path / name).read_text())
        assert document
        figures, form = read_figures(Source(tmp_path / name), None)
        assert form.tool in {"fortio", "k6"}
        if figures.latency is not None:
            p50 = figures.latency.distribution.p50
            assert p50 * 1e6 == pytest.approx(whole.get_value_at_percentile(50), rel=1e-3)


def test_the_buckets_of_fortio_count_every_time(run: Run):
    for _, data in forms.fortio(run):
        histogram = json.loads(data)["DurationHistogram"]
        assert sum(bucket["Count"] for bucket in histogram["Data"]) == histogram["Count"]
        assert histogram["Data"][-1]["Percent"] == 100


def test_wrk2_has_a_file_for_each_trial(run: Run):
    names = [name for name, _ in forms.wrk2(run)]
    usable = [one for one in run.points if is_usable(one) and one.load.histograms.latency]
    assert len(names) == len(set(names)) == len(usable)
