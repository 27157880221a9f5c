"""What each server of a study is held to, and what the record of the run says of it."""

from loadcurve.errors import BadInput
from loadcurve.host.cgroups import NO_LIMITS, Limits, quota_and_period_us
from loadcurve.host.credits import Burst
from loadcurve.host.machines import MachineType, machine_table
from loadcurve.result.records import BurstRecord, LimitsRecord, MachineRecord
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.limits import BurstTable, LimitsTable
from loadcurve.study.tables import Host, StudyServer


def limits_of(server: StudyServer, host: Host) -> Limits:
    """Return what a server is held to.

    Raises ``UnusableSetting``: its machine type is not known, or has no CPU credits, or none of a server in a
    container can be imitated.
    """
    limits = NO_LIMITS
    if server.machine is not None:
        limits = _limits_of_machine(server, _machine(server.machine), host)
    elif server.limits is not None:
        limits = limits_of_table(server.limits)
    if limits.burst is not None and server.engine is not None:
        text = "CPU credits are emulated only outside containers; remove it, or burst"
        raise UnusableSetting("engine", text)
    return limits


def limits_record(server: StudyServer, host: Host) -> LimitsRecord | None:
    """Return the record of what a server is held to; ``None`` where that is nothing."""
    limits = limits_of(server, host)
    if limits == NO_LIMITS:
        return None
    if limits.cpus is None:
        return LimitsRecord(cpus=None, memory_bytes=limits.memory_bytes, period_ms=None)
    burst = None
    if limits.burst is not None:
        share = limits.burst.baseline_cpus / limits.cpus
        burst = BurstRecord(
            credits=limits.burst.credits, baseline_share=share, restarted=limits.burst.restarted
        )
    _, period_us = quota_and_period_us(limits.cpus, limits.period_us)
    return LimitsRecord(
        cpus=limits.cpus, memory_bytes=limits.memory_bytes, burst=burst, period_ms=period_us / 1000
    )


def machine_record(name: str) -> MachineRecord:
    """Return the record of a machine type, with its price."""
    table = machine_table()
    machine = table.machine(name)
    return MachineRecord(
        name=name,
        **machine.model_dump(exclude={"credits"}),
        burstable=machine.credits is not None,
        priced_on=table.date.isoformat(),
        region=table.region,
    )


def _machine(name: str) -> MachineType:
    try:
        return machine_table().machine(name)
    except BadInput as error:
        raise UnusableSetting("machine", str(error)) from None


def _limits_of_machine(server: StudyServer, machine: MachineType, host: Host) -> Limits:
    return machine.limits(host.cpus_per_vcpu, _burst_of_machine(server, machine, host))


def _burst_of_machine(server: StudyServer, machine: MachineType, host: Host) -> Burst | None:
    """Return the CPU credits to imitate, with what the server's own table says of them."""
    if "burst" not in server.model_fields_set:
        lowers = host.burst and machine.credits is not None and not machine.credits.unlimited_by_default
        asked = BurstTable() if lowers else None
    else:
        asked = server.burst
    if asked is None:
        return None
    if machine.credits is None:
        text = f"{server.machine} has no CPU credits; remove it, or use a machine type that has some"
        raise UnusableSetting("burst", text)
    return machine.credits.burst(
        host.cpus_per_vcpu, asked.credits, asked.baseline_share, restarted=asked.restarted
    )


def limits_of_table(table: LimitsTable) -> Limits:
    """Return the limits that a table of a study names."""
    burst, cpus = None, table.cpus
    if table.burst is not None and cpus is not None:
        baseline_cpus = (table.burst.baseline_share or 0.0) * cpus
        burst = Burst.of_a_day(table.burst.credits or 0.0, baseline_cpus, restarted=table.burst.restarted)
    return Limits(cpus=cpus, memory_bytes=table.memory_bytes, burst=burst)
