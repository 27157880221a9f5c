"""Servers and points without a usable figure, and why: what a decision must not pass over."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint
from loadcurve.loads.values import Point
from loadcurve.result.records import FailureRecord


@dataclass(frozen=True, slots=True)
class Unusable:
    """Points of one server without a usable figure, for one reason."""

    server: str
    points: tuple[Point, ...]
    reason: str


def lost(base: Analysis, new: Analysis) -> tuple[Unusable, ...]:
    """Return what has usable figures in the base run and none in the new one."""
    return _neighbours(
        (curve.server, at.point, _why_lost(new, curve.server, at.point) if at.usable else None)
        for curve in base.curves
        for at in curve.points
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


def _neighbours(found: Iterator[tuple[str, Point, str | None]]) -> tuple[Unusable, ...]:
    """Put neighbouring points of one server together that share their reason; ``None`` is none."""
    groups = groupby(found, key=lambda one: (one[0], one[2]))
    return tuple(
        Unusable(server, tuple(point for _, point, _ in group), reason)
        for (server, reason), group in groups
        if reason is not None
    )


def _at(analysis: Analysis, server: str, point: Point) -> CurvePoint | None:
    curves = (curve for curve in analysis.curves if curve.server == server)
    return next((at for curve in curves for at in curve.points if at.point == point), None)


def _why_lost(new: Analysis, server: str, point: Point) -> str | None:
    """Return why a point has no usable figure; ``None`` where it has one."""
    at = _at(new, server, point)
    if at is not None and at.usable:
        return None
    facts = new.run.servers.get(server)
    if facts is None:
        return "the new run has no server of this name"
    if facts.status == "missing":
        return "it is not installed"
    if point not in new.points:
        return "the new run does not have the point"
    return _why(new, server, point)


def _why(analysis: Analysis, server: str, point: Point) -> str:
    at = _at(analysis, server, point)
    if at is not None and at.trials:
        return at.invalid_because or "invalid"
    if at is not None and at.ended_before:
        return "its curve had ended before, because throughput had fallen"
    failure = _failure(analysis.failures, server, point)
    return "not measured" if failure is None else failure.reason.text


def _failure(failures: Sequence[FailureRecord], server: str, point: Point) -> FailureRecord | None:
    """Return the failure at a point, or else the last one of the server, which ended its trial before."""
    own = [failure for failure in failures if failure.server == server]
    return next((one for one in own if one.point == point), own[-1] if own else None)
