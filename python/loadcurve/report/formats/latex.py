r"""The figures of a run for papers: a table, charts that LaTeX draws, and an entry for the bibliography.

Each file is a fragment that a document takes in by ``\input``; its first lines name the packages.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from loadcurve.analysis.curves import Curve, CurvePoint, points_in
from loadcurve.analysis.sweep import Slice, slices
from loadcurve.errors import sentence
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.citation import bibliography
from loadcurve.report.section import Report
from loadcurve.result.measures import MEASURES, Measure
from loadcurve.stats.interval import Estimate
from loadcurve.steering import WITHOUT_STEERING
from loadcurve.units import setting

IN_TABLE = ("throughput", "p50", "p99")
"""More would be wider than a page."""
DRAWN = (*IN_TABLE, "cpu_per_request_us")
_MARKS = {"circle": "*", "square": "square*", "triangle-up": "triangle*", "diamond": "diamond*", "cross": "+"}
"""The marks of pgfplots for the shapes of the page."""
_LAST_LATIN = 0x17F
"""Letters up to Latin Extended-A are in the fonts of every LaTeX."""
_SUSPECT, _ONE_TRIAL = "s", "1"
"""Marks at the figures of a table."""
_WIDE = re.compile(r"(?P<value>\S+) \(-(?P<below>\S+) to \+(?P<above>\S+) %\)")
"""An estimate with both ends of its interval, as ``short_estimate`` words it."""
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "\\char34{}",
    "±": "$\\pm$",
    "µ": "\\textmu{}",
    "—": "---",
    "…": "\\dots{}",
}


def latex_files(report: Report) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each file: the table, a chart of each measure, the bibliography."""
    yield "report-table.tex", _bytes(_table(report))
    for name in DRAWN:
        if chart := _charts(report, MEASURES[name]):
            yield f"report-{name.replace('_', '-')}.tex", _bytes(chart)
    yield "report.bib", _bytes(bibliography(report.run.run))


def escaped(words: str) -> str:
    """Return words that LaTeX sets as they are, in one line; what its fonts lack becomes a question mark."""
    line = " ".join(words.translate(WITHOUT_STEERING).split())
    return re.sub(r"[^ a-zA-Z0-9]", lambda found: _SPECIAL.get(found[0], _plain(found[0])), line)


def _plain(sign: str) -> str:
    return sign if sign.isascii() or (sign.isalpha() and ord(sign) <= _LAST_LATIN) else "?"


def _bytes(lines: str) -> bytes:
    return f"{lines}\n".encode()


def _table(report: Report) -> str:
    """Return a row for each server and point, with the value and its 95 % interval.

    Marks at figures have notes below the table: what is suspect, what is of one trial, and what is missing.
    """
    analysis = report.analysis
    keys, measures = analysis.keys, [MEASURES[name] for name in IN_TABLE]
    titles = ["server", *keys, *(measure.heading for measure in measures)]
    points = [
        (curve.server, at)
        for curve in analysis.curves
        for part in slices(analysis.points)
        for at in points_in(curve, part.rising)
    ]
    rows = [
        [
            escaped(server),
            *(escaped(setting(at.point[key])) for key in keys),
            *(_cell(at, measure) for measure in measures),
        ]
        for server, at in points
    ]
    return "\n".join(
        [
            "% A table of Loadcurve; in the preamble: \\usepackage{booktabs,textcomp}",
            "\\begin{table}",
            "\\centering\\small\\setlength{\\tabcolsep}{4pt}",
            f"\\caption{{{escaped(sentence(analysis.run.title))} {_trials(points, measures)}}}",
            f"\\begin{{tabular}}{{@{{}}l{'r' * (len(titles) - 1)}@{{}}}}",
            "\\toprule",
            _row(map(escaped, titles)),
            "\\midrule",
            *map(_row, rows),
            "\\bottomrule",
            "\\end{tabular}",
            *(f"\\par\\smallskip\\footnotesize {note}" for note in _notes(points, measures)),
            "\\end{table}",
        ]
    )


def _row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _cell(at: CurvePoint, measure: Measure) -> str:
    """Return a figure with its interval, and marks where it is suspect or of one trial."""
    estimate = at.estimate(measure)
    words = text.short_estimate(estimate)
    wide = _WIDE.fullmatch(words)
    # A proper minus, in half of the width.
    figure = (
        escaped(words)
        if wide is None
        else f"{escaped(wide['value'])} $^{{+{wide['above']}}}_{{-{wide['below']}}}$\\,\\%"
    )
    marks = [_SUSPECT] * (estimate is not None and _is_suspect(at))
    marks += [_ONE_TRIAL] * (estimate is not None and estimate.low is None)
    return f"{figure}\\textsuperscript{{{','.join(marks)}}}" if marks else figure


def _is_suspect(at: CurvePoint) -> bool:
    return "suspect" in at.verdicts


def _trials(points: Sequence[tuple[str, CurvePoint]], measures: Sequence[Measure]) -> str:
    """Return what the figures are, and over how many trials, for the caption."""
    found = [at.estimate(measure) for _, at in points for measure in measures]
    numbers = sorted({one.n for one in found if one is not None})
    if not numbers:
        return "Nothing was measured."
    few, many = numbers[0], numbers[-1]
    n = f"$n={many}$" if few == many else f"$n={few}$ to {many}"
    return f"Geometric means with 95 \\% intervals over trials, each a fresh start of the server; {n} trials."


def _notes(points: Sequence[tuple[str, CurvePoint]], measures: Sequence[Measure]) -> Iterator[str]:
    """Yield what the marks of a table mean, of those that it has."""
    figures = [(at, at.estimate(measure)) for _, at in points for measure in measures]
    if any(_is_suspect(at) and estimate for at, estimate in figures):
        yield (
            f"\\textsuperscript{{{_SUSPECT}}}~A trial of this point is suspect: something disturbed "
            "it, and the report of the run says what."
        )
    if any(estimate and estimate.low is None for _, estimate in figures):
        yield f"\\textsuperscript{{{_ONE_TRIAL}}}~One trial, which has no interval."
    if any(estimate is None for _, estimate in figures):
        yield "---~No usable trial, or too few answers in each for this percentile."


def _charts(report: Report, measure: Measure) -> str:
    """Return a chart for each slice of the sweep; nothing where the measure was not measured along a key."""
    drawn = [
        _chart(report, measure, part)
        for part in slices(report.analysis.points)
        if part.key is not None and any(_known(curve, measure, part) for curve in report.analysis.curves)
    ]
    head = (
        "% A chart of Loadcurve; in the preamble: \\usepackage{pgfplots,textcomp} \\pgfplotsset{compat=1.18}"
    )
    return "\n".join([head, *drawn]) if drawn else ""


def _chart(report: Report, measure: Measure, part: Slice) -> str:
    """Return the curves of all servers with their intervals."""
    fixed = f", {text.point_values(part.fixed, list(part.fixed))}" if part.fixed else ""
    options = [
        f"xlabel={{{escaped(str(part.key).replace('_', ' ') + fixed)}}}",
        f"ylabel={{{escaped(measure.heading)}}}",
        *(["xmode=log", "log ticks with fixed point"] if part.logarithmic else []),
        *(["ymin=0"] if measure.from_zero else ["ymode=log"]),
        "legend style={at={(0.5,1.03)}, anchor=south, draw=none}",
        "legend columns=3",
        "legend cell align=left",
        "scaled y ticks=false",
        "y tick label style={/pgf/number format/fixed}",
    ]
    curves = [
        line
        for place, curve in enumerate(report.analysis.curves)
        if (known := _known(curve, measure, part))
        for line in _curve(curve.server, report.looks[curve.server], place, known, part)
    ]
    return "\n".join(
        [
            "\\begin{tikzpicture}",
            f"\\begin{{axis}}[{', '.join(options)}]",
            *curves,
            "\\end{axis}",
            "\\end{tikzpicture}",
        ]
    )


def _known(curve: Curve, measure: Measure, part: Slice) -> list[tuple[CurvePoint, Estimate]]:
    found = ((at, at.estimate(measure)) for at in points_in(curve, part.rising))
    return [(at, estimate) for at, estimate in found if estimate is not None]


def _curve(
    server: str, look: Appearance, place: int, known: list[tuple[CurvePoint, Estimate]], part: Slice
) -> Iterator[str]:
    assert part.key is not None, "only what varies is drawn"  # noqa: S101
    red, green, blue = (int(look.colour.removeprefix("#")[at : at + 2], 16) for at in (0, 2, 4))
    yield f"\\definecolor{{server{place}}}{{RGB}}{{{red},{green},{blue}}}"
    yield (
        f"\\addplot+[server{place}, mark={_MARKS[look.shape]}, mark options={{fill=server{place}}}, "
        "error bars/.cd, y dir=both, y explicit]"
    )
    yield "table[x=x, y=y, y error plus=above, y error minus=below] {"
    yield "x y above below"
    for at, estimate in known:
        value = estimate.value
        # An error of zero would be read as exact: pgfplots draws no bar where it is no number.
        above = math.nan if estimate.high is None else estimate.high - value
        below = math.nan if estimate.low is None else value - estimate.low
        yield " ".join(f"{one:.6g}" for one in (at.point[part.key], value, above, below))
    yield "};"
    suspect = " ".join(
        f"({at.point[part.key]:.6g},{estimate.value:.6g})" for at, estimate in known if _is_suspect(at)
    )
    if suspect:
        yield "% Hollow: a trial of the point is suspect."
        yield (
            f"\\addplot[server{place}, only marks, forget plot, mark={_MARKS[look.shape]}, "
            f"mark options={{fill=white}}] coordinates {{{suspect}}};"
        )
    yield f"\\addlegendentry{{{escaped(server)}}}"
