"""The claims of a study's authors in words: what each says, what the run says of it, and what decides."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.claims import JudgedClaim, JudgedOffer, Obstacle
from loadcurve.report import text
from loadcurve.report.column import Column
from loadcurve.report.markdown import table_of_words
from loadcurve.report.section import Report, Section
from loadcurve.report.shown import Shown
from loadcurve.result.measures import PUBLISHED_MEASURES, Measure
from loadcurve.stats.claims import Outcome
from loadcurve.stats.peak import Greatest

HEADING = "Claims of the authors"
OUTCOMES: dict[Outcome, str] = {
    "replicated": "replicated",
    "not_replicated": "not replicated",
    "cannot_tell": "cannot be told here",
}
_STYLES: dict[Outcome, str] = {"replicated": "green", "not_replicated": "red", "cannot_tell": "dim"}


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim in words."""

    outcome: Outcome
    title: str
    """The outcome in words."""
    text: str
    """The conclusion of the authors."""
    statement: str
    """What was checked."""
    why: str
    """What decides, or what keeps the run from deciding."""


def claim_rows(analysis: Analysis) -> list[ClaimRow]:
    """Return the claims of a run in words, in the order of their file."""
    return [_row(analysis, judged) for judged in analysis.claims]


def outcomes_in_words(rows: Sequence[ClaimRow]) -> str:
    """Return how many claims have each outcome, such as ``2 replicated, 1 cannot be told here``."""
    return text.counted((row.title for row in rows), OUTCOMES.values())


@dataclass(frozen=True, slots=True)
class ClaimsInTerminal:
    """The claims for the terminal."""

    rows: Sequence[ClaimRow]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw one row for each claim: its outcome, and beside it what it says and why."""
        yield Text.assemble((HEADING, "bold"), f": {outcomes_in_words(self.rows)}")
        table = Table.grid(padding=(0, 2))
        for row in self.rows:
            table.add_row(Text(row.title, style=_STYLES[row.outcome]), Text(f"{row.text} {row.why}"))
        yield table


def _row(analysis: Analysis, judged: JudgedClaim) -> ClaimRow:
    measure = None if judged.measure is None else _measure(analysis, judged.measure)
    return ClaimRow(
        outcome=judged.outcome,
        title=OUTCOMES[judged.outcome],
        text=judged.text,
        statement=_statement(judged, measure),
        why=_why(judged, None if measure is None else _shown(analysis, judged, measure)),
    )


def _shown(analysis: Analysis, judged: JudgedClaim, measure: Measure) -> Shown:
    """Return the points that the claim is judged by."""
    points = [
        point
        for point in analysis.points
        if judged.key is not None
        and point.get(judged.key) in judged.loads
        and judged.fixed.items() <= point.items()
    ]
    return Shown.of(analysis, measure, sorted(points, key=lambda point: point[judged.key or ""]))


def _measure(analysis: Analysis, name: str) -> Measure:
    """Return a measure in the words of the run's loads; those of connections have none of their own."""
    found = (measure for measure in analysis.measures if measure.name == name)
    return next(found, PUBLISHED_MEASURES[name])


def _statement(judged: JudgedClaim, measure: Measure | None) -> str:
    """Return what was checked, in the terms of the run."""
    names = judged.servers
    if judged.kind == "best_value":
        return f"{names[0]} answers more per dollar than every other machine{_where(judged)}."
    if measure is None:
        limit = _load(judged, judged.expected)
        return f"{names[0]} is the cheapest machine that keeps {judged.limits} up to {limit}."
    return f"The {measure.title} {_predicate(judged)}{_where(judged)}."


def _predicate(judged: JudgedClaim) -> str:
    names = judged.servers
    margin = units.percent(judged.within)
    match judged.kind:
        case "peak":
            return f"of {names[0]} is greatest near {_load(judged, judged.expected)}"
        case "ratio":
            return (
                f"of {names[0]} is {units.number(judged.expected)} times that of {names[1]}, within {margin}"
            )
        case "greater":
            return f"of {names[0]} is greater than that of {names[1]}"
        case "alike":
            return f"of {names[0]} and {names[1]} differs by at most {margin}"
        case _:
            verb = f"is the same within {margin}" if judged.kind == "level" else judged.kind
            if len(names) == 1:
                return f"of {names[0]} {verb}"
            return f"{verb} from {', then '.join(names)}"


def _where(judged: JudgedClaim) -> str:
    """Return the loads that were used and the settings of the slice, as the end of a statement."""
    parts = []
    was_swept = judged.kind != "peak" and judged.obstacle != "sweep_ends"
    if was_swept and judged.loads and judged.key is not None:
        ends = list(dict.fromkeys((judged.loads[0], judged.loads[-1])))
        parts.append(f"at {judged.key} = {' to '.join(map(units.setting, ends))}")
    if judged.fixed:
        parts.append(f"with {text.point(judged.fixed)}")
    return "".join(f" {part}" for part in parts)


def _load(judged: JudgedClaim, load: float | None) -> str:
    value = units.ABSENT if load is None else units.setting(load)
    return value if judged.key is None else f"{judged.key} = {value}"


def _why(judged: JudgedClaim, shown: Shown | None) -> str:
    if judged.missing:
        return f"Not measured here: {units.listing(judged.missing)}."
    if judged.obstacle in _OBSTACLES:
        return _OBSTACLES[judged.obstacle]
    if judged.obstacle == "sweep_ends":
        return _why_beyond_the_sweep(judged)
    if shown is not None and judged.kind != "peak":
        return _why_of_ratio(judged, shown)
    words = {"peak": _why_of_peak, "cheapest": _why_of_cheapest, "best_value": _why_of_value}
    return words[judged.kind](judged)


_OBSTACLES: dict[Obstacle | None, str] = {
    "generator_limit": "The load generator reached its limit, so too few points are usable.",
    "too_few_trials": "Too few usable trials: at least two are required.",
    "no_machine": "The server has no machine type, and so no price, or no usable trial.",
}


def _why_beyond_the_sweep(judged: JudgedClaim) -> str:
    """Say that what is claimed lies, or may lie, where nothing was measured."""
    first, last = (units.setting(judged.loads[place]) for place in (0, -1))
    if judged.expected is None or judged.kind == "ratio":
        return f"The sweep has points from {first} to {last}, but too few of those that the claim is about."
    unknown = f"nothing is known at {_load(judged, judged.expected)}"
    said = f"The sweep has usable points from {first} to {last}, so {unknown}."
    if judged.peak is None:
        return f"{said} {_why_of_cheapest(judged)}"
    where = _greatest_here(judged, judged.peak)
    if judged.grid is None:
        return f"{where}. {said}"
    return f"{where}. The sweep ends there, and the peak may lie beyond its end."


def _why_of_peak(judged: JudgedClaim) -> str:
    if judged.peak is None or judged.grid is None:
        return ""
    ends = " to ".join(map(units.setting, judged.grid))
    return f'{_greatest_here(judged, judged.peak)}. "Near" means from {ends}, the measured loads around it.'


def _greatest_here(judged: JudgedClaim, top: Greatest) -> str:
    alike = [units.setting(load) for load in top.alike or ()]
    where = f"Here it is greatest at {_load(judged, top.load)}"
    if len(alike) > 1:
        where += f"; the trials also allow a peak at {units.listing(alike, 'or')}"
    return where


def _why_of_cheapest(judged: JudgedClaim) -> str:
    found = sorted(judged.offers, key=lambda offer: offer.usd_per_hour)
    return f"Kept {'; '.join(map(_how_far_kept, found))}."


def _how_far_kept(offer: JudgedOffer) -> str:
    machine = f"by {offer.server} (${offer.usd_per_hour:g} per hour)"
    if not offer.safe_load:
        in_one = "in at least one trial " if offer.greatest_load is None else ""
        return f"{machine} {in_one}at no measured load"
    load = offer.safe_load
    # A load that was measured is a setting; between two of them it is a figure.
    least = units.setting(load) if load == int(load) else units.number(load)
    most = offer.greatest_load
    return f"{machine} up to {least}" + (" at least" if most is None else f", not above {units.number(most)}")


def _why_of_value(judged: JudgedClaim) -> str:
    found = sorted(judged.values, key=lambda one: one.usd_per_hour)
    times = (f"{text.ratio(one.ratio)} times those of {one.server}" for one in found)
    return f"Here its answers per dollar are {'; '.join(times)}."


def _why_of_ratio(judged: JudgedClaim, shown: Shown) -> str:
    names, title = judged.servers, shown.measure.title
    step = judged.contrary_step
    if judged.ends is None:
        rests_on = shown.in_common(names[:1], names[1:], judged.ratio)
        times = f"{text.ratio(judged.ratio)} times that of {names[1]}{rests_on}"
        return f"Here the {title} of {names[0]} is {times}."
    of = "of" if len(names) > 1 else f"at {judged.key} ="
    first, last = (f"{of} {end}" for end in judged.ends)
    times = text.ratio(judged.ratio)
    if judged.kind == "level":
        said = f"Here the {title} that is furthest from that {first} is {times} times as much."
    elif len(names) > 1:
        rests_on = shown.in_common([judged.ends[1]], [judged.ends[0]], judged.ratio)
        said = f"Here the {title} {last} is {times} times that {first}{rests_on}."
    else:
        rests_on = shown.in_whole_trials(names[0], judged.ratio)
        said = f"Here the {title} {last} is {times} times that {first}{rests_on}."
    if step is not None:
        said += f" From {step.first} to {step.second} it is {text.ratio(step.ratio)} times as much."
    return said


def _in_markdown(_report: Report, claims: Sequence[ClaimRow]) -> Iterable[str]:
    columns: list[Column[ClaimRow]] = [
        Column("outcome", lambda one: one.title),
        Column("claim", lambda one: one.text),
        Column("what was checked", lambda one: one.statement),
        Column("why", lambda one: one.why),
    ]
    return [table_of_words(claims, columns)]


CLAIMS: Section[list[ClaimRow]] = Section(
    "claims",
    "the claims in words",
    lambda report: claim_rows(report.analysis),
    [],
    page="claims",
    terminal=lambda _, claims: [Text(), ClaimsInTerminal(claims)],
    markdown=_in_markdown,
    heading=HEADING,
)
