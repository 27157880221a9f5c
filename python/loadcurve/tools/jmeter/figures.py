"""From all of JMeter's samples to figures of its requests: sums of others are left out, and it is said."""

from typing import Protocol

import polars

from loadcurve.tools.errors import CHECK_FAILED
from loadcurve.tools.figures import Asked, ToolFigures
from loadcurve.tools.jmeter.requests import HAS_URL, IDLE, SAMPLES, THREAD
from loadcurve.tools.jmeter.structure import may_have_parts, sums_of
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.requests import BEGIN, ERROR, OPERATION, STATUS, TIME, Form, figures_of
from loadcurve.tools.source import Source


class Samples(Protocol):
    """Reads all samples, as requests."""

    def __call__(self, *, with_structure: bool) -> tuple[polars.DataFrame | None, int, LeftOut]:
        """Return them, the most threads at once, and what is left out.

        ``with_structure`` asks for what tells sums from requests: ``THREAD`` and ``HAS_URL``.
        """


def figures_of_samples(
    source: Source, samples: Samples, *, has_threads: bool, is_epoch: bool = True
) -> ToolFigures:
    """Return the figures of samples; raises ``Unreadable`` where sums look like requests."""
    table, threads, left_out = samples(with_structure=False)
    window = None
    if table is not None and _may_have_sums(source, table, left_out, has_threads=has_threads):
        table, threads, left_out = samples(with_structure=True)
        if table is not None:
            table, window = _requests(source, table, left_out)
    form = Form(
        tool="jmeter",
        resolution_ms=1.0,
        is_epoch=is_epoch,
        has_failures=True,
        window=window,
        asked=Asked(threads=threads or None),
    )
    if table is not None:
        table = _without_stated_sums(table, left_out)
    return figures_of(source, form, table, left_out)


def _may_have_sums(source: Source, table: polars.DataFrame, left_out: LeftOut, *, has_threads: bool) -> bool:
    """Say whether some samples may be sums of others, so that it has to be found out by threads."""
    has_names, is_stated = OPERATION in table.columns, SAMPLES in table.columns
    has_parts = has_names and may_have_parts(map(str, table[OPERATION].unique()))
    if has_threads and has_names:
        return has_parts or not is_stated or table[SAMPLES].null_count() < len(table)
    if has_parts:
        names = "names of samples and of their parts, such as NAME and NAME-0"
        raise source.unreadable(None, names, "the column threadName, by which the two are told apart")
    if not is_stated:
        left_out.note(
            "without the column responseMessage, and threadName and label, the sums of transaction "
            "controllers "
            "cannot be distinguished from requests: if the test plan has any, they are counted, too"
        )
    return False


def _requests(
    source: Source, samples: polars.DataFrame, left_out: LeftOut
) -> tuple[polars.DataFrame, tuple[int, int] | None]:
    """Return the samples that are requests, and the window where it is longer than that of these."""
    sums = sums_of(samples)
    missing = 0
    if SAMPLES in samples.columns:
        missing = int(samples.filter(polars.Series(sums.alone))[SAMPLES].sum())
    if count := int(sums.of_parts.sum()):
        left_out.note(sums_of_parts(count))
    if count := int(sums.of_samples.sum()):
        left_out.note(
            f"{_rows(count)} of transaction controllers, which are sums of other rows, were left out"
        )
    if count := int(sums.alone.sum()):
        left_out.note(
            f"{_rows(count)} of transaction controllers were left out, and with them {missing:,} samples, "
            "which are "
            'not in the file (JMeter\'s "Generate parent sample"): no figure includes these, but the time '
            "that they "
            "took is in the window"
        )
    failed = polars.Series(sums.failed_parts)
    samples = samples.with_columns(
        polars.when(failed).then(0).otherwise(polars.col(STATUS)).cast(polars.Int16).alias(STATUS),
        polars.when(failed)
        .then(polars.lit(CHECK_FAILED, polars.Categorical))
        .otherwise(polars.col(ERROR))
        .alias(ERROR),
    )
    requests = samples.filter(polars.Series(~sums.all))
    if not len(requests):
        found = f"no request: {len(samples):,} sums of transaction controllers"
        raise source.unreadable(None, found, 'their samples, too (without "Generate parent sample")')
    window = _window(samples.filter(polars.Series(~sums.of_parts & ~sums.of_samples))) if missing else None
    return requests.drop(THREAD, HAS_URL, IDLE, SAMPLES, strict=False), window


def _window(samples: polars.DataFrame) -> tuple[int, int]:
    """Return when the first one began and the last one ended."""
    ends = samples.select(
        polars.col(BEGIN).min().alias("begin"), (polars.col(BEGIN) + polars.col(TIME)).max()
    )
    begin, end = ends.row(0)
    return int(begin), int(end)


def _without_stated_sums(table: polars.DataFrame, left_out: LeftOut) -> polars.DataFrame:
    """Return the table without samples that say themselves that they are sums."""
    if SAMPLES not in table.columns:
        return table
    if count := len(table) - table[SAMPLES].null_count():
        table = table.filter(polars.col(SAMPLES).is_null())
        left_out.note(f"{_rows(count)} of transaction controllers were left out")
    return table.drop(SAMPLES)


def sums_of_parts(count: int) -> str:
    """Say that samples were left out because their parts are counted."""
    return f"{_rows(count)} of samples whose parts (redirects, embedded files) are counted were left out"


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"
