"""Several runs on one page: figures, ratios, what differs, and text that nobody may run."""

import math
from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.errors import BadInput
from loadcurve.report.appearance import appearances
from loadcurve.report.side_by_side import render_side_by_side, side_by_side, write_side_by_side
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic
from support.page import HOSTILE, Page
from support.report_pages import render_report

LATER = "2026-03-15T08:00:00Z"
REACH = math.exp(2.776445 * math.log(1.02) * math.sqrt(2 / 3))
"""How far the interval of a ratio of two times three trials reaches: t(0.975, 4) = 2.776445, s = ln 1.02."""


def written(folder: Path, factor: float = 1.0, **changes: Any) -> Run:
    record = synthetic.run_record().model_copy(update=changes)
    return read_run(synthetic.write_run(folder, record, times(synthetic.trial_records(record), factor)))


def times(records: list[Any], factor: float) -> list[Any]:
    return [synthetic.with_throughput(one, factor) if one.kind == "point" else one for one in records]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A base and a later run of half the throughput, of another kernel."""
    folder = tmp_path_factory.mktemp("runs")
    base = written(folder / "base")
    (base.folder / "report.html").write_text("")
    host = {**base.run.host, "kernel": "Linux 7"}
    new = written(folder / "new", 0.5, started_at=LATER, host=host)
    return page_of([base, new], new.folder)


def page_of(runs: list[Run], seen_from: Path) -> Page:
    found = side_by_side([(run.folder, analyse(run)) for run in runs], seen_from)
    return Page(render_side_by_side(found))


def first_curves(page: Page) -> dict[str, Any]:
    """The first figure with curves, behind those of how much is worse."""
    return next(chart for name, chart in page.charts.items() if not name.startswith("worse-"))


def test_a_figure_holds_the_curve_of_each_run(page: Page):
    chart = first_curves(page)
    [line] = [layer for layer in chart["layer"] if layer["mark"]["type"] == "line"]
    rows = chart["datasets"][line["data"]["name"]]
    truth = synthetic.SERVERS["nginx"]
    for run, factor in (("A", 1.0), ("B", 0.5)):
        of_run = [row for row in rows if row["run"] == run]
        assert [row["x"] for row in of_run] == list(synthetic.CONNECTIONS)
        expected = [factor * truth.throughput_rps(c) for c in synthetic.CONNECTIONS]
        assert [row["y"] for row in of_run] == pytest.approx(expected, rel=1e-5)


def test_runs_are_distinguished_by_dash_and_mark_and_share_the_colour_of_the_server(page: Page):
    chart = first_curves(page)
    layers = {layer["mark"]["type"]: layer for layer in chart["layer"]}
    dashes = layers["line"]["encoding"]["strokeDash"]["scale"]
    shapes = layers["point"]["encoding"]["shape"]["scale"]
    assert dashes["domain"] == shapes["domain"] == ["A", "B"]
    assert len({tuple(dash) for dash in dashes["range"]}) == len(set(shapes["range"])) == 2
    [colour] = {layer["encoding"]["color"]["value"] for layer in layers.values()}
    assert "color" not in layers["line"]["mark"] | layers["point"]["mark"]
    assert colour == appearances(synthetic.run_record().servers)["nginx"].colour


def test_a_wide_interval_of_one_run_is_a_line_and_the_others_keep_their_bands(tmp_path: Path):
    base = written(tmp_path / "a")
    # One of three trials at one point has a tenth of the throughput: its interval is wider than the figure.
    disturbed = [
        synthetic.with_throughput(one, 0.1)
        if (one.server, one.block, one.point) == ("nginx", 0, {"connections": 50})
        else one
        for one in base.points
    ]
    new = read_run(synthetic.write_run(tmp_path / "b", base.run, disturbed))
    chart = first_curves(page_of([base, new], tmp_path))
    layers = {layer["mark"]["type"]: layer for layer in chart["layer"]}
    bands, lines = (chart["datasets"][layers[kind]["data"]["name"]] for kind in ("area", "rule"))
    assert [(row["run"], row["x"]) for row in lines] == [("B", 50)]
    assert {row["x"] for row in bands if row["run"] == "A"} == set(synthetic.CONNECTIONS)
    assert {row["x"] for row in bands if row["run"] == "B"} == {*synthetic.CONNECTIONS} - {50}
    # No axis reaches further than the curves and their bands.
    assert max(row["high"] for row in lines) <= max(row["high"] for row in bands)


@pytest.mark.parametrize(("factor", "scale"), [(0.2, None), (0.05, "log")])
def test_runs_further_apart_than_a_factor_of_ten_have_a_logarithmic_axis(
    tmp_path: Path, factor: float, scale: str | None
):
    runs = [written(tmp_path / "a"), written(tmp_path / "b", factor)]
    chart = first_curves(page_of(runs, tmp_path))
    assert {layer["encoding"]["y"]["scale"].get("type") for layer in chart["layer"]} == {scale}


def test_the_ratio_table_holds_ratios_with_their_intervals_and_says_what_is_worse(page: Page):
    assert f"nginx all points 0.50 ({0.5 / REACH:.2f} to {0.5 * REACH:.2f}) worse" in page.text
    assert "nginx: throughput is worse: 0.50" in page.text
    assert "p50 is" not in page.text


def test_other_conditions_are_named_at_the_top(page: Page):
    said = page.text
    assert "Not measured under the same conditions." in said
    assert "A → B, machine: kernel: Linux 6.1.0 → Linux 7" in said
    assert said.index("kernel") < said.index("B over A")


def test_suspect_and_invalid_points_are_said_at_the_top_once_for_each_run(page: Page):
    record = synthetic.run_record()
    measured = sum(one.kind == "point" for one in synthetic.trial_records(record))
    for letter in "AB":
        said = f"Caution: {letter}: 1 of {measured} measured points is suspect, and in the ratios"
        assert page.text.count(said) == 1
        assert f"1 of {measured} measured points is invalid, and in no ratio" in page.text
        assert page.text.index(said) < page.text.index("B over A")


def test_trials_that_failed_are_said_at_the_top_for_each_run(page: Page):
    server, _ = synthetic.FAILED
    for letter in "AB":
        said = f"{server} in {letter}: 1 of 3 trials failed: the server ended with status 1 while under load."
        assert page.text.count(said) == 1
        assert page.text.index(said) < page.text.index("B over A")


def test_a_ring_is_around_each_point_of_which_a_trial_is_suspect(tmp_path: Path):
    base = written(tmp_path / "a")
    doubted = [
        synthetic.with_load(one, verdict=one.load.verdict.model_copy(update={"status": "suspect"}))
        if (one.server, one.block, one.point) == ("nginx", 0, {"connections": 50})
        else synthetic.with_load(one, verdict=one.load.verdict.model_copy(update={"status": "valid"}))
        for one in base.points
    ]
    new = read_run(synthetic.write_run(tmp_path / "b", base.run, doubted))
    page = page_of([new, new], tmp_path)
    chart = first_curves(page)
    [ring] = [layer for layer in chart["layer"] if layer["mark"].get("shape") == "circle"]
    rows = chart["datasets"][ring["data"]["name"]]
    assert {(row["x"], row["suspect"]) for row in rows} == {(50, 1)}
    assert {row["run"] for row in rows} == {"A", "B"}


def test_runs_under_the_same_conditions_have_no_such_notice(tmp_path: Path):
    runs = [written(tmp_path / name) for name in ("a", "b")]
    said = page_of(runs, tmp_path).text
    assert "conditions" not in said
    assert "No difference is shown" in said


def test_a_run_links_to_its_report_by_a_relative_path_where_there_is_one(page: Page):
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert links == ["../base/report.html"]


def test_the_findings_of_each_run_are_shown(page: Page):
    after = page.text.split("Findings")[-1]
    assert after.index("A base") < after.index("B new")


def test_findings_of_one_cause_are_one_entry_as_in_the_report(page: Page, tmp_path: Path):
    # Every server of the synthetic run changes its number of processes, so there is one cause, seen of each.
    findings = [attributes for tag, attributes in page.elements if tag == "details" and "id" in attributes]
    assert [one["id"] for one in findings] == [
        f"finding-{run}-{place}" for run in "AB" for place in range(len(synthetic.SERVERS))
    ]
    report = Page(render_report(synthetic.write_run(tmp_path)))
    after, in_report = (
        text.split("The number of processes or threads changed :")[1] for text in (page.text, report.text)
    )
    assert after.split("To do.")[0] == in_report.split("To do.")[0]


def test_hostile_text_is_shown_and_not_run(tmp_path: Path):
    texts = synthetic.Texts(title=HOSTILE, question=HOSTILE)
    folders = [
        synthetic.write_renamed_run(tmp_path / name, "tiny", HOSTILE, texts, host={"kernel": kernel})
        for name, kernel in (("a <b>", HOSTILE), ("b", "x"))
    ]
    page = page_of([read_run(folder) for folder in folders], tmp_path)
    assert HOSTILE in page.text
    assert not [tag for tag, _ in page.elements if tag in {"img", "b"}]
    assert page.own_scripts == [{}, {}]


def test_runs_that_sweep_other_keys_stand_in_figures_of_their_own(tmp_path: Path):
    base = written(tmp_path / "a")
    record = synthetic.run_record()
    points = [{"rate": 100.0 * point["connections"]} for point in record.points]
    records = [
        one.model_copy(update={"point": {"rate": 100.0 * one.point["connections"]}})
        for one in synthetic.trial_records(record)
        if isinstance(one, PointRecord)
    ]
    other = record.model_copy(update={"points": points})
    new = read_run(synthetic.write_run(tmp_path / "b", other, records))
    page = page_of([base, new], tmp_path)
    titles = {
        layer["encoding"]["x"]["title"]
        for chart in page.charts.values()
        for layer in chart["layer"]
        if layer["mark"]["type"] == "line"
    }
    assert titles == {"connections", "rate (per second)"}
    assert "no server and point in common" in page.text


def test_one_point_is_drawn_by_run(tmp_path: Path):
    runs = [read_run(synthetic.write_points(tmp_path / name, 10)) for name in ("a", "b", "c")]
    first = first_curves(page_of(runs, tmp_path))
    [points] = [layer for layer in first["layer"] if layer["mark"]["type"] == "point"]
    assert [row["x"] for row in first["datasets"][points["data"]["name"]]] == ["A", "B", "C"]


def test_the_page_goes_into_the_newest_run_or_into_the_folder_that_is_given(tmp_path: Path):
    base, new = written(tmp_path / "a", started_at=LATER), written(tmp_path / "b")
    path, _ = write_side_by_side([base.folder, new.folder])
    assert path == base.folder / "comparison.html"
    path, _ = write_side_by_side([base.folder, new.folder], tmp_path)
    assert path == tmp_path / "comparison.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_run_cannot_stand_beside_itself(tmp_path: Path):
    run = written(tmp_path / "a")
    with pytest.raises(BadInput, match="given twice"):
        write_side_by_side([run.folder, run.folder / ".." / "a"])
