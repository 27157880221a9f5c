"""The records of imported figures: what their files do not say is ``None``, and no figure is made up."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from loadcurve.imported.plan import Imported
from loadcurve.loads.kinds import DATABASE, WEB, LoadKind
from loadcurve.loads.record import DatabaseAsRun, HttpAsRun, LoadAsRun
from loadcurve.result.generator import Generator, Kernel, ToolRecord
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Caveat, VerdictNote
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import MEASURED, PointRecord
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.record import Known, record_of

_OF_LATENCY = {
    "complete": None,
    "sampled": "latencies beyond its sample",
    "percentiles": "latencies between its percentiles",
    "summary": "percentiles of latency",
}


def lacking(figures: ToolFigures) -> list[str]:
    """Return what the file of a load does not have, each in a few words."""
    found = list(figures.not_measured)
    if figures.latency is None and not figures.operations and figures.answered and not found:
        found.append("latencies of answers")
    if figures.latency is not None and (words := _OF_LATENCY[figures.latency.completeness]):
        found.append(words)
    if figures.failed is None:
        found.append("failed requests")
    if figures.status is None:
        found.append("right answers" if figures.ok is None else "classes of statuses")
    return found


_OF_DATABASES = {"ycsb", "go-ycsb"}


def kind_of(figures: ToolFigures) -> LoadKind:
    """Return on what kind of server the load was."""
    if figures.measured is not None:
        return figures.measured.load.kind
    return DATABASE if figures.tool in _OF_DATABASES else WEB


def model_of(figures: ToolFigures, keys: Mapping[str, float]) -> str:
    """Return the load model of the result, or else the one that a rate asks for, or the usual one."""
    if figures.measured is not None:
        return figures.measured.load.model
    rate = [] if figures.asked.rate_rps is None else ["rate"]
    return kind_of(figures).model_asked_by([*keys, *rate])


def point_record(one: Imported, trial: int, at: str) -> PointRecord:
    """Return the record of a file as the point of a trial, which was imported ``at``."""
    return PointRecord(
        kind="point",
        trial=trial,
        block=one.trial,
        server=one.server,
        point=one.point,
        started_at=moment(one.figures.began_unix_s) or at,
        measurements={MEASURED: load_result(one)},
        probe=_nothing_probed(),
        limit_use=None,
    )


def moment(unix_s: float | None) -> str | None:
    """Return a moment as records have it."""
    if unix_s is None:
        return None
    try:
        return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None


def _nothing_probed() -> ProbeRecord:
    text = "the figures were imported: the server's use of resources was not measured"
    return ProbeRecord(
        cost=None, server=None, cpus=None, pressure=None, tcp=None, sockets=None, listen_queue=None,
        throttling=None, series=None, caveats=[Caveat.of("processes_unknown", text)],
    )  # fmt: skip


def load_result(one: Imported) -> LoadResult:
    """Return the result of a load."""
    figures = one.figures
    if figures.measured is not None:
        return _with_notes(figures.measured, figures.notes)
    nothing_known = Generator(
        threads=None, io=None, cpu_user_s=None, cpu_system_s=None, cpu_spun_s=None, cpu_per_request_us=None,
        lateness_ms=None,
    )  # fmt: skip
    known = Known(
        load=_load(one),
        tool=_tool(figures),
        operation="all",
        began_s=None,
        interrupted=False,
        asked_rps=one.point.get("rate", figures.asked.rate_rps),
        generator=nothing_known,
        kernel=Kernel(syn_retransmits=None, retransmits=None, listen_overflows=None, listen_drops=None),
        evidence={
            "stop": {"duration_s": figures.duration_s},
            "warmup_s": 0.0,
            # Whether the mean is that of all requests is not known, so Little's law is not asked.
            "requests_at_once": 1,
            "mean_latency_ms": None,
            "threads": 1,
            "cpu_share": None,
        },
    )
    return record_of(figures, known)


def _with_notes(measured: LoadResult, notes: Sequence[VerdictNote]) -> LoadResult:
    if not notes:
        return measured
    verdict = measured.verdict.model_copy(update={"notes": [*measured.verdict.notes, *notes]})
    return measured.model_copy(update={"verdict": verdict})


def _tool(figures: ToolFigures) -> ToolRecord:
    latency = figures.latency
    return ToolRecord(
        name=figures.tool,
        version=figures.version,
        command=[],
        latency_basis=figures.basis,
        resolution_ms=latency.resolution_ms if latency else None,
        completeness=latency.completeness if latency else "summary",
        warmup=None,
        not_measured=lacking(figures),
    )


def _load(one: Imported) -> LoadAsRun:
    asked, point = one.figures.asked, one.point
    common: dict[str, Any] = {
        "work": kind_of(one.figures).work,
        "model": model_of(one.figures, point),
        "address": asked.target,
        "connections": _whole(point.get("connections", asked.connections)),
        "rate_rps": point.get("rate", asked.rate_rps),
        "threads": _whole(point.get("threads", asked.threads)),
        "cpus": None,
        "warmup_s": None,
        "duration_s": asked.duration_s,
        "requests_total": asked.requests_total,
        "timeout_s": None,
        "seed": None,
        "io": None,
    }
    if kind_of(one.figures) is DATABASE:
        return DatabaseAsRun(
            **common, protocol=None, namespace=None, table=None, settings={}, workload=None,
            workload_name=None, phase="run", batch=None,
        )  # fmt: skip
    return HttpAsRun(
        **common,
        protocol="http",
        http=asked.http,
        requests=list(asked.paths),
        pick=None,
        connection_rate_cps=point.get("connection_rate"),
        pipeline=_whole(point.get("pipeline")) or 1,
        streams=_whole(point.get("streams", asked.streams)) or 1,
        calls=_whole(point.get("calls")),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
