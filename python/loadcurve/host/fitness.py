"""Whether this machine is fit to measure: what was found, why it matters, and the command that mends it."""

import resource
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from loadcurve._engine import LocalPorts, uring_refusal
from loadcurve.host.cgroups import ControlGroup, Limits, LimitsUnavailable
from loadcurve.host.cpus import CpuDivision
from loadcurve.host.readings import Readings
from loadcurve.host.tracking import tracked_connections
from loadcurve.result.machine import INVALID_TAKEN, SUSPECT_TAKEN, others_are_expected
from loadcurve.units import in_percent

Fitness = Literal["good", "caution", "bad", "unknown"]
"""Bad: numbers measured here are wrong or cannot be had. Caution: some kinds of load are out of reach."""

MANY_CONNECTIONS = 10_000
"""As many connections as a study of scalability asks for."""
THIS_MACHINE = "127.0.0.1:0"
ANOTHER_MACHINE = "192.0.2.1:0"
"""An address that is nobody's (RFC 5737); ports are held for it as for all machines but this one."""
SHORTEST_GOOD_LISTEN_QUEUE = 4096
MOST_TRACKED = 0.5
"""A load with a connection for each request fills the other half in seconds."""
WATCHED_S = 1.0
MOST_STEAL = 0.01
QUICK_CLOCKS = frozenset({"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"})
"""Clock sources that are read without a call of the kernel."""


@dataclass(frozen=True)
class Check:
    """One line of the doctor's."""

    topic: str
    fitness: Fitness
    found: str
    why: str
    remedy: str | None = None
    """The command that mends it, where there is one."""


def check_host(
    cpus: CpuDivision, connection_rate_cps: float | None = None, readings: Readings | None = None
) -> Iterator[Check]:
    """Check this machine, one topic after the other; it is watched for a second on the way.

    ``connection_rate_cps`` is a rate of new connections that shall be reached, for the arithmetic of ports.
    """
    readings = Readings() if readings is None else readings
    yield check_cpus(readings, cpus)
    yield from _of_either_side(readings)
    yield check_ports(readings, connection_rate_cps)
    yield check_listen_queue(readings)
    yield from check_connection_tracking(readings)
    yield check_uring(uring_refusal())
    yield check_limits()


def check_host_of_servers(readings: Readings | None = None) -> Iterator[Check]:
    """Check this machine as one that has servers alone, whose load comes from another machine."""
    readings = Readings() if readings is None else readings
    yield from _of_either_side(readings)
    yield check_listen_queue(readings)
    yield from check_connection_tracking(readings)
    yield check_limits()


def _of_either_side(readings: Readings) -> Iterator[Check]:
    """Check what servers and load need alike."""
    yield check_governor(readings)
    yield from check_activity(readings)
    yield check_swap(readings)
    yield check_clock(readings)
    yield check_open_files(*resource.getrlimit(resource.RLIMIT_NOFILE))


def check_cpus(readings: Readings, cpus: CpuDivision) -> Check:
    """Check that server and load have separate CPUs, on separate cores."""
    found = f"server on {_join(cpus.server)}, load on {_join(cpus.load)}"
    why = "work that shares a CPU or a core with the server slows it down, and is measured as part of it"
    if cpus.overlap:
        problem = (
            f"{found}: both use {_join(cpus.overlap)}; separating them requires a machine with more CPUs"
        )
        return Check("CPUs", "bad", problem, why)
    shared = [cpu for cpu in cpus.load if not _siblings(readings, cpu).isdisjoint(cpus.server)]
    if shared:
        remedy = "lscpu -e   # and choose server_cpus and load_cpus on different cores"
        return Check(
            "CPUs", "caution", f"{found}: {_join(shared)} shares a core with the server", why, remedy
        )
    return Check("CPUs", "good", found, why)


def check_governor(readings: Readings) -> Check:
    """Check that CPUs do not slow down when they have little to do."""
    files = readings.matching("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    governors = {governor for governor in map(readings.text, files) if governor is not None}
    why = "a CPU that reduces its frequency at low load makes low loads look slow"
    if not governors:
        return Check(
            "frequency", "unknown", "the kernel shows no frequency governor, as in most virtual machines", why
        )
    found = f"governor {', '.join(sorted(governors))}"
    if governors == {"performance"}:
        return Check("frequency", "good", found, why)
    return Check("frequency", "caution", found, why, "cpupower frequency-set -g performance")


def check_activity(readings: Readings, sleep: Callable[[float], None] = time.sleep) -> Iterator[Check]:
    """Watch all CPUs for a second: steal, and what else runs here."""
    before = _cpu_times(readings)
    sleep(WATCHED_S)
    after = _cpu_times(readings)
    why_steal = "while the host does not run a CPU, whatever runs on it is paused"
    why_load = "other processes take CPU time, caches and memory bandwidth from the server and the load"
    if before is None or after is None or after.total <= before.total:
        yield Check("steal", "unknown", "the kernel does not publish it", why_steal)
        yield Check("other load", "unknown", "the kernel does not publish it", why_load)
        return
    total = after.total - before.total
    steal, busy = (after.steal - before.steal) / total, (after.busy - before.busy) / total
    yield Check(
        "steal",
        "good" if steal <= MOST_STEAL else "bad",
        f"{in_percent(steal)} % of the CPU time was withheld by the host",
        why_steal,
    )
    yield Check(
        "other load",
        _of_other_load(busy),
        f"{in_percent(busy)} % of the CPU time was in use while nothing was measured",
        why_load,
        None if busy <= SUSPECT_TAKEN else "top -o %CPU",
    )


def _of_other_load(busy: float) -> Fitness:
    """Judge a share of the CPU time as the verdict of a load does."""
    if busy <= SUSPECT_TAKEN:
        return "good"
    return "bad" if busy >= INVALID_TAKEN and not others_are_expected() else "caution"


def check_swap(readings: Readings) -> Check:
    """Check that no memory is on disk."""
    total_kib, free_kib = (
        int((readings.field("proc/meminfo", name) or "0 kB").split()[0]) for name in ("SwapTotal", "SwapFree")
    )
    why = "reading memory back from disk takes milliseconds each time"
    used_mib = (total_kib - free_kib) / 1024
    if total_kib == 0:
        return Check("swap", "good", "none", why)
    if used_mib < 1:
        return Check("swap", "good", f"{total_kib / 1024:,.0f} MiB, not used", why)
    return Check("swap", "caution", f"{used_mib:,.0f} MiB used", why, "swapoff -a")


def check_clock(readings: Readings) -> Check:
    """Check that reading the clock is cheap."""
    source = readings.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
    why = "the clock is read several times per request; a slow source costs more than the request"
    if source is None:
        return Check("clock", "unknown", "the kernel does not publish its clock source", why)
    if source in QUICK_CLOCKS:
        return Check("clock", "good", source, why)
    remedy = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Check("clock", "bad", source, why, remedy)


def check_open_files(soft: int, hard: int) -> Check:
    """Check how many connections the limit of open files allows; the load raises the soft limit itself."""
    why = "each connection is an open file, for the load and for the server"
    if hard == resource.RLIM_INFINITY or hard > MANY_CONNECTIONS:
        most = "any number" if hard == resource.RLIM_INFINITY else f"{hard:,}"
        now = "any number" if soft == resource.RLIM_INFINITY else f"{soft:,}"
        return Check("open files", "good", f"at most {most} (now {now})", why)
    remedy = f"ulimit -Hn {2 * MANY_CONNECTIONS}   # as root; for good in /etc/security/limits.conf"
    return Check("open files", "caution", f"at most {hard:,}, too few for {MANY_CONNECTIONS:,}", why, remedy)


def check_ports(readings: Readings, connection_rate_cps: float | None) -> Check:
    """Do the arithmetic of local ports: each new connection takes one until its TIME_WAIT is over."""
    here, elsewhere = (
        LocalPorts.towards(destination, readings.root / "proc")
        for destination in (THIS_MACHINE, ANOTHER_MACHINE)
    )
    why = "a port that the load has closed stays in TIME_WAIT before it can be reused for the same address"
    if here is None or elsewhere is None:
        return Check("ports", "unknown", "the kernel does not publish the range of local ports", why)
    places = {"on this machine": here, "to other machines": elsewhere}
    found = (
        f"{here.available:,} local ports are free; sustainable new connections per second to one address: "
    )
    found += ", ".join(
        f"{ports.available / ports.held_for_s:,.0f} {where} (a port waits {ports.held_for_s:g} s)"
        for where, ports in places.items()
    )
    if connection_rate_cps is None:
        return Check("ports", "good", found, why)
    needed = {where: ports.needed_for_ever(connection_rate_cps) for where, ports in places.items()}
    found += f"; {connection_rate_cps:,.0f} per second require "
    found += ", ".join(f"{count:,} ports {where}" for where, count in needed.items())
    if all(count <= places[where].available for where, count in needed.items()):
        return Check("ports", "good", found, why)
    # Where nothing is left to set, only fewer connections help.
    remedy = f"sysctl -w {' '.join(elsewhere.settings)}" if elsewhere.settings else None
    return Check("ports", "caution", found, why, remedy)


def check_listen_queue(readings: Readings) -> Check:
    """Check how many connections can wait to be accepted."""
    longest = readings.number("proc/sys/net/core/somaxconn")
    why = (
        "connections that arrive when the queue is full are dropped and retried after 1 s, 3 s and 7 s: "
        "the queue then causes the longest latencies"
    )
    if longest is None:
        return Check("listen queue", "unknown", "the kernel does not publish it", why)
    found = f"at most {longest:,} connections can wait (net.core.somaxconn), whatever a server requests"
    if longest >= SHORTEST_GOOD_LISTEN_QUEUE:
        return Check("listen queue", "good", found, why)
    return Check(
        "listen queue", "caution", found, why, f"sysctl -w net.core.somaxconn={SHORTEST_GOOD_LISTEN_QUEUE}"
    )


def check_connection_tracking(readings: Readings) -> Iterator[Check]:
    """Check whether the kernel's table of tracked connections has room; nothing where it tracks none."""
    table = tracked_connections(readings)
    if table is None:
        return
    found = f"{table.used:,} of {table.size:,} connections are tracked (nf_conntrack)"
    why = (
        "firewalls, and programs that run containers, make the kernel track connections; each keeps its "
        "place for up to 2 min after its end, and where the table is full, packets of new ones are dropped"
    )
    if table.share <= MOST_TRACKED:
        yield Check("connection tracking", "good", found, why)
        return
    remedy = f"sysctl -w net.netfilter.nf_conntrack_max={4 * table.size}"
    yield Check("connection tracking", "caution", found, why, remedy)


def check_uring(refusal: str | None) -> Check:
    """Check whether the kernel offers the cheaper way to talk to it."""
    why = "the load uses less CPU with io_uring; without it, epoll is used"
    if refusal is None:
        return Check("io_uring", "good", "available", why)
    remedy = "sysctl -w kernel.io_uring_disabled=0" if "io_uring_disabled" in refusal else None
    return Check("io_uring", "caution", refusal, why, remedy)


def check_limits() -> Check:
    """Check whether servers can be held to a share of the machine, by doing it."""
    why = 'limits = {…} and machine = "…" in a study limit a server to a part of the machine'
    try:
        group = ControlGroup.planned(
            f"loadcurve-doctor-{secrets.token_hex(4)}", Limits(cpus=1.0, memory_bytes=1 << 26)
        )
        group.make()
    except LimitsUnavailable as unavailable:
        remedy = "systemd-run --user --scope -p Delegate=yes loadcurve doctor   # or as root"
        return Check("control groups", "caution", str(unavailable), why, remedy)
    group.remove()
    return Check("control groups", "good", "CPUs and memory can be limited", why)


@dataclass(frozen=True)
class _CpuTimes:
    """Time of all CPUs since the machine's start, in clock ticks."""

    busy: int
    steal: int
    total: int


def _cpu_times(readings: Readings) -> _CpuTimes | None:
    for line in (readings.text("proc/stat") or "").splitlines():
        words = line.split()
        if words[:1] == ["cpu"]:
            user, nice, system, idle, iowait, interrupts, soft_interrupts, steal = map(int, words[1:9])
            busy = user + nice + system + interrupts + soft_interrupts
            return _CpuTimes(busy, steal, busy + idle + iowait + steal)
    return None


def _siblings(readings: Readings, cpu: int) -> set[int]:
    """Return the CPUs on the core of a CPU, itself included."""
    text = readings.text(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    siblings = {cpu}
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            siblings |= set(range(int(first), int(last or first) + 1))
    return siblings


def _join(cpus: tuple[int, ...] | list[int]) -> str:
    name = "CPU" if len(cpus) == 1 else "CPUs"
    return f"{name} {', '.join(map(str, cpus))}"
