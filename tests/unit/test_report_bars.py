"""Bars that set servers and machines beside one another."""

from typing import Any

from loadcurve.analysis.analysis import analyse
from loadcurve.report.appearance import appearances
from loadcurve.report.charts.bars import Bar, bar_figure
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.stats.interval import Estimate
from loadcurve.stats.slo import parse_objective
from support.machine_study import PRICES_USD_PER_HOUR, REQUESTS_PER_S_MAX, machine_run

LOOKS = appearances(["a", "b"])


def bar(server: str, value: float, low: float | None = None, high: float | None = None) -> Bar:
    return Bar(server, server, Estimate(value, low, high, 3, "t"))


def rows(specification: dict[str, Any], place: int = 0) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = specification["datasets"][specification["layer"][place]["data"]["name"]]
    return data


def test_the_longest_bar_comes_first_and_all_begin_at_zero():
    figure = bar_figure("requests/s", [bar("a", 10), bar("b", 30)], LOOKS)
    [bars, _] = figure.specification["layer"]
    assert [(row["server"], row["x"]) for row in rows(figure.specification)] == [("b", 30), ("a", 10)]
    assert bars["encoding"]["y"]["sort"] == ["b", "a"]
    assert bars["encoding"]["x"]["scale"]["zero"] is True
    assert figure.alternative == "requests/s: b 30.0; a 10.0."


def test_a_bar_without_an_interval_has_no_line_over_it():
    figure = bar_figure("requests/s", [bar("a", 10, 9, 11), bar("b", 30)], LOOKS)
    [row] = rows(figure.specification, 1)
    assert (row["server"], row["low"], row["high"]) == ("a", 9, 11)


def test_one_server_alone_is_no_comparison():
    assert bar_figure("requests/s", [bar("a", 10)], LOOKS) is None


def test_machines_are_compared_by_what_a_dollar_gives():
    [part] = everything(Report(run := machine_run(), analyse(run)))["shapes"]
    by_title = {figure.alternative.partition(":")[0]: figure for figure in part.bars}
    assert list(by_title) == ["Greatest throughput, requests/s", "Million requests per dollar"]
    values = {row["server"]: row["x"] for row in rows(by_title["Million requests per dollar"].specification)}
    for name, price in PRICES_USD_PER_HOUR.items():
        # Requests in an hour at the peak, by the price of that hour.
        assert abs(values[name] / (REQUESTS_PER_S_MAX[name] * 3600 / price / 1e6) - 1) < 1e-4
    assert list(values) == ["t2.micro", "t2.medium", "t2.large"]


def test_a_capacity_that_the_sweep_does_not_bound_has_no_bar():
    # Only t2.micro breaks the limit within the sweep, and one bar alone compares nothing.
    run = machine_run()
    [part] = everything(Report(run, analyse(run, parse_objective("p90 < 20ms"))))["shapes"]
    assert not [figure for figure in part.bars if figure.alternative.startswith("Capacity")]
