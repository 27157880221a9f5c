"""From all of JMeter's samples to figures of its requests: sums of others are left out, and it is said."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars

from loadcurve.tools.errors import CHECK_FAILED
from loadcurve.tools.figures import Asked, ToolFigures
from loadcurve.tools.jmeter.requests import HAS_URL, IDLE, SAMPLES, THREAD
from loadcurve.tools.jmeter.structure import may_have_parts, sums_of
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.requests import BEGIN, ERROR, OPERATION, STATUS, TIME, Form, collected, together
from loadcurve.tools.source import Source


@dataclass
class Read:
    """Samples as requests, and what is known of them when all have been taken."""

    blocks: Iterable[polars.DataFrame]
    left_out: LeftOut
    threads: int = 0
    """The most at once."""


class Samples(Protocol):
    """Reads all samples."""

    def __call__(self, *, with_structure: bool) -> Read:
        """Return them; ``with_structure`` asks for what tells sums from requests.

        That is ``THREAD`` and ``HAS_URL``.
        """


def figures_of_samples(
    source: Source, samples: Samples, *, has_threads: bool, is_epoch: bool = True
) -> ToolFigures:
    """Return the figures of samples; raises ``Unreadable`` where sums look like requests."""
    read = samples(with_structure=False)
    look = _Look()
    requests = collected(source, look.without_stated_sums(read.blocks))
    window = None
    if look.columns and _may_have_sums(source, look, read.left_out, has_threads=has_threads):
        read = samples(with_structure=True)
        look = _Look()
        table = together(read.blocks)
        blocks = []
        if table is not None:
            table, window = _requests(source, table, read.left_out)
            blocks = [table]
        requests = collected(source, look.without_stated_sums(blocks))
    if look.stated:
        read.left_out.note(f"{_rows(look.stated)} of transaction controllers were left out")
    form = Form(
        tool="jmeter",
        resolution_ms=1.0,
        is_epoch=is_epoch,
        has_failures=True,
        window=window,
        asked=Asked(threads=read.threads or None),
    )
    return requests.figures(form, read.left_out)


class _Look:
    """What blocks show while they are taken."""

    def __init__(self) -> None:
        self.columns: Sequence[str] = ()
        """None without a sample."""
        self.labels: set[str] = set()
        self.stated = 0
        """How many samples say themselves that they are sums."""

    def without_stated_sums(self, blocks: Iterable[polars.DataFrame]) -> Iterator[polars.DataFrame]:
        """Yield the samples that do not."""
        for block in blocks:
            if not len(block):
                continue
            self.columns = block.columns
            if OPERATION in self.columns:
                self.labels.update(map(str, block[OPERATION].unique()))
            if SAMPLES in self.columns:
                stated = len(block) - block[SAMPLES].null_count()
                self.stated += stated
                yield block.filter(polars.col(SAMPLES).is_null()) if stated else block
            else:
                yield block


def _may_have_sums(source: Source, look: _Look, left_out: LeftOut, *, has_threads: bool) -> bool:
    """Say whether some samples may be sums of others, so that it has to be found out by threads."""
    has_names, is_stated = OPERATION in look.columns, SAMPLES in look.columns
    has_parts = has_names and may_have_parts(look.labels)
    if has_threads and has_names:
        return has_parts or not is_stated or look.stated > 0
    if has_parts:
        names = "names of samples and of their parts, such as NAME and NAME-0"
        raise source.unreadable(None, names, "the column threadName, by which the two are told apart")
    if not is_stated:
        left_out.note(
            "without the column responseMessage, and threadName and label, the sums of transaction "
            "controllers cannot be distinguished from requests: if the test plan has any, they are counted, "
            "too"
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


def sums_of_parts(count: int) -> str:
    """Say that samples were left out because their parts are counted."""
    return f"{_rows(count)} of samples whose parts (redirects, embedded files) are counted were left out"


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"
