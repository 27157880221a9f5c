"""Several loads on one machine: what they do to each other, for the terminal, as a page and as data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.interference import (
    COMPARED,
    Interference,
    LoadTogether,
    PointTogether,
    Together,
)
from loadcurve.report import text
from loadcurve.report.answer import answer_words
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import Figure
from loadcurve.report.columns import with_columns
from loadcurve.report.figures import PARTS
from loadcurve.report.files import write_own_page, write_part
from loadcurve.report.page import figure_scripts, rendered
from loadcurve.report.section import Report
from loadcurve.result.measures import Measure
from loadcurve.result.run_files import REPORT_FILE
from loadcurve.result.several import (
    InterferenceRecord,
    LoadInterference,
    TakenEstimate,
    TogetherRatio,
    TogetherTaken,
)
from loadcurve.stats.interval import Estimate

INTERFERENCE_FILE = "interference.json"
ALONE, BESIDE = "alone", "beside"


@dataclass(frozen=True, slots=True)
class Row:
    """One point of one load, in cells."""

    place: str
    cells: list[str]
    taken: list[str]
    """Of each resource alone and beside the others."""


def sentences(together: Together) -> list[str]:
    """Return for each load what the others do to its server, in words."""
    return [_sentence(together, load) for load in together.loads]


def _sentence(together: Together, load: LoadTogether) -> str:
    beside = units.listing(together.others(load))
    server = load.load.server
    throughput, tail = (load.over_curve.get(name) for name in ("throughput", "p99"))
    if throughput is None or throughput.ratio is None:
        return f"{server} has no trials alone and beside {beside} that could be compared."
    said = f"beside {beside} its throughput is {ratio_words(throughput)} times that alone"
    if tail is not None and tail.ratio is not None:
        # The throughput of a load at a rate follows its schedule; then the latency tells.
        said += f", and its p99 {ratio_words(tail)} times"
    if throughput.shown or (tail is not None and tail.shown):
        return f"{server}: {said}."
    if throughput.ratio.low is None:
        return f"{server}: {said}, in a single trial."
    return f"{server}: no interference is shown; {said}."


def processor_words(together: Together) -> str | None:
    """Say what each server used of the CPUs at its last point, beside others and alone, and how it waited.

    ``None`` where that is not known of any.
    """
    said = [words for load in together.loads if (words := _processor_words(load)) is not None]
    return f"CPUs at the last point of the sweep: {'; '.join(said)}." if said else None


def _processor_words(load: LoadTogether) -> str | None:
    if not load.points:
        return None
    last = load.points[-1]
    cpus, waiting = (last.taken(load.measure(name)) for name in ("cpu_share", "run_delay_per_request_us"))
    if cpus.alone is None or cpus.together is None:
        return None
    alone, together = map(text.number_of, (cpus.alone, cpus.together))
    said = f"{load.load.server} used {together} instead of {alone} alone"
    if waiting.alone is None or waiting.together is None:
        return said
    request = load.analysis.load_kind.request
    return (
        f"{said} and waited {text.number_of(waiting.together)} µs per {request} for a CPU instead of "
        f"{text.number_of(waiting.alone)} µs"
    )


def ratio_words(one: Interference) -> str:
    """Return a ratio with its interval."""
    return text.ratio(one.ratio)


def headings(load: LoadTogether) -> list[str]:
    """Return the titles of the cells of a load's rows."""
    throughput = load.measure("throughput").heading
    return [f"{throughput} {ALONE}", BESIDE, "ratio", "p99 ratio"]


def headings_of_taken(load: LoadTogether) -> list[str]:
    """Return the titles of the cells of what a load's server used."""
    return [title for measure in load.resources for title in (f"{measure.heading} {ALONE}", BESIDE)]


def rows(load: LoadTogether) -> Iterator[Row]:
    """Yield the points of a load."""
    for place, at in enumerate(load.points):
        ratios = [_at(load, name, place) for name in ("throughput", "p99")]
        cells = [*_both(at, load.measure("throughput")), *map(text.ratio, ratios)]
        taken = [cell for measure in load.resources for cell in _both(at, measure)]
        yield Row(text.point(at.point), cells, taken)


def _at(load: LoadTogether, name: str, place: int) -> Estimate | None:
    found = load.at_points.get(name, [])
    return found[place].ratio if place < len(found) else None


def _both(at: PointTogether, measure: Measure) -> list[str]:
    taken = at.taken(measure)
    return [text.number_of(taken.alone), text.number_of(taken.together)]


def terminal(together: Together) -> RenderableType:
    """Return what the loads do to each other, for a terminal of 80 columns."""
    parts: list[RenderableType] = []
    for load in together.loads:
        beside_all = units.listing(together.others(load))
        parts.append(Text(f"{load.load.name}: {load.load.server} {ALONE} → {BESIDE} {beside_all}", "bold"))
        for row in rows(load):
            alone, beside, ratio, tail = row.cells
            parts.append(Text(f"  {row.place}", "dim"))
            table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 2))
            unit = load.measure("throughput").unit
            table.add_row(unit, f"{alone} → {beside}", f"ratio {ratio}")
            table.add_row("p99", "", f"ratio {tail}")
            for measure, (alone, beside) in zip(
                load.resources, zip(row.taken[::2], row.taken[1::2], strict=True), strict=True
            ):
                table.add_row(measure.heading, f"{alone} → {beside}", "")
            parts.append(table)
    parts.append(Text("\nInterference", "bold"))
    parts += [Text(sentence) for sentence in (*sentences(together), processor_words(together)) if sentence]
    return Group(*parts)


def interference_record(together: Together) -> InterferenceRecord:
    """Return the ratios as a record."""
    return InterferenceRecord(
        format="loadcurve-interference/1",
        title=together.record.title,
        question=together.record.question,
        loads=[
            LoadInterference(load=load.load, ratios=list(_ratios(load)), taken=list(_taken(load)))
            for load in together.loads
        ],
    )


def _taken(load: LoadTogether) -> Iterator[TogetherTaken]:
    for measure in load.resources:
        for at in load.points:
            taken = at.taken(measure)
            yield TogetherTaken(
                measure=measure.column,
                unit=measure.unit,
                point=at.point,
                alone=_estimate(taken.alone),
                together=_estimate(taken.together),
            )


def _estimate(one: Estimate | None) -> TakenEstimate | None:
    return None if one is None else TakenEstimate(value=one.value, low=one.low, high=one.high, trials=one.n)


def _ratios(load: LoadTogether) -> Iterator[TogetherRatio]:
    for name in COMPARED:
        over_curve = load.over_curve.get(name)
        for one in [*([over_curve] if over_curve else []), *load.at_points.get(name, [])]:
            ratio = one.ratio
            yield TogetherRatio(
                measure=one.measure.column,
                point=one.point,
                value=None if ratio is None else ratio.value,
                low=None if ratio is None else ratio.low,
                high=None if ratio is None else ratio.high,
                trials=0 if ratio is None else ratio.n,
                shown=one.shown,
            )


@dataclass(frozen=True, slots=True)
class ShownLoad:
    """One load on the page."""

    found: LoadTogether
    others: str
    report: str
    answer: str
    headings: list[str]
    headings_of_taken: list[str]
    rows: list[Row]
    figures: dict[str, Figure]
    looks: Mapping[str, Appearance]


def write_together(folder: Path, together: Together, reports: dict[str, Report]) -> Path:
    """Write the page of several loads, and its ratios as data; return the page's path.

    ``reports`` are those of the loads themselves, by name.

    Raises:
        LoadcurveError: a file cannot be written.

    """
    record = interference_record(together).model_dump_json(indent=2)
    write_part(folder / INTERFERENCE_FILE, record.encode() + b"\n")
    path = folder / REPORT_FILE
    write_own_page(path, render_together(together, reports))
    return path


def render_together(together: Together, reports: dict[str, Report]) -> str:
    """Return the page of several loads."""
    shown = [
        ShownLoad(
            found=load,
            others=units.listing(together.others(load)),
            report=f"{load.load.name}/{REPORT_FILE}",
            answer=answer_words(load.analysis),
            headings=headings(load),
            headings_of_taken=headings_of_taken(load),
            rows=list(rows(load)),
            figures=_figures(reports[load.load.name]),
            looks=reports[load.load.name].looks,
        )
        for load in together.loads
    ]
    values = {
        "record": together.record,
        "loads": shown,
        # All loads of a point are of one run.
        "run": next(iter(reports.values())).run,
        "moment": text.moment,
        "sentences": sentences(together),
        "processors": processor_words(together),
        "with_columns": with_columns,
    }
    styles = ["report.css", "history.css", "first_screen.css", "together.css"]
    return rendered("together.html.jinja", styles, figure_scripts(), values)


def _figures(report: Report) -> dict[str, Figure]:
    """Return the figures of throughput and of one latency, in each slice of the sweep."""
    found: dict[str, Figure] = {}
    requests = report.run.kind.requests
    for part in report.of(PARTS):
        suffix = f", {part.heading}" if part.heading else ""
        found[f"{requests} answered per second{suffix}"] = part.throughput
        if part.main_latency is not None:
            found[f"{part.main_latency} of the latency, ms{suffix}"] = part.latency[part.main_latency]
    return found
