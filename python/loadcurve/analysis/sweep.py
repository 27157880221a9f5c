"""The sweep as curves: which key runs along the axis, and each server's trials along it."""

from collections.abc import Callable
from dataclasses import dataclass

from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import is_usable
from loadcurve.result.records import PointRecord
from loadcurve.stats.complete import Rows

LOG_SPAN = 20
"""An axis that spans more than this factor is logarithmic."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The points of one figure: ``key`` varies, and the settings in ``fixed`` are the same for all of them.

    ``key`` is ``None`` where there is a single point, so that nothing varies but the server.
    """

    key: str | None
    fixed: Point
    points: list[Point]

    @property
    def values(self) -> list[float]:
        """The values of the key, in ascending order."""
        return sorted({point[self.key] for point in self.points}) if self.key else []

    @property
    def rising(self) -> list[Point]:
        """The points by their rising value of the key."""
        key = self.key
        return self.points if key is None else sorted(self.points, key=lambda point: point[key])

    def at(self, value: float) -> Point:
        """Return the point at a value of the key, with the settings that no point of the sweep varies."""
        return next(point for point in self.points if point.get(self.key or "") == value)

    @property
    def logarithmic(self) -> bool:
        """Whether the axis is better read on a logarithmic scale."""
        values = self.values
        return bool(values) and values[0] > 0 and values[-1] / values[0] > LOG_SPAN


def slices(points: list[Point], along: str | None = None) -> list[Slice]:
    """Split the points of a sweep into figures: one key, or else that with the most values, is the axis.

    A sweep of one key is one slice; a sweep of two has one slice for each value of the key with fewer values.
    """
    if len(points) <= 1:
        return [Slice(None, {}, points)] if points else []
    keys = list(dict.fromkeys(key for point in points for key in point))
    axis = along or max(keys, key=lambda key: len({point.get(key) for point in points}))
    varying = [key for key in keys if key != axis and len({point.get(key) for point in points}) > 1]
    groups: dict[tuple[float | None, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(tuple(point.get(key) for key in varying), []).append(point)
    return [
        Slice(axis, {key: value for key in varying if (value := group[0].get(key)) is not None}, group)
        for group in groups.values()
    ]


@dataclass(frozen=True, slots=True)
class TrialCurves:
    """One server's trials along the key of a slice: ``records[i][j]`` is block ``i`` at load ``j``.

    A record is ``None`` where the trial did not get so far; one with an invalid verdict is there.
    """

    server: str
    key: str
    loads: list[float]
    blocks: list[int]
    records: list[list[PointRecord | None]]
    fixed: Point
    """The settings of the slice."""

    def figures(self, figure: Callable[[PointRecord], float | None]) -> Rows:
        """Return one figure of every usable point."""
        return [
            [figure(record) if record is not None and is_usable(record) else None for record in row]
            for row in self.records
        ]


def trial_curves(run: Run, part: Slice) -> list[TrialCurves]:
    """Return the trials of every server that was found along ``part``, whose key must not be ``None``.

    Each has all loads of the slice, in ascending order, and the blocks in which it measured any of them.
    """
    key = part.key
    if key is None:
        raise ValueError("a slice without a key has no axis")
    loads = part.values
    measured: dict[str, dict[int, dict[float, PointRecord]]] = {
        name: {} for name, server in run.run.servers.items() if server.status == "found"
    }
    for record in run.points:
        fixed_as_here = all(record.point.get(name) == value for name, value in part.fixed.items())
        if key in record.point and fixed_as_here and record.server in measured:
            measured[record.server].setdefault(record.block, {})[record.point[key]] = record
    return [
        TrialCurves(
            server=name,
            key=key,
            loads=loads,
            blocks=sorted(blocks),
            records=[[blocks[block].get(load) for load in loads] for block in sorted(blocks)],
            fixed=part.fixed,
        )
        for name, blocks in measured.items()
    ]
