"""The records of a run as tidy tables."""

from typing import TYPE_CHECKING, NamedTuple

from loadcurve.report.formats.columns import Column, column, columns, table
from loadcurve.result.distribution import Distribution
from loadcurve.result.folder import Run
from loadcurve.result.load import Operation
from loadcurve.result.measures import LOADING
from loadcurve.result.outcomes import FAILURES
from loadcurve.result.records import LOAD_PHASE, PointRecord

if TYPE_CHECKING:
    import polars

DISTRIBUTIONS = ("latency_ms", "service_time_ms", "connect_ms", "first_byte_ms", "transfer_ms")
"""Of every load."""


class OperationRow(NamedTuple):
    """One operation of a load."""

    record: PointRecord
    phase: str
    one: Operation


def points_table(run: Run) -> "polars.DataFrame":
    """Return one row for every measured point of every trial, in the order of measuring.

    The settings of the sweep are columns under their own names (``connections``); measured columns carry
    their unit last (``throughput_rps``, ``latency_p50_ms``); counts of failed requests are ``errors`` and
    ``errors_CLASS``. What was not measured is null. A run without points gives the same columns and no row.
    Handshakes of TLS, streams of HTTP/2 and HTTP/3 have columns, the last ones, where any load had them.
    """
    return table(
        run.points,
        [
            *_IDENTITY,
            *_MEASURED,
            *(_HANDSHAKES if any(record.load.tls is not None for record in run.points) else []),
            *(_STREAMS if any(record.load.http2 is not None for record in run.points) else []),
            *(_QUIC if any(record.load.http3 is not None for record in run.points) else []),
        ],
        _sweep_keys(run),
    )


def failures_table(run: Run) -> "polars.DataFrame":
    """Return one row for every trial that ended early; the settings are null where none was under way."""
    reasons = columns("reason_code=reason.code reason=reason.text")
    return table(run.failures, [*_IDENTITY, *reasons], _sweep_keys(run))


def operations_table(run: Run) -> "polars.DataFrame":
    """Return one row for each operation of every measured point, and of the loading before it.

    ``phase`` is ``load`` for the loading of a database's records, and ``run`` for what was measured.
    """
    rows = [
        OperationRow(record, "load" if name == LOAD_PHASE else "run", one)
        for record in run.points
        for name, load in record.measurements.items()
        for one in load.operations
    ]
    return table(
        rows,
        [
            *columns("server trial:int block:int started_at point:point", within="record"),
            *columns(
                "phase operation=one.operation answered:int=one.answered ok:int=one.ok failed:int=one.failed"
            ),
            *_figures("latency_ms", "one"),
        ],
        _sweep_keys(run),
    )


def _sweep_keys(run: Run) -> list[str]:
    """List the keys of all points, in the order in which they first appear."""
    return list(dict.fromkeys(key for point in run.sweep_points for key in point))


def _waited_through(record: PointRecord) -> int | None:
    """Return how many requests waited through the window; ``None`` where that was not looked at."""
    load = record.load
    if load.waited_through is not None:
        return load.waited_through.requests
    return None if load.connections.served is None else 0


def _figures(name: str, within: str, field: str | None = None) -> list[Column]:
    """Return a distribution's figures as columns: ``latency_p50_ms`` and so on."""
    short, path = name.removesuffix("_ms"), field or name
    kinds = {one: (":int", "") if one == "count" else (":float", "_ms") for one in Distribution.model_fields}
    texts = (f"{short}_{one}{unit}{kind}={path}.{one}" for one, (kind, unit) in kinds.items())
    return columns(" ".join(texts), within)


def _errors(name: str) -> Column:
    return column(f"errors_{name}:int", lambda record: record.load.errors.root.get(name))


_IDENTITY = columns("server trial:int block:int started_at point:point")
_MEASURED = [
    column("loading_rps:float", LOADING.value),
    *columns(
        "duration_s:float throughput_rps:float=rate_rps.answered rate_asked_rps:float=rate_rps.asked "
        "rate_sent_rps:float=rate_rps.sent requests_due:int=requests.due "
        "requests_answered:int=requests.answered requests_unanswered:int=requests.unanswered "
        "requests_never_sent:int=requests.never_sent",
        "load",
    ),
    column("requests_waited_through:int", _waited_through),
    *columns("connections_asked:int=connections.asked connections_served:int=connections.served", "load"),
    *(one for name in DISTRIBUTIONS for one in _figures(name, "load")),
    *columns("received_bytes:int=bytes.received errors:int=requests.failed", "load"),
    *map(_errors, FAILURES),
    *columns(
        "generator_cpu_per_request_us:float=generator.cpu_per_request_us "
        "generator_lateness_p99_ms:float=generator.lateness_ms.p99 "
        "generator_lateness_p99_9_ms:float=generator.lateness_ms.p99_9 "
        "listen_overflows:int=kernel.listen_overflows syn_retransmits:int=kernel.syn_retransmits",
        "load",
    ),
    *columns(
        "cpu_user_s:float cpu_system_s:float cpu_share:float cpu_per_request_us:float "
        "run_delay_per_request_us:float memory_mean_bytes:float memory_peak_bytes:int "
        "proportional_memory_bytes:float processes_max:int=processes.max threads_max:int=threads.max "
        "open_files_max:int busiest_process_share:float=busiest_process.cpu_share "
        "busiest_thread_share:float=busiest_thread.cpu_share disk_read_bytes_per_s:float",
        "probe server",
        prefix="server_",
    ),
    *columns(
        "page_cache_mean_bytes:float=page_cache.mean_bytes "
        "page_cache_refault_bytes_per_s:float=page_cache.refault_bytes_per_s "
        "listen_backlog:int=listen_queue.backlog listen_queue_max:int=listen_queue.waiting_max "
        "throttled_s:float=throttling.throttled_s",
        "probe",
    ),
    *columns("verdict=load.verdict.status"),
    column("verdict_codes:texts", lambda record: [one.code for one in record.load.verdict.reasons]),
    column("verdict_notes:texts", lambda record: [one.code for one in record.load.verdict.notes]),
]


def _agreed(field: str) -> Column:
    """Return a column of what most handshakes agreed on."""

    def value(record: PointRecord) -> str | None:
        agreed = record.load.tls.agreed if record.load.tls else []
        most: str | None = getattr(agreed[0], field) if agreed else None
        return most

    return column(f"tls_{field}", value)


def _over_tls(column: Column) -> Column:
    """Return a column of a load's figures, null of a load in clear text."""
    return column._replace(value=lambda record: column.value(record) if record.load.tls else None)


_HANDSHAKES = [
    *map(_agreed, ("version", "suite", "group")),
    *columns(
        "certificate_key=certificate.key full_handshakes:int=handshakes.full "
        "resumed_handshakes:int=handshakes.resumed full_handshakes_per_s:float=measured.full_per_s "
        "resumed_handshakes_per_s:float=measured.resumed_per_s",
        "load tls",
    ),
    *map(_over_tls, _figures("handshake_ms", "load")),
    *_figures("full_handshake_ms", "load tls measured", "full_ms"),
    *_figures("resumed_handshake_ms", "load tls measured", "resumed_ms"),
]
_STREAMS = [
    column("streams_asked:int", lambda record: record.load.load.streams if record.load.http2 else None),
    *columns(
        "streams_allowed_min:int=streams_allowed.min streams_allowed_max:int=streams_allowed.max "
        "streams_refused:int",
        "load http2",
    ),
    column("requests_moved:int", lambda record: record.load.requests.moved if record.load.http2 else None),
    *columns("connections_ended:int connections_ended_by_error:int", "load http2"),
    *_figures("stream_wait_ms", "load http2"),
]
_QUIC = [
    *columns(
        "packets_sent:int=packets.sent packets_lost:int=packets.lost packets_spurious:int=packets.spurious "
        "key_updates:int=packets.key_updates "
        "datagrams_sent_per_answer:float=packets.sent_per_answer "
        "datagrams_received_per_answer:float=packets.received_per_answer "
        "datagrams_per_send:float=datagrams.per_send datagrams_per_receive:float=datagrams.per_receive "
        "datagrams_dropped_by_client:int=dropped.by_client datagrams_dropped_by_server:int=dropped.by_server "
        "acknowledgements_sent:int=acknowledgements.sent "
        "acknowledgements_received:int=acknowledgements.received "
        "rtt_min_ms:float=rtt_min_ms.min rtt_smoothed_mean_ms:float=rtt_smoothed_ms.mean "
        "mtu_bytes:int=mtu_bytes.max link_mtu_bytes:int=link_mtu_bytes.max "
        "congestion_control=congestion.control congestion_events:int=congestion.events "
        "initial_window_bytes:int=congestion.initial_window_bytes "
        "stream_window_bytes:int=windows.stream_bytes server_blocked:int=windows.server_blocked "
        "blocked:int=windows.blocked stream_limits_met:int=streams.limits_met "
        "table_used_bytes:int=qpack.used_bytes.max certificate_bytes:int=certificate_bytes.max "
        "receive_buffer_bytes:int=sockets.receive_buffer_granted_bytes.max "
        "sockets_with_receive_offload:int=sockets.receive_offload sockets_opened:int=sockets.opened "
        "server_sockets:int=sockets.of_server goaways:int=ends.announced "
        "stateless_resets:int=ends.stateless_resets idle_timeouts:int=ends.idle_timeouts "
        "bodies_compared:int=bodies.compared bodies_expected_bytes:int=bodies.expected_bytes",
        "load http3",
        prefix="quic_",
    ),
    *_figures("quic_full_handshake_ms", "load http3 handshakes_ms", "full"),
    *_figures("quic_resumed_handshake_ms", "load http3 handshakes_ms", "resumed"),
    *_figures("quic_early_accepted_handshake_ms", "load http3 handshakes_ms", "early_accepted"),
    *_figures("quic_early_rejected_handshake_ms", "load http3 handshakes_ms", "early_rejected"),
    *_figures("quic_after_retry_handshake_ms", "load http3 handshakes_ms", "after_retry"),
]
