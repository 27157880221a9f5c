"""The series of single trials for the page: of as many as fit, those first that are worth a look."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadcurve import units
from loadcurve.explain.finding import Finding
from loadcurve.loads.kinds import LoadKind
from loadcurve.report.charts.figure import Row, compact
from loadcurve.report.charts.time import PROBE_PANELS, Panel, panels
from loadcurve.report.columns import Columns, columns, columns_of
from loadcurve.result.folder import Run
from loadcurve.result.load import LoadResult
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.pauses import Pauses
from loadcurve.result.probe import ProbeSeries
from loadcurve.result.records import PointRecord
from loadcurve.units import BYTES_PER_MIB

MOST_DRAWN = 40
"""Of each side the longest this many are drawn."""


def pauses_in_words(record: PointRecord) -> str | None:
    """Say how long the CPUs of either side were paused, and how far that delays requests by itself.

    ``None`` where nothing was paused, and where pauses were not measured.
    """
    paused = [(side, found) for side, found in _sides(record) if found.count]
    if not paused:
        return None
    sides = "; ".join(f"those of the {side} {_one_side(found)}" for side, found in paused)
    side, worst = max(paused, key=lambda pair: pair[1].delay_ms.max or 0)
    p99 = worst.delay_ms.p99
    more = f", {units.number(p99)} ms or more for one in 100" if p99 else ""
    return (
        f"The platform paused CPUs during this load: {sides}. By themselves the pauses of the {side}'s CPUs "
        f"delay requests by up to {units.number(worst.delay_ms.max)} ms{more}."
    )


def pause_rows(record: PointRecord) -> list[Row]:
    """Return the longest pauses of both sides in order of time."""
    rows = [
        {
            "t_s": one.start_s,
            "end_s": round(one.end_s, 6),
            "length": f"{units.number(one.length_ms)} ms",
            "side": side,
        }
        for side, found in _sides(record)
        for one in sorted(found.listed, key=lambda pause: -pause.length_ms)[:MOST_DRAWN]
    ]
    return sorted(rows, key=lambda row: (row["t_s"], row["side"]))


def _sides(record: PointRecord) -> Iterator[tuple[str, Pauses]]:
    for side, found in (("load", record.load.generator.pauses), ("server", record.probe.pauses)):
        if found is not None:
            yield side, found


def _one_side(found: Pauses) -> str:
    longest = f"{units.number(found.longest_ms)} ms"
    if found.count == 1:
        return f"once, for {longest}"
    return f"{found.count:,} times, {units.number(found.paused_s * 1e3)} ms in all, the longest {longest}"


SERIES_BYTES = 1_500_000
"""The series in the page take at most this many bytes of it; the others are in the run folder alone."""
SHORTEST_SILENCE_MS = 50
"""Shorter stretches without an answer are not drawn."""
MOST_SLOWEST = 20
EVENTS = frozenset(
    {
        "failed",
        "listen_overflows",
        "listen_drops",
        "syn_retransmits",
        "retransmits",
        "connections_reset",
        "throttled_ms",
    }
)
"""Columns that are left out of the figure where they are zero in every trial that is shown."""

PROBE_COLUMNS = {
    "memory_mib": ("memory_bytes", 1 / BYTES_PER_MIB),
    "proportional_memory_mib": ("proportional_memory_bytes", 1 / BYTES_PER_MIB),
    "throttled_ms": ("throttled_s", 1000),
}
"""Columns in another unit than in the probe's record, with the record's column and the factor."""


@dataclass(frozen=True, slots=True)
class Example:
    """One trial's point whose series shows a finding."""

    server: str
    place: int
    """The place of the point in the list of all points."""
    trial: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The series of some trials, ready for the page, and the panels that have anything to show of them."""

    panels: list[Panel]
    series: list[dict[str, Any]]
    measured: int
    """How many points of trials have a series."""
    quiet: list[str]
    """Events that were counted, and happened in none of the trials that are shown."""
    examples: list[Example | None]
    """Of each finding, in their order, a trial in which it can be seen; ``None`` where the page has none."""

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Of each panel the source of its lines, and the column and the title of each."""
        return [{"source": panel.source, "lines": list(panel.lines.items())} for panel in self.panels]


def timeline(run: Run, found: Sequence[Finding], most_bytes: int = SERIES_BYTES) -> Timeline | None:
    """Choose the trials whose series the page holds; ``None`` where there is no series.

    For each finding a trial in which it was seen comes first, the one with the longest latency. Then follow
    of each server and point the trial with the highest p99, the one in the middle, and the others; among
    equals those in which something was found, and then the highest loads.
    """
    places = run.places()
    records = [record for record in run.points if record.load.series and point_key(record.point) in places]
    series: list[dict[str, Any]] = []
    left = most_bytes
    examples = [_example(records, finding) for finding in found]
    in_turn = [*filter(None, examples), *_by_interest(records, found, places)]
    for record in {id(record): record for record in in_turn}.values():
        one = _series(record, places[point_key(record.point)])
        left -= len(json.dumps(one, separators=(",", ":")))
        if left < 0 and series:
            break
        series.append(one)
    if not series:
        return None
    drawn = [shown for panel in panels(run.kind) if (shown := _with_lines_of(panel, series)) is not None]
    held = {(one["server"], one["place"], one["trial"]) for one in series}
    return Timeline(
        drawn,
        series,
        len(records),
        quiet=list(_quiet(run.kind, series)),
        examples=[_held(record, places, held) for record in examples],
    )


def _example(records: Sequence[PointRecord], finding: Finding) -> PointRecord | None:
    """Return the record with the longest latency of those in which a finding was seen."""
    seen_at, trials = {point_key(point) for point in finding.points}, set(finding.trials)
    seen = [
        record
        for record in records
        if record.trial in trials and record.server == finding.server and point_key(record.point) in seen_at
    ]
    return max(seen, key=lambda record: record.load.latency_ms.max or 0, default=None)


def _held(
    record: PointRecord | None, places: dict[PointKey, int], held: Collection[tuple[str, int, int]]
) -> Example | None:
    if record is None:
        return None
    example = Example(record.server, places[point_key(record.point)], record.trial)
    return example if (example.server, example.place, example.trial) in held else None


def _by_interest(
    records: Sequence[PointRecord], found: Sequence[Finding], places: dict[PointKey, int]
) -> list[PointRecord]:
    seen = {
        (one.server, trial, point_key(point)) for one in found for trial in one.trials for point in one.points
    }
    by_point: dict[tuple[str, PointKey], list[PointRecord]] = {}
    for record in records:
        by_point.setdefault((record.server, point_key(record.point)), []).append(record)
    ordered: list[tuple[tuple[int, bool, int], PointRecord]] = []
    for (server, key), trials in by_point.items():
        trials.sort(key=_slowness, reverse=True)
        for place, record in enumerate(trials):
            turn = 0 if place == 0 else 1 if place == len(trials) // 2 else 2
            ordered.append(((turn, (server, record.trial, key) not in seen, -places[key]), record))
    return [record for _, record in sorted(ordered, key=lambda pair: pair[0])]


def _slowness(record: PointRecord) -> float:
    latency = record.load.latency_ms
    return latency.p99 or latency.max or 0


def _series(record: PointRecord, place: int) -> dict[str, Any]:
    load, probe = record.load, record.probe.series
    return {
        "server": record.server,
        "place": place,
        "trial": record.trial,
        "end_s": round(load.duration_s, 3),
        "load": columns(list(_periods(load))),
        "probe": _samples(probe) if probe else columns([]),
        "slowest": columns(
            [
                {
                    "t_s": round(one.due_s, 3),
                    "latency_ms": compact(one.latency_ms),
                    "latency": f"{units.number(one.latency_ms)} ms",
                    "operation": one.operation,
                    "sent_again": one.syn_retransmits,
                }
                for one in load.slowest[:MOST_SLOWEST]
            ]
        ),
        "silences": columns(
            [
                {
                    "t_s": one.start_s,
                    "end_s": round(one.start_s + one.length_ms / 1000, 4),
                    "length": f"{units.number(one.length_ms)} ms",
                }
                for one in load.silences
                if one.length_ms >= SHORTEST_SILENCE_MS
            ]
        ),
        "pauses": columns(pause_rows(record)),
        "paused": pauses_in_words(record),
    }


def _periods(load: LoadResult) -> Iterable[Row]:
    """Yield each period with its rates, and the last one again at its end, where its step ends."""
    for period in load.series:
        figures = {
            "answered": compact(period.answered / period.width_s) if period.width_s else None,
            "failed": compact(period.failed / period.width_s) if period.width_s else None,
            **{name: compact(getattr(period.latency_ms, name)) for name in ("p50", "p90", "p99", "max")},
        }
        yield {"t_s": period.t_s, **figures}
        if period is load.series[-1]:
            yield {"t_s": round(period.t_s + period.width_s, 3), **figures}


def _samples(probe: ProbeSeries) -> Columns:
    wanted = [column for panel in PROBE_PANELS for column in panel.lines]
    taken: dict[str, list[Any]] = {"t_s": [round(t_s, 3) for t_s in probe.t_s]}
    for column in wanted:
        name, factor = PROBE_COLUMNS.get(column, (column, 1))
        values: list[float | None] | None = getattr(probe, name)
        if values is not None:
            taken[column] = [None if value is None else compact(value * factor) for value in values]
    return columns_of(len(probe.t_s), taken)


def _with_lines_of(panel: Panel, series: Sequence[dict[str, Any]]) -> Panel | None:
    """Return a panel with the lines that any trial has; ``None`` where none has any."""
    kept = {column: title for column, title in panel.lines.items() if _has_something(series, panel, column)}
    return replace(panel, lines=kept) if kept else None


def _has_something(series: Sequence[dict[str, Any]], panel: Panel, column: str) -> bool:
    values = _values(series, panel, column)
    return bool(values - {None, 0}) if column in EVENTS else bool(values - {None})


def _quiet(load: LoadKind, series: Sequence[dict[str, Any]]) -> Iterable[str]:
    for panel in panels(load):
        for column, title in panel.lines.items():
            if column in EVENTS and _values(series, panel, column) - {None} == {0}:
                yield title


def _values(series: Sequence[dict[str, Any]], panel: Panel, column: str) -> set[float | None]:
    """Return all values of a column in the trials, however they are stored."""
    found: set[float | None] = set()
    for one in series:
        stored = one[panel.source]["columns"].get(column, {"all": None})
        values: Collection[float | None] = (
            stored.get("of", [stored.get("all")]) if isinstance(stored, dict) else stored
        )
        found |= set(values)
    return found
