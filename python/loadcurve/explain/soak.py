"""The figures of a soak over time: each measure of each server at each point, with its trend."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from loadcurve.explain.subject import Subject
from loadcurve.loads.values import Point
from loadcurve.result.measures import MEASURES, Measure, PointKey, is_usable, measures, point_key
from loadcurve.result.records import PointRecord, RunRecord
from loadcurve.stats.ranking import holm_adjusted
from loadcurve.stats.trend import Trend, trend

SIGNIFICANCE: Final = 0.01
"""The chance, for each server, that any of its figures is called a trend by mistake."""
LEAST_CHANGE: Final = 0.05
"""A smaller change of rates and times from start to end, as a share, matters to nobody."""
LEAST_GROWTH_OF_MEMORY: Final = 0.02
LEAST_GROWTH_OF_FILES: Final = 8.0


def _open_files(record: PointRecord) -> float | None:
    server = record.probe.server
    return None if server is None or server.open_files_max is None else float(server.open_files_max)


OPEN_FILES: Final = Measure(
    name="open_files_max",
    column="server_open_files_max",
    title="open files and sockets",
    heading="open files and sockets",
    unit="",
    better="lower",
    from_zero=True,
    value=_open_files,
)
MEMORY: Final = MEASURES["memory_mean_mib"]
HELD: Final = (MEMORY, OPEN_FILES)
"""What a server holds from trial to trial, whatever disturbs the load."""
SERVED: Final = ("p50", "p99", "cpu_per_request_us")
MEASURES_IN_ORDER: Final = ("throughput", *SERVED, *(one.name for one in HELD))


@dataclass(frozen=True, slots=True)
class OverTime:
    """A measure of one server at one point, trial by trial."""

    server: str
    point: Point
    measure: Measure
    times_s: tuple[float, ...]
    """When each trial came to the point, from the start of the run."""
    values: tuple[float, ...]
    since_s: float
    """When the server was started that the trend is of; 0 where each trial starts its own."""
    trend: Trend | None
    """Of the values since then; ``None`` where they are too few, and of what servers hold that each trial
    starts anew."""
    is_trend: bool = False
    """Whether it is one after the correction for all figures of the server, and large enough to matter."""

    @property
    def is_of_last_start(self) -> bool:
        """Whether there are trials of an earlier start, which the trend leaves out."""
        return self.since_s > self.times_s[0]


@dataclass(frozen=True, slots=True)
class ShownTrend:
    """A figure that rises or falls, and its trend."""

    figure: OverTime
    trend: Trend


def shown_trends(figures: Iterable[OverTime]) -> list[ShownTrend]:
    """Return the figures that rise or fall."""
    return [ShownTrend(one, one.trend) for one in figures if one.is_trend and one.trend is not None]


def is_soak(run: RunRecord) -> bool:
    """Say whether the trials of a run were taken at an interval, to see what time does."""
    return run.study.get("trials", {}).get("every_s") is not None


def over_time(subject: Subject) -> list[OverTime]:
    """Return every figure of a server in a soak over time, by point and measure; nothing of another run."""
    if not is_soak(subject.run):
        return []
    begin = datetime.fromisoformat(subject.run.started_at)
    is_kept = any(map(subject.lives_on, subject.records))
    return _judged(
        [one for records in _by_point(subject.records) for one in _figures(records, begin, is_kept=is_kept)]
    )


def _by_point(records: Sequence[PointRecord]) -> list[list[PointRecord]]:
    by_point: dict[PointKey, list[PointRecord]] = {}
    for record in records:
        by_point.setdefault(point_key(record.point), []).append(record)
    return list(by_point.values())


def _figures(records: Sequence[PointRecord], begin: datetime, *, is_kept: bool) -> list[OverTime]:
    """Return the figures of one point of one server, in the order of the measures.

    Where a rate was asked for, the rate that was answered says nothing of the server. What a server holds is
    the same in an invalid point, such as one in which other programs took the CPUs. ``is_kept`` says that the
    server lives from trial to trial: otherwise what it holds ends with the trial, and no trend is of it.
    """
    ordered = sorted(records, key=lambda one: one.started_at)
    times = {id(one): (datetime.fromisoformat(one.started_at) - begin).total_seconds() for one in ordered}
    last_start = ordered[-1].server_started_at
    since_s = 0.0
    if last_start is not None:
        since_s = (datetime.fromisoformat(last_start) - begin).total_seconds()
    load = ordered[0].load
    rate = [measures(load.load.kind)["throughput"]] if load.rate_rps.asked is None else []
    chosen = [*rate, *(MEASURES[name] for name in SERVED), *HELD]
    found = []
    for measure in chosen:
        counting = [one for one in ordered if measure in HELD or is_usable(one)]
        known = [(times[id(one)], value) for one in counting if (value := measure.value(one)) is not None]
        if len(known) > 1:
            is_asked = is_kept or measure not in HELD
            living = [(at_s, value) for at_s, value in known if at_s >= since_s and is_asked]
            found.append(
                OverTime(
                    ordered[0].server,
                    ordered[0].point,
                    measure,
                    tuple(at_s for at_s, _ in known),
                    tuple(value for _, value in known),
                    since_s,
                    trend([at_s for at_s, _ in living], [value for _, value in living]),
                )
            )
    return found


def _judged(figures: Sequence[OverTime]) -> list[OverTime]:
    """Return the figures of a server, with those marked that have a trend, by Holm's correction for all."""
    tested = [(place, one.trend) for place, one in enumerate(figures) if one.trend is not None]
    adjusted = holm_adjusted([found.p_value for _, found in tested])
    shown = {
        place
        for (place, found), p_value in zip(tested, adjusted, strict=True)
        if p_value <= SIGNIFICANCE and _matters(figures[place].measure, found)
    }
    return [replace(one, is_trend=place in shown) for place, one in enumerate(figures)]


def _matters(measure: Measure, found: Trend) -> bool:
    if measure is OPEN_FILES:
        return abs(found.change) >= LEAST_GROWTH_OF_FILES
    share = found.relative_change
    if measure is MEMORY:
        return share is not None and abs(share) >= LEAST_GROWTH_OF_MEMORY and abs(found.change) >= 1
    return share is not None and abs(share) >= LEAST_CHANGE
