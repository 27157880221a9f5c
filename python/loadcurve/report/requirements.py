"""What a study requires, in words: which requirements held, failed or are not decided, and with what room."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.requirements import JudgedRequirement, RequirementObstacle, RequirementOutcome
from loadcurve.errors import clause
from loadcurve.report import text
from loadcurve.report.column import Column
from loadcurve.report.section import Grid, Report, Section, grid_in_markdown
from loadcurve.report.terminal_tables import as_it_is
from loadcurve.result.distribution import PERCENTILES, samples_needed
from loadcurve.result.measures import Measure
from loadcurve.result.operations import error_share_of, measure_of
from loadcurve.stats.interval import CONFIDENCE
from loadcurve.stats.slo import ERRORS

OUTCOMES: Mapping[RequirementOutcome, str] = {
    "failed": "failed",
    "cannot_tell": "not decided",
    "held": "held",
}
_STYLES: Mapping[RequirementOutcome, str] = {"failed": "bold red", "cannot_tell": "yellow", "held": "green"}
_OBSTACLES: Mapping[RequirementObstacle, str] = {
    "server_fault": "the server's doing",
    "not_measured": "not measured",
    "invalid": "no valid trial",
    "not_sent": "the load does not send it",
    "no_figure": "no trial has this figure",
    "one_trial": "one usable trial has no interval; give it two or more",
    "interval_holds_bound": "the interval holds the bound; more trials narrow it",
}


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """One requirement at one point in words."""

    judged: JudgedRequirement
    title: str
    """The outcome in words."""
    statement: str
    """What is required, such as ``p99 below 10ms``."""
    where: str
    """The server and the point."""
    measured: str
    """The figure with its interval."""
    room: str
    why: str


def requirement_rows(analysis: Analysis) -> list[RequirementRow]:
    """Return the requirements of a run in words: those that failed first, then those that are not decided."""
    places = list(OUTCOMES)
    judged = sorted(analysis.requirements, key=lambda one: places.index(one.outcome))
    return [_row(one, _measure(analysis, one)) for one in judged]


def requirements_in_words(rows: Sequence[RequirementRow]) -> str:
    """Return how many requirements have each outcome, such as ``1 failed, 2 held``."""
    return text.counted((row.title for row in rows), OUTCOMES.values())


def requirement_in_words(row: RequirementRow) -> str:
    """Return a requirement, and why it is so, as a sentence."""
    said = [part for part in (row.measured, row.room and f"room {row.room}", row.why) if part]
    return f"{row.where}: {row.statement} {row.title}: {'; '.join(said)}."


def _measure(analysis: Analysis, one: JudgedRequirement) -> Measure:
    if one.request is not None:
        return measure_of(analysis.load_kind, one.request, one.measure)
    if one.measure == ERRORS:
        return error_share_of(None)
    return next(measure for measure in analysis.measures if measure.name == one.measure)


def _row(one: JudgedRequirement, measure: Measure) -> RequirementRow:
    said = "" if one.obstacle is None else _OBSTACLES[one.obstacle]
    if one.obstacle == "no_figure" and one.measure in PERCENTILES:
        needed = f"{samples_needed(PERCENTILES[one.measure]):,}"
        said = f"too few answers: {measure.title} requires {needed} in a trial; a longer load gives more"
    why = said if one.why is None else clause(one.why)
    at = f" with {100 * one.confidence:g} %" if one.confidence != CONFIDENCE else ""
    return RequirementRow(
        judged=one,
        title=OUTCOMES[one.outcome],
        statement=f"{measure.title} {one.direction} {one.bound_text}{at}",
        where=f"{one.server} {text.at_point(one.point)}" if one.point else one.server,
        measured=_measured(one, measure),
        room=_room(one),
        why=why,
    )


def _measured(one: JudgedRequirement, measure: Measure) -> str:
    found = one.estimate
    if found is None:
        return ""
    unit, scale = units.behind(measure.unit), 100 if measure.unit == "share" else 1
    value = f"{units.number(scale * found.value)}{unit}"
    if found.low is None or found.high is None:
        return value
    return f"{value} ({units.number(scale * found.low)} to {units.number(scale * found.high)})"


def _room(one: JudgedRequirement) -> str:
    room = one.room
    if room is None or one.obstacle == "server_fault":
        return ""
    value = units.in_percent(room.value)
    if room.least is None or room.most is None:
        return f"{value} %"
    return f"{value} % ({units.in_percent(room.least)} to {units.in_percent(room.most)})"


HEADING = "Requirements"
_COLUMNS: Sequence[Column[RequirementRow]] = (
    Column("outcome", lambda row: row.title),
    Column("required", lambda row: f"{row.statement}, {row.where}"),
    Column("measured", lambda row: row.measured or units.ABSENT),
    Column("room", lambda row: row.room or units.ABSENT),
    Column("why", lambda row: row.why),
)


def _grid(report: Report) -> Grid | None:
    rows = requirement_rows(report.analysis)
    caption = (
        "A requirement is held or failed where the whole interval lies on one side of its bound. Room is how "
        "far the figure lies within the bound, as a share of the bound, with the same interval; below 0 % it "
        "is beyond."
    )
    return Grid.of(rows, _COLUMNS, caption) if rows else None


def _in_terminal(report: Report, _: Grid | None) -> Iterable[RenderableType]:
    rows = requirement_rows(report.analysis)
    table = Table.grid(padding=(0, 2))
    for row in rows:
        outcome = Text(row.title, style=_STYLES[row.judged.outcome])
        table.add_row(outcome, as_it_is(requirement_in_words(row)))
    heading = Text.assemble((HEADING, "bold"), f": {requirements_in_words(rows)}")
    return [Text(), heading, table, Text()]


def add_requirements(suite: Element, analysis: Analysis) -> None:
    """Add a test for each requirement and point to a suite of JUnit, skipped where it is not decided.

    What is held has its figure and its room, as every other test has.
    """
    for row in requirement_rows(analysis):
        name = f"{row.statement} {text.at_point(row.judged.point)}"
        case = SubElement(suite, "testcase", classname=row.judged.server, name=name)
        if row.judged.outcome == "held":
            SubElement(case, "system-out").text = requirement_in_words(row)
        else:
            tag = "failure" if row.judged.outcome == "failed" else "skipped"
            SubElement(case, tag, message=requirement_in_words(row))


REQUIREMENTS: Section[Grid | None] = Section(
    "requirements",
    "what the study requires",
    _grid,
    None,
    page="requirements",
    terminal=_in_terminal,
    markdown=grid_in_markdown,
    heading=lambda report, _: f"{HEADING}: {requirements_in_words(requirement_rows(report.analysis))}",
)
