"""The report as Markdown for a pull request: short, in GitHub's flavour, every text of the run escaped."""

import re
from collections.abc import Iterable, Sequence

from loadcurve.report import text
from loadcurve.report.content import Content
from loadcurve.report.findings import CAUSE_TITLES, WEIGHT_TITLES, figure
from loadcurve.report.long_table import Cell, TableRow
from loadcurve.report.shape_words import cost_titles
from loadcurve.steering import WITHOUT_STEERING

MOST_POINTS = 8
"""A server has at most this many rows: the first and the last point, and points evenly between them."""
MOST_EVIDENCE = 3
"""A finding names at most this many of its figures; the page has them all."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>~|$&]")
_BEGINS_A_BLOCK = re.compile(r"^(?:[-+=:#]+(?=\s|$)|\d+(?=[.)](?:\s|$)))")
_BECOMES_A_LINK = re.compile(r"(?<=[a-zA-Z])://|(?<=\b[wW]{3})\.")
_MENTION = re.compile(r"[@#](?=\w)")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def markdown_bytes(content: Content) -> bytes:
    """Return question, answer, ranking, curve, findings and how to repeat it."""
    blocks = [
        f"## {escaped(content.title)}",
        *([f"**Question.** {escaped(content.question)}"] if content.question else []),
        f"**Answer.** {escaped(content.answer.text)}",
        *([f"**Caution.** {escaped(content.caution)}"] if content.caution else []),
        escaped(" ".join(content.summary)),
        *([escaped(f"{left_out.words}.")] if (left_out := content.run.run.left_out) else []),
        *_ranking(content),
        *_curve(content),
        *_shapes(content),
        *_cpu_times(content),
        *_connections(content),
        *_divided(content),
        *_claims(content),
        *_published(content),
        *_generators(content),
        *_findings(content),
        *_notes(content),
        *_failures(content),
        *_method(content),
    ]
    return ("\n\n".join(blocks) + "\n").translate(WITHOUT_STEERING).encode()


def escaped(words: str) -> str:
    """Return words that GitHub shows as they are: no markup, no link, nobody is mentioned; one line.

    An empty comment keeps ``@name`` and ``#1`` from being links to a person and an issue, which no backslash
    does.
    """
    line = " ".join(words.split())
    line = _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], "\\" + found[0]), line)
    line = _BEGINS_A_BLOCK.sub(_unblocked, line)
    line = _BECOMES_A_LINK.sub(lambda found: "\\" + found[0], line)
    return _MENTION.sub(lambda found: f"{found[0]}<!-- -->", line)


def _unblocked(found: re.Match[str]) -> str:
    begins = found[0]
    return f"{begins}\\" if begins.isdigit() else f"\\{begins}"


def _list(sentences: Iterable[str]) -> list[str]:
    lines = [f"- {sentence}" for sentence in sentences]
    return ["\n".join(lines)] if lines else []


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column holds words and whose others hold figures."""
    marks = "|".join([" --- ", *[" ---: "] * (len(titles) - 1)])
    return "\n".join([_line(titles), f"|{marks}|", *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def _ranking(content: Content) -> list[str]:
    ranking = content.ranking
    if ranking is None:
        return []
    rows = [[server, *ranks] for server, ranks in ranking.ranks.items()]
    extent = f"Ranks over the curve ({escaped(ranking.extent)})."
    left_out = _list(f"Left out: {escaped(sentence)}." for sentence in ranking.left_out)
    if ranking.inconclusive is not None:
        return ["### Ranking", escaped(ranking.inconclusive), *left_out]
    return [
        "### Ranking",
        *([escaped(ranking.caution)] if ranking.caution else []),
        f"{extent} A range contains every rank that the trials do not rule out.",
        _table(["server", *ranking.measures], rows),
        *_list(map(escaped, ranking.sentences)),
        *left_out,
    ]


def _curve(content: Content) -> list[str]:
    measured: dict[str, list[TableRow]] = {}
    for row in content.rows:
        if row.verdict is not None:
            measured.setdefault(row.server, []).append(row)
    if not measured:
        return []
    shown = [row for rows in measured.values() for row in text.evenly(rows, MOST_POINTS)]
    left_out = sum(map(len, measured.values())) - len(shown)
    latencies = [f"{name}, ms" for name in ("p50", "p90", "p99", "longest")]
    titles = [
        "server",
        *map(text.key_title, content.keys),
        content.run.kind.per_second,
        *latencies,
        "verdict",
    ]
    explained = (
        "Geometric means over the usable trials, with their 95 % intervals in brackets; the longest "
        "latency is that of all trials together."
    )
    if content.has_paused_percentiles:
        explained += f" {text.PAUSED_MARK}: {text.PAUSED_WORDS}."
    if left_out:
        explained += f" {text.plural(left_out, 'more row')} in the other formats of the report."
    return ["### Curve", _table(titles, map(_curve_row, shown)), explained]


def _curve_row(row: TableRow) -> list[str]:
    return [
        row.server,
        *(value.shown for value in row.settings),
        _with_margin(row.throughput),
        *map(_with_margin, row.latencies),
        row.verdict or text.ABSENT,
    ]


def _with_margin(cell: Cell) -> str:
    return f"{cell.shown} ({cell.margin})" if cell.margin else cell.shown


def _shapes(content: Content) -> list[str]:
    blocks = []
    for part in content.shapes:
        blocks += [escaped(part.heading)] if part.heading else []
        blocks.append(_table(part.titles, part.rows))
        blocks += [_table(cost_titles(content.run.kind), part.costs)] if part.costs else []
    return ["### Peak, knee and capacity", *blocks] if blocks else []


def _connections(content: Content) -> list[str]:
    found = content.connections
    return ["### Connections", _table(found.titles, found.rows)] if found else []


def _cpu_times(content: Content) -> list[str]:
    if not content.cpu_times:
        return []
    titles = ["server", *map(text.key_title, content.keys), "CPUs", "time", "others, in the trial with most"]
    rows = [[one.server, *one.at, one.whose, one.words, one.others] for one in content.cpu_times]
    return ["### Whose CPU time it was", _table(titles, rows)]


def _divided(content: Content) -> list[str]:
    found = content.divided
    title = f"### Time of a {content.run.kind.request} by program"
    return [title, _table(found.titles, found.rows)] if found else []


def _claims(content: Content) -> list[str]:
    if not content.claims:
        return []
    titles = ["outcome", "claim", "what was checked", "why"]
    rows = [[one.title, one.text, one.statement, one.why] for one in content.claims]
    return ["### Claims of the authors", _table(titles, rows)]


def _published(content: Content) -> list[str]:
    published = content.published
    if published is None or not (published.comparisons or published.facts):
        return []
    blocks = [
        "### Comparison with published figures",
        escaped(f"{published.source}. Shapes are compared, not numbers."),
    ]
    for comparison in published.comparisons:
        blocks += [escaped(comparison.heading), *_list(map(escaped, comparison.sentences))]
    if published.facts:
        rows = [[fact.name, fact.value, fact.at] for fact in published.facts]
        blocks.append(_table(["single figure", "published", "at"], rows))
    return blocks


def _generators(content: Content) -> list[str]:
    blocks = []
    for one in content.generators:
        rows = [
            [where, *(f"{cell.value} ({cell.interval})" if cell.interval else cell.value for cell in cells)]
            for where, cells in one.rows.items()
        ]
        said = [*one.conclusions, *(f"Why they may differ: {reason}." for reason in one.reasons)]
        blocks += [escaped(one.title), _table(["", *one.titles], rows), *_list(map(escaped, said))]
    return ["### Generators compared", *blocks] if blocks else []


def _findings(content: Content) -> list[str]:
    if not content.findings:
        return []
    items = []
    for group in content.finding_groups:
        first = group.findings[0]
        evidence = "; ".join(f"{one.name} {figure(one)}" for one in first.evidence[:MOST_EVIDENCE])
        items.append(
            f"**{escaped(group.title)}**: {escaped(group.seen_of)} "
            f"({WEIGHT_TITLES[group.weight]}): {escaped(group.seen)} {escaped(evidence)}. "
            f"*{CAUSE_TITLES[first.certainty]}:* {escaped(first.cause)} "
            f"*To do:* {escaped(first.advice)}"
        )
    return ["### Findings", *_list(items)]


def _notes(content: Content) -> list[str]:
    items = [
        escaped(f"{note.server}, {note.where}, {text.plural(note.count, 'time')}: {note.example}.")
        for note in content.notes
    ]
    return ["### Notes on points", *_list(items)] if items else []


def _failures(content: Content) -> list[str]:
    items = [
        escaped(f"{failure.server}, {failure.trials}, {failure.where}: {failure.reason}")
        for failure in content.failures
    ]
    return ["### Trials that failed", *_list(items)] if items else []


def _method(content: Content) -> list[str]:
    record = content.run.run
    servers = [
        escaped(f"{server.name}: {', '.join(filter(None, [server.what, server.limits]))}")
        + (f" ([documentation]({server.documentation}))" if server.documentation else "")
        for server in content.servers.values()
    ]
    measured = (
        f"in the run folder; measured at {record.started_at} with Loadcurve {record.loadcurve_version}."
        if record.imported is None
        else f"in the folder of the imported files; imported at {record.imported.at}, Loadcurve "
        f"{record.loadcurve_version}."
    )
    return [
        "### How to repeat it",
        _code(content.repeat),
        escaped(measured),
        *_lacking(content.inputs_missing),
        *_list(servers),
    ]


def _lacking(inputs: Sequence[str]) -> list[str]:
    """Say which files another machine needs besides the run folder."""
    return ["Not in the run folder, and needed:", *_list(map(escaped, inputs))] if inputs else []


def _code(words: str) -> str:
    """Return a block of code, fenced by more backticks than any that it holds."""
    longest = max(map(len, re.findall(r"`+", words)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{words}\n{fence}"
