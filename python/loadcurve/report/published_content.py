"""What the page draws and says of published figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.published import PublishedMatch, PublishedPair
from loadcurve.analysis.sweep import Slice
from loadcurve.report import text
from loadcurve.report.appearance import SHAPES, Appearance
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.published import NO_SERVER, Axes, Line, lines_figure, relative_figure
from loadcurve.report.column import DOCUMENTS, MARKDOWN, PAGE, Column, Tabulated
from loadcurve.report.markdown import escaped, listed, tabulated
from loadcurve.report.published import order_words, pair_words
from loadcurve.report.section import Report, Section
from loadcurve.result.folder import Run
from loadcurve.result.measures import PUBLISHED_MEASURES
from loadcurve.stats.interval import Estimate
from loadcurve.study.published import Published, published_of


@dataclass(frozen=True, slots=True)
class PublishedComparison:
    """A published figure, what was measured here, and both over one another."""

    heading: str
    unit: str
    """The publication's."""
    measured_unit: str
    published: Figure | None
    measured: Figure | None
    relative: Figure | None
    sentences: list[str]


@dataclass(frozen=True, slots=True)
class PublishedFactRow:
    """A single figure in words."""

    name: str
    value: str
    """With its unit."""
    at: str


@dataclass(frozen=True, slots=True)
class PublishedContent:
    """What the page says of published figures."""

    source: str
    """The publication, its year, and the machine that was measured."""
    url: str | None
    facts: Tabulated[PublishedFactRow]
    comparisons: list[PublishedComparison]
    left_out: str | None


def published_content(
    run: Run, analysis: Analysis, looks: Mapping[str, Appearance]
) -> PublishedContent | None:
    """Return the comparisons with what was published; ``None`` where the study names no such figures."""
    published = published_of(run.run.study)
    if published is None:
        return None
    matched = analysis.published
    file = published.file
    year = "" if file.year is None else f", {file.year}"
    machine = "" if file.machine is None else f", measured on {file.machine}"
    return PublishedContent(
        source=f"{file.source}{year}{machine}",
        url=file.url,
        facts=_facts(
            [
                PublishedFactRow(fact.name, f"{fact.value:,} {fact.unit or ''}".rstrip(), fact.at or "")
                for fact in file.facts
            ]
        ),
        comparisons=[_comparison(one, looks) for one in matched],
        left_out=_left_out(published, matched),
    )


def _facts(rows: Sequence[PublishedFactRow]) -> Tabulated[PublishedFactRow]:
    """Return the table of single figures; on the page, where each was measured only if that is known."""
    columns: list[Column[PublishedFactRow]] = [
        Column("figure", lambda fact: fact.name, on_page="words", forms=PAGE),
        Column("single figure", lambda fact: fact.name, forms=MARKDOWN),
        Column("published", lambda fact: fact.value),
        Column(
            "at",
            lambda fact: fact.at,
            on_page="words",
            forms=DOCUMENTS if any(fact.at for fact in rows) else MARKDOWN,
        ),
    ]
    return Tabulated(columns, rows)


def _comparison(matched: PublishedMatch, looks: Mapping[str, Appearance]) -> PublishedComparison:
    pairs, measure = matched.pairs, PUBLISHED_MEASURES[matched.measure]
    with_server = [pair for pair in pairs if pair.server is not None]
    given = {place for pair in pairs for place in pair.published}
    places = sorted(given.union(*(pair.measured for pair in with_server)))
    axes = Axes(Slice(matched.axis, {}, [{matched.axis: place} for place in places]), measure.from_zero)
    published = [_published_line(pair, place, looks) for place, pair in enumerate(pairs)]
    measured = _measured_lines(with_server, looks)
    stand_for_one = [line for line, pair in zip(published, pairs, strict=True) if pair.server is not None]
    where = f", {text.point(matched.fixed)}" if matched.fixed else ""
    return PublishedComparison(
        heading=f"{matched.title}{where}",
        unit=matched.unit,
        measured_unit=measure.unit,
        published=lines_figure(f"{matched.title}, published, {matched.unit}", published, axes),
        measured=lines_figure(f"{matched.title}, measured here, {measure.unit}".rstrip(", "), measured, axes),
        relative=relative_figure(
            f"{matched.title}, shares of the greatest value", [*stand_for_one, *measured], axes
        )
        if measured
        else None,
        sentences=[*pair_words(matched.axis, with_server), *order_words(with_server)],
    )


def _published_line(pair: PublishedPair, place: int, looks: Mapping[str, Appearance]) -> Line:
    look = Appearance(NO_SERVER, list(SHAPES)[place % len(SHAPES)])
    if pair.server is not None:
        look = looks[pair.server]
    values = {at: Estimate(value, None, None, 1, "published") for at, value in pair.published.items()}
    name = f"{pair.series} (published)"
    return Line(name, "published", look.colour, look.shape, values, _greatest(pair, values))


def _measured_lines(pairs: Sequence[PublishedPair], looks: Mapping[str, Appearance]) -> list[Line]:
    """Return a line for each server, also where several series stand for it."""
    by_server = {pair.server: pair for pair in pairs if pair.server is not None}
    return [
        Line(
            server,
            "measured",
            looks[server].colour,
            looks[server].shape,
            pair.measured,
            _greatest(pair, pair.measured),
        )
        for server, pair in by_server.items()
    ]


def _greatest(pair: PublishedPair, values: Mapping[float, Estimate]) -> float:
    """Return the greatest of the values at the places that both curves have, or else of all."""
    shared = pair.published.keys() & pair.measured.keys()
    return max(values[place].value for place in shared or values)


def _left_out(published: Published, matched: Sequence[PublishedMatch]) -> str | None:
    """Say which of the published figures this run has nothing to lay beside."""
    swept = {one.axis for one in matched}
    rest = [figure for figure in published.file.figures if figure.axis not in swept]
    if not rest:
        return None
    keys = units.listing(dict.fromkeys(figure.axis for figure in rest))
    return (
        f"{units.plural(len(rest), 'figure')} of the publication "
        f"{'runs' if len(rest) == 1 else 'run'} along {keys}, which this run has not swept."
    )


def _in_markdown(_report: Report, published: PublishedContent | None) -> Iterable[str]:
    if published is None or not (published.comparisons or published.facts):
        return []
    blocks = [
        escaped(f"{published.source}. Shapes are compared, not numbers."),
    ]
    for comparison in published.comparisons:
        blocks += [escaped(comparison.heading), *listed(map(escaped, comparison.sentences))]
    if published.facts:
        blocks.append(tabulated(published.facts))
    return blocks


PUBLISHED: Section[PublishedContent | None] = Section(
    "published",
    "the comparison with published figures",
    lambda report: published_content(report.run, report.analysis, report.looks),
    None,
    page="published",
    markdown=_in_markdown,
    heading="Comparison with published figures",
)
