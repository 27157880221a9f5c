"""What disturbed the machine while a run was measured, by its records."""

from collections.abc import Iterable
from dataclasses import dataclass

from loadcurve.result.folder import Run
from loadcurve.result.machine import GENERATOR_PAUSED


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The worst of all measured points; ``None`` where none of them has the figure."""

    steal_share: float | None
    """Of one CPU's time, withheld by the host."""
    cpu_pressure_share: float | None
    """Of the time, in which some work waited for a CPU."""
    memory_pressure_share: float | None
    disk_pressure_share: float | None
    throttled_share: float | None
    """Of the periods of the server's limit of CPU, in which it had to wait."""
    paused_points: int
    """Points during which the process that sends the load was paused so long that they are suspect."""
    points: int


def unknown_disturbance(run: Run) -> Disturbance:
    """Return the disturbance of a run without any known figure."""
    return Disturbance(None, None, None, None, None, paused_points=0, points=len(run.points))


def disturbance_of(run: Run) -> Disturbance:
    """Return the disturbance of a run."""
    probes = [record.probe for record in run.points]
    pressures = [one.pressure for one in probes if one.pressure is not None]
    throttled = [one.throttling for one in probes if one.throttling is not None and one.throttling.periods]
    return Disturbance(
        steal_share=_worst(cpu.steal_share for one in probes for cpu in one.cpus or []),
        cpu_pressure_share=_worst(one.cpu_some_share for one in pressures),
        memory_pressure_share=_worst(one.memory_some_share for one in pressures),
        disk_pressure_share=_worst(one.io_some_share for one in pressures),
        throttled_share=_worst(one.throttled_periods / one.periods for one in throttled),
        paused_points=sum(
            any(reason.code == GENERATOR_PAUSED for reason in record.load.verdict.reasons)
            for record in run.points
        ),
        points=len(run.points),
    )


def _worst(shares: Iterable[float | None]) -> float | None:
    return max((share for share in shares if share is not None), default=None)
