"""What the sentences of a report say of its servers, read back and held against the table of the same page.

Each sentence that compares is read into statements: who, by which measure, where, and in which relation. A
sentence that no rule here knows is an error, so that a new one is held against the figures, too. Servers are
called ``server-1``, ``server-2`` and so on, as those of wild runs are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log
from typing import Any

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint
from loadcurve.analysis.shape import Shape, SliceShapes
from loadcurve.loads.values import Point
from loadcurve.report import text
from loadcurve.report.answer import answer
from loadcurve.report.claims import claim_rows
from loadcurve.report.ranking import ranking_content
from loadcurve.report.shape_words import common_conclusions, of_each_server
from loadcurve.result.measures import Measure

NAME = r"server-\d+"
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?"
FIGURE = rf"(?:1/)?{NUMBER}(?: \([^()]*\))?"
TOLERANCE = 0.006
"""Figures are shown with three significant digits."""
LEAST_STEP = 1e-8
"""Loads are shown with ten."""


@dataclass(frozen=True)
class Table:
    """The figures that a page shows of each server at each point."""

    analysis: Analysis

    def measure(self, title: str) -> Measure:
        return next(one for one in self.analysis.measures if one.title == title)

    def at(self, point: Point) -> dict[str, CurvePoint]:
        return {
            curve.server: at
            for curve in self.analysis.curves
            for at in curve.points
            if at.point == point and at.trials
        }

    def figures(self, title: str, point: Point) -> dict[str, float]:
        """Return the figure of each server that has one at a point."""
        measure = self.measure(title)
        found = {server: at.estimate(measure) for server, at in self.at(point).items()}
        return {server: one.value for server, one in found.items() if one is not None}

    def point(self, words: str) -> Point:
        return next(point for point in self.analysis.points if text.point(point) == words)

    def is_better(self, title: str, one: float, other: float) -> bool:
        """Say whether a figure is visibly better than another one."""
        less, more = sorted((one, other))
        if more <= less * (1 + TOLERANCE):
            return False
        return (one > other) == (self.measure(title).better == "higher")


def check_statements(analysis: Analysis) -> int:
    """Hold what is said of a run against its figures; return how many statements there were."""
    table, held = Table(analysis), 0
    for rule, sentence in _sentences(table):
        for holds in rule(table, sentence):
            held += 1
            assert holds, sentence
    return held


Rule = Callable[[Table, str], Iterator[bool]]


def _sentences(table: Table) -> Iterator[tuple[Rule, str]]:
    """Yield what the answer, the ranking, shapes, prices and claims say, each with the rule that reads it."""
    analysis = table.analysis
    for sentence in answer(analysis).sentences:
        yield _answer, sentence
    ranking = ranking_content(analysis)
    if ranking is not None:
        for title, words in ranking.over_curve.items():
            yield _ranking(title, None), words
        for one in ranking.at_points:
            yield _ranking(one.measure, one.point), one.words
    for place, part in enumerate(analysis.shapes):
        for sentence in common_conclusions(analysis.load_kind, part):
            yield _common(place), sentence
        for server, said in of_each_server(analysis.load_kind, part).items():
            for sentence in re.split(r"(?<=\.) (?=[A-Z])", said):
                yield _of_server(place, server), sentence
    for judged, row in zip(analysis.claims, claim_rows(analysis), strict=True):
        yield _claim(judged), f"{row.title}: {row.statement} {row.why}"


def _read(words: str) -> float:
    return 1 / _read(words[2:]) if words.startswith("1/") else float(words.partition(" ")[0].replace(",", ""))


def _names(words: str) -> list[str]:
    return re.findall(NAME, words)


def _mean(values: Sequence[float]) -> float:
    return exp(fsum(map(log, values)) / len(values)) if all(value > 0 for value in values) else 0.0


# The answer

NO_FIGURES = re.compile(
    r"(No point can be used|The load cannot be used|Nothing was measured|"
    r"(This machine was too disturbed|The trials differ too much|"
    r"The trials are too few) to compare|The records show|What helps:|The .* is not known:|"
    r"One trial of each server has no interval|No two servers have two usable blocks|"
    r"Only server-\d+ has usable points|.*no trial could be judged by |"
    # Which sides a wild gate names, no run has.
    r"No block has figures of both )"
)
EACH = re.compile(rf"({NAME}) ({FIGURE})( at [^,]*?= {NUMBER}(?:, [a-z_]+ = {NUMBER})*)?(?=, | and |\.|$)")


def _answer(table: Table, sentence: str) -> Iterator[bool]:
    if NO_FIGURES.match(sentence):
        return
    if re.match(r"(Over the curve|At .*?), ?", sentence) and "has" in sentence and "keeps" not in sentence:
        yield from _lead(table, sentence)
    elif re.match(
        rf"(With [^:]*: )?(No server (?:that could be judged )?|{NAME} )(keeps|meets|does not keep)", sentence
    ):
        yield from _capacities(table, sentence)
    elif re.match(r"The (highest throughput|.*) of each server", sentence):
        yield from _each(table, sentence)
    elif found := MULTIPLES.fullmatch(sentence):
        yield from _multiples(table, found)
    elif re.match(rf"{NAME} answers (up to )?|The .* of {NAME} is ", sentence):
        yield True
    else:
        yield from _lead(table, sentence)


def _each(table: Table, sentence: str) -> Iterator[bool]:
    """``The highest throughput of each server, in requests/s: a 120 (…) at connections = 200 and b …``."""
    found = re.match(r"The (highest )?(.+?) of each server", sentence)
    assert found, sentence
    for server, figure, where in EACH.findall(sentence):
        point = table.point(where.removeprefix(" at ")) if where else table.analysis.points[0]
        shown = table.figures(found[2], point)[server]
        yield abs(_read(figure) / shown - 1) <= TOLERANCE if shown else _read(figure) == 0


MULTIPLES = re.compile(
    rf"(?:Measured once|(?P<shared>In the one trial that each shares with {NAME})), without an interval, "
    rf"in multiples of the (?P<title>.+) of (?P<base>{NAME}): (?P<each>.+?)"
    r"(?:; [\d,]+ more are in the report's data)?; another trial may give other ratios\."
)


def _multiples(table: Table, found: re.Match[str]) -> Iterator[bool]:
    """``Measured once, without an interval, in multiples of the p99 of a: b 1.2 and c 3; another …``."""
    ratios = EACH.findall(found["each"])
    assert ratios, found[0]
    for server, figure, _ in ratios:
        between = ([server], [found["base"]])
        # The table has the figures of all trials.
        yield bool(found["shared"]) or _agrees(
            table, found["title"], between, _read(figure), table.analysis.points
        )


LEADER = re.compile(
    rf"(?:Over the curve, |At (?P<point>[a-z_]+ = {NUMBER}(?:, [a-z_]+ = {NUMBER})*), "
    rf"(?:the only load at which servers can be compared, )?|"
    rf"At [^;]+?, the loads at which servers can be compared, )?"
    rf"(?P<who>{NAME}(?:(?:, | and ){NAME})*(?: and \d+ more)?) "
    rf"(?:(?:has|have) the (?P<end>higher|highest|lower|lowest) (?P<best>.+?)"
    rf"(?: of those that can be compared)?|"
    rf"is not shown to be beaten in (?P<unbeaten>.+?)|cannot be told apart in (?P<alike>.+?))"
    rf"(?P<rest>, {FIGURE} (?:times|of) that of .*|, an out-of-range .*| and cannot be told apart.*|"
    rf", but cannot be told apart from .*|, although .*|; without two usable .*|\.)"
)
MULTIPLE = re.compile(rf"({FIGURE}) (?:times|of) that of ({NAME})( in the [^,;.]* both have)?")


def _lead(table: Table, sentence: str) -> Iterator[bool]:
    found = LEADER.fullmatch(sentence)
    assert found, sentence
    title = found["best"] or found["unbeaten"] or found["alike"]
    points = table.analysis.points if found["point"] is None else [table.point(found["point"])]
    first = _names(found["who"])[0]
    if found["best"]:
        # Nobody is better than the leader wherever both have figures.
        for other in table.at(points[0]):
            yield not _always_better(table, title, other, first, points)
    if found["unbeaten"]:
        named = re.search(r", although (.*?) (?:has|have) the better figures?", sentence)
        assert named, sentence
        yield bool(_names(named[1]))
    for figure, other, common in MULTIPLE.findall(found["rest"]):
        yield common or _agrees(table, title, ([first], [other]), _read(figure), points)


def _always_better(table: Table, title: str, one: str, other: str, points: Sequence[Point]) -> bool:
    both = [figures for point in points if {one, other} <= set(figures := table.figures(title, point))]
    return (
        one != other
        and bool(both)
        and all(table.is_better(title, figures[one], figures[other]) for figures in both)
    )


def _agrees(
    table: Table,
    title: str,
    between: tuple[Sequence[str], Sequence[str]],
    ratio: float,
    points: Sequence[Point],
) -> bool:
    """Say whether the table has a ratio on the same side of 1 at any point; at one point, that very ratio."""
    first, second = between
    shown = []
    for point in points:
        figures = table.figures(title, point)
        if {*first, *second} <= set(figures):
            below = _mean([figures[name] for name in second])
            shown.append(_mean([figures[name] for name in first]) / below if below else float("inf"))
    if len(points) == 1:
        return bool(shown) and abs(ratio / shown[0] - 1) <= 2 * TOLERANCE
    # What reads 1.00 is on either side.
    return (
        not shown
        or abs(ratio - 1) <= TOLERANCE
        or any((one >= 1 - TOLERANCE) if ratio >= 1 else (one <= 1 + TOLERANCE) for one in shown)
    )


# The ranking

RANKED = re.compile(
    rf"(?P<who>{NAME}|their geometric mean) (?:has|is) (?P<ratio>{FIGURE}) times the (?P<title>.+?) of "
    rf"(?P<others>{NAME}(?:(?:, | and ){NAME})*)(?P<common> in the .*)?"
)


def _ranking(title: str, where: str | None) -> Rule:
    def rule(table: Table, words: str) -> Iterator[bool]:
        points = table.analysis.points if where is None else [table.point(where)]
        alike: list[str] = []
        for part in words.split("; "):
            if re.fullmatch(
                rf".* cannot be told apart(, nor can .*)?|only .*|one trial .*|no two .*|without two .*|"
                rf"places that cannot be ruled out, in \d+: .*|"
                rf"(both|together they|{NAME}) (has|have) a better .*",
                part,
            ):
                alike = list(dict.fromkeys(_names(part)))
                continue
            found = RANKED.fullmatch(part)
            assert found is not None, part
            assert found["title"] == title, part
            first = alike if found["who"] == "their geometric mean" else [found["who"]]
            alike = []
            yield bool(found["common"]) or _agrees(
                table, title, (first, _names(found["others"])), _read(found["ratio"]), points
            )
            # By its own words the first is the better one.
            better = table.measure(title).better
            yield (_read(found["ratio"]) >= 1) == (better == "higher") or _read(found["ratio"]) == 1

    return rule


# The shapes of curves

RANGE = re.compile(
    rf"(?:[Tt]hen )?(?:[Uu]p to (?P<end>{NUMBER}) [^;()]*? )?(?P<who>{NAME}(?:(?:, | and ){NAME})*)"
    rf"(?: \(which cannot be told apart\))? "
    rf"(?:(?:answers?|answer) the most (?P<noun>requests|operations)|(?:has|have) the lowest (?P<best>.+?)|"
    rf"is not shown to be beaten in (?P<unbeaten>.+?))"
    rf"(?: at (?:any|every) load(?: that could be compared)?)?(?: \((?P<reserve>[^()]*)\))?"
)
NOTHING_COMPARED = re.compile(r"nothing is compared at (?P<loads>.*)")


def _loads_in(words: str) -> list[float]:
    return [
        float(one.replace(",", "")) for one in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.])", words)
    ]


def _common(place: int) -> Rule:
    def rule(table: Table, sentence: str) -> Iterator[bool]:
        if sentence.startswith("The universal scalability law does not apply"):
            return
        if "at the lowest price" in sentence:
            yield from _cheapest(table, place, sentence)
            return
        yield from _leaders(table, place, sentence.removeprefix("Without regard to price, "))

    return rule


def _leaders(table: Table, place: int, sentence: str) -> Iterator[bool]:
    part = table.analysis.shapes[place]
    *_, last = clauses = sentence.removesuffix(".").split("; ")
    if NOTHING_COMPARED.fullmatch(last):
        clauses = clauses[:-1]
    below = float("-inf")
    for clause in clauses:
        found = RANGE.fullmatch(clause)
        assert found, clause
        title = "throughput" if found["noun"] else (found["best"] or found["unbeaten"])
        end = float(found["end"].replace(",", "")) if found["end"] else float("inf")
        ahead: dict[float, str] = {}
        reserve = found["reserve"] or ""
        if found["unbeaten"]:
            named = re.findall(rf"({NAME}) at (.*?)(?=, {NAME}|$)", reserve.partition(": ")[2])
            ahead = {load: server for server, loads in named for load in _loads_in(loads)}
        for point in part.part.points:
            load = point[part.part.key or ""]
            figures = table.figures(title, point)
            if not below < load * (1 - LEAST_STEP) <= end or not _is_compared(table, title, point):
                continue
            shown = (
                ahead.get(next((one for one in ahead if abs(one / load - 1) < LEAST_STEP), load))
                or found["who"].partition(",")[0].partition(" and")[0]
            )
            for figure in figures.values():
                # Nobody is visibly better than the server that the sentence puts first at this load.
                yield shown in figures and not table.is_better(title, figure, figures[shown])
                # Servers that are named together are not shown to differ, and none is between them.
            for named_too in _names(found["who"])[1:]:
                between = [
                    other
                    for other, figure in figures.items()
                    if other not in _names(found["who"])
                    and table.is_better(title, figure, figures[named_too])
                ]
                yield not between
        below = end


def _is_compared(table: Table, title: str, point: Point) -> bool:
    """Say whether two servers have two usable blocks in common at a point."""
    measure = table.measure(title)
    blocks = [
        {at.blocks[place] for place in at.usable if at.values(measure)[place]}
        for at in table.at(point).values()
    ]
    return any(len(one & other) > 1 for i, one in enumerate(blocks) for other in blocks[:i])


def _cheapest(table: Table, place: int, sentence: str) -> Iterator[bool]:
    """Whoever is cheaper than the server that is named for a range keeps the limits less far."""
    part = table.analysis.shapes[place]
    offers = {one.server: one for one in part.shapes if one.cost and one.capacity}
    below = 0.0
    for taker in _names(sentence):
        one = offers[taker]
        for other in offers.values():
            if other.cost.usd_per_hour < one.cost.usd_per_hour:
                yield other.capacity.safe_load <= below
        below = one.capacity.safe_load


GREATEST = re.compile(
    rf"(?:The peak was not reached: t|T)hroughput is greatest at (?P<load>{NUMBER}) .*?"
    rf"with (?P<rate>{NUMBER})[^;]*?"
    r"(?:; [^()]* cannot be told apart from it(?:, which the interval allows for)?)?"
    rf"(?: \(not compared: (?P<not_compared>.*?), without .*\))?\."
)
KNEE = re.compile(
    rf"The knee (?:is at|was not reached: up to) (?P<load>{NUMBER}) .*?"
    rf"(?: \(not compared: (?P<not_compared>[^()]*?), without [^()]*\))?\."
)


UNJUDGED = re.compile(
    rf"(?:They cannot be judged |At (?P<count>{NUMBER}) loads they cannot be judged: )(?P<said>at .*)\."
)
SOME_LOADS = re.compile(rf"(?P<count>{NUMBER}) loads from (?P<first>{NUMBER}) to (?P<last>{NUMBER}) .*")


def _unjudged(found: re.Match[str], loads: Sequence[float]) -> Iterator[bool]:
    """Loads that cannot be judged are loads of the curve, as many as are said, each for one reason."""
    total = 0.0
    for part in found["said"].removeprefix("at ").split("; at "):
        where = part.partition(":")[0]
        if some := SOME_LOADS.fullmatch(where):
            first, last = _read(some["first"]), _read(some["last"])
            yield bool(_at(loads, first)) and bool(_at(loads, last))
            within = [load for load in loads if first * (1 - LEAST_STEP) <= load <= last * (1 + LEAST_STEP)]
            yield _read(some["count"]) <= len(within)
            total += _read(some["count"])
        else:
            named = _loads_in(where)
            yield all(_at(loads, load) for load in named)
            total += len(named)
    yield found["count"] is None or _read(found["count"]) == total


def _of_server(place: int, server: str) -> Rule:
    def rule(table: Table, sentence: str) -> Iterator[bool]:
        part = table.analysis.shapes[place]
        curve = {
            point[part.part.key or ""]: table.at(point)[server]
            for point in part.part.points
            if server in table.at(point)
        }
        if found := GREATEST.fullmatch(sentence):
            rates = _of(curve, table.measure("throughput"))
            yield from _greatest(found, rates)
            for load in _at(rates, _read(found["load"])):
                yield abs(_read(found["rate"]) / rates[load] - 1) <= TOLERANCE
        elif found := KNEE.fullmatch(sentence):
            power = _of(curve, table.measure("throughput"), table.measure("mean latency"))
            yield from _greatest(found, power)
        elif sentence.startswith("It "):
            yield from _capacities(table, f"{server} {sentence.removeprefix('It ')}", place)
        elif sentence.startswith("By the universal scalability law"):
            yield from _law(sentence, _of(curve, table.measure("throughput")))
        elif found := UNJUDGED.fullmatch(sentence):
            # At some of them a trial has failed, and no other one was measured.
            failed = [one.point for one in table.analysis.failures if one.server == server and one.point]
            loads = [point.get(part.part.key or "", 0.0) for point in (*part.part.points, *failed)]
            yield from _unjudged(found, loads)
        else:
            assert sentence.startswith("The curve "), sentence

    return rule


def _of(curve: Mapping[float, CurvePoint], *measures: Measure) -> dict[float, float]:
    """Return by load the geometric mean over trials of a measure, or of the first over the second.

    A load at which a trial has a zero is left out: the table has another mean of it.
    """
    found = {}
    for load, at in curve.items():
        of_trials = [tuple(at.values(measure)[place] for measure in measures) for place in at.usable]
        known = [one for one in of_trials if None not in one]
        if known and all(all(one) for one in known):
            found[load] = _mean([one[0] / (one[1] if len(one) > 1 else 1) for one in known])
    return found


def _greatest(found: re.Match[str], figures: Mapping[float, float]) -> Iterator[bool]:
    """No load has a visibly greater figure, but for those that the sentence says were not compared."""
    passed_over = [load for shown in _loads_in(found["not_compared"] or "") for load in _at(figures, shown)]
    for greatest in _at(figures, _read(found["load"])):
        for load, figure in figures.items():
            yield load in passed_over or figure <= figures[greatest] * (1 + TOLERANCE)


def _at(loads: Iterable[float], shown: float) -> list[float]:
    """Return the load that is shown, which has ten significant digits, or none."""
    return [load for load in loads if abs(load / shown - 1) < LEAST_STEP]


def _law(sentence: str, rates: Mapping[float, float]) -> Iterator[bool]:
    """A curve that falls is not said never to be reduced by more load, nor one that rises never to rise."""
    if "do not reduce throughput" in sentence:
        yield max(rates.values()) <= rates[max(rates)] * (1 + TOLERANCE)
    if "does not increase throughput" in sentence:
        yield max(rates.values()) <= rates[min(rates)] * (1 + TOLERANCE)


def _capacities(table: Table, sentence: str, place: int | None = None) -> Iterator[bool]:
    """Whoever keeps a limit on a latency up to a load has figures that keep it at each load up to there."""
    for index, part in enumerate(table.analysis.shapes):
        fixed = f"With {text.point(part.part.fixed)}: "
        is_meant = place == index or (place is None and (not part.part.fixed or sentence.startswith(fixed)))
        # With several limits one that is broken breaks all, so a figure that keeps its own shows nothing.
        if is_meant and part.objective is not None and len(part.objective.limits) == 1:
            for shape in part.shapes:
                if shape.capacity is not None:
                    yield from _capacity(table, sentence, part, shape)


def _capacity(table: Table, sentence: str, part: SliceShapes, shape: Shape) -> Iterator[bool]:
    [limit] = part.objective.limits
    never = re.match(r"(With [^:]*: )?No server (?:that could be judged )?meets", sentence) or re.search(
        rf"{shape.server}\b[^;.]* meets? [^;.]* at no", sentence
    )
    least = min(0.0 if one.bound == "below" else one.load for one in shape.capacity.trials)
    for point in part.part.points:
        shown = table.figures(limit.measure, point).get(shape.server)
        if shown is None or abs(shown / limit.bound - 1) <= TOLERANCE:
            continue
        if never:
            yield not limit.holds(shown)
        elif point[part.part.key or ""] <= least:
            yield limit.holds(shown)


# Claims


def _claim(judged: Any) -> Rule:
    def rule(table: Table, sentence: str) -> Iterator[bool]:
        if judged.kind not in {"greater", "ratio", "alike"} or judged.ratio is None or judged.key is None:
            return
        points = [
            point
            for point in table.analysis.points
            if point.get(judged.key) in judged.loads
            and all(point.get(k) == v for k, v in judged.fixed.items())
        ]
        title = next((one.title for one in table.analysis.measures if one.name == judged.measure), None)
        if title is None:
            return
        found = re.search(
            rf"Here the (?P<title>.+) of {judged.servers[0]} is (?P<ratio>{FIGURE}) times that of", sentence
        )
        if judged.obstacle in {"sweep_ends", "not_measured", "too_few_trials", "generator_limit"}:
            return
        assert found is not None, sentence
        assert found["title"] == title, sentence
        yield "in the blocks that" in sentence or _agrees(
            table, title, (judged.servers[:1], judged.servers[1:]), _read(found["ratio"]), points
        )

    return rule
