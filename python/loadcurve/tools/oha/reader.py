"""What oha writes: ``--output-format json`` and ``--output-format csv``; its text has a separate module.

Whether ``--latency-correction`` was given is in neither, so times count as from when requests were sent.
"""

import polars
from pydantic import Field

from loadcurve.tools.delimited import DECIMAL, WHOLE_NUMBER, Table, tables
from loadcurve.tools.errors import errors_of
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, contradiction_of
from loadcurve.tools.requests import (
    BEGIN,
    BODY,
    CONNECT,
    FIRST_BYTE,
    STATUS,
    TIME,
    Form,
    figures_of,
    nanoseconds,
    nanoseconds_above_zero,
)
from loadcurve.tools.source import Json, Source, json_of

TESTED = {
    "oha-json": ("0.5.9", "0.6.5", "1.4.7", "1.9.0"),
    "oha-csv": ("1.9.0",),
}
"""By format, the versions whose real output it is tested with."""
_NS_PER_S = 10**9
_MS_PER_S = 1e3
AT_THE_END = "aborted due to deadline"
"""What oha calls requests that were under way when its time was up."""
COLUMNS = ("request-start", "DNS", "DNS+dialup", "Response-delay", "request-duration", "bytes", "status")
CSV = Table(
    what="a line of oha's CSV",
    columns=COLUMNS,
    used={
        "request-start": DECIMAL,
        "DNS+dialup": DECIMAL,
        "Response-delay": DECIMAL,
        "request-duration": DECIMAL,
        "bytes": WHOLE_NUMBER,
        "status": WHOLE_NUMBER,
    },
    is_of_one_load=True,
)
PERCENTILES = {
    "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99",
    "p99.9": "p99_9", "p99.99": "p99_99",
}  # fmt: skip


class _Summary(Json):
    total: float = Field(gt=0)
    slowest: float | None
    fastest: float | None
    average: float | None
    rate: float | None = Field(None, alias="requestsPerSec")
    total_data: int = Field(alias="totalData", ge=0)


class _Document(Json):
    summary: _Summary
    percentiles: dict[str, float | None] = Field(alias="latencyPercentiles")
    status: dict[str, int] = Field(alias="statusCodeDistribution")
    errors: dict[str, int] = Field(alias="errorDistribution")


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as oha's CSV."""
    return head.startswith(",".join(COLUMNS).encode())


def is_json(head: bytes) -> bool:
    """Say whether a file begins as oha's JSON."""
    return head.lstrip().startswith(b"{") and b'"successRate"' in head and b'"requestsPerSec"' in head


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of a CSV of oha, which leaves out failures."""
    left_out = LeftOut(source)
    blocks = (
        block.select(
            nanoseconds("request-start", _NS_PER_S).alias(BEGIN),
            nanoseconds("request-duration", _NS_PER_S).alias(TIME),
            polars.col("status").cast(polars.Int16, strict=False).alias(STATUS),
            nanoseconds_above_zero("DNS+dialup", _NS_PER_S).alias(CONNECT),
            nanoseconds_above_zero("Response-delay", _NS_PER_S).alias(FIRST_BYTE),
            polars.col("bytes").alias(BODY),
        )
        for block in tables(source, CSV, left_out)
    )
    form = Form(tool="oha", resolution_ms=1e-6, is_epoch=False, has_failures=False, has_body=True)
    return figures_of(source, form, blocks, left_out)


def read_json(source: Source) -> ToolFigures:
    """Return the figures of a JSON document of oha."""
    document = json_of(source, _Document, "the JSON of oha (--output-format json)")
    status: dict[str, int] = {}
    for code, count in document.status.items():
        if code[:1] not in "12345" or len(code) != len("200") or count < 0:
            raise source.unreadable(None, f"statusCodeDistribution.{code} = {count}", "counts by status")
        status[f"{code[0]}xx"] = status.get(f"{code[0]}xx", 0) + count
    answered = sum(status.values())
    failures = {text: count for text, count in document.errors.items() if AT_THE_END not in text}
    if min(failures.values(), default=0) < 0:
        raise source.unreadable(None, "a negative count in errorDistribution", "counts by error")
    known = {name: document.percentiles.get(theirs) for theirs, name in PERCENTILES.items()}
    summary = document.summary
    ended = answered + sum(document.errors.values())
    contradiction = (
        None
        if summary.rate is None
        else contradiction_of(ended, Printed.exact(summary.rate), Printed.exact(summary.total))
    )
    return ToolFigures(
        tool="oha",
        basis="send",
        duration_s=summary.total,
        answered=answered,
        failed=sum(failures.values()),
        errors=errors_of(failures),
        status=status,
        latency=Times(
            distribution=distribution(
                answered,
                minimum=_ms(summary.fastest),
                mean=_ms(summary.average),
                maximum=_ms(summary.slowest),
                percentiles={
                    name: value * _MS_PER_S
                    for name, value in known.items()
                    if value is not None and value >= 0
                },
            ),
            completeness="percentiles",
            resolution_ms=1e-6,
        ),
        bytes_body=summary.total_data,
        contradictions=[contradiction] if contradiction else [],
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None or seconds < 0 else seconds * _MS_PER_S
