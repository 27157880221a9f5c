"""What Gatling's report has beside its pages: ``js/stats.json`` and ``js/global_stats.json``.

Its figures are by outcome, so latencies are those of requests that are OK. Which percentiles its four are is
set in its configuration; the defaults are 50, 75, 95 and 99.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from loadcurve.result.load import Operation
from loadcurve.result.outcomes import VerdictNote
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.source import Json, Source, json_of

_WHAT = "stats.json or global_stats.json of Gatling's report"
_DEPTH_MAX = 20
_OF_NONE = -1
_PERCENTILES = {"percentiles1": "p50", "percentiles2": "p75", "percentiles3": "p95", "percentiles4": "p99"}


def _number(value: object) -> object:
    """Return a number as such: stats.json has texts until 3.9, in which a minus is none.

    Of no requests at all, global_stats.json of 2.0 and 2.1 has -1.
    """
    if value in ("-", _OF_NONE):
        return None
    if isinstance(value, str):
        try:
            return float(value.replace(",", ""))
        except ValueError:
            return value
    return value


_Number = Annotated[Annotated[float, Field(ge=0)] | None, BeforeValidator(_number)]


class _ByOutcome(Json):
    total: _Number
    ok: _Number
    ko: _Number


class _Stats(Json):
    requests: _ByOutcome = Field(alias="numberOfRequests")
    minimum: _ByOutcome = Field(alias="minResponseTime")
    maximum: _ByOutcome = Field(alias="maxResponseTime")
    mean: _ByOutcome = Field(alias="meanResponseTime")
    stddev: _ByOutcome = Field(alias="standardDeviation")
    percentiles1: _ByOutcome
    percentiles2: _ByOutcome
    percentiles3: _ByOutcome | None = None
    percentiles4: _ByOutcome | None = None
    rate: _ByOutcome = Field(alias="meanNumberOfRequestsPerSecond")

    @property
    def answered(self) -> int:
        return int(self.requests.ok or 0)

    @property
    def failed(self) -> int:
        return int(self.requests.ko or 0)

    def times(self) -> Times:
        """Return the times of requests that are OK."""
        found = {ours: getattr(self, theirs) for theirs, ours in _PERCENTILES.items()}
        return Times(
            distribution=distribution(
                self.answered,
                minimum=self.minimum.ok,
                mean=self.mean.ok,
                stddev=self.stddev.ok,
                maximum=self.maximum.ok,
                percentiles={name: one.ok for name, one in found.items() if one is not None and one.ok},
            ),
            completeness="percentiles",
            resolution_ms=1.0,
        )


class _Entry(Json):
    kind: str = Field(alias="type")
    name: str
    stats: _Stats
    contents: dict[str, dict[str, Any]] = Field(default_factory=dict)


def is_stats(head: bytes) -> bool:
    """Say whether a file begins as the figures of a report of Gatling."""
    return head.lstrip().startswith(b"{") and b'"numberOfRequests"' in head and b'"percentiles1"' in head


def read_stats(source: Source) -> ToolFigures:
    """Return the figures of ``stats.json``, with its requests by name, or of ``global_stats.json``."""
    is_tree = b'"contents"' in source.head()
    entry = json_of(source, _Entry, _WHAT) if is_tree else None
    stats = entry.stats if entry is not None else json_of(source, _Stats, _WHAT)
    requests, rate = stats.requests.total or 0, stats.rate.total or 0
    if not requests or not rate or stats.answered + stats.failed != requests:
        found = f"{requests:,.0f} requests at {rate:g}/s"
        raise source.unreadable(None, found, "requests, all of them OK or KO, and their rate")
    text = (
        "Gatling's report has the length of a run in whole seconds, rounded up, so its rate may be too "
        "low; its percentiles are 50, 75, 95 and 99 %, if these were not set otherwise "
        "(gatling.charting.indicators)"
    )
    return ToolFigures(
        tool="gatling",
        basis="send",
        duration_s=requests / rate,
        answered=stats.answered,
        failed=stats.failed,
        ok=stats.answered,
        latency=stats.times() if stats.answered else None,
        operations=[] if entry is None else [_operation(one) for one in _requests(source, entry.contents, 0)],
        notes=[VerdictNote.of("figures_left_out", text)],
    )


def _requests(source: Source, contents: dict[str, dict[str, Any]], depth: int) -> Iterator[_Entry]:
    """Yield the requests of groups and of groups within them; groups are no requests."""
    if depth > _DEPTH_MAX:
        raise source.unreadable(None, f"groups within {depth} others", _WHAT)
    for written in contents.values():
        try:
            entry = _Entry.model_validate(written)
        except ValidationError as error:
            raise source.unreadable(
                None, f"an entry without its figures ({error.error_count()} problems)", _WHAT
            ) from error
        if entry.kind == "REQUEST":
            yield entry
        yield from _requests(source, entry.contents, depth + 1)


def _operation(entry: _Entry) -> Operation:
    return Operation(
        operation=entry.name,
        answered=entry.stats.answered,
        failed=entry.stats.failed,
        latency_ms=entry.stats.times().distribution,
    )
