"""What h2load prints, its JSON (--output-file, from version 1.69 on) and its log of requests (--log-file)."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars

from loadcurve.generate.tools.counts import NS_PER_US, times_of_counts
from loadcurve.generate.tools.delimited import WHOLE_NUMBER, Table, tables
from loadcurve.generate.tools.figures import Times, ToolFigures
from loadcurve.generate.tools.left_out import LeftOut
from loadcurve.generate.tools.percentiles import distribution
from loadcurve.generate.tools.requests import BEGIN, STATUS, TIME, Form, figures_of, together
from loadcurve.generate.tools.source import Source, shown
from loadcurve.generate.tools.text_lines import Lines
from loadcurve.result.distribution import Distribution

_MS_PER_S = 1e3
_UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0, "min": 60_000.0, "h": 3_600_000.0}
_TIME = r"(\d[\d.]*[a-z]+)"
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
        r"requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed, "
        r"(\d+) errored, (\d+) timeout$",
        'h2load\'s line "requests: … total, … started, … done, …"',
    )
    _, _, done, succeeded, _, errored, timed_out = map(int, counts.groups())
    number, finished = lines.once(
        rf"finished in {_TIME}, (\d[\d.]*) req/s, ", 'h2load\'s line "finished in …"'
    )
    length_ms = _milliseconds(lines, number, finished[1])
    rate = lines.value(number, finished[2], "requests per second")
    _, statuses = lines.once(
        r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx$", 'h2load\'s line "status codes:"'
    )
    status = {f"{first}xx": int(count) for first, count in enumerate(statuses.groups(), start=2)}
    _, traffic = lines.once(
        r"traffic: \S+ \((\d+)\) total, \S+ \((\d+)\) headers .*, \S+ \((\d+)\) data$",
        'h2load\'s line "traffic:"',
    )
    received, header, body = map(int, traffic.groups())
    columns = _columns(lines)
    lines.once(
        r"req/s +:(?: +\d[\d.]*){4,8} +\d[\d.]*%$", "the last line of h2load's table of times (req/s)"
    )  # fmt: skip
    # What it has finished in includes its warm-up; its rate does not.
    has_rate = succeeded > 0 and rate > 0
    duration_s = succeeded / rate if has_rate else length_ms / _MS_PER_S
    if duration_s <= 0:
        raise source.unreadable(number, "a load that took no time", "the requests of a load")
    return _figures(
        duration_s,
        (done, errored, timed_out),
        status,
        (received, header, body),
        latency=_of_text(lines, columns, "request", sum(status.values())),
        connect=_of_text(lines, columns, "connect", None),
        first_byte=_of_text(lines, columns, "1st byte|TTFB", None),
    )


def read_json(source: Source) -> ToolFigures:
    """Return the figures of the JSON, whose times are in s; raises ``Unreadable``."""
    try:
        written = json.loads(source.text())
        measured = written["measurements"]
        requests, traffic, times = measured["requests"], measured["traffic"], measured["performance"]
        status = {name: int(measured["status_codes"].get(name, 0)) for name in ("2xx", "3xx", "4xx", "5xx")}
        return _figures(
            _duration(measured["duration"]),
            (int(requests["done"]), int(requests["errored"]), int(requests["timeout"])),
            status,
            (int(traffic["total"]), int(traffic["headers"]), int(traffic["data"])),
            latency=_of_samples(times["request"], sum(status.values())),
            connect=_of_samples(times["connect"], None),
            first_byte=_of_samples(times["ttfb"], None),
            version=_version(written.get("metadata", {}).get("generator")),
        )
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise source.unreadable(
            None, f"JSON of another format ({error})", "that of h2load, version v1"
        ) from error


def read_log(source: Source) -> ToolFigures:
    """Return the figures of the log of all requests (``--log-file``); a status of -1 is a failure."""
    left_out = LeftOut(source)
    blocks = (
        block.select(
            (polars.col("begin_us") * NS_PER_US).alias(BEGIN),
            (polars.col("time_us") * NS_PER_US).alias(TIME),
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
    return figures_of(source, _LOG_FORM, together(blocks), left_out)


def _version(generator: object) -> str | None:
    """Return the version in what the JSON says of its generator, such as ``h2load 1.70.0``."""
    found = re.fullmatch(r"h2load (\S+)", generator, re.ASCII) if isinstance(generator, str) else None
    return None if found is None else found[1]


def _duration(value: object) -> float:
    duration_s = float(str(value))
    if not 0 < duration_s < float("inf"):
        raise ValueError(f"a duration of {duration_s}")
    return duration_s


def _figures(
    duration_s: float,
    ends: tuple[int, int, int],
    status: Mapping[str, int],
    bytes_: tuple[int, int, int],
    version: str | None = None,
    **times: Times | None,
) -> ToolFigures:
    """Return the figures; of those that are done, what has no status has failed."""
    done, errored, timed_out = ends
    answered = sum(status.values())
    received, header, body = bytes_
    # Where it has a warm-up, its counts of header and body include that, and the total does not.
    is_of_window = header + body <= received
    return ToolFigures(
        tool="h2load",
        version=version,
        basis="send",
        duration_s=duration_s,
        answered=answered,
        ok=sum(count for name, count in status.items() if name < "4"),
        failed=max(errored, timed_out, done - answered),
        errors={"timeout": timed_out},
        status={f"{first}xx": status.get(f"{first}xx", 0) for first in range(1, _STATUSES + 1)},
        latency=times["latency"],
        connect=times["connect"],
        first_byte=times["first_byte"],
        bytes_received=received,
        bytes_header=header if is_of_window else None,
        bytes_body=body if is_of_window else None,
    )


def _milliseconds(lines: Lines, number: int, text: str) -> float:
    found = re.fullmatch(r"(\d[\d.]*)([a-z]+)", text, re.ASCII)
    what = "a time with its unit, such as 1.50s"
    if found is None or found[2] not in _UNITS_MS:
        raise lines.source.unreadable(number, shown(text), what, lines.read(number))
    return lines.value(number, found[1], what) * _UNITS_MS[found[2]]


def _columns(lines: Lines) -> list[str]:
    """Return the names of the columns of the table of times, which newer versions have more of."""
    _, found = lines.once(r" +(min +max ++.*mean +sd) +\+/- sd$", "the head of h2load's table of times")
    return found[1].split()


def _of_text(lines: Lines, columns: Sequence[str], label: str, count: int | None) -> Times | None:
    """Return a row of the table of times; ``None`` where it has none but zeros."""
    times = " +".join([_TIME] * len(columns))
    number, found = lines.once(
        rf"(?:time (?:for|to) )?(?:{label}) *: +{times} +\d[\d.]*%$", f"the times of h2load ({label})"
    )  # fmt: skip
    row = {
        name: _milliseconds(lines, number, text) for name, text in zip(columns, found.groups(), strict=True)
    }
    if not row["max"]:
        return None
    samples = count or 0
    given = {ours: row[theirs] for theirs, ours in _PERCENTILES.items() if theirs in row}
    return Times(
        distribution=distribution(
            samples, minimum=row["min"], mean=row["mean"], stddev=row["sd"], maximum=row["max"],
            percentiles=given,
        )
        if count is not None
        else _of_unknown_count(row),
        completeness="percentiles" if given else "summary",
        resolution_ms=None,
    )  # fmt: skip


def _of_unknown_count(row: Mapping[str, float]) -> Distribution:
    """Return times of which it is not known how many they are, so that these bound no percentile."""
    return Distribution(
        count=0, min=row["min"], mean=row["mean"], stddev=row["sd"], p50=None, p75=None, p90=None, p95=None,
        p99=None, p99_9=None, p99_99=None, max=row["max"],
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
