"""Why one server is slower than another one: what an answer takes of each, beside one another."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Change
from loadcurve.analysis.comparison import RunComparison, changes_between, over_blocks
from loadcurve.analysis.curves import Curve
from loadcurve.analysis.resource_measures import CONNECTIONS, REOPENED, resources
from loadcurve.analysis.sections import Sections
from loadcurve.result.measures import Measure
from loadcurve.stats.power import ERROR_RATE
from loadcurve.stats.ranking import holm_steps

RESOURCES = "what an answer takes of each side"
"""What a fault leaves out, in words."""


def with_resources_of_arms(
    comparison: RunComparison, analysis: Analysis, base: str, head: str
) -> RunComparison:
    """Return a comparison with what the head of a run takes over its base, or without where that fails."""
    return _with_resources(comparison, lambda: resources_of_arms(analysis, base, head))


def with_resources_of_runs(comparison: RunComparison, base: Analysis, new: Analysis) -> RunComparison:
    """Return a comparison with what the servers of a run take over those of its base, likewise."""
    return _with_resources(comparison, lambda: resources_of_runs(base, new))


def _with_resources(comparison: RunComparison, compute: Callable[[], tuple[Change, ...]]) -> RunComparison:
    sections = Sections([*comparison.not_computed])
    nothing: tuple[Change, ...] = ()
    found = sections.get(RESOURCES, compute, nothing)
    return replace(comparison, resources=found, not_computed=tuple(sections.not_computed))


def resources_of_arms(analysis: Analysis, base: str, head: str) -> tuple[Change, ...]:
    """Return what the head of a run takes over its base, over the whole curve, within blocks."""
    found = analysis.curves
    return _adjusted(over_blocks(found, measure, base, head) for measure in _told_by(analysis))


def resources_of_runs(base: Analysis, new: Analysis) -> tuple[Change, ...]:
    """Return what the servers of a run take over those of its base, over the points that both have."""
    return _adjusted(_between(base.curves, new.curves, measure) for measure in _told_by(base, new))


def _told_by(*analyses: Analysis) -> list[Measure]:
    """Return the resources that runs can differ in."""
    is_reopened = any(
        any(at.values(REOPENED)) for one in analyses for curve in one.curves for at in curve.points
    )
    return [one for one in resources(analyses[0].load_kind) if is_reopened or one.name != CONNECTIONS]


def _between(base: Sequence[Curve], new: Sequence[Curve], measure: Measure) -> list[Change]:
    return [one for one in changes_between(base, new, measure) if one.point is None]


def _adjusted(changes: Iterable[Sequence[Change]]) -> tuple[Change, ...]:
    """Return the changes, adjusted for the number of resources of each server by Holm's method."""
    found = [change for some in changes for change in some]
    by_server: dict[str, list[int]] = {}
    for index, change in enumerate(found):
        if change.ratio.p_value is not None:
            by_server.setdefault(change.server, []).append(index)
    steps: dict[int, int] = {}
    for family in by_server.values():
        p_values = [p for index in family if (p := found[index].ratio.p_value) is not None]
        steps |= zip(family, holm_steps(p_values, ERROR_RATE), strict=True)
    return tuple(replace(change, step=steps.get(index, 1)) for index, change in enumerate(found))
