"""The CSV that JMeter writes for each sample (JTL); which columns it has is set in its properties.

What tells sums from requests beside their names is read only where a file may have sums.
"""

from collections.abc import Iterator

import polars

from loadcurve.tools.delimited import (
    ANY_TEXT,
    OPTIONAL_NUMBER,
    TRUE_OR_FALSE,
    WHOLE_NUMBER,
    Table,
    tables,
)
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.jmeter.figures import Read, figures_of_samples
from loadcurve.tools.jmeter.layout import Layout, is_laid_out, layout_of
from loadcurve.tools.jmeter.requests import requests_of
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.requests import require_long_window
from loadcurve.tools.source import Source

TESTED = {
    "jmeter-csv": ("4.0", "5.5", "5.6.3"),
    "jmeter-xml": ("4.0", "5.6.3"),
    "jmeter-statistics": ("5.6.3",),
    "jmeter-summary": ("5.5", "5.6.3"),
}
"""By format, the versions whose real output it is tested with."""
_USED = {
    "elapsed": WHOLE_NUMBER,
    "label": ANY_TEXT,
    "responseCode": ANY_TEXT,
    "responseMessage": ANY_TEXT,
    "success": TRUE_OR_FALSE,
    "allThreads": OPTIONAL_NUMBER,
    "Latency": OPTIONAL_NUMBER,
    "Connect": OPTIONAL_NUMBER,
}
_OF_STRUCTURE = {"threadName": ANY_TEXT, "URL": ANY_TEXT, "IdleTime": OPTIONAL_NUMBER}
_MS_PER_S = 1e3


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as a JTL in CSV, with the names of its columns or without."""
    return is_laid_out(head)


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of a JTL file in CSV."""
    layout = layout_of(source)

    def samples(*, with_structure: bool) -> Read:
        return _samples(source, layout, with_structure=with_structure)

    has_threads = "threadName" in layout.names
    figures = figures_of_samples(source, samples, has_threads=has_threads, is_epoch=layout.form is None)
    if layout.step_ms >= _MS_PER_S:
        require_long_window(source, figures.duration_s, "save the times of samples in milliseconds")
    return figures


def _samples(source: Source, layout: Layout, *, with_structure: bool) -> Read:
    """Return all samples as requests."""
    used = {"timeStamp": layout.moments, **_USED, **(_OF_STRUCTURE if with_structure else {})}
    form = Table(
        what="a line of JMeter's CSV (JTL)",
        columns=tuple(layout.names),
        used={name: column for name, column in used.items() if name in layout.names},
        has_header=layout.has_header,
        separator=layout.separator,
    )
    left_out = LeftOut(source)

    def blocks() -> Iterator[polars.DataFrame]:
        for block in tables(source, form, left_out):
            if "allThreads" in layout.names and len(block):
                read.threads = max(read.threads, int(block["allThreads"].max() or 0))  # type: ignore[arg-type]
            yield requests_of(layout.in_ms(block))

    read = Read(blocks(), left_out)
    return read
