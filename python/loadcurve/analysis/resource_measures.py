"""What an answer takes: the resources by which a difference between two servers is explained."""

from collections.abc import Callable
from typing import Literal

from loadcurve.loads.kinds import LoadKind
from loadcurve.result.measures import Measure
from loadcurve.result.records import PointRecord

_US_PER_S = 1e6
CONNECTIONS = "connections"
"""The name of how many connections a request takes."""


def resources(kind: LoadKind) -> tuple[Measure, ...]:
    """Return what two servers are compared by to explain a difference; less is better of each.

    All are by the request that was answered, so that a faster server does not look like a costlier one.
    """
    each = f"per {kind.request}"
    return (
        _of_server("cpu_user_us", f"CPU time in user mode {each}", "µs", lambda one: _cpu_us(one, "user")),
        _of_server(
            "cpu_system_us", f"CPU time in the kernel {each}", "µs", lambda one: _cpu_us(one, "system")
        ),
        _of_server("context_switches", f"context switches {each}", "", _context_switches),
        _of_server("page_faults", f"page faults {each}", "", lambda one: _page_faults(one, "minor")),
        _of_server(
            "page_faults_major",
            f"page faults that read a disk {each}",
            "",
            lambda one: _page_faults(one, "major"),
        ),
        _of_server(
            "memory_peak_mib", "peak memory", "MiB", lambda one: _used(one, "memory_peak_bytes", 1 << 20)
        ),
        _of_server("processes_max", "number of processes", "", lambda one: _most(one, "processes")),
        _of_server("threads_max", "number of threads", "", lambda one: _most(one, "threads")),
        _of_load("received_bytes", "bytes of an answer", "bytes", _received_bytes),
        _of_load(CONNECTIONS, f"connections {each}", "", _connections),
    )


def kept_resources(kind: LoadKind) -> tuple[Measure, ...]:
    """Return what an analysis keeps of each trial, so that runs are compared without their records."""
    return (*resources(kind), REOPENED)


Figure = Callable[[PointRecord], float | None]


def _of_server(name: str, title: str, unit: str, value: Figure) -> Measure:
    return Measure(name, f"server_{name}", title, title, unit, "lower", from_zero=True, value=value)


def _of_load(name: str, title: str, unit: str, value: Figure) -> Measure:
    return Measure(name, f"load_{name}", title, title, unit, "lower", from_zero=True, value=value)


def _each(total: float | None, one: PointRecord) -> float | None:
    answered = one.load.requests.answered
    return total / answered if total is not None and answered else None


def _cpu_us(one: PointRecord, mode: Literal["user", "system"]) -> float | None:
    used = one.probe.server
    time_s = None if used is None else used.cpu_user_s if mode == "user" else used.cpu_system_s
    return None if time_s is None else _each(time_s * _US_PER_S, one)


def _context_switches(one: PointRecord) -> float | None:
    used = one.probe.server
    switches = None if used is None else used.context_switches
    return None if switches is None else _each(switches.voluntary + switches.involuntary, one)


def _page_faults(one: PointRecord, kind: Literal["minor", "major"]) -> float | None:
    faults = one.probe.server and one.probe.server.page_faults
    return _each(faults.minor if kind == "minor" else faults.major, one) if faults else None


def _used(one: PointRecord, field: str, divisor: int) -> float | None:
    figure: float | None = getattr(one.probe.server, field, None)
    return None if figure is None else figure / divisor


def _most(one: PointRecord, field: Literal["processes", "threads"]) -> float | None:
    used = one.probe.server
    found = None if used is None else used.processes if field == "processes" else used.threads
    return None if found is None else found.max


def _received_bytes(one: PointRecord) -> float | None:
    counted = one.load.bytes
    return None if counted is None else _each(counted.received, one)


def _reopened(one: PointRecord) -> float:
    counted = one.load.connections
    return float((counted.opened or 0) > (counted.concurrent_max or 0))


REOPENED = _of_load("reopened", "whether connections were opened again", "", _reopened)
"""Where every connection lasts, how many there are for a request is the throughput once more."""


def _connections(one: PointRecord) -> float | None:
    opened, reused = one.load.connections.opened, one.load.connections.reused
    return opened / (opened + reused) if opened and reused is not None else None
