"""Runs over time: the entry of a run, the series of a history, and where a series has changed."""

import json
import math
import os
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.numbers import analysis_of
from loadcurve.loads.values import Point
from loadcurve.result.checksum import digest
from loadcurve.result.differences import without_off
from loadcurve.result.folder import read_run_record
from loadcurve.result.history import (
    HISTORY_FORMAT,
    HistoryEntry,
    HistoryFigure,
    HistoryMachine,
    of_conditions,
)
from loadcurve.result.measures import measures, point_key
from loadcurve.result.records import RunRecord
from loadcurve.result.summary import NumbersSource, source_of
from loadcurve.stats.change_points import NORMAL_95, Changes, Reading, change_points

HISTORY_MEASURES = ("throughput", "cpu_per_request_us", "p50", "p90", "p99", "memory_mean_mib")
"""What a history keeps of a point."""
_HARDWARE = (
    *("cpu_model", "cpu_topology", "cpu_caches", "architecture"),
    *("virtual_machine", "machine_vendor", "machine_product", "server_cpus", "load_cpus"),
)
"""Facts that make a machine itself; its kernel and settings may change."""
_NEWEST_OPTIONS = ("sockets", "answer_id", "extension")
"""Those that came, the newest first, while digests were made of options that are off, too."""
_BYTES_PER_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Series:
    """One figure of one arm at one point on one machine, run by run, and where it has changed."""

    arm: str
    point: Point
    measure: str
    """Its column."""
    machine: HistoryMachine
    entries: tuple[HistoryEntry, ...]
    figures: tuple[HistoryFigure, ...]
    """Of each entry."""
    changes: Changes | None
    """``None`` where the runs cannot be joined, because their machine is not known."""
    runs: tuple[HistoryEntry, ...]
    """Since the first with the figure, those without it as well, which are gaps: it was to be measured."""
    places: tuple[int, ...]
    """Of each entry among the runs."""

    @property
    def missing(self) -> int:
        """How many of the last runs have no figure."""
        return len(self.runs) - 1 - self.places[-1]


@dataclass(frozen=True, slots=True)
class StudyHistory:
    """The series of the runs that put the same load on the same content."""

    title: str
    """That of the newest run."""
    conditions: str
    series: tuple[Series, ...]
    runs: int
    """All of the study, those without any figure as well."""


def entry_of(
    folder: Path, commit: str | None, history: Path, record: RunRecord | None = None
) -> HistoryEntry:
    """Return the entry of a run for a history; its ``record`` is read where it has not been.

    Raises ``BadInput`` where the folder cannot be read as a run.
    """
    source = source_of(folder)
    if record is None:
        record, _ = read_run_record(folder)
    analysis, run = analysis_of(folder), run_digest(source)
    return HistoryEntry(
        format=HISTORY_FORMAT,
        run=run,
        folder=_place(folder, history),
        loadcurve_version=analysis.run.loadcurve_version,
        started_at=analysis.run.started_at,
        commit=commit,
        title=analysis.run.title,
        # A search chooses its loads: no other run of its study was to measure the same.
        study_sha256=record.study_sha256 if record.search is None else run,
        conditions=conditions_digest(analysis),
        conditions_before=conditions_before(analysis),
        machine=machine_of(analysis),
        servers={name: server.version for name, server in analysis.run.servers.items()},
        figures=list(figures_of(analysis)),
    )


def studies_of(entries: Sequence[HistoryEntry]) -> list[StudyHistory]:
    """Return the series of a history by study, with their changes.

    Of histories in which nothing has changed, at most 5 % show any change in any study.
    """
    by_study = {
        conditions: (of_study, _series_of(of_study))
        for conditions, of_study in of_conditions(entries).items()
    }
    figures = max(1, sum(len(found) for _, found in by_study.values()))
    return [
        StudyHistory(
            runs[-1].title, conditions, tuple(_with_changes(one, figures) for one in found), len(runs)
        )
        for conditions, (runs, found) in by_study.items()
    ]


def _series_of(entries: Sequence[HistoryEntry]) -> list[Series]:
    found: dict[tuple[Any, ...], list[tuple[HistoryEntry, HistoryFigure]]] = {}
    for entry in entries:
        for figure in entry.figures:
            key = (figure.arm, point_key(figure.point), figure.measure, entry.machine.fingerprint)
            found.setdefault(key, []).append((entry, figure))
    measured = {entry.run: {figure.arm for figure in entry.figures} for entry in entries}
    return [_one_series(pairs, entries, measured) for pairs in found.values()]


def _one_series(
    pairs: Sequence[tuple[HistoryEntry, HistoryFigure]],
    entries: Sequence[HistoryEntry],
    measured: Mapping[str, Collection[str]],
) -> Series:
    """Return the series of a figure; a run that was to measure it and has none is a gap.

    That is one whose study has not changed, or in which the arm has no figure at all: another sweep may lack
    the point.
    """
    newest, figure = pairs[-1]
    with_figure = {entry.run for entry, _ in pairs}
    since = entries.index(pairs[0][0])
    runs = [
        one
        for one in entries[since:]
        if one.run in with_figure
        or (
            one.machine.fingerprint == newest.machine.fingerprint
            and figure.arm in one.servers
            and (one.study_sha256 == newest.study_sha256 or figure.arm not in measured[one.run])
        )
    ]
    return Series(
        arm=figure.arm,
        point=figure.point,
        measure=figure.measure,
        machine=newest.machine,
        entries=tuple(entry for entry, _ in pairs),
        figures=tuple(figure for _, figure in pairs),
        changes=None,
        runs=tuple(runs),
        places=tuple(place for place, one in enumerate(runs) if one.run in with_figure),
    )


def _with_changes(series: Series, figures: int) -> Series:
    if series.machine.fingerprint is None:
        return series
    readings = [Reading(one.value, one.low, one.high, one.n) for one in series.figures]
    known = [one.noise for one in series.figures if one.noise is not None]
    noise = statistics.median(known) if known else 0.0
    return replace(series, changes=change_points(readings, figures, noise))


def figures_of(analysis: Analysis) -> Iterator[HistoryFigure]:
    """Yield what a history keeps of a run: the figures of every server at every point."""
    known = measures(analysis.load_kind)
    for curve in analysis.curves:
        for at in curve.points:
            for measure in (known[name] for name in HISTORY_MEASURES):
                estimate = at.estimate(measure)
                if estimate is not None and math.isfinite(estimate.value) and estimate.value > 0:
                    yield HistoryFigure(
                        arm=curve.server,
                        point=at.point,
                        measure=measure.column,
                        value=estimate.value,
                        low=estimate.low,
                        high=estimate.high,
                        n=estimate.n,
                        noise=_noise(analysis, measure.name, estimate.n),
                    )


def _noise(analysis: Analysis, measure: str, trials: int) -> float | None:
    """Return how near figures over this many trials are to one another where nothing differs, as a share."""
    spread = analysis.rig_noise and analysis.rig_noise.spreads.get(measure)
    # A ratio has the spread of two trials.
    return math.expm1(NORMAL_95 * spread.log_ratio_sd / math.sqrt(2 * trials)) if spread and trials else None


def run_digest(source: NumbersSource) -> str:
    """Return the digest of a run's files, which is the same of every copy."""
    return digest(_canonical([one and one.sha256 for one in (source.run, source.trials)]))


def conditions_digest(analysis: Analysis) -> str:
    """Return the digest of what decides whether figures can be compared: load and content.

    Options that are off are left out, so that a version with more of them gives the same digest.
    """
    conditions = analysis.run.conditions
    return digest_of(without_off(conditions["load"]), conditions["content"])


def conditions_before(analysis: Analysis) -> list[str]:
    """Return the digests that earlier versions made of the same load and content."""
    return digests_before(analysis.run.conditions["load"], analysis.run.conditions["content"])


def digest_of(load: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """Return the digest of a load and its content as they are."""
    return digest(_canonical({"load": load, "content": content}))


def digests_before(load: Mapping[str, Any], content: Mapping[str, Any]) -> list[str]:
    """Return the digests of a load with all its options, as versions made them that knew fewer of these."""
    found: dict[str, None] = {}
    known = {**dict.fromkeys(_NEWEST_OPTIONS), **load}
    for option in (None, *_NEWEST_OPTIONS):
        if option is not None and known.pop(option) is not None:
            break
        found[digest_of(known, content)] = None
    return list(found)


def machine_of(analysis: Analysis) -> HistoryMachine:
    """Return which machine a run was measured on, by what decides how fast it is."""
    facts = analysis.run.conditions["machine"]
    hardware = {
        name: fact
        for name, fact in facts.items()
        if name.rpartition(" · ")[2] in _HARDWARE and fact is not None
    }
    memory = facts.get("memory_bytes")
    gib = round(memory / _BYTES_PER_GIB) if isinstance(memory, int | float) else None
    is_known = facts.get("cpu_model") is not None and gib is not None
    topology = facts.get("cpu_topology")
    cpus = f"{len(topology)} CPUs" if isinstance(topology, Mapping) else "CPUs unknown"
    kernel = facts.get("kernel")
    return HistoryMachine(
        fingerprint=digest(_canonical([hardware, gib])) if is_known else None,
        name=f"{facts['cpu_model']}, {cpus}, {gib} GiB" if is_known else "unknown machine",
        kernel=str(kernel) if kernel is not None else None,
    )


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()


def _place(folder: Path, history: Path) -> str:
    """Return the way from a history to a run, which stays right where both are moved together."""
    return os.path.relpath(folder.resolve(), history.resolve())
