"""The answer to a study's question: a sentence with its interval, and which servers cannot be told apart."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import Curve
from loadcurve.analysis.gate import GateAnswer
from loadcurve.analysis.ranking import RunRanking
from loadcurve.analysis.sections import Sections
from loadcurve.analysis.shape import SliceShapes
from loadcurve.analysis.works import Work, works
from loadcurve.errors import sentence
from loadcurve.explain.finding import Finding
from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.values import Point
from loadcurve.report import text
from loadcurve.report.arms import work_in_words
from loadcurve.report.cost import cost_words, one_trial_words
from loadcurve.report.findings import FindingGroup, grouped, trials_in_words
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.gate import gate_sentences
from loadcurve.report.inconclusive import inconclusive_words
from loadcurve.report.leader import first_named, leader_words
from loadcurve.report.ranking_words import in_words, places_words
from loadcurve.report.reasons import grouped_alike
from loadcurve.report.section import Section
from loadcurve.report.shape_words import (
    capacity_briefly,
    capacity_words,
    holds_again,
    load_of,
    never_words,
    peak_words,
    unjudged_words,
)
from loadcurve.report.shown import Shown
from loadcurve.result.machine import EXPECTED_VARIABLE, TAKEN
from loadcurve.result.measures import MEASURES, THROUGHPUT, Measure
from loadcurve.stats.capacity import Capacity, Unjudged, best_first
from loadcurve.stats.interval import Estimate
from loadcurve.stats.ranking import Ranking

MOST_CAUSES = 3
"""The answer names the causes of at most this many things that stand out."""
PEAK_THROUGHPUT = replace(THROUGHPUT, title="peak throughput")
"""What servers are ranked by, each at its own peak."""
MEDIAN = MEASURES["p50"]
MOST_WITH_LATENCY = 2
"""At most this many servers are named with latency beside throughput."""
MOST_PLACED = 6
"""The first screen places at most this many servers, in whole groups; the ranking has them all."""


@dataclass(frozen=True, slots=True)
class Group:
    """Servers no two of which can be told apart, with the places that the trials do not rule out for them."""

    places: str
    servers: tuple[str, ...]

    @property
    def first_servers(self) -> tuple[str, ...]:
        """The servers that the first screen names."""
        return self.servers[:MOST_PLACED]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run says to its question; ``groups`` is empty where servers cannot be ranked."""

    sentences: list[str]
    ranked_by: str
    groups: list[Group]
    causes: list[str] = field(default_factory=list)
    """What stands out of the curves, with its shown cause, a sentence each; where all points are invalid, the
    most frequent reason alone."""

    @property
    def first_groups(self) -> list[Group]:
        """The groups that the first screen names: the first one, and others as far as there is room."""
        placed = accumulate(len(group.servers) for group in self.groups)
        return [one for one, count in zip(self.groups, placed, strict=True) if count <= MOST_PLACED] or (
            self.groups[:1]
        )

    @property
    def text(self) -> str:
        """All of it as one text."""
        return " ".join([*self.sentences, *self.causes])


NO_ANSWER = Answer(["The answer is missing because of an error in Loadcurve."], "", [])


def answer(analysis: Analysis) -> Answer:
    """Return the answer: who keeps the limits of the reader, the search or the study, and who is ahead."""
    if (gate := GateAnswer.of(analysis)) is not None:
        return Answer(gate_sentences(analysis, gate), "", [], causes(analysis.findings))
    if divided := works(analysis):
        return _of_each_work(analysis, divided)
    load, measure = analysis.load_kind, analysis.measure(analysis.ranked_by)
    ranked = analysis.ranking(measure)
    ranking = ranked.over_curve if ranked else None
    limited = [words for part in analysis.shapes if (words := _by_capacity(load, part)) is not None]
    peaks = [words for part in analysis.shapes for words in _by_peak(analysis, part)]
    inconclusive = [] if peaks else inconclusive_words(analysis, measure)
    ahead = peaks or inconclusive or _by_ranking(analysis, ranked, measure)
    beside = [] if limited or inconclusive else _latency_too(analysis, ranking, measure)
    said = (
        _without_usable_points(analysis)
        or [*limited, *ahead, *beside]
        or _without_the_measure(analysis, measure)
    )
    if peaks:
        # Several slices have a ranking each, so that the first screen places nobody.
        measure = PEAK_THROUGHPUT
        ranking = analysis.shapes[0].by_peak if len(analysis.shapes) == 1 else None
    return Answer(
        sentences=said,
        ranked_by=measure.title,
        groups=_groups(ranking) if ranking is not None and ranking.decides and not inconclusive else [],
        causes=_main_reason(analysis) or causes(analysis.findings),
    )


def _of_each_work(analysis: Analysis, divided: Sequence[Work]) -> Answer:
    """Answer for each work by itself: who answers more of another work is not faster for that."""
    answers = [(work_in_words(analysis, one), answer(one.analysis)) for one in divided]
    said = [f"With {what}: {' '.join(one.sentences)}" for what, one in answers if one.sentences]
    return Answer(
        sentences=list(_without_usable_points(analysis)) or said,
        ranked_by=answers[0][1].ranked_by,
        groups=[],
        causes=_main_reason(analysis) or causes(analysis.findings),
    )


def answer_words(analysis: Analysis) -> str:
    """Return the answer as one text, with the causes of what stands out."""
    return Sections(analysis.not_computed).get("the answer", lambda: answer(analysis), NO_ANSWER).text


def causes(findings: Sequence[Finding]) -> list[str]:
    """Return the weightiest shown causes of what stands out, such as a tail or a dip, a sentence each."""
    shown = grouped([one for one in findings if one.briefly is not None])
    return [_cause(group) for group in shown[:MOST_CAUSES]]


def _cause(group: FindingGroup) -> str:
    first, *others = group.findings
    alike = [one for one in others if _has_cause_of(one, first)]
    different = [one for one in others if not _has_cause_of(one, first)]
    also = f"; likewise {_elsewhere(first, alike)}" if alike else ""
    also += f"; with another cause {_elsewhere(first, different)}" if different else ""
    # Beside an estimate over all trials, a figure of some of them would be taken for one of all.
    in_some = f", {trials_in_words(first)}" if len(first.trials) < first.trials_measured else ""
    return f"{first.server} at {points_in_words(first.points)}{in_some}: {first.briefly}{also}."


def _has_cause_of(one: Finding, other: Finding) -> bool:
    """Whether two findings have the same cause, but for numbers and the names of their servers."""
    causes = [re.sub(rf"\b{re.escape(it.server)}\b", "the server", it.cause) for it in (one, other)]
    return len(grouped_alike(causes)) == 1


def _elsewhere(first: Finding, others: Sequence[Finding]) -> str:
    servers = [name for name in dict.fromkeys(one.server for one in others) if name != first.server]
    return units.listing(first_named(servers)) if servers else "at other points"


def _main_reason(analysis: Analysis) -> list[str]:
    reason = analysis.main_reason
    if reason is None:
        return []
    where = points_in_words(reason.points, analysis.points)
    return [sentence(f"The most frequent reason, of {reason.server} at {where}: {reason.example}")]


def caution(findings: Sequence[Finding]) -> str | None:
    """Name the figures that findings say are not to be used, and why; ``None`` where all may be."""
    reasons: dict[str, list[str]] = {}
    for group in grouped([finding for finding in findings if finding.weight == "invalidates"]):
        named = [f"{finding.server} at {points_in_words(finding.points)}" for finding in group.findings]
        why = f"{group.title[:1].lower()}{group.title[1:]}"
        reasons.setdefault(units.listing(first_named(named)), []).append(why)
    said = (f"Do not rely on the figures of {named}: {'; '.join(why)}." for named, why in reasons.items())
    return " ".join(said) or None


def _without_usable_points(analysis: Analysis) -> list[str]:
    points = [point for curve in analysis.curves for point in curve.points]
    if not any(point.trials for point in points):
        return [_nothing_measured(analysis)]
    if any(point.usable for point in points):
        return []
    is_one = sum(len(point.trials) for point in points) == 1
    said = [
        "The load cannot be used: it is invalid."
        if is_one
        else "No point can be used: all of them are invalid."
    ]
    if analysis.main_reason is not None and analysis.main_reason.code == TAKEN:
        said.append(
            f"On a machine where other programs belong, set {EXPECTED_VARIABLE}=note: the points then count, "
            "and say what others took."
        )
    return said


def _nothing_measured(analysis: Analysis) -> str:
    if analysis.failures:
        first = analysis.failures[0]
        return (
            f"Nothing was measured: every trial failed. The first was of {first.server}: "
            f"{sentence(first.reason.text)}"
        )
    if all(server.status == "missing" for server in analysis.run.servers.values()):
        return "Nothing was measured: no server of the study is installed."
    return "Nothing was measured."


def _by_capacity(load: LoadKind, shaped: SliceShapes) -> str | None:
    """Say up to which load the best server keeps the limits, and then the others; or that no server does."""
    if shaped.objective is None:
        return None
    limits, key = shaped.objective.text, shaped.part.key or ""
    where = f"With {text.point(shaped.part.fixed)}: " if shaped.part.fixed else ""
    judged = [(one.server, one.capacity) for one in shaped.shapes if one.capacity is not None]
    unjudged = {one.server: one.unjudged for one in shaped.shapes}
    if not judged:
        why = next((words for one in unjudged.values() if (words := unjudged_words(key, one))), "")
        no_trial = "no trial" if where else "No trial"
        return " ".join(filter(None, (f"{where}{no_trial} could be judged by {limits}.", why)))
    kept = {name: capacity for name, capacity in judged if capacity.bound != "below"}
    keeping = [(name, kept[name]) for name in best_first(kept)]
    below = [one for one in judged if one[1].bound == "below"]
    if not keeping and len(below) > 1:
        is_unjudged = any(unjudged[name] for name, _ in below)
        again = any(holds_again(one) for _, one in below)
        at = "from the lowest load on" if again else f"at any {load_of(is_unjudged)}"
        how = f"{'keeps' if again else 'meets'} {limits} {at}"
        open_ones = [one.server for one in shaped.shapes if one.capacity is None]
        if not open_ones:
            return f"{where}No server {how}."
        not_judged = units.listing(first_named(open_ones))
        return f"{where}No server that could be judged {how}. {not_judged} could not be judged."
    (best, reached), *others = keeping or below
    said = f"{where}{best} {capacity_words(load, key, reached, limits, unjudged[best])}"
    if len(judged) > 1:
        named = [f"{name} {capacity_briefly(one)}" for name, one in others]
        said += f" Of the others, {'; '.join([*first_named(named), *_never(below, unjudged)])}."
    return said + alike_words((best, reached), others)


def alike_words(best: tuple[str, Capacity], others: Sequence[tuple[str, Capacity]]) -> str:
    """Say which capacities are not told apart from the best: one lies within the interval of the other."""
    first = best[1].load
    alike = [name for name, one in others if first and one.load and _within(first, one.load)]
    if not alike:
        return ""
    return f" By their intervals {units.listing(first_named([best[0], *alike]))} cannot be told apart."


def _within(one: Estimate, other: Estimate) -> bool:
    return any(
        of.low is not None and of.high is not None and of.low <= value <= of.high
        for of, value in ((one, other.value), (other, one.value))
    )


def _by_peak(analysis: Analysis, shaped: SliceShapes) -> list[str]:
    """Say who has the greatest peak, by how much, and where each server has its own, the greatest first."""
    peaks = {shape.server: shape.peak for shape in shaped.shapes if shape.peak is not None}
    if shaped.by_peak is None or not peaks:
        return []
    where = f"With {text.point(shaped.part.fixed)}: " if shaped.part.fixed else ""
    load, key = analysis.load_kind, shaped.part.key or ""
    if len(peaks) == 1:
        ((server, only),) = peaks.items()
        return [f"{where}{server}: {peak_words(load, key, only)}"]
    ranking = shaped.by_peak
    said = [f"{where}{leader_words(ranking, PEAK_THROUGHPUT)}."] if ranking.decides else []
    ordered = sorted(peaks.items(), key=lambda one: -one[1].value.value)
    named = [
        f"{server} {text.estimate(one.value)} at {text.load(key, one.load)}"
        + (", its last load" if one.place == "last" else "")
        for server, one in ordered
    ]
    return [
        *said,
        f"{'' if said else where}The peaks, in {load.per_second}: {'; '.join(first_named(named))}.",
        *one_trial_words(analysis, ranking, PEAK_THROUGHPUT),
    ]


def _never(below: Sequence[tuple[str, Capacity]], unjudged: Mapping[str, Unjudged | None]) -> Iterator[str]:
    """Name together the servers that do not keep the limits at the lowest load already."""
    for again in (False, True):
        found = [(name, one) for name, one in below if holds_again(one) == again]
        if found:
            names = units.listing(first_named([name for name, _ in found]))
            is_unjudged = any(unjudged[name] for name, _ in found)
            words = never_words(found[0][1], "them", are_many=len(found) > 1, is_unjudged=is_unjudged)
            yield f"{names} {words}"


def _by_ranking(analysis: Analysis, ranked: RunRanking | None, measure: Measure) -> list[str]:
    if ranked is None:
        return []
    ranking = ranked.over_curve
    if len(ranking.ranks) > 1 and ranking.decides:
        shown = Shown.of(analysis, measure)
        where = _where(ranked.compared_points, analysis.points)
        said = f"{where}{leader_words(ranking, measure, shown)}."
        return [said, *cost_words(analysis, ranking, measure, where.strip() or "There,")]
    each = _each_server(analysis, measure)
    if len(ranking.ranks) < 2:  # noqa: PLR2004 -- a comparison has two sides
        return each
    undecided = in_words(ranking, measure)
    return [*each, f"{undecided[:1].upper()}{undecided[1:]}.", *one_trial_words(analysis, ranking, measure)]


def _without_the_measure(analysis: Analysis, measure: Measure) -> list[str]:
    """Say that the latency that was asked for is not known anywhere, and answer by the median instead.

    Where that is not known either, the throughput is given.
    """
    if measure.column == THROUGHPUT.column:
        return []
    unknown = f"The {measure.title} is not known: no trial has enough answers for it; longer loads give more."
    by_median = _by_ranking(analysis, analysis.ranking(MEDIAN), MEDIAN) or _each_server(analysis, MEDIAN)
    return [unknown, *(by_median or _each_server(analysis, THROUGHPUT))]


def _where(compared: Sequence[Point], points: Sequence[Point]) -> str:
    """Say what a ranking rests on: the whole curve, a part of it, or one point, by its name if it has one."""
    if len(points) == 1:
        return f"At {text.point(points[0])}, " if any(points) else ""
    if len(compared) == len(points):
        return "Over the curve, "
    if len(compared) == 1:
        return f"At {text.point(compared[0])}, the only load at which servers can be compared, "
    return f"At {points_in_words(compared, points)}, the loads at which servers can be compared, "


Known = list[tuple[Estimate, Point]]
"""The points of a curve that have a figure, with it."""


def _each_server(analysis: Analysis, measure: Measure) -> list[str]:
    """Give each server's figure by itself: the highest throughput, or the latency at the highest load."""
    by_throughput = measure.column == THROUGHPUT.column
    known = {curve.server: found for curve in analysis.curves if (found := _known(curve, measure))}
    if len(known) == 1:
        ((server, found),) = known.items()
        unit = analysis.load_kind.per_second
        if by_throughput:
            return [_throughput_of(server, _highest(analysis, server, found), len(found), unit)]
        return [_latency_of(server, found, measure)]
    if by_throughput:
        what = f"The highest throughput of each server, in {analysis.load_kind.per_second}"
        shown = sorted(
            ((server, _highest(analysis, server, found)) for server, found in known.items()),
            key=lambda one: -one[1][0].value,
        )
    else:
        what = f"The {measure.title} of each server at its highest load, in {measure.unit}"
        shown = sorted(
            ((server, found[-1]) for server, found in known.items()), key=lambda one: one[1][0].value
        )
    named = [f"{server} {text.estimate(figure)}{_at(point)}" for server, (figure, point) in shown]
    return [f"{what}: {units.listing(first_named(named))}."] if named else []


def _known(curve: Curve, measure: Measure) -> Known:
    return [(figure, at.point) for at in curve.points if (figure := at.estimate(measure)) is not None]


def _value(known: tuple[Estimate, Point]) -> float:
    return known[0].value


def _highest(analysis: Analysis, server: str, known: Known) -> tuple[Estimate, Point]:
    """Return the greatest throughput, with the interval of a peak: a figure that was chosen had luck."""
    rate, point = max(known, key=_value)
    peaks = (
        shape.peak.value
        for found in analysis.shapes
        for shape in found.shapes
        if shape.server == server and shape.peak is not None and point == found.part.at(shape.peak.load)
    )
    return next(peaks, rate), point


def _throughput_of(server: str, highest: tuple[Estimate, Point], points: int, unit: str) -> str:
    rate, point = highest
    if points == 1:
        return f"{server} answers {text.estimate(rate)} {unit}{_at(point)}."
    return f"{server} answers up to {text.estimate(rate)} {unit},{_at(point)}."


def _latency_of(server: str, known: Known, measure: Measure) -> str:
    ends = known[:1] if len(known) == 1 else [known[0], known[-1]]
    figures = [f"{text.estimate(figure)} {measure.unit}{_at(point)}" for figure, point in ends]
    return f"The {measure.title} of {server} is {units.listing(figures)}."


def _latency_too(analysis: Analysis, ranking: Ranking | None, measure: Measure) -> list[str]:
    """Say from where to where the median goes, of those ahead, where a question asks for latency as well."""
    is_asked = "latency" in (analysis.run.question or "").lower()
    if not is_asked or measure.column != THROUGHPUT.column or len(analysis.points) == 1:
        return []
    first = [one.server for one in ranking.ranks] if ranking is not None else []
    if ranking is not None and len(first) > 1 and (not ranking.decides or len(ranking.groups[0]) > 1):
        # Nobody is ahead.
        return []
    curves = {curve.server: _known(curve, MEDIAN) for curve in analysis.curves}
    names = [name for name in first or curves if len(curves.get(name, [])) > 1]
    return [_latency_of(name, curves[name], MEDIAN) for name in names[:MOST_WITH_LATENCY]]


def _at(point: Point) -> str:
    """Say at which point; nothing where a run has only one, without a name."""
    return f" at {text.point(point)}" if point else ""


def _groups(ranking: Ranking) -> list[Group]:
    places = {one.server: (one.best, one.worst) for one in ranking.ranks}
    groups = []
    for servers in ranking.groups:
        best = min(places[server][0] for server in servers)
        worst = max(places[server][1] for server in servers)
        groups.append(Group(places_words(best, worst), servers))
    return groups


ANSWER = Section("answer", "the answer", lambda report: answer(report.analysis), NO_ANSWER, page="answer")
CAUTION: Section[str | None] = Section(
    "caution", "the caution", lambda report: caution(report.analysis.findings), None
)
