"""How the time of a request is divided among the programs of its server, as far as the kernel measures it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import PointKey, is_usable, point_key
from loadcurve.result.probe import ProgramUse
from loadcurve.result.records import PointRecord
from loadcurve.stats.interval import Estimate, estimate_over_trials
from loadcurve.units import BYTES_PER_MIB

US_PER_MS = 1000


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """What one program spent on each request."""

    name: str
    cpu_us: Estimate | None
    """Processor time; ``None`` where nothing was answered."""
    run_delay_us: Estimate | None
    """For how long its threads could run and waited for a CPU; ``None`` where that is not counted."""
    cpu_share: Estimate | None
    """Of one CPU over the whole time, whatever was answered."""
    memory_mib: Estimate | None
    """Resident memory; ``None`` in records that do not have it."""


@dataclass(frozen=True, slots=True)
class DividedTime:
    """The time of a request at one point of one server of several programs, over its usable trials."""

    server: str
    point: Point
    request_us: Estimate | None
    """The mean time from when a request was sent to the end of its answer."""
    programs: list[ProgramPart]
    """The one with the most processor time first."""
    elsewhere_us: Estimate | None
    """What remains of the time of a request: no thread of the server ran, or waited for a CPU, on its behalf.

    ``None`` where in any trial a part is not known, or the programs spent more than the request lasted, as
    they do where several work on one request at a time.
    """


def divided_times(run: Run) -> list[DividedTime]:
    """Return every point at which a server of several programs was measured, in the order of the study."""
    measured: dict[tuple[str, PointKey], list[PointRecord]] = {}
    for record in run.points:
        if is_usable(record) and _programs(record):
            measured.setdefault((record.server, point_key(record.point)), []).append(record)
    return [
        _divided(server, point, records)
        for server in run.run.servers
        for point in run.sweep_points
        if (records := measured.get((server, point_key(point))))
    ]


def _divided(server: str, point: Point, records: Sequence[PointRecord]) -> DividedTime:
    uses = [{use.name: use for use in _programs(record)} for record in records]
    parts = [_part(name, uses) for name in dict.fromkeys(name for one in uses for name in one)]
    elsewhere_us = [_elsewhere_us(record) for record in records]
    return DividedTime(
        server=server,
        point=point,
        request_us=_estimate(map(_request_us, records)),
        programs=sorted(parts, key=lambda part: (-(part.cpu_us.value if part.cpu_us else 0), part.name)),
        elsewhere_us=None if None in elsewhere_us else _estimate(elsewhere_us),
    )


def _part(name: str, uses: Sequence[Mapping[str, ProgramUse]]) -> ProgramPart:
    found = [one[name] for one in uses if name in one]
    return ProgramPart(
        name=name,
        cpu_us=_estimate(use.cpu_per_request_us for use in found),
        run_delay_us=_estimate(use.run_delay_per_request_us for use in found),
        cpu_share=_estimate(use.cpu_share for use in found),
        memory_mib=_estimate(
            None if use.memory_mean_bytes is None else use.memory_mean_bytes / BYTES_PER_MIB for use in found
        ),
    )


def _programs(record: PointRecord) -> Sequence[ProgramUse]:
    server = record.probe.server
    return [] if server is None or server.programs is None else server.programs


def _request_us(record: PointRecord) -> float | None:
    times_ms = record.load.service_time_ms
    return None if times_ms is None or times_ms.mean is None else times_ms.mean * US_PER_MS


def _elsewhere_us(record: PointRecord) -> float | None:
    request_us = _request_us(record)
    spent_us = [
        part for use in _programs(record) for part in (use.cpu_per_request_us, use.run_delay_per_request_us)
    ]
    known_us = [part for part in spent_us if part is not None]
    if request_us is None or len(known_us) < len(spent_us):
        return None
    remaining_us = request_us - math.fsum(known_us)
    return remaining_us if remaining_us >= 0 else None


def _estimate(values: Iterable[float | None]) -> Estimate | None:
    # A file may hold any figure; one beyond all numbers has no mean.
    return estimate_over_trials(value for value in values if value is not None and math.isfinite(value))
