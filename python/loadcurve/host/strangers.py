"""Processes that are neither the server's nor the load's, and what they used of some CPUs."""

import os
from collections.abc import Collection, Sequence

from loadcurve.host.process_times import ProcessTable, ProcessUse
from loadcurve.result.cpu_time import LEAST_SHARE, ProgramTime


def own_family(table: ProcessTable) -> set[int]:
    """Return the ids of this process and of all that it has started."""
    return table.with_descendants([os.getpid()])


def strangers(uses: Sequence[ProcessUse], known: Collection[int], cpus: Collection[int]) -> list[ProcessUse]:
    """Return the processes beside the known ones that ran on these CPUs, by where they ran last."""
    return [
        use
        for use in uses
        if use.own_s > 0
        and use.process.cpu in cpus
        and use.process.pid not in known
        and not use.process.is_of_kernel
    ]


def kernel_threads_s(uses: Sequence[ProcessUse], cpus: Collection[int]) -> float:
    """Return what the kernel's own threads used of these CPUs, in s."""
    return sum(use.own_s for use in uses if use.process.is_of_kernel and use.process.cpu in cpus)


def named(uses: Sequence[ProcessUse], length_s: float) -> list[ProgramTime]:
    """Return the programs that used enough of a CPU over this time, the one that used most first."""
    by_name: dict[str, list[ProcessUse]] = {}
    for use in uses:
        by_name.setdefault(use.process.name, []).append(use)
    found = [_program(name, of_program, length_s) for name, of_program in by_name.items()]
    enough = (one for one in found if one.cpu_share >= LEAST_SHARE)
    return sorted(enough, key=lambda one: one.cpu_share, reverse=True)


def _program(name: str, uses: Sequence[ProcessUse], length_s: float) -> ProgramTime:
    most = max(uses, key=lambda use: use.own_s).process
    return ProgramTime(
        name=name,
        processes=len(uses),
        pid=most.pid,
        cpu=most.cpu,
        cpu_share=sum(use.own_s for use in uses) / length_s,
    )
