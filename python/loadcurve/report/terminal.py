"""The summary of a run for the terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import Curve, CurvePoint, VerdictStatus
from loadcurve.analysis.sections import Sections
from loadcurve.report import shape_words, text
from loadcurve.report.answer import answer_words
from loadcurve.report.arms import loads_in_words
from loadcurve.report.claims import ClaimsInTerminal, claim_rows
from loadcurve.report.connections import connections_in_terminal
from loadcurve.report.cpu_time import cpu_time_in_terminal
from loadcurve.report.division import division_in_terminal
from loadcurve.report.ending import trials_in_words
from loadcurve.report.findings import findings_text
from loadcurve.report.inconclusive import visible_words
from loadcurve.report.ranking import ranking_content
from loadcurve.report.servers import measured_servers, servers_table
from loadcurve.report.sparkline import sparklines
from loadcurve.result.measures import MEASURES, THROUGHPUT

MOST_POINTS = 6
"""A server has at most this many rows: the first and the last point, and points evenly between them."""
SERVER_WIDTH = 16
POINT_WIDTH = 14
TITLE_WIDTH = 12
SHOWN_PERCENTILES = ("p50", "p99")
"""The percentiles of the table."""
MOST_LEFT_OUT = 5
"""What the ranking leaves out takes at most this many lines."""

_STYLES: dict[VerdictStatus | None, str] = {
    "valid": "green",
    "suspect": "yellow",
    "invalid": "red",
    None: "dim",
}


def print_results(analysis: Analysis, out: Console) -> None:
    """Print what a run ends with: the table of points, shapes, findings, the answer and the curves."""
    out.print(summary(analysis))
    print_shapes(analysis, out)
    print_findings(analysis, out)
    out.print(closing(analysis))


def summary(analysis: Analysis) -> RenderableType:
    """Return the table, how many trials there were and why, the ranking in words, and the servers."""
    sections = Sections(analysis.not_computed)
    curves = sections.several("the table of curves", lambda: _curves(analysis))
    words = [
        *sections.several("how loads differ in words", lambda: loads_in_words(analysis)),
        *sections.several("how many trials there were in words", lambda: trials_in_words(analysis)),
    ]
    ranked = sections.several("the ranking in words", lambda: _ranking(analysis))
    connections = sections.several("the connections in words", lambda: _connections(analysis))
    whose_time = sections.several("whose CPU time it was", lambda: _whose_time(analysis))
    divided = sections.several("the time of a request in words", lambda: _divided(analysis))
    servers = sections.several("the servers", lambda: _servers(analysis))
    left_out = [Text(one.words, style="yellow") for one in sections.not_computed]
    return Group(
        *curves, *left_out, *map(Text, words), *ranked, *whose_time, *connections, *divided, *servers
    )


def _connections(analysis: Analysis) -> list[RenderableType]:
    """Return how connections were encrypted and what they carried, where they did either."""
    if not analysis.connections:
        return []
    return [Text("\nconnections", style="bold"), connections_in_terminal(analysis)]


def _whose_time(analysis: Analysis) -> list[RenderableType]:
    """Return whose the time of the CPUs was, where that is known."""
    if not analysis.cpu_times:
        return []
    return [
        Text("\nwhose CPU time it was, in %, where others took most", style="bold"),
        cpu_time_in_terminal(analysis),
    ]


def _divided(analysis: Analysis) -> list[RenderableType]:
    """Return how the time of a request was divided among programs, where a server has several."""
    if not analysis.divided:
        return []
    title = f"\ntime of a {analysis.load_kind.request} by program"
    return [Text(title, style="bold"), division_in_terminal(analysis)]


def _curves(analysis: Analysis) -> list[RenderableType]:
    return [summary_table(analysis), *_marks(analysis)]


def _marks(analysis: Analysis) -> list[Text]:
    """Return what the mark at a percentile of the table means, where there is one."""
    points = [at for curve in analysis.curves for at in text.evenly(_measured(curve), MOST_POINTS)]
    if not any(at.is_marked(name) for at in points for name in SHOWN_PERCENTILES):
        return []
    return [Text(f"{text.PAUSED_MARK} {text.PAUSED_WORDS}", style="dim")]


def _measured(curve: Curve) -> list[CurvePoint]:
    return [at for at in curve.points if at.trials]


def _servers(analysis: Analysis) -> list[RenderableType]:
    """Return which versions were measured, and where each is documented."""
    found = measured_servers(analysis)
    return [Text("\nservers", style="bold"), servers_table(found)] if found else []


def _ranking(analysis: Analysis) -> list[RenderableType]:
    ranking = ranking_content(analysis)
    if ranking is None:
        return []
    parts: list[RenderableType] = [Text(f"\nranking over the curve: {ranking.extent}", style="bold")]
    parts += [Text(ranking.caution, style="yellow")] if ranking.caution else []
    parts += [Text(ranking.inconclusive, style="yellow")] if ranking.inconclusive else []
    words = Table.grid(padding=(0, 2))
    words.add_column(style="dim", max_width=TITLE_WIDTH)
    words.add_column()
    for title, sentence in ranking.over_curve.items():
        words.add_row(title, Text(sentence))
    parts += [words] if ranking.over_curve else []
    left_out = ranking.left_out[:MOST_LEFT_OUT]
    if len(ranking.left_out) > len(left_out):
        left_out.append(f"{len(ranking.left_out) - len(left_out):,} more, which the report names")
    parts += [Text(f"left out: {sentence}", style="dim") for sentence in left_out]
    return parts + [Text(sentence) for sentence in ranking.visible]


def closing(analysis: Analysis) -> RenderableType:
    """Return what a person looks for first when a run has ended: the answer, and the curves in lines."""
    words = answer_words(analysis)
    said = [Text("Answer", style="bold"), Text(words)] if words else []
    sections = Sections(analysis.not_computed)
    claims = sections.several("the claims in words", lambda: claim_rows(analysis))
    judged: list[RenderableType] = [ClaimsInTerminal(claims), Text()] if claims else []
    lines = sections.several("the curves in lines", lambda: sparklines(analysis))
    left_out = analysis.run.left_out
    quiet = [Text(f"\n{left_out.words}", style="dim")] if left_out else []
    return Group(*judged, *said, *lines, *quiet, Text())


def summary_table(analysis: Analysis) -> Table:
    """Return throughput with its interval, median and p99 of each server at a few points; 80 columns.

    A server without a measured point has one row that says so. Names are shown as they are, not as markup.
    """
    keys = analysis.keys
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("server", max_width=SERVER_WIDTH, no_wrap=True, overflow="ellipsis")
    add_point_column(table, keys)
    for title in (analysis.load_kind.per_second, "p50 ms", "p99 ms"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    names = text.shortened(analysis.run.servers, SERVER_WIDTH)
    measured = {curve.server: _measured(curve) for curve in analysis.curves}
    for name, server in analysis.run.servers.items():
        points = text.evenly(measured.get(name, []), MOST_POINTS)
        if not points:
            reason = "missing" if server.status == "missing" else "not measured"
            table.add_row(Text(names[name]), *[text.ABSENT] * 4, Text(reason, style="dim"))
        for place, at in enumerate(points):
            table.add_row(Text(names[name] if place == 0 else ""), *_cells(at, keys))
    return table


def print_shapes(analysis: Analysis, out: Console) -> None:
    """Print peak, knee and capacity of each server as tables, one for each slice, and what follows."""
    sections = Sections(analysis.not_computed)
    for part in sections.several("peaks and knees", lambda: list(_shapes(analysis))):
        out.print(part)


def _shapes(analysis: Analysis) -> Iterator[RenderableType]:
    load = analysis.load_kind
    for found in analysis.shapes:
        if not found.has_figures:
            continue
        yield ""
        if found.part.fixed:
            yield Text(text.point(found.part.fixed))
        rows = [shape_words.cells(found, shape) for shape in found.shapes]
        yield _figures(shape_words.titles(load, found), rows)
        if costs := shape_words.cost_cells(found):
            yield _figures(shape_words.cost_titles(load), costs)
        yield from map(Text, shape_words.conclusions(load, found))


def print_findings(analysis: Analysis, out: Console) -> None:
    """Print what was found, and why."""
    shown = Sections(analysis.not_computed).get(
        "the findings in words",
        lambda: findings_text(analysis.findings, visible_words(analysis)),
        Group(),
    )
    out.print(shown if analysis.findings else "")


def _figures(titles: list[str], rows: list[list[str]]) -> Table:
    """Return a table whose first column is the server and whose others are figures."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    server, *figures = titles
    table.add_column(server, max_width=SERVER_WIDTH, no_wrap=True, overflow="ellipsis")
    for title in figures:
        table.add_column(title, justify="right", overflow="fold", min_width=_longest_word(title))
    names = text.shortened((row[0] for row in rows), SERVER_WIDTH)
    for name, *cells in rows:
        table.add_row(*map(Text, [names[name], *cells]))
    return table


def add_point_column(table: Table, keys: Sequence[str], width: int = 0) -> None:
    """Add the column of :func:`text.point_values`, at least ``width`` wide; its heading breaks at spaces."""
    title = text.keys_title(keys)
    least = max(width, min(_longest_word(title), POINT_WIDTH))
    # A key is the user's word, so it is no markup.
    table.add_column(Text(title), justify="right", min_width=least, max_width=POINT_WIDTH, overflow="fold")


def _longest_word(title: str) -> int:
    return max(map(len, title.split()), default=0)


def _cells(at: CurvePoint, keys: list[str]) -> list[str | Text]:
    latencies = [(at.estimate(MEASURES[name]), at.is_marked(name)) for name in SHOWN_PERCENTILES]
    return [
        text.point_values(at.point, keys),
        text.short_estimate(at.estimate(THROUGHPUT)),
        *(text.marked(text.number_of(latency), paused=paused) for latency, paused in latencies),
        Text(at.verdict or "not measured", style=_STYLES[at.verdict]),
    ]
