"""Servers and points without a usable figure, and why: what a decision must not pass over."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import Curve, CurvePoint
from loadcurve.analysis.limits import MACHINES_DOING
from loadcurve.loads.values import Point
from loadcurve.result.records import FailureRecord


@dataclass(frozen=True, slots=True)
class Unusable:
    """Points of one server without a usable figure, for reasons that differ in their figures at most."""

    server: str
    points: tuple[Point, ...]
    reasons: tuple[str, ...]
    """In the order of the points, each once."""
    code: str
    """What the reasons have in common: their code, or the reason itself where it has none."""

    @property
    def reason(self) -> str:
        """The first of the reasons."""
        return self.reasons[0]

    @property
    def is_of_machine(self) -> bool:
        """Whether the points are invalid by what the generator or the machine did: they say nothing of it."""
        return self.code in MACHINES_DOING


Why = tuple[str, str]
"""A code, and the reason."""


def lost(base: Analysis, new: Analysis) -> tuple[Unusable, ...]:
    """Return what has usable figures in the base run and none in the new one.

    A point that the new run's study does not have is not lost: the studies differ.
    """
    return _lost([(curve.server, curve) for curve in base.curves], new)


def lost_in_head(analysis: Analysis, base: str, head: str) -> tuple[Unusable, ...]:
    """Return the points at which one server of a run has usable figures and another, ``head``, has none."""
    return _lost([(head, curve) for curve in analysis.curves if curve.server == base], analysis)


def never_usable(analysis: Analysis, server: str) -> tuple[Unusable, ...]:
    """Return the points at which a server has no usable figure, so that nothing is compared with it there."""
    return _neighbours((server, point, _why_lost(analysis, server, point)) for point in analysis.points)


def by_doing(found: Sequence[Unusable]) -> tuple[tuple[Unusable, ...], tuple[Unusable, ...]]:
    """Return what is of the server's own doing, and what is of the generator's or the machine's."""
    return (
        tuple(one for one in found if not one.is_of_machine),
        tuple(one for one in found if one.is_of_machine),
    )


def without_usable_figures(analysis: Analysis, planned: Iterable[str]) -> tuple[Unusable, ...]:
    """Return the planned servers without any usable point."""
    measured = {curve.server for curve in analysis.curves if any(at.usable for at in curve.points)}
    return _neighbours(
        (server, point, _why(analysis, server, point))
        for server in planned
        if server not in measured
        for point in analysis.points
    )


def _lost(bases: Iterable[tuple[str, Curve]], new: Analysis) -> tuple[Unusable, ...]:
    """Return where servers of the new side have no usable figure and the curves of their bases have one."""
    return _neighbours(
        (server, at.point, _why_lost(new, server, at.point) if at.usable else None)
        for server, curve in bases
        for at in curve.points
        if at.point in new.points
    )


def _neighbours(found: Iterator[tuple[str, Point, Why | None]]) -> tuple[Unusable, ...]:
    """Put neighbouring points of a server together whose reasons have one code; ``None`` is none."""
    groups = groupby(found, key=lambda one: (one[0], one[2] and one[2][0]))
    listed = ((server, code, list(group)) for (server, code), group in groups if code is not None)
    return tuple(
        Unusable(
            server,
            tuple(point for _, point, _ in group),
            tuple(dict.fromkeys(why[1] for *_, why in group if why is not None)),
            code,
        )
        for server, code, group in listed
    )


def _uncoded(reason: str) -> Why:
    return reason, reason


def _at(analysis: Analysis, server: str, point: Point) -> CurvePoint | None:
    curves = (curve for curve in analysis.curves if curve.server == server)
    return next((at for curve in curves for at in curve.points if at.point == point), None)


def _why_lost(new: Analysis, server: str, point: Point) -> Why | None:
    """Return why a point has no usable figure; ``None`` where it has one."""
    at = _at(new, server, point)
    if at is not None and at.usable:
        return None
    facts = new.run.servers.get(server)
    if facts is None:
        return _uncoded("the new run has no server of this name")
    if _is_not_installed(new, server):
        return _uncoded("it is not installed")
    return _why(new, server, point)


def why_unusable(analysis: Analysis, server: str, point: Point) -> str:
    """Return why a server has no usable figure at a point where it has none."""
    facts = analysis.run.servers.get(server)
    if facts is None:
        return "the run has no server of this name"
    return "it is not installed" if _is_not_installed(analysis, server) else _why(analysis, server, point)[1]


def _is_not_installed(analysis: Analysis, server: str) -> bool:
    """Say whether a server was not there; one that was, and could not be measured, has failed trials."""
    has_failed = any(failure.server == server for failure in analysis.failures)
    return analysis.run.servers[server].status == "missing" and not has_failed


def _why(analysis: Analysis, server: str, point: Point) -> Why:
    at = _at(analysis, server, point)
    if at is not None and at.trials:
        reason = at.invalid_because or "invalid"
        return at.invalid_code or reason, reason
    if at is not None and at.ended_before:
        return _uncoded("its curve had ended before, because throughput had fallen")
    failure = _failure(analysis.failures, server, point)
    return _uncoded("not measured") if failure is None else _uncoded(failure.reason.text)


def _failure(failures: Sequence[FailureRecord], server: str, point: Point) -> FailureRecord | None:
    """Return the failure at a point, or else the last one of the server, which ended its trial before."""
    own = [failure for failure in failures if failure.server == server]
    return next((one for one in own if one.point == point), own[-1] if own else None)
