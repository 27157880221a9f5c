"""The records of a run as tidy tables."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars

from loadcurve.result.classes import FAILURES
from loadcurve.result.distribution import Distribution
from loadcurve.result.folder import Run
from loadcurve.result.load import Http2Result, LoadResult
from loadcurve.result.measures import LOADING
from loadcurve.result.probe import ServerUse
from loadcurve.result.records import LOAD_PHASE, PointRecord
from loadcurve.result.tls import TlsResult

DISTRIBUTIONS = ("latency_ms", "service_time_ms", "connect_ms", "first_byte_ms", "transfer_ms")
"""Of every load."""
HANDSHAKES = ("handshake_ms", "full_handshake_ms", "resumed_handshake_ms")
"""Of loads over TLS: of all handshakes of a load, and of each kind within its measured window."""
STREAM_WAIT = "stream_wait_ms"
"""Of loads over HTTP/2."""


Schema = dict[str, Any]
"""The types of columns by their names; None for ``point``, which stands for the settings of the sweep."""

_TYPES = {
    "": polars.String, "int": polars.Int64, "float": polars.Float64, "bool": polars.Boolean, "point": None
}  # fmt: skip


def column_types(columns: str) -> Schema:
    """Read ``NAME:TYPE`` of each column, with blanks between them; one without a type is a text."""
    parts = (column.partition(":") for column in columns.split())
    return {name: _TYPES[kind] for name, _, kind in parts}


def points_table(run: Run) -> polars.DataFrame:
    """Return one row for every measured point of every trial, in the order of measuring.

    The settings of the sweep are columns under their own names (``connections``); measured columns carry
    their unit last (``throughput_rps``, ``latency_p50_ms``); counts of failed requests are ``errors`` and
    ``errors_CLASS``. What was not measured is null. A run without points gives the same columns and no row.
    Handshakes of TLS and streams of HTTP/2 have columns, the last ones, where any load had them.
    """
    keys = _sweep_keys(run)
    schema = {
        **_IDENTITY_COLUMNS,
        **dict.fromkeys(keys, polars.Float64),
        **_MEASURED_COLUMNS,
        **(_HANDSHAKE_COLUMNS if any(record.load.tls is not None for record in run.points) else {}),
        **(_STREAM_COLUMNS if any(record.load.http2 is not None for record in run.points) else {}),
    }
    return polars.DataFrame([_row(record, keys) for record in run.points], schema=schema, orient="row")


def failures_table(run: Run) -> polars.DataFrame:
    """Return one row for every trial that ended early; the settings are null where none was under way."""
    keys = _sweep_keys(run)
    schema = {
        **_IDENTITY_COLUMNS,
        **dict.fromkeys(keys, polars.Float64),
        **column_types("reason_code reason"),
    }
    rows = [
        {
            **_identity(record.server, record.trial, record.block, record.started_at),
            **{key: (record.point or {}).get(key) for key in keys},
            "reason_code": record.reason.code,
            "reason": record.reason.text,
        }
        for record in run.failures
    ]
    return polars.DataFrame(rows, schema=schema, orient="row")


def operations_table(run: Run) -> polars.DataFrame:
    """Return one row for each operation of every measured point, and of the loading before it.

    ``phase`` is ``load`` for the loading of a database's records, and ``run`` for what was measured.
    """
    keys = _sweep_keys(run)
    schema = {
        **_IDENTITY_COLUMNS,
        **dict.fromkeys(keys, polars.Float64),
        **column_types("phase operation answered:int failed:int"),
        **{column: kind for column, kind in _MEASURED_COLUMNS.items() if column.startswith("latency_")},
    }
    rows = [
        {
            **_identity(record.server, record.trial, record.block, record.started_at),
            **{key: record.point.get(key) for key in keys},
            "phase": "load" if name == LOAD_PHASE else "run",
            "operation": one.operation,
            "answered": one.answered,
            "failed": one.failed,
            **_distribution_columns("latency_ms", one.latency_ms),
        }
        for record in run.points
        for name, load in record.measurements.items()
        for one in load.operations
    ]
    return polars.DataFrame(rows, schema=schema, orient="row")


_IDENTITY_COLUMNS = column_types("server trial:int block:int started_at")


def _columns_of(distributions: Iterable[str]) -> Schema:
    """Return the types of the columns of distributions."""
    return {
        f"{name.removesuffix('_ms')}_{field}{'' if field == 'count' else '_ms'}": (
            polars.Int64 if field == "count" else polars.Float64
        )
        for name in distributions
        for field in Distribution.model_fields
    }


_MEASURED_COLUMNS: Schema = {
    **column_types(
        "loading_rps:float duration_s:float throughput_rps:float rate_asked_rps:float rate_sent_rps:float "
        "requests_due:int requests_answered:int requests_unanswered:int requests_never_sent:int "
        "requests_waited_through:int connections_asked:int connections_served:int"
    ),
    **_columns_of(DISTRIBUTIONS),
    **column_types("received_bytes:int errors:int"),
    **{f"errors_{name}": polars.Int64 for name in FAILURES},
    **column_types(
        "generator_cpu_per_request_us:float generator_lateness_p99_ms:float "
        "generator_lateness_p99_9_ms:float listen_overflows:int syn_retransmits:int "
        "server_cpu_user_s:float server_cpu_system_s:float server_cpu_share:float "
        "server_cpu_per_request_us:float server_run_delay_per_request_us:float "
        "server_memory_mean_bytes:float server_memory_peak_bytes:int "
        "server_proportional_memory_bytes:float server_processes_max:int server_threads_max:int "
        "server_open_files_max:int server_busiest_process_share:float server_busiest_thread_share:float "
        "server_disk_read_bytes_per_s:float page_cache_mean_bytes:float page_cache_refault_bytes_per_s:float "
        "listen_backlog:int listen_queue_max:int throttled_s:float verdict"
    ),
    "verdict_codes": polars.List(polars.String),
    "verdict_notes": polars.List(polars.String),
}
_HANDSHAKE_COLUMNS: Schema = {
    **column_types(
        "tls_version tls_suite tls_group certificate_key full_handshakes:int resumed_handshakes:int "
        "full_handshakes_per_s:float resumed_handshakes_per_s:float"
    ),
    **_columns_of(HANDSHAKES),
}
_STREAM_COLUMNS: Schema = {
    **column_types(
        "streams_asked:int streams_allowed_min:int streams_allowed_max:int streams_refused:int "
        "requests_moved:int connections_ended:int connections_ended_by_error:int"
    ),
    **_columns_of([STREAM_WAIT]),
}


def _sweep_keys(run: Run) -> list[str]:
    """List the keys of all points, in the order in which they first appear."""
    return list(dict.fromkeys(key for point in run.sweep_points for key in point))


def _identity(server: str, trial: int, block: int, started_at: str) -> dict[str, Any]:
    return {"server": server, "trial": trial, "block": block, "started_at": started_at}


def _row(record: PointRecord, keys: list[str]) -> dict[str, Any]:
    load = record.load
    lateness = load.generator.lateness_ms
    queue, page_cache = record.probe.listen_queue, record.probe.page_cache
    return {
        **_identity(record.server, record.trial, record.block, record.started_at),
        **{key: record.point.get(key) for key in keys},
        "loading_rps": LOADING.value(record),
        "duration_s": load.duration_s,
        "throughput_rps": load.rate_rps.answered,
        "rate_asked_rps": load.rate_rps.asked,
        "rate_sent_rps": load.rate_rps.sent,
        "requests_due": load.requests.due,
        "requests_answered": load.requests.answered,
        "requests_unanswered": load.requests.unanswered,
        "requests_never_sent": load.requests.never_sent,
        "requests_waited_through": _waited_through(load),
        "connections_asked": load.connections.asked,
        "connections_served": load.connections.served,
        **_distributions({name: getattr(load, name) for name in DISTRIBUTIONS}),
        "received_bytes": load.bytes.received if load.bytes else None,
        "errors": load.requests.failed,
        **{f"errors_{name}": count for name, count in load.errors.root.items()},
        "generator_cpu_per_request_us": load.generator.cpu_per_request_us,
        "generator_lateness_p99_ms": lateness.p99 if lateness else None,
        "generator_lateness_p99_9_ms": lateness.p99_9 if lateness else None,
        "listen_overflows": load.kernel.listen_overflows,
        "syn_retransmits": load.kernel.syn_retransmits,
        **_server_columns(record.probe.server),
        "page_cache_mean_bytes": page_cache.mean_bytes if page_cache else None,
        "page_cache_refault_bytes_per_s": page_cache.refault_bytes_per_s if page_cache else None,
        "listen_backlog": queue.backlog if queue else None,
        "listen_queue_max": queue.waiting_max if queue else None,
        "throttled_s": record.probe.throttling.throttled_s if record.probe.throttling else None,
        "verdict": load.verdict.status,
        "verdict_codes": [reason.code for reason in load.verdict.reasons],
        "verdict_notes": [note.code for note in load.verdict.notes],
        **(_handshake_columns(load, load.tls) if load.tls is not None else {}),
        **(_stream_columns(load, load.http2) if load.http2 is not None else {}),
    }


def _waited_through(load: LoadResult) -> int | None:
    """Return how many requests waited through the window; ``None`` where that was not looked at."""
    if load.waited_through is not None:
        return load.waited_through.requests
    return None if load.connections.served is None else 0


def _handshake_columns(load: LoadResult, tls: TlsResult) -> dict[str, Any]:
    """Return the columns of a load over TLS; of what was agreed on the most frequent."""
    most, measured = next(iter(tls.agreed), None), tls.measured
    times_ms = (
        load.handshake_ms,
        measured.full_ms if measured else None,
        measured.resumed_ms if measured else None,
    )
    return {
        "tls_version": most.version if most else None,
        "tls_suite": most.suite if most else None,
        "tls_group": most.group if most else None,
        "certificate_key": tls.certificate.key if tls.certificate else None,
        "full_handshakes": tls.handshakes.full,
        "resumed_handshakes": tls.handshakes.resumed,
        "full_handshakes_per_s": measured.full_per_s if measured else None,
        "resumed_handshakes_per_s": measured.resumed_per_s if measured else None,
        **_distributions(dict(zip(HANDSHAKES, times_ms, strict=True))),
    }


def _stream_columns(load: LoadResult, http2: Http2Result) -> dict[str, Any]:
    """Return the columns of a load over HTTP/2."""
    allowed = http2.streams_allowed
    return {
        "streams_asked": load.load.streams,
        "streams_allowed_min": allowed.min if allowed else None,
        "streams_allowed_max": allowed.max if allowed else None,
        "streams_refused": http2.streams_refused,
        "requests_moved": load.requests.moved,
        "connections_ended": http2.connections_ended,
        "connections_ended_by_error": http2.connections_ended_by_error,
        **_distribution_columns(STREAM_WAIT, http2.stream_wait_ms),
    }


def _distributions(by_name: Mapping[str, Distribution | None]) -> dict[str, Any]:
    """Return the columns of those distributions that were measured."""
    columns: dict[str, Any] = {}
    for name, distribution in by_name.items():
        if distribution is not None:
            columns |= _distribution_columns(name, distribution)
    return columns


def _distribution_columns(name: str, distribution: Distribution) -> dict[str, Any]:
    """Return a distribution's figures as columns: ``latency_p50_ms`` and so on."""
    return {
        f"{name.removesuffix('_ms')}_{field}{'' if field == 'count' else '_ms'}": value
        for field, value in distribution.model_dump().items()
    }


def _server_columns(used: ServerUse | None) -> dict[str, Any]:
    """Return the columns of what the server used; none at all where it was not measured."""
    if used is None:
        return {}
    return {
        "server_cpu_user_s": used.cpu_user_s,
        "server_cpu_system_s": used.cpu_system_s,
        "server_cpu_share": used.cpu_share,
        "server_cpu_per_request_us": used.cpu_per_request_us,
        "server_run_delay_per_request_us": used.run_delay_per_request_us,
        "server_memory_mean_bytes": used.memory_mean_bytes,
        "server_memory_peak_bytes": used.memory_peak_bytes,
        "server_proportional_memory_bytes": used.proportional_memory_bytes,
        "server_processes_max": used.processes.max if used.processes else None,
        "server_threads_max": used.threads.max if used.threads else None,
        "server_open_files_max": used.open_files_max,
        "server_busiest_process_share": used.busiest_process.cpu_share if used.busiest_process else None,
        "server_busiest_thread_share": used.busiest_thread.cpu_share if used.busiest_thread else None,
        "server_disk_read_bytes_per_s": used.disk_read_bytes_per_s,
    }
