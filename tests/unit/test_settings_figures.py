"""Figures against settings: which value is the best, and which others cannot be told apart from it."""

from pathlib import Path

import pytest

from loadcurve.analysis.curves import Curve, CurvePoint, Figure, Requests
from loadcurve.analysis.settings import settings_of, surfaces
from loadcurve.report.charts.settings import surface_figure
from loadcurve.report.settings import surface_words
from loadcurve.result.measures import MEASURES
from loadcurve.stats.interval import Estimate
from support.good_study import problems_in, write
from support.read_study import read_study

THROUGHPUT, P99 = MEASURES["throughput"], MEASURES["p99"]


def at(point, throughput=None, p99=None):
    """A point with these figures, each an estimate with an interval of ten per cent to both sides."""
    figures = {
        measure.column: Figure(Estimate(value, 0.9 * value, 1.1 * value, 3, "given"), [value])
        for measure, value in ((THROUGHPUT, throughput), (P99, p99))
        if value is not None
    }
    return CurvePoint(point, [0], [0], ["valid"], Requests([1], [0], [0]), figures)


def of_workers(figures, measure, title="app"):
    """The surface of arms by their workers, each with its throughput at 1 and at 10 connections."""
    curves = [
        Curve(f"app-workers-{count}", [at({"connections": load}, *both) for load, both in by_load.items()])
        for count, by_load in figures.items()
    ]
    points = [one.point for one in curves[0].points]
    varied = {f"app-workers-{count}": {"workers": count, "backlog": 10 * count} for count in figures}
    return surfaces(curves, points, varied, dict.fromkeys(varied, title), [measure])


FIGURES = {
    1: {1: (100.0, 1.0), 10: (200.0, 9.0)},
    2: {1: (90.0, 2.0), 10: (390.0, 4.0)},
    4: {1: (420.0, 3.0), 10: (310.0, None)},
}


def test_throughput_by_a_setting_is_the_greatest_along_each_curve():
    [found] = of_workers(FIGURES, THROUGHPUT)
    # The backlog follows from the workers: what was swept is in the names of arms.
    assert (found.title, found.keys, found.is_peak) == ("app", ("workers",), True)
    assert [(one.values, one.estimate.value, one.point) for one in found.cells] == [
        ((1,), 200.0, {"connections": 10}),
        ((2,), 390.0, {"connections": 10}),
        ((4,), 420.0, {"connections": 1}),
    ]
    assert found.best.values == (4,)
    # 378 to 462 overlaps 351 to 429, and not 180 to 220.
    assert [one.values for one in found.undecided] == [(2,)]


def test_latency_by_a_setting_is_that_at_the_highest_load_at_which_all_have_one():
    [found] = of_workers(FIGURES, P99)
    assert [(one.values, one.estimate.value) for one in found.cells] == [
        ((1,), 1.0),
        ((2,), 2.0),
        ((4,), 3.0),
    ]
    assert found.best.values == (1,), "the lowest is the best"
    assert found.undecided == []


def test_two_settings_and_two_swept_keys_are_maps():
    arms = {f"app-a-{a}-b-{b}": {"a": a, "b": b} for a in (1, 2) for b in (True, False)}
    curves = [Curve(name, [at({"rate": 5}, place)]) for place, name in enumerate(arms, start=1)]
    [found] = surfaces(curves, [{"rate": 5}], arms, dict.fromkeys(arms, "app"), [THROUGHPUT])
    assert (found.keys, found.is_peak, found.best.values) == (("a", "b"), False, (2, False))
    points = [{"connections": c, "pipeline": p} for c in (1, 2, 4) for p in (1, 16)]
    curve = Curve("nginx", [at(point, point["connections"] * point["pipeline"]) for point in points])
    [found] = surfaces([curve], points, {"nginx": {}}, {"nginx": "nginx"}, [THROUGHPUT])
    assert (found.title, found.keys) == ("nginx", ("connections", "pipeline"))
    assert (found.best.values, found.best.estimate.value) == ((4, 16), 64)


@pytest.mark.parametrize(
    "arms",
    [
        pytest.param({"app": {"a": 1}}, id="one arm alone"),
        pytest.param({"app-1": {"a": 1}, "app-2": {"a": 1}}, id="alike"),
        pytest.param({"x": {"a": 1, "b": 1, "c": 1}, "y": {"a": 2, "b": 2, "c": 2}}, id="three settings"),
        pytest.param({"x": {"a": 1, "b": 1}, "y": {"a": 2}}, id="a setting that one lacks"),
    ],
)
def test_arms_that_one_or_two_settings_do_not_tell_apart_have_no_figure(arms):
    curves = [Curve(name, [at({"rate": 5}, 10.0)]) for name in arms]
    found = surfaces(curves, [{"rate": 5}], arms, dict.fromkeys(arms, "app"), [THROUGHPUT])
    assert [one for one in found if one.keys not in {("a", "b")}] == []


def test_the_settings_of_an_arm_are_its_servers_and_those_of_its_load_by_their_keys():
    found = settings_of(
        {"settings": {"workers": 2, "hosts": ["a"]}},
        {"http": "2"},
        {"http": "1.1", "timeout_s": 5.0},
        "closed",
    )
    assert found == {"workers": 2, "http": "2", "timeout": 5.0}


def test_the_best_value_of_a_figure_is_marked_and_said_in_its_alternative():
    [line] = of_workers(FIGURES, THROUGHPUT)
    drawn = surface_figure(line)
    assert "workers = 4: 420 (378 to 462)" in drawn.alternative
    marked = [one for one in drawn.specification["layer"] if one["mark"].get("shape") == "diamond"]
    [rows] = [
        one["data"]["values"]
        if "values" in one["data"]
        else drawn.specification["datasets"][one["data"]["name"]]
        for one in marked
    ]
    assert [row["x"] for row in rows] == [4]


CHOICES = """\
title = "Choices"
content.a = 1
[load]
model = "closed"
requests = ["/a"]
duration = "1s"
connections = 5
[sweep]
http = ["1.0", "1.1"]
generator = ["engine", "wrk"]
[servers.nginx]
[servers.limit.load]
http = "1.1"
"""


def test_an_option_that_the_load_requires_may_be_in_the_sweep_alone(tmp_path: Path):
    study = read_study(
        write(
            tmp_path,
            """\
title = "Workloads"
[load]
model = "ycsb"
records = 10
duration = "1s"
threads = 2
[sweep]
workload = ["b", "a"]
[servers.postgresql]
""",
        )
    )
    assert {name: arm.load.workload.name for name, arm in study.arms.items()} == {
        "postgresql-workload-b": "b",
        "postgresql-workload-a": "a",
    }


def test_an_option_of_the_load_that_is_no_number_gives_an_arm_for_each_value(tmp_path: Path):
    study = read_study(write(tmp_path, CHOICES))
    loads = {name: (arm.load.http, arm.load.generator) for name, arm in study.arms.items()}
    assert loads == {
        "nginx-http-1.0-generator-engine": ("1.0", "engine"),
        "nginx-http-1.0-generator-wrk": ("1.0", "wrk"),
        "nginx-http-1.1-generator-engine": ("1.1", "engine"),
        "nginx-http-1.1-generator-wrk": ("1.1", "wrk"),
        # What its own table has holds.
        "limit-generator-engine": ("1.1", "engine"),
        "limit-generator-wrk": ("1.1", "wrk"),
    }
    assert study.sweep == {"connections": [5]}, "the load lends its connections"


@pytest.mark.parametrize(
    ("swept", "said"),
    [
        ('http = ["1.0", "1.0"]', "expected different values of a setting"),
        ('http = ["1.0", "9"]', "http"),
        ("generator = []", "generator"),
    ],
)
def test_choices_that_are_none_are_refused(tmp_path: Path, swept, said):
    text = CHOICES.replace('http = ["1.0", "1.1"]\ngenerator = ["engine", "wrk"]', swept)
    found = problems_in(tmp_path, text)
    assert any(said in one for one in found)


def test_durations_that_are_swept_stay_points(tmp_path: Path):
    text = CHOICES.replace('http = ["1.0", "1.1"]\ngenerator = ["engine", "wrk"]', 'timeout = ["1s", "5s"]')
    assert read_study(write(tmp_path, text)).sweep == {"timeout": [1.0, 5.0]}


def test_of_values_that_are_not_told_apart_the_least_is_advised():
    [found] = of_workers(FIGURES, THROUGHPUT)
    assert surface_words(found).endswith(
        "The intervals do not tell it apart from workers = 2. "
        "The least of them, workers = 2, will do: no gain of more is shown."
    )
    # Nothing to choose where one is the best, and where they are no numbers.
    [clear] = of_workers({1: FIGURES[1], 4: FIGURES[4]}, THROUGHPUT)
    assert "will do" not in surface_words(clear)
