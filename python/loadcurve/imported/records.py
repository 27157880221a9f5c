"""The records of imported figures: what their files do not say is ``None``, and no figure is made up."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from loadcurve.generate.tools.figures import Times, ToolFigures
from loadcurve.generate.tools.samples import distribution
from loadcurve.imported.plan import Imported
from loadcurve.loads.kinds import DATABASE, LoadKind, kind_of_protocol
from loadcurve.loads.record import DatabaseAsRun, HttpAsRun, LoadAsRun
from loadcurve.result.classes import Errors, StatusClasses
from loadcurve.result.distribution import Distribution
from loadcurve.result.generator import Generator
from loadcurve.result.load import Bytes, Connections, Histograms, Kernel, LoadResult, Operation, RequestRate
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import MEASURED, PointRecord
from loadcurve.result.requests import Requests
from loadcurve.result.tool import ToolRecord
from loadcurve.result.verdict import Caveat, Verdict

_OF_DATABASES = {"ycsb", "go-ycsb"}
_INVALID_SHARE = 0.01
"""Above it errors make a result invalid, as the engine's verdict has it."""


def kind_of(figures: ToolFigures) -> LoadKind:
    """Return on what kind of server the load was."""
    return kind_of_protocol("ycsb" if figures.tool in _OF_DATABASES else "http")


def model_of(figures: ToolFigures, keys: Mapping[str, float]) -> str:
    """Return the load model: open where there was a rate, and otherwise closed."""
    if kind_of(figures) is DATABASE:
        return "ycsb"
    if "connection_rate" in keys:
        return "sessions"
    return "open" if "rate" in keys or figures.asked.rate_rps is not None else "closed"


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
    text = "the figures were imported: what the server used was not measured"
    return ProbeRecord(
        cost=None, server=None, cpus=None, pressure=None, tcp=None, sockets=None, listen_queue=None,
        throttling=None, series=None, caveats=[Caveat.of("processes_unknown", text)],
    )  # fmt: skip


def load_result(one: Imported) -> LoadResult:
    """Return the result of a load."""
    figures = one.figures
    latency = figures.latency.distribution if figures.latency else distribution(figures.answered)
    of_send = figures.basis == "send"
    ended = figures.answered + (figures.failed or 0)
    return LoadResult(
        format="loadcurve-load/1",
        load=_load(one),
        interrupted=False,
        window_start_monotonic_s=None,
        duration_s=figures.duration_s,
        requests=Requests(
            due=ended,
            sent=ended,
            answered=figures.answered,
            ok=_ok(figures),
            failed=figures.failed,
            unanswered=None,
            never_sent=None,
        ),
        rate_rps=RequestRate(
            asked=one.point.get("rate", figures.asked.rate_rps),
            sent=None,
            answered=figures.answered / figures.duration_s,
        ),
        latency_ms=latency,
        service_time_ms=latency if of_send and figures.latency else None,
        connect_ms=_distribution(figures.connect),
        first_byte_ms=_distribution(figures.first_byte),
        transfer_ms=None,
        connections=Connections(
            opened=figures.connections_opened, failed=None, reused=None, concurrent_max=None, rate_cps=None,
            replies_per_connection=None, lifetime_ms=None,
        ),
        bytes=_bytes(figures),
        status=None
        if figures.status is None
        else StatusClasses({name: figures.status.get(name, 0) for name in StatusClasses.classes}),
        errors=Errors({name: figures.errors.get(name, 0) for name in Errors.classes}),
        tool=ToolRecord(
            name=figures.tool,
            version=figures.version,
            command=[],
            latency_basis=figures.basis,
            resolution_ms=figures.latency.resolution_ms if figures.latency else None,
            completeness=figures.latency.completeness if figures.latency else "summary",
            warmup=None,
            not_measured=[],
        ),
        generator=Generator(
            threads=None, io=None, cpu_user_s=None, cpu_system_s=None, cpu_spun_s=None,
            cpu_per_request_us=None, lateness_ms=None,
        ),
        kernel=Kernel(syn_retransmits=None, retransmits=None, listen_overflows=None, listen_drops=None),
        operations=list(figures.operations)
        or [
            Operation(
                operation="all", answered=figures.answered, failed=figures.failed or 0, latency_ms=latency
            )
        ],
        slowest=[],
        series=list(figures.series),
        histograms=Histograms(
            latency=_histogram(figures.latency),
            service_time=_histogram(figures.latency) if of_send else None,
            connect=_histogram(figures.connect),
            first_byte=_histogram(figures.first_byte),
            transfer=None,
        ),
        verdict=_verdict(figures),
    )  # fmt: skip


def _load(one: Imported) -> LoadAsRun:
    asked, point = one.figures.asked, one.point
    common: dict[str, Any] = {
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
            **common, database=None, namespace=None, table=None, settings={}, workload=None,
            workload_name=None, phase="run", batch=None,
        )  # fmt: skip
    return HttpAsRun(
        **common,
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


def _ok(figures: ToolFigures) -> int | None:
    if figures.status is None:
        return figures.ok
    return figures.answered - sum(
        figures.status.get(name, 0) for name, row in StatusClasses.classes.items() if row.is_error
    )


def _bytes(figures: ToolFigures) -> Bytes | None:
    counts = (figures.bytes_received, figures.bytes_header, figures.bytes_body)
    if all(count is None for count in counts):
        return None
    received, header, body = counts
    return Bytes(sent=None, received=received, header=header, body=body)


def _distribution(times: Times | None) -> Distribution | None:
    return None if times is None else times.distribution


def _histogram(times: Times | None) -> str | None:
    return None if times is None else times.histogram


def _verdict(figures: ToolFigures) -> Verdict:
    """Return what can be judged of figures alone: whether there were answers, and right ones."""
    verdict = Verdict(status="valid", reasons=[])
    due = figures.answered + (figures.failed or 0)
    if not figures.answered:
        verdict = verdict.with_reason("nothing_answered", "no request was answered", "invalid")
    if figures.failed:
        text = f"{figures.failed:,} of {due:,} requests failed, as {figures.tool} counts them"
        verdict = verdict.with_reason("errors", text, _of_share(figures.failed, due))
    ok = _ok(figures)
    if ok is not None and (wrong := figures.answered - ok):
        text = f"{wrong:,} of {figures.answered:,} answers have an error status"
        verdict = verdict.with_reason("error_status", text, _of_share(wrong, due))
    return verdict


def _of_share(count: int, due: int) -> Any:  # noqa: ANN401 -- a status
    return "invalid" if count > _INVALID_SHARE * due else "suspect"
