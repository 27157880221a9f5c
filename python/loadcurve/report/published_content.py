"""What the page draws and says of published figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcurve.report import text
from loadcurve.report.appearance import SHAPES, Appearance
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.published import NO_SERVER, Axes, Line, lines_figure, relative_figure
from loadcurve.report.published import Matched, Pair, matched_figures, order_words, pair_words
from loadcurve.result.folder import Run
from loadcurve.stats.interval import Estimate
from loadcurve.stats.published import unit_of
from loadcurve.stats.sweep import Slice
from loadcurve.study.published import Published, published_of

FROM_ZERO = frozenset({"throughput", "connection_rate", "cpu_share", "memory_mean_mib", "memory_peak_mib"})
"""Measures on a linear axis from zero; that of the others, mostly times, is logarithmic, as on the page."""


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
class PublishedContent:
    """What the page says of published figures."""

    source: str
    url: str | None
    comparisons: list[PublishedComparison]
    left_out: str | None


def published_content(run: Run, looks: Mapping[str, Appearance]) -> PublishedContent | None:
    """Return the comparisons with what was published; ``None`` where the study names no such figures."""
    published = published_of(run.run.study)
    if published is None:
        return None
    matched = matched_figures(run)
    year = "" if published.file.year is None else f", {published.file.year}"
    return PublishedContent(
        source=f"{published.file.source}{year}",
        url=published.file.url,
        comparisons=[_comparison(one, looks) for one in matched],
        left_out=_left_out(published, matched),
    )


def _comparison(matched: Matched, looks: Mapping[str, Appearance]) -> PublishedComparison:
    figure, pairs = matched.figure, matched.pairs
    with_server = [pair for pair in pairs if pair.server is not None]
    places = sorted({*matched.figure.values, *(load for pair in with_server for load in pair.measured)})
    axes = Axes(
        Slice(figure.axis, {}, [{figure.axis: place} for place in places]), figure.measure in FROM_ZERO
    )
    published = [_published_line(pair, place, looks) for place, pair in enumerate(pairs)]
    measured = _measured_lines(with_server, looks)
    stand_for_one = [line for line, pair in zip(published, pairs, strict=True) if pair.server is not None]
    where = f", {text.point(matched.part.fixed)}" if matched.part.fixed else ""
    return PublishedComparison(
        heading=f"{figure.title}{where}",
        unit=figure.unit,
        measured_unit=unit_of(figure.measure),
        published=lines_figure(f"{figure.title}, published, {figure.unit}", published, axes),
        measured=lines_figure(
            f"{figure.title}, measured here, {unit_of(figure.measure)}".rstrip(", "), measured, axes
        ),
        relative=relative_figure(
            f"{figure.title}, shares of the greatest value", [*stand_for_one, *measured], axes
        )
        if measured
        else None,
        sentences=[*pair_words(figure, with_server), *order_words(with_server)],
    )


def _published_line(pair: Pair, place: int, looks: Mapping[str, Appearance]) -> Line:
    look = Appearance(NO_SERVER, list(SHAPES)[place % len(SHAPES)])
    if pair.server is not None:
        look = looks[pair.server]
    values = {at: Estimate(value, None, None, 1, "published") for at, value in pair.published.items()}
    name = f"{pair.series} (published)"
    return Line(name, "published", look.colour, look.shape, values, _greatest(pair, values))


def _measured_lines(pairs: Sequence[Pair], looks: Mapping[str, Appearance]) -> list[Line]:
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


def _greatest(pair: Pair, values: Mapping[float, Estimate]) -> float:
    """Return the greatest of the values at the places that both curves have, or else of all."""
    shared = pair.published.keys() & pair.measured.keys()
    return max(values[place].value for place in shared or values)


def _left_out(published: Published, matched: Sequence[Matched]) -> str | None:
    """Say which of the published figures this run has nothing to lay beside."""
    swept = {one.figure.axis for one in matched}
    rest = [figure for figure in published.file.figures if figure.axis not in swept]
    if not rest:
        return None
    keys = text.listing(dict.fromkeys(figure.axis for figure in rest))
    return (
        f"{text.plural(len(rest), 'figure')} of the publication "
        f"{'runs' if len(rest) == 1 else 'run'} along {keys}, which this run has not swept."
    )
