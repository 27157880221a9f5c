"""What a gate comes to, in words, and its measures as a table of the terminal, the page and other forms."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never
from xml.etree.ElementTree import Element, SubElement

from rich.console import Group, RenderableType
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Change, Outcome
from loadcurve.analysis.comparison import RunComparison
from loadcurve.analysis.gate import GateAnswer
from loadcurve.analysis.gated import GatedMeasure, worse_share
from loadcurve.errors import sentence
from loadcurve.loads.kinds import LoadKind
from loadcurve.report import text
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.ratios import Side, WorseBy, worse_figure
from loadcurve.report.column import FIGURES, NAMES, WRAPPED, Column
from loadcurve.report.comparison import comparison_json, resources_in_words, unusable_in_words
from loadcurve.report.comparison_errors import errors_of_requests_in_words, title_of
from loadcurve.report.comparison_faults import add_faults, faults_in_words, more_faults_in_words
from loadcurve.report.markdown import escaped, listed, table_lines
from loadcurve.report.requirements import (
    RequirementRow,
    add_requirements,
    requirement_in_words,
    requirement_rows,
    requirements_in_words,
)
from loadcurve.report.section import Grid, Report, Section, grid_in_markdown
from loadcurve.report.suite import as_junit
from loadcurve.report.terminal_tables import column_table
from loadcurve.result.measures import measures
from loadcurve.stats.sequential import GateDraw
from loadcurve.stats.spending import LEAST_BLOCKS

COLOURS: Mapping[Outcome | None, str] = {Outcome.FAILED: "bold red", Outcome.PASSED: "bold green"}
TITLES = ("measure", "worse by", "could see", "blocks", "answer")


def gate_sentences(analysis: Analysis, gate: GateAnswer) -> list[str]:
    """Return the answer, what it rests on, its error rate and what it could have seen, a sentence each."""
    return [
        gate_in_words(analysis.load_kind, gate),
        *_beside_failure(analysis.load_kind, gate),
        *_required(analysis, gate),
        *faults_in_words([gate.faults] if gate.faults else []),
        *map(sentence, _errors(gate)),
        *(sentence(f"Without a usable figure: {one}") for one in unusable_in_words(gate.lost)),
        *(
            sentence(f"Not measured, because of the machine: {one}")
            for one in unusable_in_words(gate.disturbed)
        ),
        *(
            sentence(f"Not compared, because {gate.gated.base} has no usable figure there: {one}")
            for one in unusable_in_words(gate.not_compared if gate.gated.measures else ())
        ),
        *_unconfirmed(analysis.load_kind, gate),
        *_requests(gate),
        *_missing(analysis.load_kind, gate),
        *_rates(gate),
    ]


def gate_in_words(kind: LoadKind, gate: GateAnswer) -> str:
    """Return what a gate comes to, in a sentence."""
    found = gate.gated
    match gate.outcome:
        case None:
            return f"No block has figures of both {found.base} and {found.head}."
        case Outcome.FAILED:
            return _failed(kind, gate)
        case Outcome.UNDECIDED if not (found.undecided or gate.disturbed or found.not_judged):
            count = units.plural(len(gate.open_requirements), "requirement")
            kept = f"whether {found.head} keeps {count} of the study"
            return f"Not decided: {kept}; no {_regression_ruled_out(gate)}."
        case Outcome.UNDECIDED | Outcome.PASSED:
            return _by_blocks(kind, gate)
        case _ as never:
            assert_never(never)


def _failed(kind: LoadKind, gate: GateAnswer) -> str:
    """Return the weightiest of what fails a gate."""
    found, share = gate.gated, f"{100 * gate.gated.least:g} %"
    if found.regressions:
        named = [
            f"{_title(kind, one)} is worse by {_interval(kind, one, one.last)}" for one in found.regressions
        ]
        return f"Regression of {share} or more, in two draws: of {found.head}, {units.listing(named)}."
    if gate.lost:
        return "Failed: what had usable figures has none now."
    if gate.has_more_faults and gate.faults is not None:
        return f"Failed: {more_faults_in_words(gate.faults)}."
    if gate.failed_errors:
        return f"Failed: {found.head} has a greater share of errors than {found.base}."
    count = units.plural(len(gate.failed_requirements), "requirement")
    return f"Failed: {found.head} does not keep {count} of the study."


def _by_blocks(kind: LoadKind, gate: GateAnswer) -> str:
    """Return what the blocks say of a regression where they show none."""
    found, share = gate.gated, f"{100 * gate.gated.least:g} %"
    if found.undecided:
        return (
            f"Not decided: {_blocks_in_words(gate)} neither show nor rule out a regression "
            f"of {share} in {units.listing(_title(kind, one) for one in found.undecided)}; {_more(gate)}."
        )
    if gate.disturbed:
        kept = units.listing(list(dict.fromkeys(one.server for one in gate.disturbed)))
        return f"Not decided: there are points at which the machine kept {kept} from being measured."
    if found.not_judged:
        named = units.listing(measures(kind)[name].title for name in found.not_judged)
        return f"Not decided: no figures of {named}; in the other measures no {_regression_ruled_out(gate)}."
    return f"No {_regression_ruled_out(gate)}."


def _regression_ruled_out(gate: GateAnswer) -> str:
    return f"regression of {100 * gate.gated.least:g} % or more, after {_blocks_in_words(gate)}"


def _blocks_in_words(gate: GateAnswer) -> str:
    """Return ``19 blocks``, and how many of them say something where that is not each."""
    found = gate.gated
    blocks = units.plural(found.blocks, "block")
    return blocks if found.pairs == found.blocks else f"{blocks} ({found.pairs} with figures of both)"


def _beside_failure(kind: LoadKind, gate: GateAnswer) -> Iterator[str]:
    """Yield what the blocks say where something else than their figures fails the gate."""
    if gate.outcome is Outcome.FAILED and not (gate.lost or gate.gated.regressions):
        yield _by_blocks(kind, gate)


def _errors(gate: GateAnswer) -> list[str]:
    differing = (one for one in gate.errors if one.differs)
    return errors_of_requests_in_words(differing, (gate.gated.base, gate.gated.head))


def _required(analysis: Analysis, gate: GateAnswer) -> Iterator[str]:
    """Yield which requirements of the study the head keeps, and those that it does not or may not keep."""
    rows = _requirements(analysis, gate)
    if not rows:
        return
    yield f"What the study requires of {gate.gated.head}: {requirements_in_words(rows)}."
    yield from (requirement_in_words(row) for row in rows if row.judged.outcome != "held")


def _requirements(analysis: Analysis, gate: GateAnswer) -> list[RequirementRow]:
    return [row for row in requirement_rows(analysis) if row.judged in gate.required]


def _more(gate: GateAnswer) -> str:
    more = gate.gated.more_blocks
    if more is None and any(one.last.blocks < LEAST_BLOCKS for one in gate.gated.undecided):
        return "how many more blocks would do is not known from so few"
    if more is None:
        return "no reasonable number of blocks would decide it"
    return f"about {units.plural(more, 'more block')} would do, if it stays so"


def _unconfirmed(kind: LoadKind, gate: GateAnswer) -> Iterator[str]:
    for one in gate.gated.unconfirmed:
        if one.confirmation is not None:
            said = f"The first draw showed {_title(kind, one)} worse by {_interval(kind, one, one.first)}; "
            yield f"{said}{_again(kind, one, one.confirmation)}."


def _again(kind: LoadKind, one: GatedMeasure, confirmation: GateDraw) -> str:
    if not confirmation.blocks:
        return "the gate ended before it was measured again (0 blocks)"
    return f"measured again it was {_interval(kind, one, confirmation)}"


def _requests(gate: GateAnswer) -> Iterator[str]:
    """Yield of how many figures of requests a regression is ruled out; these do not keep a gate open."""
    found = gate.gated.of_requests
    if not found:
        return
    out = sum(one.answer == "ruled_out" for one in found)
    rest = sum(one.answer == "open" for one in found)
    said = f"Of {units.plural(len(found), 'figure')} of single requests (p50, p99) such a regression is ruled"
    unknown = f", and neither shown nor ruled out in {rest}" if rest else ""
    yield f"{said} out in {out}{unknown}; it fails a gate where it is shown, and need not be ruled out."


def _missing(kind: LoadKind, gate: GateAnswer) -> Iterator[str]:
    if not gate.gated.measures:
        return
    yield from (sentence(f"{one.measure.title} is not gated: {one.reason}") for one in gate.missing)
    if of_requests := [name for name in gate.gated.not_measured if name not in measures(kind)]:
        yield f"Not gated, because it was not measured: {units.listing(of_requests)}."


def _rates(gate: GateAnswer) -> Iterator[str]:
    found = gate.gated
    if not found.measures:
        return
    of_load = " of the whole load" if found.of_requests else ""
    seen = (
        ""
        if found.smallest_seen is None
        else (
            f" In every measure{of_load} this run could have seen a regression of "
            f"{_share(found.smallest_seen)} or more."
        )
    )
    # Each of these can fail a gate, too, at another error rate.
    by = " by a regression" if gate.required or gate.faults or _errors(gate) else ""
    yield f"Of gates of equal builds at most {100 * found.false_alarms:g} % fail{by}.{seen}"


def gate_lines(analysis: Analysis, gate: GateAnswer, compared: RunComparison) -> RenderableType:
    """Return the answer first, then the measures; fits 80 columns."""
    said = [*gate_sentences(analysis, gate), *resources_in_words(compared.resources)]
    colour = COLOURS.get(gate.outcome, "bold yellow")
    said_of = [Text(one) for one in said[1:]]
    rows = _rows(analysis, gate, compared)
    if not gate.gated.measures:
        return Group(Text(said[0], style=colour), *said_of)
    layouts = (WRAPPED, FIGURES, FIGURES, FIGURES, NAMES)
    columns = [
        Column(title, _cell_at(place), layout)
        for place, (title, layout) in enumerate(zip(TITLES, layouts, strict=True))
    ]
    below = f"of {gate.gated.head} beside {gate.gated.base}, over the whole curve; + is worse"
    table = column_table(rows, columns)
    return Group(Text(said[0], style=colour), *said_of, Text(), table, Text(below, style="dim"))


def _cell_at(place: int) -> Callable[[list[str]], str]:
    return lambda row: row[place]


def _rows(analysis: Analysis, gate: GateAnswer, compared: RunComparison) -> list[list[str]]:
    kind = analysis.load_kind
    rows = [
        [
            _title(kind, one),
            _interval(kind, one, one.last),
            units.ABSENT if one.smallest_seen is None else _share(one.smallest_seen),
            str(one.first.blocks) if one.confirmation is None else f"{one.first.blocks} + {one.last.blocks}",
            _answer(one),
        ]
        for one in gate.gated.measures
    ]
    return rows + [
        [change.measure.title, _of_change(change), units.ABSENT, str(_blocks(change)), "not gated"]
        for change in _not_gated(gate, compared)
    ]


def _not_gated(gate: GateAnswer, compared: RunComparison) -> list[Change]:
    """Return what else two servers are compared by, over the whole curve."""
    gated = {one.measure for one in gate.gated.measures if one.request is None}
    return [one for one in compared.curves if one.measure.name not in gated]


def _blocks(change: Change) -> int:
    return 0 if change.ratio.estimate is None else change.ratio.estimate.n


def _of_change(change: Change) -> str:
    ratio = change.ratio.estimate
    if ratio is None or ratio.low is None or ratio.high is None:
        return _percent(change.worse_by)
    ends = (
        [1 - ratio.high, 1 - ratio.low]
        if change.measure.better == "higher"
        else [ratio.low - 1, ratio.high - 1]
    )
    return f"{_percent(change.worse_by)} ({' to '.join(map(units.in_percent, ends))})"


def _answer(one: GatedMeasure) -> str:
    if one.answer == "regression":
        return "regression"
    if one.answer == "ruled_out":
        return "ruled out" if one.confirmation is None else "not confirmed"
    return "not decided" if one.confirmation is None else "suspected"


def _interval(kind: LoadKind, one: GatedMeasure, draw: GateDraw) -> str:
    """Return by how much a measure is worse with its interval, such as ``+5.1 % (3.9 to 6.4)``."""
    measure = measures(kind)[one.measure]
    if draw.mean is None:
        return units.ABSENT
    value = _percent(worse_share(measure, draw.mean))
    if draw.high is None:
        return value
    if draw.low is None:
        return f"{value} (up to {units.in_percent(worse_share(measure, draw.high))})"
    ends = [units.in_percent(worse_share(measure, end)) for end in (draw.low, draw.high)]
    return f"{value} ({' to '.join(ends)})"


def _percent(share: float) -> str:
    return f"{units.in_percent(share, signed=True)} %"


def _share(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:,.0f} %"


def _title(kind: LoadKind, one: GatedMeasure) -> str:
    title = measures(kind)[one.measure].title
    return title if one.request is None else f"{title} of {one.request}"


def gate_json(analysis: Analysis, gate: GateAnswer, compared: RunComparison) -> dict[str, Any]:
    """Return everything as plain data."""
    kind, found, outcome = analysis.load_kind, gate.gated, gate.outcome
    return {
        "format": "loadcurve-gate/1",
        "outcome": "not measured" if outcome is None else outcome.name.lower(),
        "said": gate_sentences(analysis, gate),
        "base": found.base,
        "head": found.head,
        "least": found.least,
        "false_alarms": found.false_alarms,
        "smallest_seen": found.smallest_seen,
        "blocks": found.blocks,
        "blocks_planned": found.planned,
        "more_blocks": found.more_blocks,
        "measures": [_measure_json(kind, one) for one in found.measures],
        "not_measured": found.not_measured,
        "missing": [{"measure": one.measure.name, "reason": one.reason} for one in gate.missing],
        "requirements": [_requirement_json(row) for row in _requirements(analysis, gate)],
        "comparison": comparison_json(compared, None),
    }


def _measure_json(kind: LoadKind, one: GatedMeasure) -> Mapping[str, Any]:
    return {
        "measure": one.measure,
        "request": one.request,
        "answer": one.answer,
        "first": _draw_json(kind, one, one.first),
        "confirmation": one.confirmation and _draw_json(kind, one, one.confirmation),
        "more_blocks": one.more_blocks,
        "smallest_seen": one.smallest_seen,
    }


def _requirement_json(row: RequirementRow) -> Mapping[str, Any]:
    one = row.judged
    return {
        "measure": one.measure,
        "request": one.request,
        "point": one.point,
        one.direction: one.bound_text,
        "outcome": one.outcome,
        "said": requirement_in_words(row),
    }


def _draw_json(kind: LoadKind, one: GatedMeasure, draw: GateDraw) -> Mapping[str, Any]:
    measure = measures(kind)[one.measure]
    shares = {
        name: None if value is None else worse_share(measure, value)
        for name, value in (("worse_by", draw.mean), ("low", draw.low), ("high", draw.high))
    }
    return {"blocks": draw.blocks, **shares, "log_ratio_sd": draw.sd}


def gate_markdown(analysis: Analysis, gate: GateAnswer, compared: RunComparison) -> str:
    """Return the answer and the table, as a summary of a pull request."""
    said = [*gate_sentences(analysis, gate), *resources_in_words(compared.resources)]
    blocks = [
        f"## {escaped(gate.gated.head)} beside {escaped(gate.gated.base)}",
        f"**{escaped(said[0])}**",
        *listed(map(escaped, said[1:])),
        table_lines(TITLES, _rows(analysis, gate, compared)),
    ]
    return "\n\n".join(blocks) + "\n"


def gate_junit(analysis: Analysis, gate: GateAnswer) -> str:
    """Return JUnit's XML: a test for each gated measure and requirement, skipped where it is not decided."""
    suite = Element("testsuite", name="loadcurve gate")
    add_requirements(suite, analysis)
    add_gate(suite, analysis, gate)
    return as_junit(suite)


def add_gate(suite: Element, analysis: Analysis, gate: GateAnswer) -> None:
    """Add the tests of a gate to a suite of JUnit."""
    kind = analysis.load_kind
    for one in gate.gated.measures:
        name = f"{_title(kind, one)} over the whole curve"
        case = SubElement(suite, "testcase", classname=gate.gated.head, name=name)
        said = f"worse by {_interval(kind, one, one.last)}"
        if not one.last.blocks:
            said = f"worse by {_interval(kind, one, one.first)} at first, and not measured again"
        if one.answer == "regression":
            SubElement(case, "failure", message=said)
        elif one.answer == "open":
            SubElement(case, "skipped", message=f"not decided: {said}")
    for missing in gate.missing if gate.gated.measures else ():
        name = f"{missing.measure.title} over the whole curve"
        case = SubElement(suite, "testcase", classname=gate.gated.head, name=name)
        SubElement(case, "skipped", message=f"not gated: {missing.reason}")
    add_faults(suite, [(gate.faults, gate.has_more_faults)] if gate.faults and gate.gated.measures else [])
    for errors in gate.failed_errors:
        name = f"{title_of(errors)} over the whole curve"
        case = SubElement(suite, "testcase", classname=gate.gated.head, name=name)
        (said,) = errors_of_requests_in_words([errors], (gate.gated.base, gate.gated.head))
        SubElement(case, "failure", message=said)
    if gate.outcome is None:
        # A suite without tests would be a green one.
        case = SubElement(suite, "testcase", classname=gate.gated.head, name="figures of both")
        SubElement(case, "error", message=gate_in_words(kind, gate))
    for lost in gate.lost:
        for point in lost.points:
            name = f"figures at {text.point(point)}"
            case = SubElement(suite, "testcase", classname=lost.server, name=name)
            SubElement(case, "error", message=f"no usable figure: {lost.reason}")
    skipped = [(one, "not measured") for one in gate.disturbed]
    skipped += [(one, "not compared") for one in gate.not_compared if gate.gated.measures]
    for unusable, what in skipped:
        for point in unusable.points:
            name = f"figures at {text.point(point)}"
            case = SubElement(suite, "testcase", classname=unusable.server, name=name)
            SubElement(case, "skipped", message=f"{what}: {unusable.reason}")


@dataclass(frozen=True, slots=True)
class GateShown:
    """The measures of a gate: their intervals as a figure, and as a table."""

    figure: Figure | None
    grid: Grid


def _shown(report: Report) -> GateShown | None:
    gate, compared = GateAnswer.of(report.analysis), report.arms_compared
    if gate is None or compared is None or not gate.gated.measures:
        return None
    caption = (
        f"Of {gate.gated.head} beside {gate.gated.base}, over the whole curve; the intervals are those that "
        f"the gate decides by, of the draw that decides, after {gate.gated.blocks} of at most "
        f"{gate.gated.planned} blocks."
    )
    caption = " ".join([caption, *resources_in_words(compared.resources)])
    measured = [one for one in gate.gated.measures if one.last.blocks]
    rows = [_worse_by(report.analysis.load_kind, one) for one in measured]
    grid = Grid(list(TITLES), _rows(report.analysis, gate, compared), caption)
    return GateShown(worse_figure(rows, gate.gated.least), grid)


def _worse_by(kind: LoadKind, one: GatedMeasure) -> WorseBy:
    measure, draw = measures(kind)[one.measure], one.last
    value, low, high = (
        None if logarithm is None else worse_share(measure, logarithm)
        for logarithm in (draw.mean, draw.low, draw.high)
    )
    sides: Mapping[str, Side] = {"regression": "worse", "ruled_out": "better"}
    side = sides.get(one.answer, "neither")
    return WorseBy(_title(kind, one), value or 0.0, low, high, side, _interval(kind, one, draw))


def _in_markdown(report: Report, found: GateShown | None) -> Iterable[str]:
    return grid_in_markdown(report, None if found is None else found.grid)


GATE: Section[GateShown | None] = Section(
    "gate",
    "the gate",
    _shown,
    None,
    page="gate",
    markdown=_in_markdown,
)
