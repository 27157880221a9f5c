"""The curves' figures: what is drawn over them, errors, and two axes."""

import dataclasses
import re
from typing import Any

import altair
import pytest
import vl_convert

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.curves import Curve, curves
from loadcurve.analysis.sweep import Slice, slices
from loadcurve.report.appearance import appearances
from loadcurve.report.charts.both import throughput_latency_figure
from loadcurve.report.charts.figure import Figure, log_ticks, sweep_axis
from loadcurve.report.charts.intervals import are_far_apart, bands_and_lines
from loadcurve.report.charts.overlay import Overlay
from loadcurve.report.charts.sweep import each_trial_chose, errors_figure, measure_figure
from loadcurve.report.figures import curve_parts, parts
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES, MESSAGE_MEASURES, THROUGHPUT
from loadcurve.result.records import PointRecord
from loadcurve.result.rig import CeilingCurve
from loadcurve.stats.slo import parse_objective
from support import synthetic_run as synthetic
from support.findings import finding
from support.measured_messages import FIGURES, deliveries

LOOKS = appearances([*synthetic.SERVERS, "absent"])


def drawn(run: Run) -> tuple[Slice, list[Curve]]:
    return slices(run.sweep_points)[0], curves(run)


def layers(figure: Figure | None, mark: str, **properties: Any) -> list[list[dict[str, Any]]]:
    """The data of the layers of a kind of mark that have these properties."""
    specification = figure.specification
    return [
        specification["datasets"][layer["data"]["name"]]
        for layer in specification["layer"]
        if layer["mark"]["type"] == mark
        and all(layer["mark"].get(name) == value for name, value in properties.items())
    ]


def ceiling(*levels: tuple[int, float]) -> CeilingCurve:
    return CeilingCurve(streams=1, measured={1: levels})


def test_the_rigs_ceiling_lies_on_straight_lines_between_its_points(run: Run):
    overlay = Overlay(ceiling=ceiling((100, 40_000), (200, 60_000)))
    figure = measure_figure(THROUGHPUT, *drawn(run), LOOKS, overlay)
    [rows] = layers(figure, "line", strokeDash=[6, 4])
    # Level up to the first measured number of connections, which is 100 here.
    assert {row["x"]: row["y"] for row in rows} == dict.fromkeys(synthetic.CONNECTIONS, 40_000) | {
        200: 60_000
    }
    assert figure.note is None


def test_a_ceiling_far_above_the_curves_is_reported_instead_of_pressing_them_flat(run: Run):
    figure = measure_figure(
        THROUGHPUT, *drawn(run), LOOKS, Overlay(ceiling=ceiling((1, 400_000), (200, 500_000)))
    )
    assert layers(figure, "line", strokeDash=[6, 4]) == []
    assert figure.note == "The rig's ceiling is far above these curves: 400,000 to 500,000 requests/s."


@pytest.mark.parametrize(
    ("loads", "is_search"),
    [
        ({0: [1, 2, 4], 1: [1, 2, 4]}, False),
        # A trial whose server failed near the end.
        ({0: [1, 2, 4, 8, 16], 1: [1, 2, 4, 8]}, False),
        ({0: [1, 8, 4, 6], 1: [5, 7, 6]}, True),
        ({0: [1, 2, 4]}, False),
    ],
)
def test_trials_that_chose_their_own_loads_are_told_from_those_that_share_them(loads, is_search):
    rows = [{"server": "one", "x": load, "trial": trial} for trial in loads for load in loads[trial]]
    assert each_trial_chose(rows) == is_search


def test_the_line_of_a_search_joins_the_loads_of_each_trial_and_of_no_two(run: Run):
    key = "connections"
    # Each trial keeps the loads of its own parity.
    chosen = [one for one in run.points if synthetic.CONNECTIONS.index(one.point[key]) % 2 == one.block % 2]
    figure = measure_figure(MEASURES["p99"], *drawn(dataclasses.replace(run, records=chosen)), LOOKS)
    lines = [layer for layer in figure.specification["layer"] if layer["mark"]["type"] == "line"]
    assert [line["encoding"]["detail"]["field"] for line in lines] == ["trial"]
    # Of three trials two have the same parity: where they meet is an interval, and no band to the next.
    marks = {layer["mark"]["type"] for layer in figure.specification["layer"]}
    assert "rule" in marks
    assert "area" not in marks


def test_a_limit_is_a_line_in_the_figure_of_its_own_statistic_alone(run: Run):
    overlay = Overlay(objective=parse_objective("p99 < 10ms"), capacities={"nginx": 123.4})
    limited = measure_figure(MEASURES["p99"], *drawn(run), LOOKS, overlay)
    assert [{"y": 10, "label": "limit 10.0 ms"}] in layers(limited, "rule")
    [[capacity]] = [rows for rows in layers(limited, "rule") if "server" in rows[0]]
    assert (capacity["server"], capacity["x"]) == ("nginx", 123.4)
    # The line has its server's colour, and for who sees no colour its server's mark.
    assert layers(limited, "point", filled=True, size=45) == [[capacity]]
    assert layers(measure_figure(MEASURES["p50"], *drawn(run), LOOKS, overlay), "rule") == []


@pytest.mark.parametrize(
    ("limit", "level", "label"),
    [
        ("first_event_p50 < 40ms", 40, "limit 40.0 ms"),
        ("event_gap_p50 < 50ms", 50, "limit 50.0 ms"),
        ("delivery_p50 < 5ms", 5, "limit 5.00 ms"),
        ("events_delivered_share >= 99 %", 0.99, "limit 99 %"),
        ("reach >= 99.9 %", 0.999, "limit 99.9 %"),
    ],
)
def test_a_limit_on_messages_is_a_line_in_the_figure_of_its_measure_alone(run: Run, limit, level, label):
    messages = {"messages": FIGURES, "deliveries": deliveries()}
    records = [
        synthetic.point_record(one.server, one.point["connections"], one.trial, one.block, **messages)
        for one in run.points
    ]
    overlay = Overlay(objective=parse_objective(limit))
    of_messages = synthetic.with_records(run, records)
    [part] = curve_parts(of_messages, curves(of_messages), LOOKS, lambda _: overlay)
    limited = {
        title: [rows[0] for rows in layers(figure, "rule") if "label" in rows[0]]
        for title, figure in {**part.messages, **part.latency}.items()
    }
    heading = next(one.heading for one in MESSAGE_MEASURES if limit.startswith(f"{one.name} "))
    assert {title: rows for title, rows in limited.items() if rows} == {
        heading: [{"y": pytest.approx(level), "label": label}]
    }


def test_a_limit_beyond_the_curves_is_within_the_axis(run: Run):
    overlay = Overlay(objective=parse_objective("p99 < 1s"))
    figure = measure_figure(MEASURES["p99"], *drawn(run), LOOKS, overlay)
    for layer in figure.specification["layer"]:
        assert layer["encoding"]["y"]["scale"]["domain"][1] >= 1000


def test_a_finding_is_a_ring_around_the_means_where_it_was_seen(run: Run):
    figure = measure_figure(
        THROUGHPUT, *drawn(run), LOOKS, Overlay(findings=[finding(50, 100)]), is_main=True
    )
    [rows] = layers(figure, "point", size=260)
    truth = synthetic.SERVERS["nginx"]
    assert [(row["x"], row["y"]) for row in rows] == [
        (load, pytest.approx(truth.throughput_rps(load), rel=1e-5)) for load in (50, 100)
    ]
    assert {row["seen"] for row in rows} == {finding(50).seen}


def test_a_finding_over_the_whole_sweep_marks_no_place(run: Run):
    overlay = Overlay(findings=[finding(*synthetic.CONNECTIONS)])
    assert (
        layers(measure_figure(THROUGHPUT, *drawn(run), LOOKS, overlay, is_main=True), "point", size=260) == []
    )


def test_single_trials_wait_for_their_signal_and_invalid_ones_do_not(run: Run):
    figure = measure_figure(THROUGHPUT, *drawn(run), LOOKS)
    assert {"name": "single_trials", "value": False} in figure.specification["params"]
    filters = {
        layer["mark"]["size"]: layer.get("transform") for layer in figure.specification["layer"]
        if layer["mark"]["type"] == "point"
    }  # fmt: skip
    assert filters == {16: [{"filter": "single_trials"}], 60: None, 45: None}


def test_errors_are_the_share_of_all_trials_together_without_an_interval(run: Run):
    def with_errors(record: PointRecord) -> PointRecord:
        if record.server != "nginx" or record.point["connections"] != 10 or record.block != 0:
            return record
        # 30 failed and 20 refused by status, of 500 due in each of three trials.
        requests = record.load.requests.model_copy(update={"answered": 470, "failed": 30, "ok": 450})
        return synthetic.with_load(record, requests=requests)

    assert errors_figure(*drawn(run), LOOKS) is None
    records = [with_errors(record) for record in run.points]
    failing = synthetic.with_records(run, records)
    [rows] = layers(errors_figure(*drawn(failing), LOOKS), "line")
    shares = {row["x"]: row["y"] for row in rows if row["server"] == "nginx"}
    assert shares == dict.fromkeys(synthetic.CONNECTIONS, 0) | {10: pytest.approx(100 * 50 / 1500, rel=1e-5)}
    assert {row["low"] for row in rows} == {None}
    overlay = Overlay(objective=parse_objective("p99 < 10ms, errors < 0.5 %"))
    limited = errors_figure(*drawn(failing), LOOKS, overlay=overlay)
    assert layers(limited, "rule") == [[{"y": 0.5, "label": "limit 0.5 %"}]]


def test_throughput_and_latency_have_an_axis_each(run: Run):
    figure = throughput_latency_figure(*drawn(run), LOOKS)
    assert figure.specification["resolve"] == {"scale": {"y": "independent"}}
    sides = [side["layer"][0] for side in figure.specification["layer"]]
    titles = [line["encoding"]["y"]["axis"]["title"] for line in sides]
    assert titles == ["requests/s", "99th percentile, ms"]
    pointed_at = [line["encoding"]["tooltip"][-1]["title"] for line in sides]
    assert pointed_at == titles
    data = [figure.specification["datasets"][line["data"]["name"]] for line in sides]
    [rate], [latency] = (
        [row["y"] for row in rows if (row["server"], row["x"]) == ("nginx", 50)] for rows in data
    )
    truth = synthetic.SERVERS["nginx"]
    assert rate == pytest.approx(truth.throughput_rps(50), rel=1e-5)
    # The 495th of 500 samples, which lie in the middle of their shares.
    assert latency == pytest.approx(truth.latency_ms(50, 494.5 / 500), rel=1e-3)


def with_interval(found: list[Curve], low: float, high: float) -> list[Curve]:
    """The curves with another interval of nginx's throughput at its first point, in parts of the estimate."""
    point = found[0].points[0]
    figure = point.figures["throughput_rps"]
    assert figure.estimate is not None
    value = figure.estimate.value
    wide = dataclasses.replace(figure.estimate, low=low * value, high=high * value)
    figures = point.figures | {"throughput_rps": dataclasses.replace(figure, estimate=wide)}
    changed = dataclasses.replace(point, figures=figures)
    return [dataclasses.replace(found[0], points=[changed, *found[0].points[1:]]), *found[1:]]


@pytest.mark.parametrize(("high", "triangles"), [(2.1, []), (500.0, ["triangle-up"])])
def test_a_wide_interval_is_a_line_up_to_the_edge_and_no_band(run: Run, high: float, triangles: list[str]):
    shown, found = drawn(run)
    figure = measure_figure(THROUGHPUT, shown, with_interval(found, 0.9, high), LOOKS)
    [bands] = layers(figure, "area")
    assert ("nginx", 1) not in {(row["server"], row["x"]) for row in bands}
    [[line]] = layers(figure, "rule")
    assert (line["server"], line["x"]) == ("nginx", 1)
    # No axis reaches further than the curves and their narrow bands, here those of the fastest server.
    top = max(row["high"] for row in bands)
    value = synthetic.SERVERS["nginx"].throughput_rps(1)
    assert line["high"] == pytest.approx(min(high * value, top), rel=1e-5)
    drawn_ends = [
        layer["mark"]["shape"]
        for layer in figure.specification["layer"]
        if layer["mark"].get("shape") in ("triangle-up", "triangle-down")
    ]
    assert drawn_ends == triangles


def test_a_narrow_interval_between_wide_ones_is_a_line_as_a_band_has_two_points():
    rows = [
        {"server": "a", "x": x, "y": 10.0, "low": low, "high": 11.0}
        for x, low in enumerate([1.0, 9.0, 1.0, 9.0, 9.5])
    ]
    bands, lines = bands_and_lines(rows)
    assert [row["x"] for row in bands] == [3, 4]
    assert [row["x"] for row in lines] == [0, 2, 1]


@pytest.mark.parametrize("loads", [[1.0, 2.0, 3.0], [1.0, 10.0, 100.0]])
def test_the_axis_of_a_sweep_has_all_of_its_loads_whichever_have_figures(loads: list[float]):
    axis = sweep_axis(Slice("connections", {}, [{"connections": load} for load in loads]), []).to_dict()
    assert axis["scale"]["domain"] == [loads[0], loads[-1]]
    assert axis["axis"]["values"] == loads


@pytest.mark.parametrize(("factor", "scale"), [(0.2, None), (0.1, "log")])
def test_curves_further_apart_than_a_factor_of_ten_have_a_logarithmic_axis(
    run: Run, factor: float, scale: str | None
):
    # nginx reaches 40,191 requests/s, and tiny 26,667: a fifth of that is 7.5 times less, a tenth 15 times.
    records = [
        synthetic.with_throughput(record, factor) if record.server == "tiny" else record
        for record in run.points
    ]
    figure = measure_figure(THROUGHPUT, *drawn(synthetic.with_records(run, records)), LOOKS)
    scales = {layer["encoding"]["y"]["scale"].get("type") for layer in figure.specification["layer"]}
    assert scales == {scale}


def test_curves_are_compared_where_both_have_a_point():
    # At 1 connection the two are a factor of 4 apart; at 100 only one of them was measured.
    whole = [{"server": "a", "x": 1, "y": 400.0}, {"server": "a", "x": 100, "y": 40_000.0}]
    assert not are_far_apart([*whole, {"server": "b", "x": 1, "y": 100.0}])
    assert are_far_apart([*whole, {"server": "b", "x": 1, "y": 39.0}])
    # Without a sweep each server has a separate place.
    assert are_far_apart([{"server": name, "x": name, "y": y} for name, y in (("a", 400.0), ("b", 39.0))])


@pytest.mark.parametrize("reach", [1.05, 1.2, 1.7, 2, 3, 5, 9.9, 100, 20_000])
@pytest.mark.parametrize("low", [0.0123, 0.95, 1.15, 4.2, 61, 810])
def test_a_logarithmic_axis_names_three_values_or_more_however_short_it_is(low: float, reach: float):
    ticks = log_ticks(low, low * reach)
    assert len(ticks) >= 3
    assert ticks == sorted(set(ticks))
    assert low <= ticks[0] < ticks[-1] <= low * reach


def test_a_short_logarithmic_axis_has_round_numbers_equally_far_apart():
    assert log_ticks(1.15, 1.41) == [1.15, 1.2, 1.25, 1.3, 1.35, 1.4]


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("loads", [[10, 20, 30, 40], [0.5, 1, 1.5], [1000, 5000, 20_000, 125_000]])
def test_loads_are_labelled_as_they_were_swept_on_every_scale(loads: list[float], scale: str):
    [part] = slices([{"rate": float(load)} for load in loads])
    axis = sweep_axis(part, [])
    axis["scale"]["type"] = scale
    chart = (
        altair.Chart(altair.InlineData(values=[{"x": load} for load in loads])).mark_point().encode(x=axis)
    )
    drawing = vl_convert.vegalite_to_svg(chart.properties(width=600).to_dict())
    labels = re.findall(r"<text[^>]*>([\d.,e+]+)</text>", drawing)
    assert labels == [f"{load:,}" for load in loads]


def test_only_findings_that_cast_doubt_on_figures_draw_rings(run: Run):
    found = [
        finding(50, weight="explains"),
        finding(100, code="stall", weight="distorts"),
        finding(25, code="wrong_answers", weight="invalidates"),
        finding(10, code="steal", weight="distorts"),
    ]
    analysis = dataclasses.replace(analyse(run), findings=found)
    [part] = parts(run, analysis, LOOKS)
    [rows] = layers(part.throughput, "point", size=260)
    assert {row["x"] for row in rows} == {25, 100}
