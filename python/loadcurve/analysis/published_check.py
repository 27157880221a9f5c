"""What forbids that a published file is accepted: private texts, and figures that its trials do not give."""

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Final

from loadcurve.analysis.private_facts import private_facts
from loadcurve.analysis.publication import rankings_of
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.publication import PublishedFigure, PublishedPoint, PublishedRun
from loadcurve.stats.interval import Estimate
from loadcurve.stats.servers import estimates_of_servers

PROBLEMS_MAX: Final = 5
TEXT_SHOWN: Final = 60
MEAN_TOLERANCE: Final = 2e-5
"""Trials are rounded to six digits, by half a unit of the last at most, and so is the mean that is read."""
END_TOLERANCE: Final = 2e-4
"""The same of an end of an interval, of two trials 12.7 standard errors away from the mean."""


def problems_of(run: PublishedRun, public: Collection[str] = ()) -> Iterator[str]:
    """Yield what forbids that a published file is accepted, in sentences.

    Whoever changes a file on purpose can seal it again. So what follows from its trials is computed anew: the
    mean, the interval and the number of trials of each figure, and the rankings. ``public`` has texts that
    may stay, as in :class:`~loadcurve.analysis.publication.Publication`.
    """
    for fact in islice(private_facts(run.model_dump(exclude={"study"}), public=public), PROBLEMS_MAX):
        yield f"{fact.place} has {fact.kind}, {fact.text[:TEXT_SHOWN]}: leave it out, or publish without it"
    for fact in islice(private_facts(run.study or ""), PROBLEMS_MAX):
        yield f"the study has {fact.kind}, {fact.text[:TEXT_SHOWN]}: publish without the study"
    if not any(verdict != "invalid" for one in run.points for verdict in one.verdicts):
        yield "no point has a verdict by which it can be used"
    yield from islice(_wrong_figures(run), PROBLEMS_MAX)
    unranked = {one.server for one in run.unranked}
    if list(rankings_of(run.points, run.measures, run.works, unranked)) != run.rankings:
        yield "its rankings are not those of its own figures"


def _wrong_figures(run: PublishedRun) -> Iterator[str]:
    """Yield the figures whose mean, interval or number of trials is not that of their trials."""
    by_point: dict[PointKey, list[PublishedPoint]] = {}
    for one in run.points:
        by_point.setdefault(point_key(one.point), []).append(one)
    for at in by_point.values():
        for name in dict.fromkeys(name for one in at for name in one.figures):
            of_servers = [one for one in at if name in one.figures]
            # Two trials borrow the spread of the other servers at their point.
            found = estimates_of_servers([_usable(one, one.figures[name]) for one in of_servers])
            for one, estimate in zip(of_servers, found, strict=True):
                words = _what_is_wrong(one.figures[name], estimate)
                if words is not None:
                    yield f"{one.server} at {_in_words(one.point)}: {name}: {words}"


def _usable(at: PublishedPoint, figure: PublishedFigure) -> list[float]:
    """Return the values of the trials that enter a mean."""
    return [
        value
        for value, verdict in zip(figure.values, at.verdicts, strict=True)
        if value is not None and verdict != "invalid"
    ]


def _what_is_wrong(figure: PublishedFigure, found: Estimate | None) -> str | None:
    n = 0 if found is None else found.n
    if figure.n != n:
        return f"n is {figure.n}, and the usable trials in the file are {n}"
    pairs = {
        "value": (figure.value, None if found is None else found.value, MEAN_TOLERANCE),
        "low": (figure.low, None if found is None else found.low, END_TOLERANCE),
        "high": (figure.high, None if found is None else found.high, END_TOLERANCE),
    }
    # An end of an arithmetic mean may be near to zero, or below it.
    size = max((abs(value) for value in figure.values if value is not None), default=0.0)
    is_geometric = found is not None and found.low is not None and found.low > 0
    for name, (said, computed, tolerance) in pairs.items():
        around = 0.0 if is_geometric else tolerance * size
        is_same = (
            said is computed
            if said is None or computed is None
            else math.isclose(said, computed, rel_tol=tolerance, abs_tol=around)
        )
        if not is_same:
            return f"{name} is {_number(said)}, and the trials in the file give {_number(computed)}"
    return None


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:.6g}"


def _in_words(point: Mapping[str, float]) -> str:
    return ", ".join(f"{key} = {value:g}" for key, value in point.items()) or "its point"
