"""One server under several generators: each tool's figures over those of our engine, with their facts."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from loadcurve.analysis.curves import Curve, usable_logs
from loadcurve.loads.values import Point
from loadcurve.protocol import has_streams
from loadcurve.result.folder import Run
from loadcurve.result.generator import ToolRecord
from loadcurve.result.load import LoadResult
from loadcurve.result.measures import measures
from loadcurve.result.records import PointRecord
from loadcurve.stats.paired import Array, PairedRatio, block_means, paired_ratios

COMPARED = ("throughput", "mean", "p50", "p99")
"""The measures by which generators are compared."""
ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class GeneratorRatio:
    """One measure under a tool over the same under our engine, paired by block."""

    measure: str
    """Its column."""
    point: Point | None
    """``None`` for the whole curve."""
    ratio: PairedRatio | None
    """``None`` if no block has both, such as a measure that the tool does not report."""

    @property
    def shown(self) -> bool:
        """Whether the interval leaves 1 out."""
        estimate = None if self.ratio is None else self.ratio.estimate
        if estimate is None or estimate.low is None or estimate.high is None:
            return False
        return not estimate.low <= 1 <= estimate.high


@dataclass(frozen=True, slots=True)
class GeneratorFacts:
    """What of a generator may make its figures differ, over all of its points; ``None`` where not known."""

    name: str
    http: str | None
    threads: int
    cpu_per_request_us: float | None
    sleeps_per_request: float | None
    """How often its threads went to sleep, which the server's CPU pays for: it wakes them."""
    busiest: float | None
    """The largest share of its CPUs that it used at any point."""
    header_bytes: float | None
    """Of each answer."""
    request_bytes: float | None
    """Of each request."""
    connect_in_window: bool
    """Whether the connections opened within the window, or for each request anew."""
    hidden_ms: float | None
    """Mean latency from when requests were due, less that from when they were sent; of the engine."""
    tool: ToolRecord | None


@dataclass(frozen=True, slots=True)
class CrossChecked:
    """One arm under a tool beside the same server under our engine."""

    arm: str
    base: str
    facts: GeneratorFacts
    of_base: GeneratorFacts
    ratios: tuple[GeneratorRatio, ...]
    """Over the curve first, and then at each point, where there are several."""


def cross_check(run: Run, curves: Sequence[Curve]) -> list[CrossChecked]:
    """Compare each arm of a tool with that of the same server under our engine, in the order of the study.

    ``curves`` are those of the run. Without an arm of a tool, or of our engine beside it, there is nothing.
    """
    found = {curve.server: curve for curve in curves}
    records = {
        name: [record for record in run.points if record.server == name] for name in found
    }  # fmt: skip
    tools = {name: _tool(of_arm) for name, of_arm in records.items()}
    checked = []
    for arm, tool in tools.items():
        base = None if tool is None else _base(run, arm, tools)
        if base is not None:
            pair = (found[arm], found[base])
            ratios = tuple(_ratios(run, *pair))
            facts, of_base = _facts(records[arm]), _facts(records[base])
            checked.append(CrossChecked(arm, base, facts, of_base, ratios))
    return checked


def _tool(records: Sequence[PointRecord]) -> str | None:
    return next((record.load.tool.name for record in records if record.load.tool is not None), None)


def _base(run: Run, arm: str, tools: dict[str, str | None]) -> str | None:
    """Return the arm of our engine whose server has the same table but for its load; ``None`` without one."""
    table = _server_of(run, arm)
    known = (name for name, tool in tools.items() if tool is None and name != arm)
    return next((name for name in known if _server_of(run, name) == table), None)


def _server_of(run: Run, arm: str) -> str:
    table = dict(run.run.study.get("servers", {}).get(arm, {}))
    table.pop("load", None)
    return json.dumps(table, sort_keys=True, default=str)


def _ratios(run: Run, of_tool: Curve, of_base: Curve) -> Iterator[GeneratorRatio]:
    points = [at.point for at in of_base.points]
    for name in COMPARED:
        measure = measures(run.kind)[name]
        _, logs = usable_logs([of_tool, of_base], measure)
        differences = logs[of_tool.server] - logs[of_base.server]
        yield GeneratorRatio(measure.column, None, _ratio(block_means(differences)))
        if len(points) > 1:
            for place, point in enumerate(points):
                yield GeneratorRatio(measure.column, point, _ratio(differences[:, place]))


def _ratio(log_ratios: Array) -> PairedRatio | None:
    if not np.isfinite(log_ratios).any():
        return None
    [ratio] = paired_ratios(log_ratios[None, :])
    return ratio


def _facts(records: Sequence[PointRecord]) -> GeneratorFacts:
    loads = [record.load for record in records]
    tool = next((load.tool for load in loads if load.tool is not None), None)
    is_new = any(load.load.closes_connections for load in loads)
    hidden = None if tool else _mean(map(_hidden_ms, loads))
    return GeneratorFacts(
        name=ENGINE if tool is None else tool.name,
        http=loads[0].load.http if loads else None,
        threads=max((load.generator.threads or 0 for load in loads), default=0),
        cpu_per_request_us=_mean(load.generator.cpu_per_request_us for load in loads),
        sleeps_per_request=_mean(map(_sleeps_per_request, loads)),
        busiest=max(map(_busy, loads), default=None),
        header_bytes=_mean(map(_header_bytes, loads)),
        request_bytes=_mean(map(_request_bytes, loads)),
        connect_in_window=is_new or (tool is not None and tool.warmup != "own"),
        hidden_ms=hidden,
        tool=tool,
    )


def _busy(load: LoadResult) -> float:
    available_s = load.duration_s * max(min(load.generator.threads or 1, len(load.load.cpus or ()) or 1), 1)
    return (load.generator.cpu_busy_s or 0.0) / available_s if available_s else 0.0


def _sleeps_per_request(load: LoadResult) -> float | None:
    sleeps = load.generator.voluntary_context_switches
    return None if sleeps is None or not load.requests.answered else sleeps / load.requests.answered


def _header_bytes(load: LoadResult) -> float | None:
    if load.bytes is None or load.bytes.header is None or not load.requests.answered:
        return None
    return load.bytes.header / load.requests.answered


def _request_bytes(load: LoadResult) -> float | None:
    """Return what was sent for each request; over TLS and HTTP/2 of our engine that is more than requests."""
    if load.tool is not None:
        return None if load.tool.request is None else load.tool.request.bytes
    is_plain = not has_streams(load.load.http) and load.load.scheme == "http"
    if not is_plain or load.bytes is None or load.bytes.sent is None or not load.requests.sent:
        return None
    return load.bytes.sent / load.requests.sent


def _hidden_ms(load: LoadResult) -> float | None:
    due_ms = load.latency_ms.mean
    sent_ms = load.service_time_ms.mean if load.service_time_ms else None
    return None if due_ms is None or sent_ms is None else due_ms - sent_ms


def _mean(values: Iterator[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
