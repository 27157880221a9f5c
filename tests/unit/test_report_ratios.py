"""The figure of a gate and of a comparison: by how much each measure is worse, under one another."""

from typing import Any

from loadcurve.report.charts.ratios import COLOURS, WorseBy, worse_figure

CPU = WorseBy("CPU time per request", 0.05, 0.03, 0.07, "worse", "+5 % (3 to 7)")
P50 = WorseBy("p50", -0.02, -0.05, 0.01, "neither", "-2 % (-5 to 1)")


def drawn(*rows: WorseBy, least: float | None = None) -> dict[str, Any]:
    found = worse_figure(rows, least)
    assert found is not None
    return found.specification


def values(specification: dict[str, Any], field: str) -> list[float]:
    data = [specification["datasets"][layer["data"]["name"]] for layer in specification["layer"]]
    return [row[field] for rows in data for row in rows if field in row]


def test_nothing_is_drawn_of_nothing():
    assert worse_figure([]) is None


def test_a_measure_is_drawn_in_per_cent_by_what_is_shown_of_it():
    specification = drawn(CPU)
    assert 5 in values(specification, "x")
    assert (set(values(specification, "low")), set(values(specification, "high"))) == ({3}, {7})
    colours = [layer["mark"].get("color") for layer in specification["layer"]]
    assert COLOURS["worse"] in colours
    assert COLOURS["neither"] not in colours


def test_there_is_a_line_at_the_least_regression_that_counts():
    assert 3 in values(drawn(P50, least=0.03), "x")
    assert 3 not in values(drawn(P50), "x")


def test_an_interval_that_is_wide_does_not_stretch_the_axis():
    wide = WorseBy("p90", 0.04, -0.9, 30.0, "neither", "+4 % (-90 to 3,000)")
    [(low, high)] = {tuple(layer["encoding"]["x"]["scale"]["domain"]) for layer in drawn(wide)["layer"]}
    assert -10 <= low < 0
    assert 4 < high <= 10


def test_the_figure_can_be_read_without_being_seen():
    found = worse_figure([CPU, P50])
    assert found is not None
    assert "CPU time per request +5 % (3 to 7); p50 -2 % (-5 to 1)" in found.alternative


def test_an_end_that_is_not_known_is_not_drawn():
    specification = drawn(WorseBy("p50", 0.01, None, 0.02, "neither", "+1 % (up to 2)"))
    assert set(values(specification, "low")) == {1}
