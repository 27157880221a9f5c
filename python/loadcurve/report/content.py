"""What the report says, as plain data for the template."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint, VerdictStatus
from loadcurve.analysis.sections import NotComputed, Sections
from loadcurve.analysis.sweep import slices
from loadcurve.errors import clause
from loadcurve.explain.finding import Finding
from loadcurve.report import shape_words, text
from loadcurve.report.alike import grouped_alike
from loadcurve.report.answer import NO_ANSWER, Answer, answer, caution
from loadcurve.report.appearance import Appearance, appearances
from loadcurve.report.arms import loads_in_words, own_loads
from loadcurve.report.charts.figure import Figure, Row
from loadcurve.report.charts.sweep import SHOWN_RESOURCES
from loadcurve.report.charts.time import panel_figure
from loadcurve.report.claims import ClaimRow, claim_rows
from loadcurve.report.columns import Columns
from loadcurve.report.connections import ConnectionsTable, connections_table
from loadcurve.report.cpu_time import Strip, strips
from loadcurve.report.crosscheck import GeneratorsContent, generators_content
from loadcurve.report.division import DivisionTable, division_table
from loadcurve.report.ending import trials_in_words
from loadcurve.report.figures import SHOWN_LATENCIES, Distribution, Part, bars, distribution, parts
from loadcurve.report.findings import FindingGroup, grouped
from loadcurve.report.inconclusive import visible_words
from loadcurve.report.long_table import Cell, TableRow, rest_of
from loadcurve.report.published_content import PublishedContent, published_content
from loadcurve.report.ranking import RankingContent, ranking_content
from loadcurve.report.reasons import FailedTrials, Remark, failed_trials, notes, remarks
from loadcurve.report.servers import MeasuredServer, measured_servers
from loadcurve.report.timeline import Timeline, timeline
from loadcurve.report.trials import findings_of_trials, trial_columns
from loadcurve.result.cpu_time import PARTS
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES, THROUGHPUT
from loadcurve.result.records import RunRecord, ServerRecord
from loadcurve.stats.interval import Estimate


@dataclass(frozen=True, slots=True)
class Trials:
    """Every point of every trial, for the reader to choose from, and some of them over time."""

    rows: Columns
    points: list[str]
    findings: list[Row]
    """Where each finding was seen, in their order."""
    timeline: Timeline | None
    panels: dict[str, Figure]
    """The figures over time by the titles of their panels, the uppermost first."""


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something that must be known of servers, each with the number of its points."""

    text: str
    points: dict[str, int]
    """By server."""


@dataclass(frozen=True, slots=True)
class ShapeTable:
    """Peak, knee and capacity of each server in one slice of the sweep, and what is to be said of them."""

    heading: str | None
    titles: list[str]
    rows: list[list[str]]
    costs: list[list[str]]
    conclusions: list[str]
    """What follows from all curves together."""
    of_servers: dict[str, str]
    """What the curve of each server shows, in sentences."""
    bars: list[Figure]


@dataclass(frozen=True, slots=True)
class Content:
    """Everything the page shows."""

    run: Run
    title: str
    question: str | None
    answer: Answer
    caution: str | None
    """Which figures the answer should not rest on."""
    summary: list[str]
    verdicts: dict[VerdictStatus, int]
    """How many points of trials have each verdict."""
    findings: list[Finding]
    finding_groups: list[FindingGroup]
    """The findings by cause."""
    missing: dict[str, ServerRecord]
    unmeasured: set[str]
    looks: dict[str, Appearance]
    own_loads: dict[str, str]
    """How the loads of servers differ from the study's."""
    complete: bool
    ranking: RankingContent | None
    parts: list[Part]
    loads: dict[float, str]
    """The values along the axis of the sweep, if they are numbers."""
    shapes: list[ShapeTable]
    distribution: Distribution | None
    published: PublishedContent | None
    """Published figures, where the study names some."""
    claims: list[ClaimRow]
    """What the authors of a publication concluded, each judged."""
    generators: list[GeneratorsContent]
    """Arms of other generators beside the same servers under our engine."""
    connections: ConnectionsTable | None
    """Of servers whose connections were encrypted or carried streams."""
    cpu_times: list[Strip]
    """Whose the time of each side's CPUs was."""
    cpu_parts: Sequence[str]
    """What that time is divided into, for the legend."""
    divided: DivisionTable | None
    """How the time of a request was divided among the programs of servers that have several."""
    trials: Trials | None
    keys: list[str]
    rows: list[TableRow]
    rest_of_rows: dict[str, Any] | None
    """The rows that the page holds as data, of a long table."""
    remarks: list[Remark]
    notes: list[Remark]
    has_paused_percentiles: bool
    """Whether any percentile in the table is marked, because pauses of the machine explain it."""
    caveats: list[Caveat]
    """What must be known of servers."""
    run_caveats: list[str]
    """What must be known of the whole run."""
    failures: list[FailedTrials]
    servers: dict[str, MeasuredServer]
    """Those that were found, by name."""
    settings: dict[str, list[tuple[str, str]]]
    host: list[tuple[str, str]]
    repeat: str
    inputs_missing: Sequence[str]
    not_computed: list[NotComputed]
    """Sections that a fault of Loadcurve's left out, of the analysis and of the page."""


def content_of(run: Run, analysis: Analysis) -> Content:
    """Gather what the report says and draws of a run; no file is read and nothing is measured here.

    Raises ``BadInput`` where a histogram cannot be decoded.
    """
    record = run.run
    looks = appearances(record.servers)
    sections = Sections(analysis.not_computed)
    answer_given = sections.get("the answer", lambda: answer(analysis), NO_ANSWER)
    with_care = sections.get("the caution", lambda: caution(analysis.findings), None)
    ranking = sections.get("the ranking in words", lambda: ranking_content(analysis), None)
    figures = sections.several("the figures", lambda: parts(run, analysis, looks))
    no_shapes: list[ShapeTable] = []
    shaped = sections.get("peaks and knees", lambda: _shapes(run, analysis, looks), no_shapes)
    distributed = sections.get("the distribution of latencies", lambda: distribution(run, looks), None)
    published = sections.get(
        "the comparison with published figures", lambda: published_content(run, analysis, looks), None
    )
    claims = sections.several("the claims in words", lambda: claim_rows(analysis))
    generators = sections.several(
        "the comparison of generators in words", lambda: generators_content(analysis.crosschecks)
    )
    connected = sections.get("the connections in words", lambda: connections_table(analysis), None)
    divided = sections.get("the time of a request in words", lambda: division_table(analysis), None)
    whose_time = sections.several("whose CPU time it was", lambda: strips(analysis))
    limit = sections.get("the smallest difference to be seen", lambda: visible_words(analysis), None)
    groups = sections.several("the findings by cause", lambda: grouped(analysis.findings, limit))
    trials = sections.get("single trials", lambda: _trials(run, analysis, sections), None)
    rows = sections.several("the table of all figures", lambda: _rows(analysis))
    rest = sections.get("the rest of the table", lambda: rest_of(rows, looks), None)
    run_caveats = sections.several(
        "what must be known of the run", lambda: [*grouped_alike(one.text for one in record.caveats)]
    )
    failures = sections.several("the trials that failed", lambda: failed_trials(run))
    remarked = sections.several("the reasons of verdicts", lambda: remarks(run))
    noted = sections.several("the notes on points", lambda: notes(run))
    caveats = sections.several("what must be known of servers", lambda: _caveats(run))
    loads: dict[float, str] = sections.get("the loads to choose from", lambda: _loads(run), {})
    found = sections.several("the servers", lambda: measured_servers(analysis))
    differing: dict[str, str] = sections.get("how loads differ", lambda: own_loads(analysis), {})
    others = sections.several("what is known of other machines", lambda: [*_other_machines(record)])
    said = [
        sentence
        for section, sentences in (
            ("what was measured in words", lambda: _summary(run, analysis)),
            ("how loads differ in words", lambda: loads_in_words(analysis)),
            ("how many trials there were in words", lambda: trials_in_words(analysis)),
        )
        for sentence in sections.several(section, sentences)
    ]
    return Content(
        run=run,
        title=analysis.run.title,
        question=analysis.run.question,
        answer=answer_given,
        caution=with_care,
        summary=[*(one.words for one in sections.not_computed), *said],
        verdicts=analysis.verdicts,
        findings=analysis.findings,
        finding_groups=groups,
        missing={name: server for name, server in record.servers.items() if server.status == "missing"},
        unmeasured=set(record.servers) - {point.server for point in run.points},
        looks=looks,
        own_loads=differing,
        complete=analysis.complete,
        ranking=ranking,
        parts=figures,
        loads=loads,
        shapes=shaped,
        distribution=distributed,
        published=published,
        claims=claims,
        generators=generators,
        connections=connected,
        cpu_times=whose_time,
        cpu_parts=PARTS,
        divided=divided,
        trials=trials,
        keys=analysis.keys,
        rows=rows,
        rest_of_rows=rest,
        remarks=remarked,
        notes=noted,
        has_paused_percentiles=any(
            at.is_marked(name) for curve in analysis.curves for at in curve.points for name in SHOWN_LATENCIES
        ),
        caveats=caveats,
        run_caveats=run_caveats,
        failures=failures,
        servers={server.name: server for server in found},
        settings={name: list(text.flattened(server.settings)) for name, server in record.servers.items()},
        host=[*text.flattened(record.host), *others],
        repeat=analysis.run.repeat,
        inputs_missing=analysis.run.inputs_missing,
        not_computed=sections.not_computed,
    )


def _other_machines(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield what is known of other machines, behind their names."""
    for name, machine in record.machines.items():
        yield f"{name} · address", machine.address
        yield from text.flattened(machine.facts, f"{name} · ")
        if machine.link is not None:
            yield from text.flattened(machine.link.model_dump(), f"{name} · link · ")


def _summary(run: Run, analysis: Analysis) -> list[str]:
    """Say in plain sentences what was measured, what failed and what is missing."""
    record, ended = run.run, analysis.ending
    servers = sum(1 for server in record.servers.values() if server.status == "found")
    counts = ", ".join(f"{count:,} {status}" for status, count in analysis.verdicts.items())
    of_how_many = f" of {ended.points_expected:,}" if record.search is None else ""
    measured = f"{len(run.points):,}{of_how_many} points were measured"
    sentences = [
        f"{text.plural(servers, 'server')} in {text.plural(ended.trials_expected, 'trial')} "
        f"over {text.plural(len(run.sweep_points), 'setting')} of the sweep: {measured}"
        + (f" ({counts})." if run.points else ".")
    ]
    if run.failures:
        reasons = "; ".join(
            f"{failure.server} {text.at_point(failure.point)}: {clause(failure.reason.text)}"
            for failure in run.failures[:3]
        )
        more = f"; and {len(run.failures) - 3:,} more" if len(run.failures) > 3 else ""  # noqa: PLR2004
        failed = len({failure.trial for failure in run.failures})
        sentences.append(f"{text.plural(failed, 'trial')} failed ({reasons}{more}).")
    if ended.reason == "unfinished":
        cut = " The last record was cut off and is ignored." if run.cut_off else ""
        sentences.append(
            f"The run was interrupted before its end; what it measured until then is shown.{cut}"
        )
    return [*sentences, *run.damage]


def _shapes(run: Run, analysis: Analysis, looks: Mapping[str, Appearance]) -> list[ShapeTable]:
    return [
        ShapeTable(
            heading=text.point(found.part.fixed) if found.part.fixed else None,
            titles=shape_words.titles(run.kind, found),
            rows=[shape_words.cells(found, shape) for shape in found.shapes],
            costs=shape_words.cost_cells(found),
            conclusions=shape_words.common_conclusions(run.kind, found),
            of_servers=shape_words.of_each_server(run.kind, found),
            bars=bars(run, found, looks),
        )
        for found in analysis.shapes
        if found.has_figures
    ]


def _loads(run: Run) -> dict[float, str]:
    return {load: text.setting(load) for part in slices(run.sweep_points)[:1] for load in part.values}


def _trials(run: Run, analysis: Analysis, sections: Sections) -> Trials | None:
    if not run.points:
        return None
    shown = sections.get("single trials over time", lambda: timeline(run, analysis.findings), None)
    panels = shown.panels if shown else []
    return Trials(
        rows=trial_columns(analysis),
        points=[text.point(point) for point in run.sweep_points],
        findings=findings_of_trials(analysis),
        timeline=shown,
        panels={
            panel.title: panel_figure(panel, is_lowest=panel is panels[-1], load=run.kind) for panel in panels
        },
    )


def _rows(analysis: Analysis) -> list[TableRow]:
    return [
        _row(curve.server, place, at, analysis.keys)
        for curve in analysis.curves
        for place, at in enumerate(curve.points)
        if at.trials or not at.ended_before
    ]


def _row(server: str, place: int, at: CurvePoint, keys: list[str]) -> TableRow:
    failed = at.failed_requests
    return TableRow(
        server=server,
        place=place,
        settings=[
            Cell(text.setting(at.point[key]), at.point[key]) if key in at.point else Cell(text.ABSENT, None)
            for key in keys
        ],
        trials=Cell(_usable_trials(at), len(at.usable)),
        throughput=_estimate_cell(at.estimate(THROUGHPUT)),
        latencies=[
            *(_marked_cell(at, statistic) for statistic in SHOWN_LATENCIES if statistic != "max"),
            Cell(text.number(at.latency_max_ms), at.latency_max_ms),
        ],
        resources=[_estimate_cell(at.estimate(MEASURES[name])) for name in SHOWN_RESOURCES],
        failed_requests=Cell(text.ABSENT if failed is None else f"{failed:,}", failed),
        verdict=at.verdict,
    )


def _marked_cell(at: CurvePoint, statistic: str) -> Cell:
    cell = _estimate_cell(at.estimate(MEASURES[statistic]))
    return replace(cell, shown=text.marked(cell.shown, paused=at.is_marked(statistic)))


def _usable_trials(at: CurvePoint) -> str:
    ended = len(at.ended_before)
    return f"{len(at.usable)} of {len(at.trials)}" + (f", {ended} ended before" if ended else "")


def _estimate_cell(estimate: Estimate | None) -> Cell:
    value = estimate.value if estimate else None
    # A line may break before the upper end, in narrow columns, but not within two words of it.
    ends = text.interval(estimate)
    return Cell(text.number(value), value, ends and ends.replace(" to ", "\N{NO-BREAK SPACE}to "))


def _caveats(run: Run) -> list[Caveat]:
    """Return what must be known of servers, each once however its numbers differ between points."""
    found: dict[str, Counter[str]] = {}
    for point in run.points:
        for caveat in point.caveats:
            found.setdefault(caveat.text, Counter())[point.server] += 1
    merged = grouped_alike(found)
    return [
        Caveat(said, dict(sum((found[text] for text in texts), Counter[str]())))
        for said, texts in merged.items()
    ]
