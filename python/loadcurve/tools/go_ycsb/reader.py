"""What go-ycsb writes: its last summary as text or JSON, and the CSV of ``measurementtype=csv``."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import polars
from pydantic import TypeAdapter, ValidationError

from loadcurve.result.load import Operation
from loadcurve.tools.delimited import ANY_TEXT, WHOLE_NUMBER, Table, tables
from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import UNIT, UNITS_MS
from loadcurve.tools.requests import (
    ANSWERED,
    BEGIN,
    OPERATION,
    STATUS,
    TIME,
    Form,
    figures_of,
    possible,
    together,
    whole_nanoseconds,
)
from loadcurve.tools.samples import times_of
from loadcurve.tools.source import Source, shown
from loadcurve.tools.text_lines import Lines

TESTED = {
    "go-ycsb-summary": ("1.0.1",),
    "go-ycsb-csv": ("1.0.1",),
}
"""By format, the versions whose real output it is tested with."""
COLUMNS = ("operation", "timestamp_us", "latency_us")
CSV = Table(
    what="a line of go-ycsb's CSV (measurementtype=csv)",
    columns=COLUMNS,
    used={"operation": ANY_TEXT, "timestamp_us": WHOLE_NUMBER, "latency_us": WHOLE_NUMBER},
)
_NS_PER_US = 1_000
_NS_PER_S = 1e9
_US_PER_MS = 1e3
_ERROR, _TOTAL = "_ERROR", "TOTAL"
_BOTH = "READ_MODIFY_WRITE"
"""Its parts are counted, too, and are those of all operations."""
_TAKES, _COUNT = "Takes(s)", "Count"
_NAMES = {
    "50th(us)": "p50", "90th(us)": "p90", "95th(us)": "p95", "99th(us)": "p99", "99.9th(us)": "p99_9",
    "99.99th(us)": "p99_99",
}  # fmt: skip
_FIGURES = (_TAKES, _COUNT, "Avg(us)", "Min(us)", "Max(us)")
"""Those that every version has; which percentiles there are, and whether there is a line of all, differs."""
_DURATION_CHARACTERS_MAX = 60
_LINE = re.compile(r"([A-Z_]{1,40}) *- (Takes\(s\): .*)")
_FINISHED = "Run finished, takes "
_JSON = TypeAdapter(list[dict[str, str]])

Row = dict[str, float]
"""The figures of an operation by their names."""


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as go-ycsb's CSV, alone or behind the properties that it prints first."""
    return head.startswith(",".join(COLUMNS).encode())


def is_summary(head: bytes) -> bool:
    """Say whether a file begins as go-ycsb's text or JSON."""
    return b" - Takes(s): " in head or (b'"Takes(s)":' in head and b'"Operation":' in head)


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of a CSV of go-ycsb."""
    left_out = LeftOut(source)
    return _figures(source, _operations(source, left_out, has_totals=False), None, left_out)


def read_load(
    source: Source, warmup_s: float, duration_s: float | None, interrupted_unix_s: float | None
) -> ToolFigures:
    """Return the figures of a CSV for the window of a load.

    After a warm-up it begins with the first operation that ended behind it. It lasts until the last one, or
    for the duration, if the load was not interrupted before.
    """
    left_out = LeftOut(source, is_strict=True)
    table = _operations(source, left_out, has_totals=True)
    if table is None:
        return _figures(source, None, None, left_out)
    first, last = _window(_whole(table))
    done = polars.col(BEGIN) + polars.col(TIME)
    begin = int(table.select(done.min()).item()) if warmup_s else first
    until = last if duration_s is None else begin + round(duration_s * _NS_PER_S)
    end = until if interrupted_unix_s is None else min(until, round(interrupted_unix_s * _NS_PER_S))
    # What ends later was under way at the end, or failed because of the interrupt.
    return _figures(source, table.filter(done <= end), (begin, end), left_out)


def _operations(source: Source, left_out: LeftOut, *, has_totals: bool) -> polars.DataFrame | None:
    """Return the lines but for those of all operations together, of which there are as many.

    A file of another version may lack these, unless it surely ``has_totals``.
    """
    name, totals, parts = polars.col("operation"), 0, []
    for block in tables(source, CSV, left_out):
        lines = block.filter(name != _TOTAL)
        totals += len(block) - len(lines)
        parts.append(
            lines.select(
                whole_nanoseconds("timestamp_us", _NS_PER_US).alias(BEGIN),
                whole_nanoseconds("latency_us", _NS_PER_US).alias(TIME),
                polars.when(name.str.ends_with(_ERROR))
                .then(0)
                .otherwise(ANSWERED)
                .cast(polars.Int16)
                .alias(STATUS),
                name.str.to_lowercase()
                .str.strip_suffix(_ERROR.lower())
                .cast(polars.Categorical)
                .alias(OPERATION),
            )
        )
    table = together(parts)
    answered = 0 if table is None else int((_whole(table)[STATUS] > 0).sum())
    if abs(answered - totals) > left_out.count and (totals or has_totals):
        # It ends itself ten seconds after an interrupt, whatever it has written until then.
        raise source.unreadable(
            None,
            f"{totals:,} lines of all operations together ({_TOTAL}), and {answered:,} of each",
            "as many; the file is cut off",
        )
    return table


def _whole(table: polars.DataFrame) -> polars.DataFrame:
    """Return the operations that are counted: not those whose parts are."""
    return table.filter(polars.col(OPERATION).cast(polars.String) != _BOTH.lower())


def _window(table: polars.DataFrame) -> tuple[int, int]:
    """Return when the first operation began and the last one ended."""
    end = (polars.col(BEGIN) + polars.col(TIME)).max()
    begin, last = table.select(polars.col(BEGIN).min().alias("begin"), end.alias("end")).row(0)
    return int(begin), int(last)


def _figures(
    source: Source, table: polars.DataFrame | None, window: tuple[int, int] | None, left_out: LeftOut
) -> ToolFigures:
    form = Form(tool="go-ycsb", resolution_ms=1e-3, is_epoch=True, has_failures=True, window=window)
    if table is None:
        return figures_of(source, form, [], left_out)
    table = possible(source, table, left_out)
    figures = figures_of(source, form, [_whole(table)], left_out)
    if figures.answered + (figures.failed or 0) == len(table):
        return figures
    both = table.filter(polars.col(OPERATION).cast(polars.String) == _BOTH.lower())
    times = times_of(both[TIME].to_numpy(), 1e-3)
    more = Operation(operation=_BOTH.lower(), answered=len(both), failed=0, latency_ms=times.distribution)
    operations = sorted([*figures.operations, more], key=lambda one: one.operation)
    return replace(figures, operations=operations)


def read_summary(source: Source) -> ToolFigures:
    """Return the figures of the last summary of go-ycsb, in text or in JSON."""
    lines = Lines(source)
    finished, took = lines.once(_FINISHED + r"(\S+)$", "go-ycsb's line Run finished")
    rows = _rows(lines, finished)
    _require_all(lines, rows, finished)
    lines.require_line_end("after go-ycsb's last summary")
    duration_s = _duration(took[1])
    if duration_s is None or duration_s <= 0:
        raise source.unreadable(finished, shown(took[1]), "the time that the run took", lines.read(finished))
    answered = {name: row for name, row in rows.items() if name != _TOTAL and not name.endswith(_ERROR)}
    failed = {
        name.removesuffix(_ERROR): int(row[_COUNT]) for name, row in rows.items() if name.endswith(_ERROR)
    }
    counted = sum(int(row[_COUNT]) for name, row in answered.items() if name != _BOTH)
    of_all = rows.get(_TOTAL) or (next(iter(answered.values())) if len(answered) == 1 else None)
    if _TOTAL in rows and counted < rows[_TOTAL][_COUNT]:
        what = f"all of the {rows[_TOTAL][_COUNT]:,.0f} of TOTAL by operation"
        raise lines.cut_off(what)
    return ToolFigures(
        tool="go-ycsb",
        basis="send",
        duration_s=duration_s,
        answered=int(rows[_TOTAL][_COUNT]) if _TOTAL in rows else counted,
        failed=sum(failed.values()),
        ok=int(rows[_TOTAL][_COUNT]) if _TOTAL in rows else counted,
        latency=None if of_all is None else _times(of_all),
        operations=[
            Operation(
                operation=name.lower(),
                answered=int(row[_COUNT]),
                failed=failed.get(name, 0),
                latency_ms=_times(row).distribution,
            )
            for name, row in sorted(answered.items())
        ],
        asked=_asked(lines),
    )


def _asked(lines: Lines) -> Asked:
    """Return what the properties say that it prints before anything else."""
    found = {match[1]: int(match[2]) for _, match in lines.all_of(r'"(threadcount|target)"="(\d{1,9})"$')}
    return Asked(threads=found.get("threadcount"), rate_rps=float(found.get("target", 0)) or None)


def _require_all(lines: Lines, rows: Mapping[str, Row], finished: int) -> None:
    """Raise ``Unreadable`` where the last summary lacks a line that stood in one before.

    Versions until 2020 have no line of all operations, whose place is behind some of the others.
    """
    before = {found[1].strip() for line in lines.lines[:finished] if (found := _LINE.fullmatch(line))}
    has_total = any("50th(us)" in row for row in rows.values())
    missing = sorted((before | {_TOTAL} if has_total else before) - rows.keys())
    if missing or not rows:
        name = missing[0] if missing else _TOTAL
        raise lines.cut_off(
            f"go-ycsb's last summary, with {'all operations (TOTAL)' if name == _TOTAL else name}"
        )


def _rows(lines: Lines, finished: int) -> dict[str, Row]:
    """Return the summary behind the run's end, or the last one, by operation."""
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines.lines[finished:], start=finished + 1):
        if found := _LINE.fullmatch(line):
            figures = dict(part.split(": ", 1) for part in found[2].split(", ") if ": " in part)
            rows[found[1].strip()] = _row(lines, number, figures)
        elif line.startswith("[{"):
            try:
                document = _JSON.validate_json(line)
            except ValidationError as error:
                raise lines.source.unreadable(number, shown(line), "go-ycsb's summary in JSON") from error
            for entry in document:
                rows[entry.get("Operation", "")] = _row(lines, number, entry)
    return rows


def _row(lines: Lines, number: int, figures: dict[str, str]) -> Row:
    if missing := [name for name in _FIGURES if name not in figures]:
        raise lines.source.unreadable(
            number, f"no {missing[0]}", f"all of {', '.join(_FIGURES)}", lines.read(number)
        )
    known = [name for name in (*_FIGURES, *_NAMES) if name in figures]
    row = {name: lines.value(number, figures[name], f"a number as {name}") for name in known}
    if min(row.values()) < 0 or row[_COUNT] != int(row[_COUNT]):
        raise lines.source.unreadable(number, "a number below 0", "numbers of 0 or more", lines.read(number))
    return row


def _duration(text: str) -> float | None:
    """Return a duration as Go writes it, such as ``1m2.5s``, in seconds."""
    if len(text) > _DURATION_CHARACTERS_MAX:
        return None
    parts = re.findall(rf"(\d{{1,9}}(?:\.\d{{1,9}})?)({UNIT})", text, re.ASCII)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    found_ms = sum(float(number) * float(UNITS_MS[unit]) for number, unit in parts)
    return timedelta(milliseconds=found_ms).total_seconds()


def _times(row: Row) -> Times:
    return Times(
        distribution=distribution(
            int(row[_COUNT]),
            minimum=row["Min(us)"] / _US_PER_MS,
            mean=row["Avg(us)"] / _US_PER_MS,
            maximum=row["Max(us)"] / _US_PER_MS,
            percentiles={ours: row[theirs] / _US_PER_MS for theirs, ours in _NAMES.items() if theirs in row},
        ),
        completeness="percentiles",
        resolution_ms=1e-3,
    )
