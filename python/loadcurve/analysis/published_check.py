"""What forbids that a published file is accepted: private texts, and figures that its trials do not give."""

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Final

from loadcurve.analysis.private_facts import private_facts
from loadcurve.analysis.publication import rankings_of
from loadcurve.analysis.published_figures import estimates_of_trials, published_measure, si_name
from loadcurve.loads.kinds import kind_of_work
from loadcurve.result.checksum import digest
from loadcurve.result.measures import measures
from loadcurve.result.publication import PublishedFigure, PublishedRun, slug
from loadcurve.result.records import OWN_PROGRAM, RUNNING_SERVER
from loadcurve.stats.interval import Estimate
from loadcurve.units import setting

PROBLEMS_MAX: Final = 5
TEXT_SHOWN: Final = 60
TOLERANCE: Final = 2e-5
"""A mean and the ends of its interval are rounded to six digits."""


def problems_of(run: PublishedRun, public: Collection[str] = ()) -> Iterator[str]:
    """Yield what forbids that a published file is accepted, in sentences.

    Whoever changes a file on purpose can seal it again. So what follows from the rest of the file is made
    anew: the mean, the interval and the number of trials of each figure, the rankings, what measures are, on
    whose page a server is, and the digest of the study. ``public`` has texts that
    may stay, as in :class:`~loadcurve.analysis.publication.Publication`; all may in a run whose publisher
    kept them on purpose.
    """
    if not run.private_facts:
        yield from _private_texts(run, public)
    if not any(verdict != "invalid" for one in run.points for verdict in one.verdicts):
        yield "no point has a verdict by which it can be used"
    yield from islice(_wrong_figures(run), PROBLEMS_MAX)
    unranked = {one.server for one in run.unranked}
    if list(rankings_of(run.points, run.measures, run.works, unranked, run.load)) != run.rankings:
        yield "its rankings are not those of its own figures"
    yield from islice(_wrong_measures(run), PROBLEMS_MAX)
    yield from islice(_wrong_slugs(run), PROBLEMS_MAX)
    if run.study is not None and run.study_sha256 not in {None, digest(run.study.encode())}:
        yield "its study does not have the digest of the study that was run"


def _wrong_measures(run: PublishedRun) -> Iterator[str]:
    """Yield the measures whose unit or direction is another one than figures of their name have.

    Another version may give one another title, but not that of another measure.
    """
    known = {si_name(one): published_measure(one) for one in measures(kind_of_work(run.work)).values()}
    for one in run.measures:
        own = known.get(one.name, one)
        if (one.unit, one.better) != (own.unit, own.better):
            yield f"{one.name} is in {one.unit or 'no unit'}, better {one.better}, and not as its figures are"
        if any(one.title == other.title for name, other in known.items() if name != one.name):
            yield f"{one.name} has the title of another measure, {one.title}"


def _wrong_slugs(run: PublishedRun) -> Iterator[str]:
    """Yield the servers of the catalogue whose results would be on the page of another one."""
    for server in run.servers:
        entry = server.settings.get("catalog_entry")
        if entry in (OWN_PROGRAM, RUNNING_SERVER):
            # Its page is named after it alone, whatever the file says.
            continue
        expected = slug(str(entry or server.name))
        if server.slug != expected:
            yield f"{server.name} would be on the page of {server.slug}, and it is {expected}"


def _private_texts(run: PublishedRun, public: Collection[str]) -> Iterator[str]:
    """Yield the texts that look private, with what to do."""
    way_on = "remove the file and publish the run anew. That replaces it; with --private-facts it stays."
    for fact in islice(private_facts(run.model_dump(exclude={"study"}), public=public), PROBLEMS_MAX):
        yield f"{fact.place} has {fact.kind}, {fact.text[:TEXT_SHOWN]}: {way_on}"
    for fact in islice(private_facts(run.study or ""), PROBLEMS_MAX):
        replaced = way_on.replace("replaces it", "leaves the study out")
        yield f"the study has {fact.kind}, {fact.text[:TEXT_SHOWN]}: {replaced}"


def _wrong_figures(run: PublishedRun) -> Iterator[str]:
    """Yield the figures whose mean, interval or number of trials is not that of their trials."""
    for place, name, estimate in estimates_of_trials(run.points):
        one = run.points[place]
        words = _what_is_wrong(one.figures[name], estimate)
        if words is not None:
            yield f"{one.server} at {_in_words(one.point)}: {name}: {words}"


def _what_is_wrong(figure: PublishedFigure, found: Estimate | None) -> str | None:
    n = 0 if found is None else found.n
    if figure.n != n:
        return f"n is {figure.n}, and the usable trials in the file are {n}"
    pairs = {
        "value": (figure.value, None if found is None else found.value),
        "low": (figure.low, None if found is None else found.low),
        "high": (figure.high, None if found is None else found.high),
    }
    # An end of an arithmetic mean may be near to zero, or below it.
    size = max((abs(value) for value in figure.values if value is not None), default=0.0)
    is_geometric = found is not None and found.low is not None and found.low > 0
    for name, (said, computed) in pairs.items():
        around = 0.0 if is_geometric else TOLERANCE * size
        is_same = (
            said is computed
            if said is None or computed is None
            else math.isclose(said, computed, rel_tol=TOLERANCE, abs_tol=around)
        )
        if not is_same:
            return f"{name} is {_number(said)}, and the trials in the file give {_number(computed)}"
    return None


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:.6g}"


def _in_words(point: Mapping[str, float]) -> str:
    return ", ".join(f"{key} = {setting(value)}" for key, value in point.items()) or "its point"
