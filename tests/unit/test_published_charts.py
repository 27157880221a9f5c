"""Charts of published results: at which places figures are drawn."""

import re

from loadcurve.report.appearance import appearances
from loadcurve.report.site.chart import Line, Mark, chart

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
