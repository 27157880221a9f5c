"""What happened over time in single trials as pictures: all panels of a trial over one another."""

from collections.abc import Iterable
from typing import Any

from loadcurve.report.charts.figure import Specification
from loadcurve.report.columns import rows_of
from loadcurve.report.timeline import Example, Timeline
from loadcurve.report.trials import Trials

MOST_TRIALS = 8
"""The most trials that become pictures: those that the weightiest findings name."""
SERIES = ("load", "probe", "slowest", "silences", "pauses")
"""The data of a trial by the names that its panels have for them."""


def time_pictures(trials: Trials) -> Iterable[tuple[tuple[str, ...], str, Specification]]:
    """Yield words for a name, a title and the specification of each trial that findings name.

    Where none is named it is the trial with which the page begins.
    """
    if trials.timeline is None:
        return
    for example in _chosen(trials.timeline):
        [series] = [one for one in trials.timeline.series if _is_of(one, example)]
        point = trials.points[example.place]
        words = ("time", example.server, point, f"trial-{example.trial}")
        yield words, f"{example.server} at {point}, trial {example.trial}", _panels(trials, series)


def _chosen(timeline: Timeline) -> list[Example]:
    named = list(dict.fromkeys(example for example in timeline.examples if example is not None))
    first = timeline.series[0]
    return named[:MOST_TRIALS] or [Example(first["server"], first["place"], first["trial"])]


def _is_of(series: dict[str, Any], example: Example) -> bool:
    return (series["server"], series["place"], series["trial"]) == (
        example.server,
        example.place,
        example.trial,
    )


def _panels(trials: Trials, series: dict[str, Any]) -> Specification:
    """Return the panels that have any row of the trial, each under its title."""
    rows = {name: rows_of(series[name]) for name in SERIES}
    panels = []
    for title, figure in trials.panels.items():
        specification = figure.specification
        # A layer without rows would have no extent for its axes.
        layers = [layer for layer in specification["layer"] if rows[layer["data"]["name"]]]
        if layers:
            panels.append(
                {
                    "title": {"text": title, "fontSize": 13, "fontWeight": "normal", "offset": 4},
                    "width": specification["width"],
                    "height": specification["height"],
                    "layer": layers,
                }
            )
    return {
        "$schema": next(iter(trials.panels.values())).specification["$schema"],
        "vconcat": panels,
        "spacing": 14,
        # The colours of a panel's lines are its own, and so is their legend.
        "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
        "params": [{"name": "end_s", "value": series["end_s"]}],
        "datasets": rows,
    }
