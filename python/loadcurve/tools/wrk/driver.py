"""wrk: a closed loop, whose script prints every latency with its count."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from loadcurve.tools.counts import NS_PER_US, times_of_counts
from loadcurve.tools.driver import Output, WebToolRequest
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.source import Source
from loadcurve.tools.text_lines import Lines
from loadcurve.tools.wrk.reader import outcomes

_SCRIPT = Path(__file__).with_name("report.lua")
_MARK: Final = "loadcurve "
_EXPECTED: Final = "the line of JSON that the script of Loadcurve prints"


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    return arguments_with(_SCRIPT, wanted)


def arguments_with(script: Path, wanted: WebToolRequest) -> Sequence[str]:
    """Return the words that wrk and wrk2 have in common, with a script."""
    load = wanted.load
    return [
        "--threads", str(wanted.threads),
        "--connections", str(load.connections_at_once),
        "--duration", f"{math.ceil(load.duration_s or 0)}s",
        "--timeout", f"{load.timeout_s:.0f}s",
        "--script", str(script),
        *wanted.headers("--header"),
        wanted.url,
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:
    """Return what the script has printed."""
    return read_report(output.text, wanted.load.connections_at_once)


@dataclass(frozen=True)
class Report:
    """What the script has printed."""

    line: int
    duration_us: int
    requests: int
    received: int
    """Bytes."""
    status: int
    """Answers with a status of 400 or more."""
    failed: Mapping[str, int]
    counts: dict[int, int]
    """How often each latency in µs was counted."""

    @classmethod
    def found_in(cls, source: Source) -> Self:
        """Read the line of the script; raises ``Unreadable``."""
        line, report = _line_of(source)
        try:
            return cls(
                line=line,
                duration_us=int(report["duration_us"]),
                requests=int(report["requests"]),
                received=int(report["bytes"]),
                status=int(report["status"]),
                failed={name: int(report[name]) for name in ("connect", "read", "write", "timeout")},
                counts={int(time_us): int(count) for time_us, count in report["latencies"]},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise source.unreadable(line, f"a line without {error}", _EXPECTED) from error


def read_report(source: Source, connections: int) -> ToolFigures:
    """Return the figures of a load on some connections, of which the script has printed the report."""
    report = Report.found_in(source)
    measured = without_corrections(report.counts, report.requests, report.duration_us, connections)
    answered, failed = outcomes("wrk", report.requests, report.failed)
    if sum(measured.values()) != answered:
        found = f"{sum(measured.values()):,} latencies of {answered:,} answers"
        raise source.unreadable(report.line, found, "one latency of each answer that came in time")
    return ToolFigures(
        tool="wrk",
        basis="send",
        duration_s=report.duration_us / 1e6,
        answered=answered,
        ok=max(answered - report.status, 0),
        failed=sum(failed.values()),
        errors={"timeout": failed["timeout"]},
        latency=times_of_counts(measured, NS_PER_US),
        bytes_received=report.received,
    )


def without_corrections(
    counts: dict[int, int], requests: int, duration_us: int, connections: int
) -> dict[int, int]:
    """Return how often each time in µs was measured, without those that wrk has added.

    For each time of twice the mean interval between a connection's requests or more, wrk counts others that
    are shorter by one interval, two and so on, down to one interval (``stats_correct`` in its source). It
    goes upwards, so nothing is added to a time after those that follow from it: downwards all can be undone.
    """
    rounds = requests // connections
    interval_us = duration_us // rounds if rounds else 0
    measured = dict(counts)
    if not interval_us:
        return measured
    for time_us in sorted(counts, reverse=True):
        count = measured.get(time_us, 0)
        if time_us < 2 * interval_us:
            break
        for shorter_us in range(time_us - interval_us, interval_us, -interval_us) if count else ():
            measured[shorter_us] = measured.get(shorter_us, 0) - count
    return {time_us: count for time_us, count in sorted(measured.items()) if count}


def _line_of(source: Source) -> tuple[int, dict[str, Any]]:
    """Return the line of the report, and what it holds."""
    line, found = Lines(source).once(rf"{_MARK}(\{{.*)$", _EXPECTED)
    try:
        report: dict[str, Any] = json.loads(found[1])
    except ValueError as error:
        raise source.unreadable(line, "a truncated line", _EXPECTED) from error
    return line, report
