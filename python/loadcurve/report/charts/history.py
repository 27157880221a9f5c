"""A figure of a history: one measure of one arm at one point, run by run, with what changed meanwhile.

Runs without the figure have their place and no mark, and nothing is drawn across them.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import altair

from loadcurve import units
from loadcurve.analysis.history import Series
from loadcurve.report.charts.figure import (
    SMALL_FIGURE_HEIGHT,
    Datasets,
    Figure,
    Row,
    axis_from_zero,
    compact,
    latency_axis,
    layered,
    tooltips,
)
from loadcurve.report.charts.intervals import interval_marks, reach_of
from loadcurve.report.history import changes_in_words, commit_words, measure_words, missing_in_words
from loadcurve.report.text import estimate as estimate_words
from loadcurve.result.history import HistoryEntry
from loadcurve.result.measures import MEASURES
from loadcurve.stats.interval import Estimate

COLOUR = "#3b6fb6"
CHANGE_COLOUR = "#c2410c"
EVENT_COLOUR = "#8a8a8a"
_FROM_ZERO = {one.column for one in MEASURES.values() if one.from_zero}
_LABELLED_RUNS = 12


def history_figure(series: Series) -> Figure:
    """Draw a series: its values with their band, lines where kernel or versions changed, and its changes."""
    rows = [_row(place, series) for place in range(len(series.entries))]
    datasets = Datasets()
    from_zero = series.measure in _FROM_ZERO
    reach = reach_of(rows)

    def base(data: list[Row], field: str) -> altair.Chart:
        vertical = axis_from_zero(field) if from_zero else latency_axis(field, reach)
        runs = [row["x"] for row in rows]
        places = runs if len(runs) <= _LABELLED_RUNS else altair.Undefined
        axis = altair.Axis(format=".0f", tickMinStep=1, values=places)
        along = altair.X("x:Q", title="run", axis=axis, scale=altair.Scale(zero=False, nice=False, padding=8))
        return altair.Chart(datasets.named(data)).encode(x=along, y=vertical)

    def coloured(data: list[Row], field: str) -> altair.Chart:
        return base(data, field).encode(color=altair.value(COLOUR))

    bounded = [row for row in rows if row["low"] is not None]
    marks = interval_marks(coloured, bounded, reach, as_bands=True, from_zero=from_zero, curve="part")
    for colour, dash, lines in (
        (EVENT_COLOUR, [3, 3], list(_event_rows(series.runs))),
        (CHANGE_COLOUR, [1, 0], list(_change_rows(series))),
    ):
        if lines:
            rule = altair.Chart(datasets.named(lines)).mark_rule(
                color=colour, strokeDash=dash, strokeWidth=1.5
            )
            marks.append(rule.encode(x="x:Q", tooltip=tooltips(said="changed")))
    drawn = base(rows, "y").encode(
        tooltip=tooltips(run="run", value=measure_words(series.measure), n="trials")
    )
    marks += [
        drawn.mark_line(strokeWidth=1.5, color=COLOUR).encode(detail="part:N"),
        drawn.mark_point(filled=True, size=36, opacity=1, color=COLOUR),
    ]
    alternative = _alternative(series)
    return Figure(layered(marks, alternative, SMALL_FIGURE_HEIGHT, [], datasets), alternative)


def _row(place: int, series: Series) -> Row:
    figure = series.figures[place]
    shown = Estimate(figure.value, figure.low, figure.high, figure.n, "")
    return {
        "x": series.places[place] + 1,
        # Grows with each gap.
        "part": series.places[place] - place,
        "run": commit_words(series.entries[place]),
        "y": compact(figure.value),
        "low": compact(figure.low) if figure.low and figure.low > 0 else None,
        "high": compact(figure.high) if figure.low and figure.low > 0 else None,
        "value": estimate_words(shown),
        "n": figure.n,
    }


def _event_rows(entries: Sequence[HistoryEntry]) -> Iterator[Row]:
    """Yield where the kernel, a server or Loadcurve is another one than in the run before.

    Servers that are others in most runs, as in a history of releases, have no lines: each run says it.
    """
    pairs = list(pairwise(entries))
    others = [before.servers != after.servers for before, after in pairs]
    with_servers = sum(others) <= len(pairs) / 2
    for place, (before, after) in enumerate(pairs, start=1):
        said = list(_what_changed(before, after, with_servers=with_servers))
        if said:
            yield {"x": place + 0.5, "said": "; ".join(said)}


def _what_changed(before: HistoryEntry, after: HistoryEntry, *, with_servers: bool) -> Iterator[str]:
    servers = before.servers if with_servers else {}
    facts = (
        ("kernel", before.machine.kernel, after.machine.kernel),
        ("loadcurve", before.loadcurve_version, after.loadcurve_version),
        *((name, version, after.servers.get(name, version)) for name, version in servers.items()),
    )
    for name, old, new in facts:
        if old != new:
            yield f"{name} {old or units.ABSENT} → {new or units.ABSENT}"


def _change_rows(series: Series) -> Iterator[Row]:
    if series.changes is not None:
        words = list(changes_in_words(series))
        for point, said in zip(series.changes.points, words, strict=False):
            yield {"x": series.places[point.place] + 0.5, "said": said}


def _alternative(series: Series) -> str:
    first, last = series.figures[0], series.figures[-1]
    said = " ".join(f"{words}." for words in changes_in_words(series))
    runs = units.plural(len(series.runs), "run")
    gaps = len(series.runs) - len(series.entries)
    without = f", {gaps} without a figure" if gaps else ""
    missing = f"; {words}" if (words := missing_in_words(series)) else ""
    return (
        f"{measure_words(series.measure)} over {runs}{without}: {units.number(first.value)} at first, "
        f"{units.number(last.value)} at last{missing}. {said}"
    ).strip()
