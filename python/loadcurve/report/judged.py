"""What trials say of the limits at each point, and which points a short table shows."""

from collections import Counter
from collections.abc import Sequence

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import Curve, CurvePoint
from loadcurve.report import text
from loadcurve.result.measures import point_key
from loadcurve.stats.capacity import JudgedLoad

LATE_WORDS = "late: the generator was, which can only have added to the latencies that held"
"""What the word means in cells of :func:`limits_words`."""


class Judged:
    """What trials say of the limits, by server and point."""

    def __init__(self, analysis: Analysis) -> None:
        """Take it from the shapes of a run's curves; without limits there is nothing."""
        self._by_place = {}
        for part in analysis.shapes:
            for shape in part.shapes:
                at_load = {one.load: one for one in shape.judged}
                for point in part.part.points:
                    if (one := at_load.get(point[part.part.key or ""])) is not None:
                        self._by_place[shape.server, point_key(point)] = one

    def __bool__(self) -> bool:
        """Say whether there is anything."""
        return bool(self._by_place)

    def at(self, server: str, at: CurvePoint) -> JudgedLoad | None:
        """Return what is said of a point; ``None`` where nothing is."""
        return self._by_place.get((server, point_key(at.point)))

    def shown(self, curve: Curve, most: int) -> list[CurvePoint]:
        """Return at most ``most`` measured points of a curve, but all of those next to a capacity.

        The others are the first, the last and some evenly between them.
        """
        measured = measured_points(curve)
        places = [
            place
            for place, at in enumerate(measured)
            if (one := self.at(curve.server, at)) is not None and one.decides
        ]
        others = [place for place in range(len(measured)) if place not in places]
        places += text.evenly(others, max(2, most - len(places)))
        return [measured[place] for place in sorted(places)]


def measured_points(curve: Curve) -> list[CurvePoint]:
    """Return the points that any trial has measured, in the order of the sweep."""
    return [at for at in curve.points if at.trials]


def limits_words(one: JudgedLoad | None) -> str:
    """Say in a cell whether limits held at a load, such as ``held``, ``1 of 3 held`` or ``not judged``."""
    if one is None:
        return units.ABSENT
    trials = one.held + one.failed + one.unjudged
    for count, word in ((one.held, "held, late" if one.was_late else "held"), (one.failed, "failed")):
        if count:
            return word if count == trials else f"{count} of {trials} {word}"
    return "not judged"


def left_out_words(judged: Judged, tables: Sequence[tuple[Curve, Sequence[CurvePoint]]]) -> str:
    """Say how many measured points a short table of curves leaves out, and what they are; nothing of none."""
    measured = [(curve.server, at) for curve, _ in tables for at in measured_points(curve)]
    shown = {(curve.server, point_key(at.point)) for curve, points in tables for at in points}
    left_out = [(server, at) for server, at in measured if (server, point_key(at.point)) not in shown]
    if not left_out:
        return ""
    outcomes = Counter(_outcome(one) for server, at in left_out if (one := judged.at(server, at)) is not None)
    said = [f"{outcomes[what]:,} {what}" for what in _OUTCOMES if outcomes[what]]
    invalid = sum(at.verdict == "invalid" for _, at in left_out)
    if invalid:
        said.append(f"{invalid:,} {'of them invalid' if said else 'invalid'}")
    what = f": {', '.join(said)}" if said else ""
    return f"{len(left_out):,} of {len(measured):,} points are not in this table{what}; the report has all"


_OUTCOMES = ("held", "failed", "held in some trials", "not judged")


def _outcome(one: JudgedLoad) -> str:
    if one.held and one.failed:
        return "held in some trials"
    return "held" if one.held else "failed" if one.failed else "not judged"
