"""The sweep as it is drawn: which key runs along the axis, and which keys stay fixed within a figure."""

from dataclasses import dataclass

from loadcurve.report import text
from loadcurve.result.records import Point

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
    def logarithmic(self) -> bool:
        """Whether the axis is better read on a logarithmic scale."""
        values = self.values
        return bool(values) and values[0] > 0 and values[-1] / values[0] > LOG_SPAN

    @property
    def axis_title(self) -> str:
        """What runs along the axis."""
        return text.key_title(self.key) if self.key else "server"


def slices(points: list[Point]) -> list[Slice]:
    """Split the points of a sweep into figures: the key with the most values runs along the axis.

    A sweep of one key is one slice; a sweep of two has one slice for each value of the key with fewer values.
    """
    if len(points) <= 1:
        return [Slice(None, {}, points)] if points else []
    keys = list(dict.fromkeys(key for point in points for key in point))
    axis = max(keys, key=lambda key: len({point.get(key) for point in points}))
    varying = [key for key in keys if key != axis and len({point.get(key) for point in points}) > 1]
    groups: dict[tuple[float | None, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(tuple(point.get(key) for key in varying), []).append(point)
    return [
        Slice(axis, {key: value for key in varying if (value := group[0].get(key)) is not None}, group)
        for group in groups.values()
    ]
