"""``statistics.json`` of JMeter's dashboard: counts, times and a rate for each name, and for all together.

Its times are of failures, too. All together are without the sums of transaction controllers, but with samples
of which parts have their own lines. Which percentiles its three are is set in JMeter's properties; the
defaults are 90, 95 and 99.
"""

from collections.abc import Mapping

from pydantic import Field, RootModel

from loadcurve.result.load import Operation
from loadcurve.result.outcomes import VerdictNote
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.source import Json, Source, json_of

_TOTAL = "Total"
_PART = "-0"
_WHAT = "statistics.json of JMeter's dashboard"


class _Line(Json):
    count: int = Field(alias="sampleCount", ge=0)
    errors: int = Field(alias="errorCount", ge=0)
    mean_ms: float = Field(alias="meanResTime", ge=0)
    median_ms: float | None = Field(None, alias="medianResTime", ge=0)
    min_ms: float = Field(alias="minResTime", ge=0)
    max_ms: float = Field(alias="maxResTime", ge=0)
    p90_ms: float = Field(alias="pct1ResTime", ge=0)
    p95_ms: float = Field(alias="pct2ResTime", ge=0)
    p99_ms: float = Field(alias="pct3ResTime", ge=0)
    rate: float = Field(alias="throughput", ge=0)

    def times(self) -> Times | None:
        """Return its times where all are of right answers."""
        if self.errors or not self.count:
            return None
        percentiles = {"p90": self.p90_ms, "p95": self.p95_ms, "p99": self.p99_ms}
        if self.median_ms is not None:
            percentiles["p50"] = self.median_ms
        return Times(
            distribution=distribution(
                self.count,
                minimum=self.min_ms,
                mean=self.mean_ms,
                maximum=self.max_ms,
                percentiles=percentiles,
            ),
            completeness="percentiles",
            resolution_ms=1.0,
        )


class _Statistics(RootModel[dict[str, _Line]]):
    """A line for each name."""


def is_statistics(head: bytes) -> bool:
    """Say whether a file begins as statistics of JMeter's dashboard."""
    return head.lstrip().startswith(b"{") and b'"sampleCount"' in head and b'"pct1ResTime"' in head


def read_statistics(source: Source) -> ToolFigures:
    """Return the figures of ``statistics.json``."""
    lines = json_of(source, _Statistics, _WHAT).root
    total = lines.pop(_TOTAL, None)
    if total is None or not total.count or total.rate <= 0:
        raise source.unreadable(None, "no samples of all together (Total)", _WHAT)
    if any(line.errors > line.count for line in (total, *lines.values())):
        raise source.unreadable(None, "more errors than samples", _WHAT)
    sums = {name: line for name, line in lines.items() if name + _PART in lines}
    samples = sum(line.count for line in lines.values())
    has_transactions = samples != total.count
    requests = total.count - sum(line.count for line in sums.values())
    failed = total.errors - sum(_failures_of_parts(name, line, lines) for name, line in sums.items())
    if samples < total.count or not 0 <= failed <= requests:
        raise source.unreadable(None, f"{samples:,} samples by name", f"the {total.count:,} of Total")
    operations = (
        []
        if has_transactions
        else [_operation(name, line) for name, line in lines.items() if name not in sums]
    )
    return ToolFigures(
        tool="jmeter",
        basis="send",
        duration_s=total.count / total.rate,
        answered=requests - failed,
        failed=failed,
        ok=requests - failed,
        latency=None if sums else total.times(),
        operations=operations,
        notes=_notes(total, sums, samples - total.count),
    )


def _failures_of_parts(name: str, line: _Line, lines: Mapping[str, _Line]) -> int:
    """Return how many failures of samples are of a part of them, and counted there."""
    of_parts = sum(
        other.errors
        for part, other in lines.items()
        if part.startswith(f"{name}-") and part.removeprefix(f"{name}-").isdecimal()
    )
    return min(line.errors, of_parts)


def _operation(name: str, line: _Line) -> Operation:
    times = line.times()
    return Operation(
        operation=name,
        answered=line.count - line.errors,
        failed=line.errors,
        latency_ms=distribution(0) if times is None else times.distribution,
    )


def _notes(total: _Line, sums: Mapping[str, _Line], transactions: int) -> list[VerdictNote]:
    text = (
        "errors of JMeter's statistics are failures, and answers with an error status are among them; its "
        "percentiles are 90, 95 and 99 %, if these were not set otherwise (aggregate_rpt_pct1 to 3)"
    )
    texts = [text]
    if total.errors:
        texts.append("its times are of errors, too, so only names without any have latencies")
    if sums:
        count = sum(line.count for line in sums.values())
        texts.append(
            f"{count:,} samples whose parts are counted were left out, and with them the latency of all"
        )
    if transactions:
        texts.append(
            f"{transactions:,} sums of transaction controllers are among its names, and not told apart "
            "there, so nothing is by name"
        )
    return [VerdictNote.of("figures_left_out", text) for text in texts]
