"""The CSV that JMeter writes for each sample (JTL); which columns it has is set in its properties.

Samples of transaction controllers, which are sums of others, are left out.
"""

from collections.abc import Iterator

import polars

from loadcurve.generate.tools.delimited import (
    ANY_TEXT,
    WHOLE_NUMBER,
    Table,
    header_of,
    require_each_once,
    tables,
)
from loadcurve.generate.tools.figures import Asked, ToolFigures
from loadcurve.generate.tools.requests import (
    BEGIN,
    CONNECT,
    ERROR,
    FIRST_BYTE,
    OPERATION,
    STATUS,
    STATUS_MAX,
    STATUS_MIN,
    TIME,
    Form,
    figures_of,
    together,
)
from loadcurve.generate.tools.source import Source

_NS_PER_MS = 10**6
REQUIRED = ("timeStamp", "elapsed", "responseCode", "success")
_KNOWN = {
    "timeStamp": WHOLE_NUMBER,
    "elapsed": WHOLE_NUMBER,
    "label": ANY_TEXT,
    "responseCode": ANY_TEXT,
    "responseMessage": ANY_TEXT,
    "allThreads": WHOLE_NUMBER,
    "Latency": WHOLE_NUMBER,
    "Connect": WHOLE_NUMBER,
}
_OF_A_TRANSACTION = "Number of samples in transaction"


def is_csv(head: bytes) -> bool:
    """Say whether a file begins with names of JMeter's columns."""
    names = head.split(b"\n", 1)[0].removeprefix(b"\xef\xbb\xbf").strip().split(b",")
    return all(name.encode() in names for name in ("timeStamp", "elapsed"))


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of a JTL file in CSV."""
    names = header_of(source)
    if missing := [name for name in REQUIRED if name not in names]:
        raise source.unreadable(
            1,
            f"no column {' and no column '.join(missing)}",
            f"the names of JMeter's columns, among them {', '.join(REQUIRED)}",
        )
    require_each_once(source, names, "JMeter")
    form = Table(
        what="a line of JMeter's CSV (JTL)",
        columns=tuple(names),
        used={name: column for name, column in _KNOWN.items() if name in names},
    )
    threads = 0

    def requests() -> Iterator[polars.DataFrame]:
        nonlocal threads
        for block in tables(source, form):
            if "allThreads" in names and len(block):
                threads = max(threads, int(block["allThreads"].max() or 0))  # type: ignore[arg-type]
            yield _requests(_samples(block), names)

    table = together(requests())
    return figures_of(
        source,
        Form(
            tool="jmeter",
            resolution_ms=1.0,
            is_epoch=True,
            has_failures=True,
            has_body=False,
            asked=Asked(threads=threads or None),
        ),
        table,
    )


def _samples(block: polars.DataFrame) -> polars.DataFrame:
    if "responseMessage" not in block.columns:
        return block
    return block.filter(~polars.col("responseMessage").str.starts_with(_OF_A_TRANSACTION))


def _requests(block: polars.DataFrame, names: list[str]) -> polars.DataFrame:
    code = block["responseCode"]
    status = code.cast(polars.Int16, strict=False)
    is_status = status.is_between(STATUS_MIN, STATUS_MAX).fill_null(value=False)
    columns = [
        (polars.col("timeStamp") * _NS_PER_MS).alias(BEGIN),
        (polars.col("elapsed") * _NS_PER_MS).alias(TIME),
        polars.when(is_status).then(status).otherwise(0).alias(STATUS),
        _failures(code, is_status, names).cast(polars.Categorical).alias(ERROR),
    ]
    if "label" in names:
        columns.append(polars.col("label").cast(polars.Categorical).alias(OPERATION))
    if "Latency" in names:
        columns.append((polars.col("Latency") * _NS_PER_MS).alias(FIRST_BYTE))
    if "Connect" in names:
        connected = polars.when(polars.col("Connect") > 0).then(polars.col("Connect") * _NS_PER_MS)
        columns.append(connected.alias(CONNECT))
    return block.select(columns)


def _failures(code: polars.Series, is_status: polars.Series, names: list[str]) -> polars.Expr:
    """Return what each failure was, and an empty text for the others; mostly there is none."""
    nothing = polars.lit("")
    if is_status.all():
        return nothing
    # The code of a failure is its class in Java, and the message what the operating system said.
    has_message = "responseMessage" in names
    failure = polars.concat_str(code, "responseMessage", separator=" ") if has_message else polars.lit(code)
    return polars.when(is_status).then(nothing).otherwise(failure)
