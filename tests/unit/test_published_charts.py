"""Charts of published results: at which places figures and the ends of their intervals are drawn."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.report.appearance import appearances
from loadcurve.report.site.bars import bars
from loadcurve.report.site.chart import TOP, Chart, Line, Mark, chart
from loadcurve.result.site_index import Headline

NAMES = ["apache", "caddy", "nginx"]


def columns_of(places: list[str]) -> list[list[float]]:
    """The horizontal places of each server's figures, which are all equal."""
    looks = appearances(NAMES)
    lines = [Line(name, looks[name], tuple(Mark(2.0) for _ in places)) for name in NAMES]
    drawn = chart("throughput", places, "rate", lines, from_zero=True)
    assert drawn is not None
    shapes = re.findall(r"translate\(([\d.]+) [^>]*><title>(\w+):", drawn.drawing)
    return [[float(x) for x, name in shapes if name == one] for one in NAMES]


def test_servers_at_a_single_point_stand_side_by_side():
    (first,), (second,), (third,) = columns_of(["2,000"])
    assert first < second < third


def test_servers_at_several_points_stand_at_the_same_places_along_the_axis():
    first, second, third = columns_of(["500", "2,000"])
    assert first == second == third
    assert first[0] < first[1]


def drawing_of(marks: list[Mark], *, from_zero: bool) -> Chart:
    """A chart of one server, at a place for each mark."""
    [look] = appearances(["nginx"]).values()
    places = [f"{place}" for place, _ in enumerate(marks)]
    drawn = chart("a title", places, "rate", [Line("nginx", look, tuple(marks))], from_zero=from_zero)
    assert drawn is not None
    return drawn


def ticks_of(drawn: Chart) -> dict[float, float]:
    """The vertical place of each figure beside the axis."""
    found = re.findall(r'y="([\d.]+)" dy=".35em" text-anchor="end">([\d.,]+)<', drawn.drawing)
    return {float(words.replace(",", "")): float(y) for y, words in found}


def ends_of(drawn: Chart) -> list[tuple[float, float]]:
    """The vertical places of the ends of each interval, the lower end first."""
    (path,) = re.findall(r'class="bar" d="([^"]*)"', drawn.drawing)
    return [(float(low), float(high)) for low, high in re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)", path)]


def test_an_interval_is_drawn_from_end_to_end_on_an_axis_from_zero():
    drawn = drawing_of([Mark(13_888, 7_500, 25_719)], from_zero=True)
    ticks = ticks_of(drawn)
    per_unit = (ticks[0] - ticks[10_000]) / 10_000
    expected = tuple(ticks[0] - per_unit * end for end in (7_500, 25_719))
    assert ends_of(drawn) == [pytest.approx(expected, abs=0.1)]
    assert not drawn.is_cut
    assert "arrow" not in drawn.drawing


def test_an_interval_is_drawn_from_end_to_end_on_a_logarithmic_axis():
    drawn = drawing_of([Mark(1.0, 0.74, 1.36), Mark(5.0)], from_zero=False)
    ticks = ticks_of(drawn)
    per_decade = (ticks[1] - ticks[5]) / math.log10(5)
    expected = tuple(ticks[1] - per_decade * math.log10(end) for end in (0.74, 1.36))
    assert ends_of(drawn) == [pytest.approx(expected, abs=0.1)]
    assert not drawn.is_cut


@pytest.mark.parametrize("from_zero", [True, False])
def test_an_interval_that_goes_far_beyond_all_figures_is_cut_with_an_arrow_at_the_end_of_the_axis(
    from_zero: bool,
):
    drawn = drawing_of([Mark(1.0), Mark(2.0, 1.9, 60.0)], from_zero=from_zero)
    assert drawn.is_cut
    # The arrow's point is at the top of the drawing, where the bar ends.
    (x, y) = re.findall(r'class="arrow" d="M[\d.]+ [\d.]+L([\d.]+) ([\d.]+)L', drawn.drawing)[0]
    assert float(y) == TOP == ends_of(drawn)[-1][1]
    assert f"M{x} {ends_of(drawn)[-1][0]}V" in drawn.drawing


@given(least=st.floats(1e-3, 1e6), factor=st.floats(1, 1e4))
def test_a_logarithmic_axis_has_at_least_two_ticks(least: float, factor: float):
    assert len(ticks_of(drawing_of([Mark(least), Mark(least * factor)], from_zero=False))) >= 2


def test_ticks_of_a_short_logarithmic_axis_are_round():
    drawn = drawing_of([Mark(1.0, 0.74, 1.36), Mark(3.2, 2.7, 3.6)], from_zero=False)
    assert list(ticks_of(drawn)) == [0.7, 1, 1.5, 2, 3]


def test_a_row_of_bars_has_room_for_its_interval_and_an_arrow_where_that_ends_far_beyond():
    figures = {"a": Headline(value=0.001, low=0.001, high=0.002, n=3)}
    figures["b"] = Headline(value=0.004, low=0.002, high=0.008, n=3)
    found = bars("latency_p99_s", "p99", "s", [(name, {}, one) for name, one in figures.items()])
    assert found is not None
    # The whole width is 8 ms: 0.002 s are a quarter of it, and 0.004 s half.
    assert [(row.length, row.interval_length) for row in found.rows] == [
        ("12.5%", "12.5%"),
        ("50.0%", "75.0%"),
    ]
    assert not found.is_cut
    figures["b"] = Headline(value=0.004, low=0.002, high=1.0, n=3)
    found = bars("latency_p99_s", "p99", "s", [(name, {}, one) for name, one in figures.items()])
    assert found is not None
    # Three times the greatest figure are 12 ms.
    assert [(row.length, row.is_cut) for row in found.rows] == [("8.3%", False), ("33.3%", True)]
    assert found.is_cut
