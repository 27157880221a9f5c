"""Generators beside each other, for people at a terminal and for programs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from loadcurve.analysis.crosscheck import COMPARED, CrossChecked, GeneratorFacts, GeneratorRatio
from loadcurve.report import text
from loadcurve.report.column import DOCUMENTS, PAGE, WRAPPED, WRAPPED_FIGURES, Cell, Column, Tabulated
from loadcurve.report.markdown import escaped, listed, tabulated
from loadcurve.report.section import Report, Section
from loadcurve.report.terminal_tables import column_table
from loadcurve.report.tools import tool_title
from loadcurve.result.measures import MEASURES, Measure
from loadcurve.units import ABSENT, number, plural, time_step, whole_percent

FORMAT = "loadcurve-crosscheck/1"
_BUSY = 0.95
_SLEEPS = 0.02
"""A difference of this many sleeps per request is some tenths of a µs of a server's CPU time."""
_HIDDEN_MS = 0.001


Row = tuple[str, dict[str, Cell]]
"""Where ratios were measured, and each by the name of its measure."""


@dataclass(frozen=True, slots=True)
class GeneratorsContent:
    """What a report says of one arm of another generator beside the same server under our engine."""

    title: str
    table: Tabulated[Row]
    """The ratios, first those over the curve."""
    conclusions: list[str]
    reasons: list[str]
    """Why the generators may differ."""


def generators_content(checked: Sequence[CrossChecked]) -> list[GeneratorsContent]:
    """Return what a report says of generators beside each other."""
    return [_content(one) for one in checked]


def _content(checked: CrossChecked) -> GeneratorsContent:
    tool = checked.facts.name if checked.facts.tool is None else tool_title(checked.facts.tool)
    rows: dict[str, dict[str, Cell]] = {}
    for one in checked.ratios:
        where = "over the curve" if one.point is None else text.point(one.point)
        rows.setdefault(where, {})[one.measure] = _ratio(one)
    return GeneratorsContent(
        title=f"{checked.arm} over {checked.base}: {tool} over our engine",
        table=Tabulated(_COLUMNS, list(rows.items())),
        conclusions=list(_conclusions(checked)),
        reasons=reasons(checked),
    )


def crosscheck_lines(checked: Sequence[CrossChecked]) -> RenderableType:
    """Return a table of ratios for each pair, and why they may differ; fits 80 columns."""
    parts: list[RenderableType] = []
    for one in generators_content(checked):
        parts += [Text(one.title, "bold"), column_table(one.table.rows, one.table.on("terminal")), Text()]
        parts += [Text(said) for said in one.conclusions]
        parts += [Text("why they may differ", style="dim")]
        parts += [Padding(Text(reason), (0, 0, 0, 2)) for reason in one.reasons]
        parts += [Text()]
    return Group(*parts[:-1])


def _ratio_of(measure: str, row: Row) -> Cell:
    return row[1][measure]


def _in_lines(measure: str, row: Row) -> str:
    cell = _ratio_of(measure, row)
    return "\n".join(filter(None, (cell.shown, cell.margin)))


def _ratio_columns(measure: Measure) -> Sequence[Column[Row]]:
    heading, of = measure.title, measure.column
    return (
        Column(heading, partial(_ratio_of, of), on_page="estimate", forms=DOCUMENTS),
        # A terminal has room for the interval below its ratio.
        Column(heading, partial(_in_lines, of), WRAPPED_FIGURES, forms=("terminal",)),
    )


_COLUMNS: Sequence[Column[Row]] = (
    Column("where", lambda row: row[0], on_page="row", forms=PAGE),
    Column("", lambda row: row[0], WRAPPED, forms=("markdown", "terminal")),
    *(column for name in COMPARED for column in _ratio_columns(MEASURES[name])),
)


def _ratio(one: GeneratorRatio) -> Cell:
    if one.ratio is None:
        return Cell(ABSENT)
    estimate = one.ratio.estimate
    if estimate is None:
        return Cell("out of range")
    if estimate.low is None or estimate.high is None:
        return Cell(f"{estimate.value:.3f}")
    return Cell(f"{estimate.value:.3f}", margin=f"{estimate.low:.3f} to {estimate.high:.3f}")


def _conclusions(checked: CrossChecked) -> Iterator[str]:
    titles = {measure.column: measure.title for measure in MEASURES.values()}
    over_curve = [one for one in checked.ratios if one.point is None]
    differing = [titles[one.measure] for one in over_curve if one.shown]
    agreeing = [titles[one.measure] for one in over_curve if one.ratio is not None and not one.shown]
    missing = [titles[one.measure] for one in over_curve if one.ratio is None]
    if differing:
        yield f"They differ in {', '.join(differing)}: the interval excludes 1."
    if agreeing:
        yield f"No difference is shown in {', '.join(agreeing)}."
    if missing:
        yield f"{checked.facts.name} does not report {', '.join(missing)}, or no block has both figures."


def reasons(checked: CrossChecked) -> list[str]:
    """Return what of the two generators may make their figures differ, with the figures that show it."""
    return [*_of_latency(checked), *_of_connections(checked), *_of_cost(checked), *_of_bytes(checked)]


def _of_latency(checked: CrossChecked) -> Iterator[str]:
    tool, engine = checked.facts.tool, checked.of_base
    if tool is None:
        return
    if tool.latency_basis == "send":
        hidden = engine.hidden_ms
        if hidden is not None and hidden >= _HIDDEN_MS:
            yield (
                f"coordinated omission: {tool.name} counts latency from when a request is sent; "
                f"{hidden:.3f} ms of the engine's mean latency come before that"
            )
        else:
            yield (
                f"latency counts from when a request is sent under {tool.name}, and from when it was due "
                "under the engine; in this load the two are the same"
            )
    if tool.resolution_ms is not None:
        yield f"resolution: {tool.name} reports times in steps of {time_step(tool.resolution_ms)}"
    if tool.completeness != "complete":
        reported = {
            "sampled": "a sample of its times",
            "percentiles": "some percentiles",
            "summary": "a mean",
        }
        yield f"{tool.name} reports {reported[tool.completeness]}; what it does not report is not compared"


def _of_connections(checked: CrossChecked) -> Iterator[str]:
    facts, engine, tool = checked.facts, checked.of_base, checked.facts.tool
    if facts.http != engine.http:
        yield f"HTTP/{facts.http} under {facts.name}, HTTP/{engine.http} under the engine: requests differ"
    if facts.threads != engine.threads:
        yield f"{facts.name} has {plural(facts.threads, 'thread')}, the engine {engine.threads}"
    if tool is not None and facts.connect_in_window and not engine.connect_in_window:
        yield (
            f"the window of {tool.name} starts before its connections are open, the engine's once they are "
            "open"
        )
    if tool is not None and tool.warmup == "separate":
        yield f"{tool.name} warms up in a separate process first: the server is warm, the connections are new"


def _of_cost(checked: CrossChecked) -> Iterator[str]:
    facts, engine = checked.facts, checked.of_base
    if facts.cpu_per_request_us is not None and engine.cpu_per_request_us is not None:
        yield (
            f"the generator's CPU: {facts.cpu_per_request_us:.1f} µs per request under {facts.name}, "
            f"{engine.cpu_per_request_us:.1f} µs under the engine, on the same CPUs"
        )
    yield from _of_sleeps(facts, engine)
    for one in (facts, engine):
        if one.busiest is not None and one.busiest > _BUSY:
            used = f"{_named(one)} used {whole_percent(one.busiest)} of its CPUs"
            yield f"{used}: it may be the limit, not the server"


def _of_sleeps(facts: GeneratorFacts, engine: GeneratorFacts) -> Iterator[str]:
    theirs, ours = facts.sleeps_per_request, engine.sleeps_per_request
    if theirs is None or ours is None or abs(theirs - ours) < _SLEEPS:
        return
    yield (
        f"sleeps of the generator: {number(theirs)} per request under {facts.name}, {number(ours)} under the "
        "engine; the server wakes it, which takes CPU time from the server"
    )


def _of_bytes(checked: CrossChecked) -> Iterator[str]:
    facts, engine = checked.facts, checked.of_base
    sent = None if facts.tool is None else facts.tool.request
    if facts.request_bytes is not None and engine.request_bytes is not None:
        difference = facts.request_bytes - engine.request_bytes
        if abs(difference) >= 1:
            agent = "" if sent is None else f"; its User-Agent is {sent.user_agent or 'none'}"
            yield (
                f"bytes of a request: {facts.request_bytes:.0f} under {facts.name}, "
                f"{engine.request_bytes:.0f} under the engine{agent}"
            )
    if facts.header_bytes is not None and engine.header_bytes is not None:
        difference = facts.header_bytes - engine.header_bytes
        if abs(difference) >= 1:
            yield (
                f"header bytes of an answer: {facts.header_bytes:.0f} under {facts.name}, "
                f"{engine.header_bytes:.0f} under the engine"
            )


def _named(facts: GeneratorFacts) -> str:
    return facts.name if facts.tool is not None else "the engine"


def crosscheck_json(checked: Sequence[CrossChecked]) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        "format": FORMAT,
        "pairs": [
            {
                "arm": one.arm,
                "base": one.base,
                "generator": _facts_json(one.facts),
                "engine": _facts_json(one.of_base),
                "ratios": [_ratio_json(ratio) for ratio in one.ratios],
                "reasons": reasons(one),
            }
            for one in checked
        ],
    }


def _facts_json(facts: GeneratorFacts) -> dict[str, Any]:
    return {**asdict(facts), "tool": None if facts.tool is None else facts.tool.model_dump(mode="json")}


def _ratio_json(one: GeneratorRatio) -> dict[str, Any]:
    estimate = None if one.ratio is None else one.ratio.estimate
    return {
        "measure": one.measure,
        "point": one.point,
        "ratio": None if estimate is None else estimate.value,
        "low": None if estimate is None else estimate.low,
        "high": None if estimate is None else estimate.high,
        "blocks": 0 if estimate is None else estimate.n,
        "differs": one.shown,
    }


def _in_markdown(_report: Report, found: Sequence[GeneratorsContent]) -> Iterable[str]:
    blocks = []
    for one in found:
        said = [*one.conclusions, *(f"Why they may differ: {reason}." for reason in one.reasons)]
        blocks += [escaped(one.title), tabulated(one.table), *listed(map(escaped, said))]
    return blocks


GENERATORS: Section[list[GeneratorsContent]] = Section(
    "generators",
    "the comparison of generators in words",
    lambda report: generators_content(report.analysis.crosschecks),
    [],
    page="generators",
    markdown=_in_markdown,
    heading="Generators compared",
)
