"""A history in the terminal and as JSON: every series as a line, and its changes in words."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.history import Series, StudyHistory
from loadcurve.report import text
from loadcurve.report.sparkline import ASCII_LEVELS, BLOCKS, sparkline
from loadcurve.result.history import History, HistoryEntry, HistoryFigure
from loadcurve.result.measures import MEASURES
from loadcurve.stats.change_points import SEGMENT_MIN, ChangePoint

LINE_RUNS_MAX = 32
"""A line shows at most this many of the newest runs."""
COMMIT_CHARACTERS = 12
FINGERPRINT_CHARACTERS = 8
_DIGEST = re.compile(rf"[0-9a-f]{{{COMMIT_CHARACTERS},}}")
MEASURE_WIDTH = 20
TO_CONFIRM = "A machine that becomes slower looks like a change, too: loadcurve gate runs both sides in turn."
_OF_COLUMN = {one.column: one for one in MEASURES.values()}


def history_lines(found: History, studies: Sequence[StudyHistory]) -> RenderableType:
    """Return a history for a terminal of 80 columns."""
    if not found.entries:
        return Text(f"There is no run in {found.folder}.")
    parts: list[RenderableType] = [
        Text(
            f"{runs_in_words(found)}, {text.moment(found.entries[0].started_at)} to "
            f"{text.moment(found.entries[-1].started_at)}"
        )
    ]
    names = machine_names(studies)
    for study in studies:
        parts.append(Text(f"\n{study.title}", style="bold"))
        if not study.series:
            parts.append(Text(nothing_in_words(study)))
        for machine, of_machine in _grouped(study.series, lambda one: names[one.machine.fingerprint]):
            parts.append(Text(f"on {machine}"))
            for heading, series in _grouped(of_machine, heading_of):
                parts.append(Text(heading))
                parts += map(_Line, series)
    without = [words for study in studies for words in gaps_in_words(study)]
    parts += [Text(one) for one in ["", *without] if without]
    words = sentences(studies)
    heading = "changes" if words else no_change_words(studies)
    parts.append(Text(f"\n{heading}", style="bold" if words else ""))
    parts += [Text(one) for one in words]
    if has_change(studies):
        parts.append(Text(f"\n{TO_CONFIRM}"))
    return Group(*parts)


def no_change_words(studies: Sequence[StudyHistory]) -> str:
    """Say that no change is shown, and where no series is long enough for one, how long that is."""
    longest = max((len(one.entries) for study in studies for one in study.series), default=0)
    if longest >= 2 * SEGMENT_MIN:
        return "No change is shown."
    return (
        f"No change is shown: it takes {SEGMENT_MIN} runs before it and {SEGMENT_MIN} after it, so the first "
        f"can be seen after {2 * SEGMENT_MIN} runs of a study on a machine."
    )


def runs_in_words(found: History) -> str:
    """Return how many runs a history has, and how many of them are without any figure."""
    runs = units.plural(len(found.entries), "run")
    empty = sum(not one.figures for one in found.entries)
    return f"{runs} ({empty} without any figure)" if empty else runs


def nothing_in_words(study: StudyHistory) -> str:
    """Say that a study has no series, because none of its runs has a figure."""
    return f"no figure in {units.plural(study.runs, 'run')}"


def missing_in_words(series: Series) -> str:
    """Say in how many of the last runs a series has no figure; nothing where the last one has it."""
    runs = "the last run" if series.missing == 1 else f"the last {series.missing} runs"
    return f"no figure in {runs}" if series.missing else ""


def gaps_in_words(study: StudyHistory) -> Iterator[str]:
    """Yield what has no figure in the last runs of a study: an arm at a point, or single measures of it."""
    by_place: dict[tuple[str, str | None], list[Series]] = {}
    for one in study.series:
        by_place.setdefault((heading_of(one), one.machine.fingerprint), []).append(one)
    for (heading, _), series in by_place.items():
        found = [missing_in_words(one) for one in series]
        if len(set(found)) == 1:
            yield from (f"{heading}: {words}" for words in found[:1] if words)
            continue
        for one, words in zip(series, found, strict=True):
            if words:
                yield f"{heading}: {words} for {_title(one.measure)}"


def has_change(studies: Sequence[StudyHistory]) -> bool:
    """Whether any series has a change that is no longer pending."""
    return any(one.changes is not None and one.changes.points for study in studies for one in study.series)


def _grouped(
    series: Sequence[Series], name_of: Callable[[Series], str]
) -> Iterable[tuple[str, list[Series]]]:
    found: dict[str, list[Series]] = {}
    for one in series:
        found.setdefault(name_of(one), []).append(one)
    return found.items()


def heading_of(series: Series) -> str:
    """Return what a series is of: its arm, and its point where there is a sweep."""
    point = text.point(series.point)
    return f"{series.arm}, {point}" if point else series.arm


def machine_names(studies: Sequence[StudyHistory]) -> dict[str | None, str]:
    """Return the name of each machine by its fingerprint, of which those that share a name have a part."""
    names = {one.machine.fingerprint: one.machine.name for study in studies for one in study.series}
    several = {name for name, machines in Counter(names.values()).items() if machines > 1}
    return {
        fingerprint: f"{name} ({fingerprint[:FINGERPRINT_CHARACTERS]})"
        if name in several and fingerprint is not None
        else name
        for fingerprint, name in names.items()
    }


def sentences(studies: Sequence[StudyHistory]) -> list[str]:
    """Return the sentences on all changes of a history; where it has several machines, they are named."""
    machines = machine_names(studies)
    return [
        f"{words}, on {machines[one.machine.fingerprint]}" if len(machines) > 1 else words
        for study in studies
        for one in study.series
        for words in changes_in_words(one)
    ]


def changes_in_words(series: Series) -> Iterator[str]:
    """Yield a sentence for each change of a series, and one where its last runs may become one."""
    changes = series.changes
    name = f"{_title(series.measure)} of {series.arm} {text.at_point(series.point)}".rstrip()
    if changes is None:
        yield f"{name}: the machine is unknown, so that its runs are not joined."
        return
    for point in changes.points:
        yield f"{name}: {size_in_words(point)} since {commit_words(series.entries[point.place])}"
    if changes.pending:
        runs = units.plural(changes.pending, "run")
        yield f"{name}: pending, {runs} at the end beyond the noise of {units.percent(changes.noise)}"


def size_in_words(point: ChangePoint) -> str:
    """Return the size of a change with its interval, such as ``+12.0 % (+10.1 % to +13.9 %)``."""
    ratio = point.ratio
    size = _signed(ratio.value)
    if ratio.low is None or ratio.high is None:
        return size
    return f"{size} ({_signed(ratio.low)} to {_signed(ratio.high)})"


def commit_words(entry: HistoryEntry) -> str:
    """Return by what a person knows a run: its commit, or else the time of its start."""
    moment = text.moment(entry.started_at)
    if entry.commit is None:
        return moment
    # The end of a tag's name tells commits apart, and says whether files were changed.
    named = entry.commit[:COMMIT_CHARACTERS] if _DIGEST.fullmatch(entry.commit) else entry.commit
    return f"{named} ({moment})"


def measure_words(column: str) -> str:
    """Return a measure by its column as figures have it, such as ``latency p99, ms``."""
    return _OF_COLUMN[column].heading if column in _OF_COLUMN else _unknown(column)


def _title(column: str) -> str:
    return _OF_COLUMN[column].title if column in _OF_COLUMN else _unknown(column)


def _unknown(column: str) -> str:
    """Return the words of a column that this version does not keep."""
    return column.replace("_", " ")


def history_json(found: History, studies: Sequence[StudyHistory]) -> dict[str, Any]:
    """Return a history as JSON has it."""
    return {
        "format": "loadcurve-history-changes/1",
        "runs": len(found.entries),
        "damage": list(found.damage),
        "studies": [
            {
                "title": study.title,
                "conditions": study.conditions,
                "series": [_series_json(one) for one in study.series],
            }
            for study in studies
        ],
    }


def _series_json(series: Series) -> dict[str, Any]:
    changes = series.changes
    return {
        "arm": series.arm,
        "point": series.point,
        "measure": series.measure,
        "machine": series.machine.model_dump(),
        "noise": None if changes is None else changes.noise,
        "pending": None if changes is None else changes.pending,
        "changes": None
        if changes is None
        else [
            {
                "run": series.entries[one.place].run,
                "commit": series.entries[one.place].commit,
                "ratio": one.ratio.value,
                "ratio_low": one.ratio.low,
                "ratio_high": one.ratio.high,
                "adjusted_p_value": one.adjusted_p_value,
            }
            for one in changes.points
        ],
        "runs": [
            {
                "run": entry.run,
                "commit": entry.commit,
                "started_at": entry.started_at,
                "value": None if figure is None else figure.value,
                "low": None if figure is None else figure.low,
                "high": None if figure is None else figure.high,
            }
            for entry, figure in course_of(series)
        ],
    }


def course_of(series: Series) -> list[tuple[HistoryEntry, HistoryFigure | None]]:
    """Return the runs of a series, each with its figure; ``None`` in a gap."""
    figures = dict(zip(series.places, series.figures, strict=True))
    return [(entry, figures.get(place)) for place, entry in enumerate(series.runs)]


class _Line:
    """A series in a line: its measure, the figure of the last run, its course and how many changes it has."""

    def __init__(self, series: Series) -> None:
        self.series = series

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        levels = ASCII_LEVELS if options.ascii_only else BLOCKS
        series = self.series
        values = [None if one is None else one.value for _, one in course_of(series)[-LINE_RUNS_MAX:]]
        known = [one for one in values if one is not None]
        course = sparkline(values, min(known, default=0.0), max(known, default=0.0), levels)
        count = len(series.changes.points) if series.changes else 0
        shown = units.plural(count, "change") if count else ""
        measure = measure_words(series.measure)[:MEASURE_WIDTH]
        figures = f"{units.number(values[-1]):>8} {course:{LINE_RUNS_MAX}} {shown}"
        yield Text(f"  {measure:{MEASURE_WIDTH}} {figures}".rstrip(), no_wrap=True, overflow="crop")


def _signed(ratio: float) -> str:
    return f"{units.in_percent(ratio - 1, signed=True)} %"
