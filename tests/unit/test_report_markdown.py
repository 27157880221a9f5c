"""The report as Markdown, read by another program's rules for it."""

import html
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from loadcurve.report.formats.markdown import escaped
from loadcurve.report.formats.write import write_formats
from support import synthetic_run as synthetic
from support.command import Command
from support.report_formats import formats_of

HOSTILE = (
    "<script>alert(1)</script> ![x](https://example.org/x.png) [y](javascript:z) | a | **b** `c` "
    "~~d~~ $e$ &lt; <https://example.org> \\"
)
RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def shown(markdown: str) -> str:
    """Return the text that a reader sees."""
    return html.unescape(re.sub(r"<[^>]*>", "", RENDERER.render(markdown))).strip()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return formats_of(tmp_path_factory.mktemp("run"), "md", limits="p99 < 10ms")["report.md"].decode()


def tables_of(markdown: str) -> list[list[list[str]]]:
    """The cells of each table, row by row."""
    return [
        [
            [shown_html(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        ]
        for table in re.findall(r"<table>(.*?)</table>", RENDERER.render(markdown), re.DOTALL)
    ]


def shown_html(part: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", part))


def test_it_begins_with_the_question_and_the_answer(report: str):
    title, question, answer = report.split("\n\n")[:3]
    assert title == "## One static file, three servers"
    assert question.startswith("**Question.** Which server keeps p99 under 10 ms")
    assert answer.startswith("**Answer.** nginx keeps p99 &lt; 10ms up to ")


def test_the_tables_are_ranking_curve_and_capacity(report: str):
    ranking, curve, shapes = tables_of(report)
    assert ranking[0] == ["server", "throughput", "p50", "p99", "CPU time per request"]
    assert ranking[1:] == [
        ["nginx", "1", "1", "1", "1"],
        ["apache", "2", "2", "2", "3"],
        ["tiny", "3", "3", "3", "2"],
    ]
    assert curve[0][:3] == ["server", "connections", "requests/s"]
    # 42,000 at most, half of it at 9 connections: 4,200 at one, divided and multiplied by 1.050422.
    assert curve[1][:3] == ["nginx", "1", "4,200 (3,998 to 4,412)"]
    assert len(curve) == 1 + 3 * 8
    assert shapes[0][-1] == "capacity"


def test_a_long_sweep_is_shown_at_eight_points_and_says_what_it_leaves_out(tmp_path: Path):
    record = synthetic.run_record()
    more = [{"connections": float(value)} for value in (*synthetic.CONNECTIONS, 300, 400)]
    points = [one for one in synthetic.trial_records(record) if one.kind == "point"]
    extra = [
        one.model_copy(update={"point": {"connections": value}})
        for one in points
        if one.point["connections"] == 200
        for value in (300.0, 400.0)
    ]
    run = synthetic.write_run(tmp_path, record.model_copy(update={"points": more}), [*points, *extra])
    [path] = write_formats(run, ["md"], None, None).paths
    markdown = path.read_text()
    curve = tables_of(markdown)[1]
    nginx = [row[1] for row in curve if row[0] == "nginx"]
    assert (len(nginx), nginx[0], nginx[-1]) == (8, "1", "400")
    # Ten loads of each of three servers, of which eight are shown.
    assert "6 of 30 points are not in this table; the report has all in its other formats." in markdown


def test_it_says_what_failed_and_how_to_repeat_it(report: str):
    assert "apache, trial 6, at connections = 50: the server ended with status 1" in report
    assert "```sh\nloadcurve run study.toml --seed 1729 --quick\n```" in report


@pytest.mark.parametrize(
    "words",
    [
        HOSTILE,
        "- not a list",
        "+ not a list",
        "1. not a list",
        "1) not a list",
        "# not a heading",
        "---",
        "===",
        "> no quote",
        "*em* _em_ __b__",
        "a\\",
        "&amp; &#60;",
        "<!-- not a comment -->",
        "[a]: https://example.org",
        "10.5 stays 10.5",
    ],
)
def test_words_are_shown_as_they_are_in_a_paragraph_a_list_and_a_table(words: str):
    for markdown in (escaped(words), f"- {escaped(words)}", f"text\n\n{escaped(words)}\n\ntext"):
        assert words in shown(markdown)
        elements = set(re.findall(r"<(\w+)", RENDERER.render(markdown)))
        assert elements <= {"p", "ul", "li"}, elements
    [[_, [cell, other]]] = tables_of(f"| a | b |\n| --- | --- |\n| {escaped(words)} | x |")
    assert (cell, other) == (words, "x")


def test_nobody_is_mentioned_and_no_address_becomes_a_link():
    assert escaped("@someone #12 https://example.org www.example.org") == (
        "@<!-- -->someone #<!-- -->12 https\\://example.org www\\.example.org"
    )


def test_a_line_break_does_not_end_a_cell():
    assert escaped("a\nb\r\n| c") == "a b \\| c"


def test_numbers_stay_readable():
    assert escaped("4,200 (3,998 to 4,412) ± 5.0 %") == "4,200 (3,998 to 4,412) ± 5.0 %"


@pytest.mark.parametrize("name", ["a|b", "`|`", "\\|", "a\n| b | c |", "||"])
def test_every_row_of_a_table_has_as_many_cells_as_its_heading_whatever_a_server_is_called(
    tmp_path: Path, name: str
):
    markdown = formats_of(tmp_path, "md", server=name, limits="p99 < 10ms")["report.md"].decode()
    # GitHub's flavour, 4.10: a pipe within a cell is escaped by a backslash.
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    tables = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows]
    headings = [place for place, row in enumerate(rows) if set(row) <= set("|-: ")]
    assert len(headings) == 3
    for heading, following in zip(headings, [*headings[1:], len(rows) + 1], strict=True):
        assert len(set(tables[heading - 1 : following - 1])) == 1
    # The one in the middle has a column that says at which loads the limits held.
    assert [len(table[0]) for table in tables_of(markdown)] == [5, 9, 5]
    for table in tables_of(markdown):
        assert " ".join(name.split()) in [row[0] for row in table]


HOSTILE_DOCUMENTATION = (
    "https://example.org/manual?a=1",
    "javascript:stolen = 1",
    "https://example.org/) ![](https://example.org/picture",
)


def test_a_hostile_run_is_shown_and_adds_no_markup(tmp_path: Path):
    texts = synthetic.Texts(
        title=HOSTILE, question=HOSTILE, server_titles=dict.fromkeys((*synthetic.SERVERS, "absent"), HOSTILE)
    )
    record = synthetic.run_record(texts)
    documented = {
        name: server.model_copy(update={"documentation": documentation})
        for (name, server), documentation in zip(record.servers.items(), HOSTILE_DOCUMENTATION, strict=False)
    }
    record = record.model_copy(
        update={
            "options": ["--only", "```\n# out of the code\n````"],
            "servers": record.servers | documented,
        }
    )
    run = synthetic.write_run(tmp_path, record, texts=texts)
    [path] = write_formats(run, ["md"], None, None).paths
    rendered = RENDERER.render(path.read_text())
    elements = set(re.findall(r"<(\w+)", rendered))
    usual = "h2 h3 p strong em table thead tbody tr th td ul li pre code a"
    assert elements <= set(usual.split()), elements
    assert re.findall(r"<a[^>]*>[^<]*</a>", rendered) == [
        '<a href="https://example.org/manual?a=1">documentation</a>'
    ]
    assert rendered.count("<h2") == 1
    assert html.unescape(re.sub(r"<[^>]*>", "", rendered)).count(HOSTILE) >= 2


def test_nothing_that_steers_a_terminal_or_turns_a_line_is_in_the_report(tmp_path):
    signs = ["\x1b[31m", "\x07", "\x9b31m", "\u202e", "\u2066", "\u200f"]
    texts = synthetic.Texts(title=f"before {' '.join(signs)} behind")
    folder = synthetic.write_run(tmp_path / "run", texts=texts)
    assert Command(tmp_path).run("report", "run", "--format", "md").returncode == 0
    written = (folder / "report.md").read_text()
    printed = Command(tmp_path).run("report", "run").stdout
    assert "before " in written
    for sign in signs:
        assert sign[0] not in written
        assert sign[0] not in printed
