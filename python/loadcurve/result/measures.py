"""The measures: every figure that one trial has at one point, under the names that everything else uses."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.loads.values import Point
from loadcurve.result.distribution import Distribution
from loadcurve.result.records import LOAD_PHASE, PointRecord
from loadcurve.units import BYTES_PER_MIB

Better = Literal["higher", "lower"]

BYTES_PER_KIB = 1 << 10


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that one trial has at one point."""

    name: str
    """As studies name it."""
    column: str
    """Its name in tables and in JSON, with its unit."""
    title: str
    """As it is in a sentence."""
    heading: str
    """As it is over figures and columns, with its unit."""
    unit: str
    """Nothing for a count."""
    better: Better | None
    """Which of two values is the better one; ``None`` where neither is."""
    from_zero: bool
    """It is drawn along a linear axis that begins at zero; other measures along a logarithmic one."""
    value: Callable[[PointRecord], float | None]
    """The figure of a trial; ``None`` where it was not measured."""
    operation: str | None = None
    """The operation whose figure alone it is, by its label; ``None`` of the whole load."""
    column_of_operation: str | None = None
    """Its name in tables that name the operation beside it; ``None`` of the whole load."""


def is_usable(record: PointRecord) -> bool:
    """Say whether a point of a trial may enter an estimate: its verdict is not invalid."""
    return record.load.verdict.status != "invalid"


PointKey = tuple[tuple[str, float], ...]


def point_key(point: Point) -> PointKey:
    """Return the settings of a point as something hashable; the order of the settings does not matter."""
    return tuple(sorted(point.items()))


def wrong_answers(record: PointRecord) -> int:
    """Return how many requests failed or were answered with a status of 400 or more.

    Where statuses or failures are not known, those that are known to be wrong.
    """
    requests = record.load.requests
    ok = requests.answered if requests.ok is None else requests.ok
    return (requests.failed or 0) + requests.answered - ok


def statistic_of(times_ms: Distribution | None, name: str) -> float | None:
    """Return a figure of times, such as ``p99``; ``None`` where it is not known."""
    figure: float | None = getattr(times_ms, name, None)
    return figure


def _latency(name: str) -> Measure:
    title = {"mean": "mean latency", "max": "longest latency"}.get(name, name.replace("_", "."))
    return Measure(
        name,
        column=f"latency_{name}_ms",
        title=title,
        heading=f"latency {name.replace('_', '.')}, ms",
        unit="ms",
        better="lower",
        from_zero=False,
        value=lambda trial: statistic_of(trial.load.latency_ms, name),
    )


def _used(trial: PointRecord, field: str) -> float | None:
    """Return what the server used; ``None`` where the probe did not measure it."""
    figure: float | None = getattr(trial.probe.server, field, None)
    return figure


def _used_mib(trial: PointRecord, field: str) -> float | None:
    return _mib(_used(trial, field))


def _mib(size_bytes: float | None) -> float | None:
    return None if size_bytes is None else size_bytes / BYTES_PER_MIB


def _processes(trial: PointRecord) -> float | None:
    used = trial.probe.server
    return None if used is None or used.processes is None else used.processes.max


def _by_name(*measures: Measure) -> dict[str, Measure]:
    return {measure.name: measure for measure in measures}


LATENCIES = _by_name(
    *map(_latency, ("mean", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max")),
)


@cache
def measures(kind: LoadKind) -> dict[str, Measure]:
    """Return by name what every run is measured by whose load is of this kind."""
    throughput = Measure(
        "throughput",
        column="throughput_rps",
        title="throughput",
        heading=kind.per_second,
        unit=kind.per_second,
        better="higher",
        from_zero=True,
        value=_answered_rps,
    )
    return _by_name(throughput, *LATENCIES.values(), *_resources(kind), *_FILES)


def _answered_rps(trial: PointRecord) -> float | None:
    return trial.load.rate_rps.answered


def _of_server(
    name: str,
    title: str,
    heading: str,
    unit: str,
    value: Callable[[PointRecord], float | None],
    *,
    better: Better | None = None,
    from_zero: bool = True,
) -> Measure:
    return Measure(name, f"server_{name}", title, heading, unit, better, from_zero, value)


def _resources(kind: LoadKind) -> tuple[Measure, ...]:
    """Return what the server used: CPUs, time of them and for them, resident memory, most processes."""
    return (
        _of_server("cpu_share", "CPUs in use", "CPUs in use", "CPUs", partial(_used, field="cpu_share")),
        _of_server(
            "cpu_per_request_us",
            f"CPU time per {kind.request}",
            f"CPU per {kind.request}, µs",
            "µs",
            partial(_used, field="cpu_per_request_us"),
            better="lower",
        ),
        _of_server(
            "run_delay_per_request_us",
            f"time waiting for a CPU per {kind.request}",
            f"waiting for a CPU per {kind.request}, µs",
            "µs",
            partial(_used, field="run_delay_per_request_us"),
        ),
        _of_server(
            "memory_mean_mib",
            "mean memory",
            "resident memory, MiB",
            "MiB",
            partial(_used_mib, field="memory_mean_bytes"),
            better="lower",
        ),
        _of_server(
            "memory_peak_mib",
            "peak memory",
            "peak memory, MiB",
            "MiB",
            partial(_used_mib, field="memory_peak_bytes"),
            better="lower",
        ),
        _of_server("processes_max", "number of processes", "processes", "", _processes, from_zero=False),
    )


def _page_cache_mib(trial: PointRecord, field: str) -> float | None:
    return _mib(getattr(trial.probe.page_cache, field, None))


def _of_files(
    name: str, column: str, title: str, unit: str, value: Callable[[PointRecord], float | None]
) -> Measure:
    return Measure(name, column, title, f"{title}, {unit}", unit, None, from_zero=True, value=value)


_FILES = (
    _of_files(
        "disk_read_mib_per_s",
        "server_disk_read_mib_per_s",
        "read from disks",
        "MiB/s",
        partial(_used_mib, field="disk_read_bytes_per_s"),
    ),
    _of_files(
        "page_cache_mib",
        "machine_page_cache_mib",
        "page cache of the machine",
        "MiB",
        partial(_page_cache_mib, field="mean_bytes"),
    ),
    _of_files(
        "page_cache_refault_mib_per_s",
        "machine_page_cache_refault_mib_per_s",
        "dropped from the page cache and read again",
        "MiB/s",
        partial(_page_cache_mib, field="refault_bytes_per_s"),
    ),
)
"""What a server read from disks, and what its machine held of files in memory."""

MEASURES = measures(WEB)
"""By name: what runs on web servers are measured by; those on databases only call some of it otherwise."""
THROUGHPUT = MEASURES["throughput"]
RANKED_BY = ("throughput", "p50", "p99", "cpu_per_request_us")
"""The names of the measures by which a report ranks servers."""


def _of_connections(name: str, unit: str, value: Callable[[PointRecord], float | None]) -> Measure:
    title = name.replace("_", " ")
    return Measure(name, name, title, title, unit, None, name == "connection_rate", value)


def _times(name: str, title: str, of: Callable[[PointRecord], Distribution | None]) -> Iterator[Measure]:
    """Yield the statistics of one kind of times, in ms."""
    for statistic in ("min", "mean", "p50", "max", "stddev"):
        value = partial(_time, of=of, statistic=statistic)
        said = f"{title} {statistic}"
        yield Measure(f"{name}_{statistic}", f"{name}_{statistic}", said, said, "ms", None, False, value)  # noqa: FBT003


def _time(
    trial: PointRecord, of: Callable[[PointRecord], Distribution | None], statistic: str
) -> float | None:
    return statistic_of(of(trial), statistic)


def _received_kib_per_s(trial: PointRecord) -> float | None:
    received = trial.load.bytes.received if trial.load.bytes else None
    return None if received is None else received / BYTES_PER_KIB / trial.load.duration_s


def _header_bytes(trial: PointRecord) -> float | None:
    header = trial.load.bytes.header if trial.load.bytes else None
    answered = trial.load.requests.answered
    return header / answered if header is not None and answered else None


def _measure(name: str, title: str, unit: str, value: Callable[[PointRecord], float | None]) -> Measure:
    heading = f"{title}, {unit}"
    return Measure(name, name, title, heading, unit, None, from_zero=True, value=value)


PUBLISHED_MEASURES: dict[str, Measure] = {
    **MEASURES,
    **_by_name(
        _of_connections("connection_rate", "connections/s", lambda trial: trial.load.connections.rate_cps),
        _of_connections(
            "connections_concurrent_max",
            "connections",
            lambda trial: trial.load.connections.concurrent_max,
        ),
        *_times("connection_time", "connection time", lambda trial: trial.load.connections.lifetime_ms),
        _measure("received_kib_per_s", "rate of received bytes", "KiB/s", _received_kib_per_s),
        _measure("header_bytes", "headers of a response", "bytes", _header_bytes),
        _measure("load_duration_s", "time that the load took", "s", lambda trial: trial.load.duration_s),
        *_times("connect", "time to connect,", lambda trial: trial.load.connect_ms),
        *_times("first_byte", "time to the first byte,", lambda trial: trial.load.first_byte_ms),
    ),
}
"""By name: what published figures may have."""


def _loaded_rps(trial: PointRecord) -> float | None:
    loading = trial.measurements.get(LOAD_PHASE)
    return loading.rate_rps.answered if loading else None


LOADING = Measure(
    "loading",
    column="loading_rps",
    title="records loaded per second",
    heading="records/s",
    unit="records/s",
    better="higher",
    from_zero=True,
    value=_loaded_rps,
)
"""How many records were loaded per second before a point."""


PROTOCOL_STATISTICS = ("p50", "p99")
"""Those of the times of TLS, HTTP/2 and messages, which only runs that have these have."""


def _handshakes_ms(trial: PointRecord, kind: str) -> Distribution | None:
    """Return the times of the handshakes of a kind within the window, where there were any."""
    tls = trial.load.tls
    if tls is None or tls.measured is None:
        return None
    times_ms = tls.measured.resumed_ms if kind == "resumed" else tls.measured.full_ms
    return times_ms if times_ms.count else None


def _handshakes_per_s(trial: PointRecord, kind: str) -> float | None:
    tls = trial.load.tls
    if tls is None or tls.measured is None:
        return None
    return tls.measured.resumed_per_s if kind == "resumed" else tls.measured.full_per_s


def _stream_waits_ms(trial: PointRecord) -> Distribution | None:
    return None if trial.load.http2 is None else trial.load.http2.stream_wait_ms


def _messages_ms(trial: PointRecord, times: str) -> Distribution | None:
    """Return times of messages, where any came."""
    found: Distribution | None = getattr(trial.load.messages, times, None)
    return found if found is not None and found.count else None


def _messages_per_s(trial: PointRecord) -> float | None:
    return None if trial.load.messages is None else trial.load.messages.received_per_s


def _delivered_share(trial: PointRecord) -> float | None:
    return None if trial.load.messages is None else trial.load.messages.delivered_share


def _reach(trial: PointRecord) -> float | None:
    return None if trial.load.deliveries is None else trial.load.deliveries.reach


def _deliveries_per_s(trial: PointRecord) -> float | None:
    return None if trial.load.deliveries is None else trial.load.deliveries.delivered_per_s


def _deliveries_ms(trial: PointRecord) -> Distribution | None:
    """Return the latencies of deliveries, where there were any."""
    found = None if trial.load.deliveries is None else trial.load.deliveries.latency_ms
    return found if found is not None and found.count else None


def _moved_share(trial: PointRecord) -> float | None:
    """Return which share of the requests was sent once more; ``None`` where connections carry no streams."""
    requests = trial.load.requests
    if trial.load.http2 is None or not requests.sent or requests.moved is None:
        return None
    return requests.moved / requests.sent


def _rate(kind: str) -> Measure:
    name, words = f"{kind}_handshakes_per_s", f"{kind} handshakes"
    value = partial(_handshakes_per_s, kind=kind)
    return Measure(name, name, f"{words} per second", f"{words}/s", "handshakes/s", None, True, value)  # noqa: FBT003


def _protocol_times(
    name: str, words: str, times: Callable[[PointRecord], Distribution | None]
) -> Iterator[Measure]:
    """Yield the statistics of the times that ``times`` reads from a record."""
    for one in PROTOCOL_STATISTICS:
        column, heading = f"{name}_{one}_ms", f"{words.removeprefix('the ')}, {one}, ms"
        value = partial(_time, of=times, statistic=one)
        yield Measure(f"{name}_{one}", column, f"{one} of {words}", heading, "ms", "lower", False, value)  # noqa: FBT003


def _the_more_the_better(
    name: str, title: str, heading: str, unit: str, value: Callable[[PointRecord], float | None]
) -> Measure:
    return Measure(name, name, title, heading, unit, "higher", from_zero=True, value=value)


MESSAGE_MEASURES = (
    *_protocol_times(
        "first_event", "the time to the first event", partial(_messages_ms, times="first_event_ms")
    ),
    *_protocol_times("event_gap", "the gaps between events", partial(_messages_ms, times="gap_ms")),
    _the_more_the_better("events_per_s", "events per second", "events/s", "events/s", _messages_per_s),
    _the_more_the_better(
        "events_delivered_share",
        "share of the expected events that came",
        "share of events delivered",
        "share",
        _delivered_share,
    ),
    _the_more_the_better("reach", "reach: deliveries that came of those expected", "reach", "share", _reach),
    _the_more_the_better(
        "deliveries_per_s", "deliveries per second", "deliveries/s", "deliveries/s", _deliveries_per_s
    ),
    *_protocol_times("delivery", "the latency of deliveries", _deliveries_ms),
)
"""Of answers that are streams of messages, in the order in which they are shown."""
PROTOCOL_MEASURES = (
    *(
        measure
        for kind in ("full", "resumed")
        for measure in (
            _rate(kind),
            *_protocol_times(f"{kind}_handshake", f"{kind} handshakes", partial(_handshakes_ms, kind=kind)),
        )
    ),
    *_protocol_times("stream_wait", "the waits for a stream", _stream_waits_ms),
    *MESSAGE_MEASURES,
    Measure(
        "moved_share",
        column="requests_moved_share",
        title="share of requests that were sent again",
        heading="share of requests sent again",
        unit="share",
        better="lower",
        from_zero=True,
        value=_moved_share,
    ),
)
"""In the order in which they are shown."""


def protocol_measures(records: Iterable[PointRecord]) -> list[Measure]:
    """Return those with a figure above zero in any record; none in a run without TLS, HTTP/2 and messages."""
    of_them = [
        record
        for record in records
        if any(
            one is not None
            for one in (record.load.tls, record.load.http2, record.load.messages, record.load.deliveries)
        )
    ]
    return [measure for measure in PROTOCOL_MEASURES if any(measure.value(record) for record in of_them)]
