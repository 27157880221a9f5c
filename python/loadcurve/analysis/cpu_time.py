"""Whose the time of CPUs was, over the trials of each point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal

from loadcurve.loads.values import Point
from loadcurve.result.cpu_time import PARTS, CpuTime, ProgramTime
from loadcurve.result.folder import Run
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.records import PointRecord

Side = Literal["server", "load", "both"]
PROGRAMS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class DividedCpus:
    """Whose the time of the CPUs of one side was at one point, the mean of all trials, invalid ones too."""

    server: str
    point: Point
    side: Side
    """Whose CPUs they are; both, where server and load share any."""
    cpus: list[int]
    parts: dict[str, float | None]
    """Shares by part, which sum to 1; ``None`` for a part that does not run on these CPUs."""
    softirq_share: float
    """As the kernel counts it, within whichever part."""
    others_most: float
    """The share of others in the trial in which it was largest."""
    programs: list[ProgramTime]
    """The others that used most in that trial."""


def cpu_times(run: Run) -> list[DividedCpus]:
    """Return whose the time was at every point where that is known, in the order of the study."""
    found: dict[tuple[str, PointKey], list[PointRecord]] = {}
    for record in run.points:
        found.setdefault((record.server, point_key(record.point)), []).append(record)
    return [
        divided
        for server in run.run.servers
        for point in run.sweep_points
        for divided in _of_point(server, point, found.get((server, point_key(point)), []))
    ]


def _of_point(server: str, point: Point, records: Sequence[PointRecord]) -> Iterator[DividedCpus]:
    of_server = [one.probe.cpu_time for one in records if one.probe.cpu_time is not None]
    of_load = [time for one in records if (time := one.load.generator.cpu_time) is not None]
    for side, times in (("server", of_server), ("load", of_load)):
        if times:
            yield _divided(server, point, "server" if side == "server" else _side(times), times)


def _side(times: Sequence[CpuTime]) -> Side:
    return "both" if any(time.server is not None for time in times) else "load"


def _divided(server: str, point: Point, side: Side, times: Sequence[CpuTime]) -> DividedCpus:
    worst = max(times, key=lambda time: time.others)
    parts: dict[str, float | None] = {}
    for part in PARTS:
        shares = [getattr(time, part) for time in times]
        # Over trials the parts sum to the whole only where an absent one counts as nothing.
        known = any(share is not None for share in shares)
        parts[part] = fmean(share or 0.0 for share in shares) if known else None
    return DividedCpus(
        server=server,
        point=point,
        side=side,
        cpus=sorted({cpu for time in times for cpu in time.cpus}),
        parts=parts,
        softirq_share=fmean(time.softirq_share for time in times),
        others_most=worst.others,
        programs=worst.programs[:PROGRAMS_MAX],
    )
