"""The answer to a study's question: a sentence with its interval, and which servers cannot be told apart."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import Curve
from loadcurve.analysis.sections import Sections
from loadcurve.analysis.shape import SliceShapes
from loadcurve.explain.finding import Finding
from loadcurve.loads.kinds import LoadKind
from loadcurve.report import text
from loadcurve.report.findings import FindingGroup, grouped
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.hopeless import hopeless_words
from loadcurve.report.ranking import in_words
from loadcurve.report.shape_words import capacity_briefly, capacity_words
from loadcurve.result.measures import THROUGHPUT, Measure
from loadcurve.stats.capacity import Capacity
from loadcurve.stats.ranking import Ranking

MOST_NAMED = 4
"""A sentence names at most this many servers one by one."""
MOST_CAUSES = 3
"""The answer names the causes of at most this many things that stand out."""
MOST_TIERS = 3
"""The sentence compares this many tiers of the ranking; the table of ranks has them all."""


@dataclass(frozen=True, slots=True)
class Group:
    """Servers of which no two can be told apart, with the places that the trials do not rule out for them."""

    places: str
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run says to its question; ``groups`` is empty where servers cannot be ranked."""

    sentences: list[str]
    ranked_by: str
    groups: list[Group]
    causes: list[str] = field(default_factory=list)
    """What stands out of the curves, with its shown cause: a sentence each."""


NO_ANSWER = Answer(["The answer is left out, by a fault of Loadcurve's."], "", [])


def answer(analysis: Analysis) -> Answer:
    """Return the answer by the limits that were asked for or searched for, and else by the ranking."""
    load, measure = analysis.load_kind, analysis.measure(analysis.ranked_by)
    ranked = analysis.ranking(measure)
    ranking = ranked.over_curve if ranked else None
    limited = [sentence for part in analysis.shapes if (sentence := _by_capacity(load, part)) is not None]
    hopeless = hopeless_words(analysis, measure)
    said = (
        _without_usable_points(analysis)
        or limited
        or ([hopeless] if hopeless else [])
        or _by_ranking(load, ranking, measure, analysis.curves)
    )
    return Answer(
        sentences=said,
        ranked_by=measure.title,
        groups=_groups(ranking) if ranking is not None and ranking.decides and not hopeless else [],
        causes=causes(analysis.findings),
    )


def answer_words(analysis: Analysis) -> str:
    """Return the answer as one text, with the causes of what stands out."""
    said = Sections(analysis.not_computed).get("the answer", lambda: answer(analysis), NO_ANSWER)
    return " ".join([*said.sentences, *said.causes])


def causes(findings: Sequence[Finding]) -> list[str]:
    """Return the weightiest shown causes of what stands out, such as a tail or a dip, a sentence each."""
    shown = grouped([one for one in findings if one.briefly is not None])
    return [_cause(group) for group in shown[:MOST_CAUSES]]


def _cause(group: FindingGroup) -> str:
    first, *others = group.findings
    servers = [name for name in group.servers if name != first.server]
    likewise = text.listing(_first(servers)) if servers else "at other points"
    also = f"; likewise {likewise}" if others else ""
    return f"{first.server} at {points_in_words(first.points)}: {first.briefly}{also}."


def caution(findings: Sequence[Finding]) -> str | None:
    """Name the figures that findings say are not to be used; ``None`` where all may be."""
    named = [
        f"{finding.server} at {points_in_words(finding.points)}"
        for finding in findings
        if finding.weight == "invalidates"
    ]
    return f"Do not rely on the figures of {text.listing(_first(named))}." if named else None


def _without_usable_points(analysis: Analysis) -> list[str]:
    points = [point for curve in analysis.curves for point in curve.points]
    if not any(point.trials for point in points):
        return ["Nothing was measured: every trial failed." if analysis.failures else "Nothing was measured."]
    return [] if any(point.usable for point in points) else ["No point can be used: every one is invalid."]


def _by_capacity(load: LoadKind, shaped: SliceShapes) -> str | None:
    """Say up to which load the best server keeps the limits, and then the others."""
    if shaped.objective is None:
        return None
    limits, key = shaped.objective.text, shaped.part.key or ""
    where = f"With {text.point(shaped.part.fixed)}: " if shaped.part.fixed else ""
    judged = [(one.server, one.capacity) for one in shaped.shapes if one.capacity is not None]
    if not judged:
        return f"{where}no trial could be judged by {limits}."
    (best, reached), *others = sorted(judged, key=_safe_load, reverse=True)
    said = f"{where}{best} {capacity_words(load, key, reached, limits)}"
    if others:
        named = [f"{name} {capacity_briefly(one)}" for name, one in others]
        said += f" Of the others, {'; '.join(_first(named))}."
    return said


def _safe_load(judged: tuple[str, Capacity]) -> float:
    return judged[1].safe_load


def _by_ranking(
    load: LoadKind, ranking: Ranking | None, measure: Measure, found: Sequence[Curve]
) -> list[str]:
    if ranking is None:
        return []
    if len(ranking.ranks) > 1 and ranking.decides:
        words = in_words(replace(ranking, tiers=ranking.tiers[:MOST_TIERS]), measure)
        rest = "; the others follow" if len(ranking.tiers) > MOST_TIERS else ""
        return [f"Over the curve, {words}{rest}."]
    every = [sentence for curve in found if (sentence := _highest(load, curve)) is not None]
    more = [f"So much of the first {MOST_NAMED} of {len(every)} servers."] if len(every) > MOST_NAMED else []
    highest = [*every[:MOST_NAMED], *more]
    undecided = in_words(ranking, measure) if len(ranking.ranks) > 1 else None
    return [*highest, *([f"{undecided[:1].upper()}{undecided[1:]}."] if undecided else [])]


def _first(words: Sequence[str]) -> list[str]:
    """Return the first of many, and how many more there are."""
    more = [f"{len(words) - MOST_NAMED:,} more"] if len(words) > MOST_NAMED else []
    return [*words[:MOST_NAMED], *more]


def _highest(load: LoadKind, curve: Curve) -> str | None:
    """Say how many requests a server answers, of several points at the one where it answers the most."""
    known = [(rate, at.point) for at in curve.points if (rate := at.estimate(THROUGHPUT)) is not None]
    if not known:
        return None
    most, point = max(known, key=lambda pair: pair[0].value)
    if len(known) == 1:
        return f"{curve.server} answers {text.estimate(most)} {load.per_second} at {text.point(point)}."
    return f"{curve.server} answers most at {text.point(point)}: {text.estimate(most)} {load.per_second}."


def _groups(ranking: Ranking) -> list[Group]:
    places = {one.server: (one.best, one.worst) for one in ranking.ranks}
    groups = []
    for servers in ranking.groups:
        best = min(places[server][0] for server in servers)
        worst = max(places[server][1] for server in servers)
        groups.append(Group(str(best) if best == worst else f"{best} to {worst}", servers))
    return groups
