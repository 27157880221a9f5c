"""What vegeta writes: ``encode -to csv``, ``encode -to json`` and ``report -type json``.

In versions until 8 that is ``dump -dumper csv``, ``dump -dumper json`` and ``report -reporter json``.
"""

import csv
import re
from collections.abc import Iterable
from datetime import datetime

import polars
from pydantic import Field

from loadcurve.tools.blocks import BLOCK_BYTES
from loadcurve.tools.delimited import ANY_TEXT, WHOLE_NUMBER, Table, tables
from loadcurve.tools.errors import errors_of
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.json_lines import json_lines
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, contradiction_of
from loadcurve.tools.requests import BEGIN, BODY, ERROR, STATUS, TIME, Form, figures_of
from loadcurve.tools.source import Json, Source, json_of

_NS_PER_S, _NS_PER_MS = 1e9, 1e6
TESTED = {
    "vegeta-csv": ("7.0.3", "8.0.0", "12.8.4", "12.13.0"),
    "vegeta-json": ("7.0.3", "8.0.0", "12.13.0"),
    "vegeta-report": ("7.0.3", "8.0.0", "12.8.4", "12.12.0", "12.13.0"),
    "vegeta-text": ("7.0.3", "8.0.0", "12.8.4", "12.12.0", "12.13.0"),
}
"""By format, the versions whose real output it is tested with."""
NO_TIMES = "latencies of answers: vegeta summarises those of failures with them"
_OF_REPORT = (b'"latencies":', b'"bytes_in":', b'"earliest":', b'"status_codes":')
_STATUS_TEXT = re.compile(r"[1-5]\d\d(?: |$)")
COLUMNS = (
    "timestamp", "code", "latency", "bytes_out", "bytes_in", "error", "body", "attack", "seq", "method",
    "url", "headers",
)  # fmt: skip
WIDTHS = (7, 9, len(COLUMNS))
"""How many of the columns a line has: until version 7, until 12.7, and since."""
_USED = {
    "timestamp": WHOLE_NUMBER,
    "code": WHOLE_NUMBER,
    "latency": WHOLE_NUMBER,
    "bytes_in": WHOLE_NUMBER,
    "error": ANY_TEXT,
}
_JSON_TYPES = {
    "timestamp": polars.String,
    "code": polars.Int64,
    "latency": polars.Int64,
    "bytes_in": polars.Int64,
    "error": polars.String,
}
_REQUESTS = Form(tool="vegeta", resolution_ms=1e-6, is_epoch=True, has_failures=True, has_body=True)


class _Latencies(Json):
    mean: int = Field(ge=0)
    p50: int = Field(alias="50th", ge=0)
    p90: int | None = Field(None, alias="90th", ge=0)
    """Since version 12.8, as the shortest one."""
    p95: int = Field(alias="95th", ge=0)
    p99: int = Field(alias="99th", ge=0)
    max: int = Field(ge=0)
    min: int | None = Field(None, ge=0)


class _Bytes(Json):
    total: int = Field(ge=0)


class _Report(Json):
    latencies: _Latencies
    bytes_in: _Bytes
    earliest: str
    duration: int = Field(ge=0)
    wait: int = Field(ge=0)
    requests: int = Field(gt=0)
    rate: float | None = Field(None, ge=0)
    status_codes: dict[str, int]
    errors: list[str] | None


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as vegeta's CSV, which has no names of columns."""
    fields = head.split(b"\n", 1)[0].split(b",")
    known = (0, 1, 2, 3, 4)
    return len(fields) >= WIDTHS[0] and all(fields[place].strip().isdigit() for place in known)


def is_json(head: bytes) -> bool:
    """Say whether a file begins as vegeta's JSON, with a request on each line."""
    begins = re.match(rb'\{\s?"attack"\s?:', head) is not None and b'"seq":' in head
    begins_as_7 = re.match(rb'\{\s?"code"\s?:', head) is not None and b'"bytes_out":' in head
    return (begins or begins_as_7) and b'"latency":' in head


def is_report(head: bytes) -> bool:
    """Say whether a file begins as a report of vegeta in JSON."""
    return head.lstrip().startswith(b"{") and all(name in head for name in _OF_REPORT)


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of ``vegeta encode -to csv``."""
    left_out = LeftOut(source)
    blocks = map(_requests, tables(source, _form(source), left_out))
    return figures_of(source, _REQUESTS, blocks, left_out)


def _form(source: Source) -> Table:
    """Return the form of a CSV by the columns of its first line; raises ``Unreadable`` for another one."""
    with source.opened() as file:
        line = file.readline(BLOCK_BYTES)
    try:
        width = len(next(csv.reader([line.decode("utf-8-sig", "replace")])))
    except (csv.Error, StopIteration):
        width = 0
    what = "a line of vegeta's CSV (encode -to csv)"
    if width not in WIDTHS:
        raise source.unreadable(
            1, f"{width} columns", f"{what}, of 7, 9 or {len(COLUMNS)} columns ({','.join(COLUMNS)})"
        )
    return Table(what=what, columns=COLUMNS[:width], used=_USED, has_header=False)


def read_json(source: Source) -> ToolFigures:
    """Return the figures of ``vegeta encode -to json``."""
    what = "a request of vegeta's JSON (encode -to json)"
    required = ("timestamp", "code", "latency", "bytes_in")
    left_out = LeftOut(source)
    blocks = json_lines(source, what, _JSON_TYPES, required, left_out)
    moment = polars.col("timestamp").str.to_datetime(time_unit="ns", time_zone="UTC", strict=False)
    return figures_of(
        source,
        _REQUESTS,
        (
            _requests(
                block.with_columns(
                    moment.cast(polars.Int64).alias("timestamp"), polars.col("error").fill_null("")
                )
            )
            for block in blocks
        ),
        left_out,
    )


def _requests(block: polars.DataFrame) -> polars.DataFrame:
    return block.select(
        polars.col("timestamp").alias(BEGIN),
        polars.col("latency").alias(TIME),
        polars.col("code").cast(polars.Int16, strict=False).alias(STATUS),
        polars.col("bytes_in").alias(BODY),
        polars.col("error").alias(ERROR),
    )


def read_report(source: Source) -> ToolFigures:
    """Return the figures of ``vegeta report -type json``.

    Its latencies are of failures, too, so where there were any they are not those of answers.
    """
    report = json_of(source, _Report, "a report of vegeta (report -type json)")
    status: dict[str, int] = {}
    failed = 0
    for code, count in report.status_codes.items():
        if count < 0 or not (
            code == "0" or (code.isdecimal() and code[0] in "12345" and len(code) == len("200"))
        ):
            raise source.unreadable(None, f"status_codes.{code} = {count}", "counts by status")
        if code == "0":
            failed += count
        else:
            status[f"{code[0]}xx"] = status.get(f"{code[0]}xx", 0) + count
    if failed + sum(status.values()) != report.requests:
        raise source.unreadable(
            None, f"{failed + sum(status.values()):,} requests by status", f"all of its {report.requests:,}"
        )
    if not report.duration + report.wait:
        raise source.unreadable(None, "a duration of 0", "an attack that took some time")
    times = report.latencies
    percentiles = {
        name: getattr(times, name) / _NS_PER_MS
        for name in ("p50", "p90", "p95", "p99")
        if getattr(times, name)
    }
    latency = Times(
        distribution=distribution(
            report.requests,
            minimum=None if times.min is None else times.min / _NS_PER_MS,
            mean=times.mean / _NS_PER_MS,
            maximum=times.max / _NS_PER_MS,
            percentiles=percentiles,
        ),
        completeness="percentiles",
        resolution_ms=1e-6,
    )
    try:
        began = datetime.fromisoformat(
            report.earliest[:19] + "+00:00" if report.earliest.endswith("Z") else ""
        )
    except ValueError:
        began = None
    return ToolFigures(
        tool="vegeta",
        basis="send",
        duration_s=(report.duration + report.wait) / _NS_PER_S,
        answered=report.requests - failed,
        failed=failed,
        began_unix_s=None if began is None else began.timestamp(),
        errors=errors_by_class(report.errors or (), failed),
        status=status,
        latency=latency if not failed else None,
        bytes_body=report.bytes_in.total,
        contradictions=_contradictions(report),
        not_measured=[NO_TIMES] if failed else [],
    )


def errors_by_class(texts: Iterable[str], failed: int) -> dict[str, int]:
    """Return the failures by class where all have one text; error statuses have theirs there, too."""
    of_failures = [text for text in texts if text.strip() and not _STATUS_TEXT.match(text)]
    return errors_of({of_failures[0]: failed}) if failed and len(of_failures) == 1 else {}


def _contradictions(report: _Report) -> list[str]:
    """Return what does not fit together; its rate is without the wait for the last answer."""
    if report.rate is None:
        return []
    sending_s = Printed.exact(report.duration / _NS_PER_S)
    found = contradiction_of(report.requests, Printed.exact(report.rate), sending_s)
    return [found] if found else []
