"""Figures of other generators that cannot be true, whatever file they come from."""

from dataclasses import replace

import pytest

from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.possible import COUNT_MAX, at_odds, impossible, out_of_order

FIGURES = ToolFigures(tool="x", version=None, basis="send", duration_s=1.0, answered=10, failed=2)


def times(resolution_ms: float | None = None, **figures: float) -> Times:
    found = distribution(10).model_copy(update=figures)
    return Times(distribution=found, completeness="percentiles", resolution_ms=resolution_ms)


def test_what_a_load_can_have_is_possible_and_agrees():
    assert impossible(FIGURES) is None
    assert at_odds(replace(FIGURES, ok=10, status={"2xx": 10}, errors={"reset": 2})) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"answered": -1}, "-1 answers"),
        ({"answered": COUNT_MAX + 1}, "1,000,000,000,000,001 answers"),
        ({"duration_s": float("nan")}, "a duration of nan s"),
        ({"errors": {"reset": -2}}, "-2 failures of reset"),
        ({"asked": Asked(connections=-4)}, "-4 connections"),
        ({"latency": times(p50=-1.0)}, "a time of -1 ms"),
        ({"connect": times(max=float("nan"))}, "a time of inf ms"),
    ],
)
def test_a_figure_that_no_load_can_have_is_found(change: dict[str, object], found: str):
    assert impossible(replace(FIGURES, **change)) == found


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"status": {"2xx": 6, "4xx": 5}}, "11 answers by status are more than 10 answers"),
        ({"ok": 11}, "11 right answers are more than 10 answers"),
        ({"errors": {"reset": 3}}, "3 failures by class are more than 2 failures"),
        ({"latency": times(p90=9.0, max=8.0)}, "a p90 of 9 ms is above a max of 8 ms"),
    ],
)
def test_figures_that_cannot_be_true_at_once_are_said(change: dict[str, object], found: str):
    assert at_odds(replace(FIGURES, **change)) == [found]


def test_times_may_be_out_of_order_by_what_they_are_rounded():
    assert out_of_order(times(resolution_ms=10.0, p99=120.0, max=115.0)) is None
    assert (
        out_of_order(times(resolution_ms=1.0, p99=120.0, max=115.0))
        == "a p99 of 120 ms is above a max of 115 ms"
    )
