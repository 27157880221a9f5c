"""What h2load prints, its JSON (--output-file, from version 1.69 on) and its log of requests (--log-file)."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import polars

from loadcurve.protocol import HTTP1_1, HTTP2, HttpVersion
from loadcurve.tools.counts import NS_PER_US, times_of_counts
from loadcurve.tools.delimited import WHOLE_NUMBER, Table, tables
from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.pasted import another_behind, without_rest
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import UNITS_MS, Printed, Window, window_of
from loadcurve.tools.requests import (
    BEGIN,
    STATUS,
    TIME,
    Form,
    figures_of,
    whole_nanoseconds,
)
from loadcurve.tools.source import Source, shown
from loadcurve.tools.text_lines import Lines

TESTED = {
    "h2load-text": ("1.52.0", "1.70.90"),
    "h2load-json": ("1.70.90",),
    "h2load-log": ("1.52.0", "1.70.90"),
}
"""By format, the versions whose real output it is tested with."""
_UNITS_MS = {**UNITS_MS, "min": UNITS_MS["m"]}
_COUNT = r"(\d{1,18})"
_TIME = r"(\d[\d.]*[a-zµμ]+)"
_HTTP: Mapping[str, HttpVersion] = {"http/1.1": HTTP1_1, "h2": HTTP2, "h2c": HTTP2}
"""By the names of the protocols in TLS and in clear text."""
_PERCENTILES = {"median": "p50", "p95": "p95", "p99": "p99"}
_LOGGED = re.compile(rb"\d{16}\t(-1|[1-5]\d\d)\t\d{1,12}\n")
_LOG = Table(
    what="a line of h2load's log (--log-file)",
    columns=("begin_us", "status", "time_us"),
    used={"begin_us": WHOLE_NUMBER, "status": WHOLE_NUMBER, "time_us": WHOLE_NUMBER},
    has_header=False,
    separator="\t",
)
_LOG_FORM = Form(tool="h2load", resolution_ms=1e-3, is_epoch=True, has_failures=True)
_FAILED = -1
NOT_LOGGED = "failures of requests whose connection ended: h2load does not log them"
NO_CLASSES = "answers by class of their status: h2load counts those whose body never ended with them"
_STATUSES = 5


def is_text(head: bytes) -> bool:
    """Say whether a file begins as the text of h2load."""
    return b"finished in " in head and b"status codes: " in head


def is_json(head: bytes) -> bool:
    """Say whether a file begins as the JSON of h2load."""
    return b'"measurements"' in head and b'"generator"' in head


def is_log(head: bytes) -> bool:
    """Say whether a file begins as the log of h2load, which has no names of columns."""
    return _LOGGED.match(head) is not None


def read_text(source: Source) -> ToolFigures:
    """Return the figures of the text; raises ``Unreadable``."""
    lines = Lines(source)
    _, counts = lines.once(
        rf"requests: {_COUNT} total, {_COUNT} started, {_COUNT} done, {_COUNT} succeeded, {_COUNT} failed, "
        rf"{_COUNT} errored, {_COUNT} timeout$",
        'h2load\'s line "requests: … total, … started, … done, …"',
    )
    _, _, _, succeeded, failed, errored, timed_out = map(int, counts.groups())
    ends = _Ends(succeeded, failed, errored, timed_out)
    number, finished = lines.once(
        rf"finished in {_TIME}, (\d[\d.]*) req/s, ", 'h2load\'s line "finished in …"'
    )
    rate_rps = lines.printed(number, finished[2], "requests per second")
    _, statuses = lines.once(
        rf"status codes: {_COUNT} 2xx, {_COUNT} 3xx, {_COUNT} 4xx, {_COUNT} 5xx$",
        'h2load\'s line "status codes:"',
    )
    status = {f"{first}xx": int(count) for first, count in enumerate(statuses.groups(), start=2)}
    _, traffic = lines.once(
        rf"traffic: \S+ \({_COUNT}\) total, \S+ \({_COUNT}\) headers .*, \S+ \({_COUNT}\) data$",
        'h2load\'s line "traffic:"',
    )
    received, header, body = map(int, traffic.groups())
    columns = _columns(lines)
    lines.once(
        r"req/s +:(?: +\d[\d.]*){4,8} +\d[\d.]*%$", "the last line of h2load's table of times (req/s)"
    )  # fmt: skip
    spawned = _spawned(lines)
    took_s = _time(lines, number, finished[1], _UNITS_MS["s"])
    window = _window(ends.answered, rate_rps, took_s, spawned)
    if window.duration_s <= 0:
        raise source.unreadable(number, "a load that took no time", "the requests of a load")
    return _figures(
        window,
        ends,
        status,
        (received, header, body),
        asked=spawned.asked,
        latency=_of_text(lines, columns, "request", ends.answered),
        connect=_of_text(lines, columns, "connect", None),
        first_byte=_of_text(lines, columns, "1st byte|TTFB", None),
    )


@dataclass(frozen=True, slots=True)
class _Ends:
    """How requests ended, as h2load counts them."""

    succeeded: int
    """With a status below 400."""
    failed: int
    """With another status, or with none."""
    errored: int
    """Of those that failed: without an answer."""
    timed_out: int

    @property
    def answered(self) -> int:
        """Those of its rate (``req_success`` in its source): ended as they should, with any status."""
        return self.succeeded + max(self.failed - self.errored, 0)


@dataclass(frozen=True, slots=True)
class _Spawned:
    """What h2load says of the load when it starts its threads."""

    asked: Asked
    warmup_s: float | None = None
    """``None`` where it has no duration, or does not say it."""


def _spawned(lines: Lines) -> _Spawned:
    """Return what the lines of the threads say together; nothing where they were left out."""
    threads = lines.all_of(
        r"spawning thread #\d+: (\d{1,9}) (?:total client\(s\)\.|concurrent clients,)(?P<rest> .*)$"
    )
    spoken = lines.optional(r"Application protocol: (\S+)$", 'h2load\'s line "Application protocol:"')
    http = _HTTP.get(spoken[1][1]) if spoken else None
    if not threads:
        return _Spawned(Asked(http=http))
    rests = [match["rest"] for _, match in threads]
    timed = [re.search(r"with (\S+)s of warm-up time and (\S+)s of main duration", rest) for rest in rests]
    totals = [re.search(r"(\d{1,15}) total requests", rest) for rest in rests]
    # At a rate of connections it is not known how many there are at once.
    at_once = not any("will be created every" in rest for rest in rests)
    first = timed[0]
    warmup_s, duration_s = (
        (None, None)
        if first is None
        else (lines.value(threads[0][0], text, "seconds of h2load's load") for text in first.groups())
    )
    return _Spawned(
        Asked(
            connections=sum(int(match[1]) for _, match in threads) if at_once else None,
            threads=len(threads),
            duration_s=duration_s or None,
            requests_total=None
            if first or None in totals
            else sum(int(total[1]) for total in totals if total is not None),
            http=http,
        ),
        warmup_s,
    )


def _window(answered: int, rate: Printed, took: Printed, spawned: _Spawned) -> Window:
    """Return the window.

    What a load of a duration has finished in includes its warm-up; its rate does not.
    """
    length_s = spawned.asked.duration_s
    if length_s is not None:
        return window_of(answered, rate, Printed(length_s, 0.0), counted="answers")
    if answered and rate.value > 0 and answered / rate.value < took.value - took.step:
        # Where the lines of the threads were left out, only the rate knows.
        return Window(answered / rate.value)
    return window_of(answered, rate, took, counted="answers")


def read_json(source: Source) -> ToolFigures:
    """Return the figures of the JSON, whose times are in s; raises ``Unreadable``."""
    text = without_rest(source.text())
    if another_behind(text):
        expected = "that of one load of h2load; split the file into one per load"
        raise source.unreadable(None, "another document behind the first one", expected)
    try:
        written = json.loads(text)
        measured = written["measurements"]
        requests, traffic, times = measured["requests"], measured["traffic"], measured["performance"]
        status = {name: int(measured["status_codes"].get(name, 0)) for name in ("2xx", "3xx", "4xx", "5xx")}
        ends = _Ends(*(int(requests[name]) for name in ("succeeded", "failed", "errored", "timeout")))
        rate_rps = _positive(measured["request_per_second"], or_zero=True)
        took_s = _positive(measured["duration"])
        return _figures(
            _window(
                ends.answered,
                Printed.exact(rate_rps),
                Printed.exact(took_s),
                _Spawned(Asked()),
            ),
            ends,
            status,
            (int(traffic["total"]), int(traffic["headers"]), int(traffic["data"])),
            asked=Asked(),
            latency=_of_samples(times["request"], ends.answered),
            connect=_of_samples(times["connect"], None),
            first_byte=_of_samples(times["ttfb"], None),
            version=_version(written.get("metadata", {}).get("generator")),
        )
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise source.unreadable(
            None, f"JSON of another format ({error})", "that of h2load, version v1"
        ) from error


def read_log(source: Source) -> ToolFigures:
    """Return the figures of the log of requests (``--log-file``); a status of -1 is a failure.

    Requests that end with their connection are not in it: without a -1 it is not known how many failed.
    """
    left_out = LeftOut(source)
    blocks = (
        block.select(
            whole_nanoseconds("begin_us", NS_PER_US).alias(BEGIN),
            whole_nanoseconds("time_us", NS_PER_US).alias(TIME),
            # A status below -1 is none, and refused with its place.
            polars.when(polars.col("status") == _FAILED)
            .then(0)
            .when(polars.col("status") <= 0)
            .then(-1)
            .otherwise(polars.col("status"))
            .cast(polars.Int16, strict=False)
            .alias(STATUS),
        )
        for block in tables(source, _LOG, left_out)
    )
    figures = figures_of(source, _LOG_FORM, blocks, left_out)
    return replace(figures, failed=figures.failed or None, not_measured=[*figures.not_measured, NOT_LOGGED])


def _version(generator: object) -> str | None:
    """Return the version in what the JSON says of its generator, such as ``h2load 1.70.0``."""
    found = re.fullmatch(r"h2load (\S+)", generator, re.ASCII) if isinstance(generator, str) else None
    return None if found is None else found[1]


def _positive(value: object, *, or_zero: bool = False) -> float:
    number = float(str(value))
    if not (number > 0 or (or_zero and number == 0)) or number == float("inf"):
        raise ValueError(f"a duration or a rate of {number}")
    return number


def _figures(
    window: Window,
    ends: _Ends,
    status: Mapping[str, int],
    bytes_: tuple[int, int, int],
    *,
    asked: Asked,
    version: str | None = None,
    **times: Times | None,
) -> ToolFigures:
    """Return the figures.

    A status counts when the head of an answer comes, also of one whose body never ends.
    """
    received, header, body = bytes_
    # Where it has a warm-up, its counts of header and body include that, and the total does not.
    is_of_window = header + body <= received
    is_of_answers = sum(status.values()) <= ends.answered
    return ToolFigures(
        tool="h2load",
        version=version,
        basis="send",
        duration_s=window.duration_s,
        answered=ends.answered,
        ok=ends.succeeded,
        failed=max(ends.errored, ends.timed_out),
        errors={"timeout": ends.timed_out},
        status={f"{first}xx": status.get(f"{first}xx", 0) for first in range(1, _STATUSES + 1)}
        if is_of_answers
        else None,
        latency=times["latency"],
        connect=times["connect"],
        first_byte=times["first_byte"],
        bytes_received=received,
        bytes_header=header if is_of_window else None,
        bytes_body=body if is_of_window else None,
        asked=asked,
        contradictions=[window.contradiction] if window.contradiction else [],
        not_measured=[] if is_of_answers else [NO_CLASSES],
    )


def _time(lines: Lines, number: int, text: str, per_unit: Decimal | int) -> Printed:
    """Return a time as it is printed, where 1 is ``per_unit`` ms."""
    found = re.fullmatch(r"(\d[\d.]*)([a-zµμ]+)", text, re.ASCII)
    what = "a time with its unit, such as 1.50s"
    if found is None or found[2] not in _UNITS_MS:
        raise lines.source.unreadable(number, shown(text), what, lines.read(number))
    return lines.printed(number, found[1], what, _UNITS_MS[found[2]] / per_unit)


def _columns(lines: Lines) -> list[str]:
    """Return the names of the columns of the table of times, which newer versions have more of."""
    _, found = lines.once(
        r" +(min +max(?: +(?:median|p95|p99))*+ +mean +sd) +\+/- sd$", "the head of h2load's table of times"
    )
    return found[1].split()


def _of_text(lines: Lines, columns: Sequence[str], label: str, count: int | None) -> Times | None:
    """Return a row of the table of times; ``None`` where it has none but zeros."""
    times = " +".join([_TIME] * len(columns))
    number, found = lines.once(
        rf"(?:time (?:for|to) )?(?:{label}) *: +{times} +\d[\d.]*%$", f"the times of h2load ({label})"
    )  # fmt: skip
    shown = {name: _time(lines, number, text, 1) for name, text in zip(columns, found.groups(), strict=True)}
    row = {name: time.value for name, time in shown.items()}
    if not row["max"]:
        return None
    given = {ours: row[theirs] for theirs, ours in _PERCENTILES.items() if theirs in row}
    return Times(
        distribution=distribution(
            count, minimum=row["min"], mean=row["mean"], stddev=row["sd"], maximum=row["max"],
            percentiles=given,
        ),
        completeness="percentiles" if given else "summary",
        # Below a ms it prints whole µs, and otherwise two decimals of a unit that grows with the time.
        resolution_ms=max(time.step for time in shown.values()),
    )  # fmt: skip


def _of_samples(times: Mapping[str, Any], answered: int | None) -> Times | None:
    """Return the times of all samples in s; beyond a million requests these are a part of them."""
    samples: Sequence[float] = times["samples"]
    if not samples:
        return None
    counted = Counter(round(sample * 1e6) for sample in samples)
    found = times_of_counts(counted, NS_PER_US)
    sampled = answered is not None and answered > len(samples)
    return Times(
        distribution=found.distribution,
        completeness="sampled" if sampled else "complete",
        resolution_ms=found.resolution_ms,
        histogram=None if sampled else found.histogram,
    )
