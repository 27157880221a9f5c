"""What k6 writes of each request: ``--out csv`` and ``--out json``.

The figures are those of the metric ``http_req_duration`` and its neighbours. Moments of the CSV are whole
seconds unless k6 was asked for others, so the window is only as exact, and short ones are refused.
"""

from collections.abc import Sequence
from dataclasses import replace

import polars

from loadcurve.tools.delimited import ANY_TEXT, DECIMAL, Table, header_of, require_each_once, tables
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.json_lines import json_lines
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.requests import (
    BEGIN,
    ERROR,
    STATUS,
    TIME,
    Form,
    figures_of,
    nanoseconds,
    require_long_window,
    together,
)
from loadcurve.tools.samples import times_of
from loadcurve.tools.source import Source

DURATION, CONNECTING, WAITING = "http_req_duration", "http_req_connecting", "http_req_waiting"
TESTED = {
    "k6-csv": ("0.30.0", "0.41.0", "1.0.0", "1.8.1", "2.2.0"),
    "k6-json": ("0.30.0", "0.41.0", "1.0.0", "1.8.1"),
    "k6-summary": ("0.30.0", "0.41.0", "1.0.0", "1.8.1", "2.2.0"),
    "k6-text": ("0.41.0", "1.8.1", "2.2.0"),
}
"""By format, the versions whose real output it is tested with."""
DROPPED = "dropped_iterations"
"""Those for which no virtual user was free."""
ITERATION = "iteration_duration"
"""Of an iteration of the script, in which it opens a connection before it sends its request."""
_KEPT = (DURATION, CONNECTING, WAITING, DROPPED)
REQUIRED = ("metric_name", "timestamp", "metric_value", "error", "status")
_NS_PER_MS = 10**6
_NS_PER_S = 10**9
_UNIT_NS = {10: 10**9, 13: 10**6, 16: 10**3, 19: 1}
"""The unit of a moment since 1970 by the number of its digits, from 2001 to 2286."""
_TAGS = polars.Struct({"status": polars.String, "error": polars.String})
_NO_SAMPLES = polars.DataFrame(
    schema={"metric": polars.String, "done": polars.Int64, "value": polars.Int64, "status": polars.String}
    | {ERROR: polars.String}
)
_JSON_TYPES = {
    "type": polars.String,
    "metric": polars.String,
    "data": polars.Struct({"time": polars.String, "value": polars.Float64, "tags": _TAGS}),
}


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as k6's CSV."""
    return head.startswith(b"metric_name,timestamp,metric_value,")


def is_json(head: bytes) -> bool:
    """Say whether a file begins as k6's JSON, with a sample on each line."""
    first = head.split(b"\n", 1)[0]
    return first.startswith(b"{") and b'"metric":' in first and b'"data":' in first and b'"type":' in first


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of ``k6 run --out csv=FILE``."""
    left_out = LeftOut(source)
    return _figures(source, _samples_of_csv(source, left_out), left_out)


def read_load(
    source: Source, warmup_s: float, duration_s: float | None, *, goes_on: bool = False
) -> ToolFigures:
    """Return the figures of a CSV for the window that begins some time after the first iteration.

    It lasts until k6 has ended its scenario, at the last request where no duration is given or where that
    comes later. If a load outlasts its window, that has the duration exactly. Without a request nothing
    was answered in it.
    """
    left_out = LeftOut(source, is_strict=True)
    samples = _samples_of_csv(source, left_out, (*_KEPT, ITERATION))
    durations = samples.filter(_is_of(DURATION))
    if not len(durations):
        return ToolFigures(
            tool="k6", version=None, basis="send", duration_s=duration_s or 0.0, answered=0, failed=0,
            never_sent=_dropped(samples),
        )  # fmt: skip
    _require_whole(source, samples)
    starts = samples.filter(_is_of(DURATION) | _is_of(ITERATION)).select(
        polars.col("done") - polars.col("value")
    )
    first = int(starts["done"].min())  # type: ignore[arg-type]
    begin = first + round(warmup_s * _NS_PER_S)
    last = int(durations["done"].max())  # type: ignore[arg-type]
    asked = last if duration_s is None else begin + round(duration_s * _NS_PER_S)
    end = asked if goes_on else max(asked, last)
    measured = samples.filter(polars.col("done").is_between(begin, end))
    # What is answered behind the last period is a few ms late, and counts in that.
    return replace(_figures(source, measured, left_out, (begin, asked)), duration_s=(end - begin) / _NS_PER_S)


def _samples_of_csv(source: Source, left_out: LeftOut, kept: Sequence[str] = _KEPT) -> polars.DataFrame:
    names = header_of(source)
    if missing := [name for name in REQUIRED if name not in names]:
        raise source.unreadable(
            1, f"no column {missing[0]}", f"k6's columns, among them {', '.join(REQUIRED)}"
        )
    require_each_once(source, names, "k6")
    form = Table(
        what="a line of k6's CSV",
        columns=tuple(names),
        used={
            "metric_name": ANY_TEXT,
            "timestamp": ANY_TEXT,
            "metric_value": DECIMAL,
            "error": ANY_TEXT,
            "status": ANY_TEXT,
        },
    )
    samples = (
        block.select(
            polars.col("metric_name").alias("metric"),
            _moment(source, block).alias("done"),
            nanoseconds("metric_value", _NS_PER_MS).alias("value"),
            "status",
            polars.col("error").alias(ERROR),
        ).filter(polars.col("metric").is_in(kept))
        for block in tables(source, form, left_out)
        if len(block)
    )
    found = together(samples)
    return _NO_SAMPLES if found is None else found


def _moment(source: Source, block: polars.DataFrame) -> polars.Expr:
    """Return moments as ns since 1970, in whatever form k6 was asked for."""
    first = str(block["timestamp"][0])
    if unit_ns := _UNIT_NS.get(len(first) if first.isdecimal() else 0):
        return polars.col("timestamp").cast(polars.Int64, strict=False) * unit_ns
    if "T" not in first:
        raise source.unreadable(None, f"timestamp {first[:40]!r}", "a moment as k6 writes it")
    moments = polars.col("timestamp").str.to_datetime(time_unit="ns", time_zone="UTC", strict=False)
    return moments.cast(polars.Int64)


def read_json(source: Source) -> ToolFigures:
    """Return the figures of ``k6 run --out json=FILE``."""
    left_out = LeftOut(source)
    data = polars.col("data").struct
    tags = data.field("tags").struct
    moment = data.field("time").str.to_datetime(time_unit="ns", time_zone="UTC", strict=False)
    samples = (
        block.filter((polars.col("type") == "Point") & polars.col("metric").is_in(_KEPT)).select(
            "metric",
            moment.cast(polars.Int64).alias("done"),
            (data.field("value") * _NS_PER_MS).round().cast(polars.Int64, strict=False).alias("value"),
            tags.field("status").fill_null("0").alias("status"),
            tags.field("error").fill_null("").alias(ERROR),
        )
        for block in json_lines(source, "a line of k6's JSON", _JSON_TYPES, ("type", "metric"), left_out)
    )
    found = together(samples)
    return _figures(source, _NO_SAMPLES if found is None else found, left_out)


def _figures(
    source: Source, samples: polars.DataFrame, left_out: LeftOut, window: tuple[int, int] | None = None
) -> ToolFigures:
    durations = samples.filter(_is_of(DURATION))
    if not len(durations) and window is None:
        raise source.unreadable(
            None, f"no sample of {DURATION}", "the requests of a script that asks by HTTP"
        )
    _require_whole(source, samples)
    table = durations.select(
        (polars.col("done") - polars.col("value")).alias(BEGIN),
        polars.col("value").alias(TIME),
        polars.col("status").cast(polars.Int16, strict=False).alias(STATUS),
        ERROR,
    )
    form = Form(tool="k6", resolution_ms=1e-6, is_epoch=True, has_failures=True, window=window)
    figures = figures_of(source, form, [table], left_out)
    in_whole_seconds = not int((samples["done"] % _NS_PER_S).sum())
    if in_whole_seconds and window is None:
        instead = "with K6_CSV_TIME_FORMAT=unix_nano k6 writes exact moments"
        require_long_window(source, figures.duration_s, instead)
    return ToolFigures(
        **{
            **vars(figures),
            "connect": _part(source, samples, CONNECTING, above=0),
            "connects_before": True,
            "first_byte": _part(source, samples, WAITING, above=-1),
            "connections_opened": len(samples.filter(_is_of(CONNECTING) & (polars.col("value") > 0))),
            "never_sent": _dropped(samples),
        }
    )


def _is_of(metric: str) -> polars.Expr:
    return polars.col("metric") == metric


def _require_whole(source: Source, samples: polars.DataFrame) -> None:
    if samples["done"].null_count() or samples["value"].null_count():
        raise source.unreadable(None, "a sample without a moment or without a value", "both of each sample")


def _dropped(samples: polars.DataFrame) -> int | None:
    """Return how many arrivals were dropped; ``None`` without any, as only loads with a rate count them."""
    dropped = samples.filter(_is_of(DROPPED))
    # All values were read as milliseconds.
    return int(dropped["value"].sum()) // _NS_PER_MS or None


def _part(source: Source, samples: polars.DataFrame, metric: str, *, above: int) -> Times | None:
    values = samples.filter(_is_of(metric) & (polars.col("status") != "0"))["value"]
    if len(values) and int(values.min()) < 0:  # type: ignore[arg-type]
        raise source.unreadable(None, f"a negative time of {metric}", "times of 0 or more")
    return times_of(values.filter(values > above).to_numpy(), 1e-6) if len(values) else None
