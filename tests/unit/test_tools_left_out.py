"""One bad line never costs a file with a line for each request: it is left out, counted and shown."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from loadcurve.tools import blocks
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
OF_REQUESTS = [
    "hey.csv", "vegeta.csv", "vegeta.jsonl", "k6.jsonl", "k6.csv", "h2load-log.tsv", "jmeter-5.6.3.csv",
    "oha/1.9.0.csv", "go-ycsb.csv", "gatling/3.12.0.log",
]  # fmt: skip


def read(folder: Path, name: str, change: Callable[[list[bytes]], bytes]) -> ToolFigures:
    file = folder / "changed"
    file.write_bytes(change((DATA / name).read_bytes().splitlines(keepends=True)))
    return read_figures(Source(file), format_of(Source(DATA / name), None).name)[0]


def requests(found: ToolFigures) -> int:
    return found.answered + (found.failed or 0)


def known(name: str) -> ToolFigures:
    return read_figures(Source(DATA / name), None)[0]


@pytest.mark.parametrize("name", OF_REQUESTS)
@pytest.mark.parametrize("odd", [b"some text\n", b"\xff\xfe\n", b'"\n', b'a "quoted, text\n'])
def test_an_odd_line_in_the_middle_is_left_out_and_shown(name: str, odd: bytes, tmp_path: Path):
    def with_odd(lines: list[bytes]) -> bytes:
        middle = len(lines) // 2
        return b"".join([*lines[:middle], odd, *lines[middle:]])

    found = read(tmp_path, name, with_odd)
    assert requests(found) == requests(known(name))
    assert found.latency == known(name).latency
    middle = len((DATA / name).read_bytes().splitlines()) // 2
    [note] = found.notes
    assert note.code == "rows_left_out"
    assert re.match(rf"1 of [\d,]+ lines cannot be read and were left out: line {middle + 1} has ", note.text)


@pytest.mark.parametrize("name", OF_REQUESTS)
def test_an_empty_line_says_nothing(name: str, tmp_path: Path):
    found = read(tmp_path, name, lambda lines: b"".join([*lines[:2], *lines[2:], b"\n"]))
    assert requests(found) == requests(known(name))


@pytest.mark.parametrize("name", OF_REQUESTS[:-1])
def test_a_last_line_that_is_cut_off_is_left_out(name: str, tmp_path: Path):
    found = read(tmp_path, name, lambda lines: b"".join(lines)[: -len(lines[-1]) // 2 - 1])
    assert requests(known(name)) - 1 <= requests(found) <= requests(known(name))
    assert "the end of the file was left out, as it is cut off" in found.notes[-1].text


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        # The last field of hey's line is a moment, of which a digit may lack; that of vegeta and JMeter
        # is not a part of a request, and a line of JSON or of Gatling shows that it is whole.
        ("hey.csv", 1),
        ("vegeta.csv", 0),
        ("vegeta.jsonl", 0),
        ("jmeter-5.6.3.csv", 0),
        ("gatling/3.12.0.log", 0),
    ],
)
def test_a_last_line_without_its_end_counts_where_it_surely_is_whole(name: str, lost: int, tmp_path: Path):
    found = read(tmp_path, name, lambda lines: b"".join(lines).rstrip(b"\n"))
    assert requests(found) == requests(known(name)) - lost
    assert len(found.notes) == lost


def test_a_last_field_that_may_be_cut_off_is_no_figure(tmp_path: Path):
    head = b"timeStamp,elapsed,label,responseCode,success,Connect\n"
    lines = b"1000,10,a,200,true,5\n2000,10,a,200,true,50"
    found = read(tmp_path, "jmeter-5.6.3.csv", lambda _: head + lines)
    assert found.connect is not None
    assert (found.answered, found.connect.distribution.count) == (2, 1)


def test_more_than_one_percent_of_bad_lines_refuse_a_file(tmp_path: Path):
    def with_odd(count: int) -> Callable[[list[bytes]], bytes]:
        return lambda lines: b"".join([*lines[:300], *[b"odd\n"] * count, *lines[300:]])

    # The file has 500 requests, and so 5 of 505 lines are within one percent, and 6 of 506 are not.
    found = read(tmp_path, "hey.csv", with_odd(5))
    assert "5 of 505 lines" in found.notes[0].text
    assert "; and 2 more" in found.notes[0].text
    with pytest.raises(Unreadable, match=r"line 301: .*; 6 of 506 lines are not like that, and at most 1 %"):
        read(tmp_path, "hey.csv", with_odd(6))


@pytest.mark.parametrize("size", [100, 1_000, 1_000_000])
@pytest.mark.parametrize("odd", [b"odd\n", b'od"d\n', b'"odd\n'])
def test_blocks_do_not_show(odd: bytes, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    monkeypatch.setattr(blocks, "LINE_BYTES_MAX", 300)
    found = read(tmp_path, "hey.csv", lambda lines: b"".join([*lines[:250], odd, *lines[250:]]))
    assert found.latency == known("hey.csv").latency


def test_a_request_that_cannot_be_is_left_out(tmp_path: Path):
    found = read(tmp_path, "h2load-log.tsv", lambda lines: b"".join([*lines, b"1795488645175123\t999\t5\n"]))
    assert requests(found) == requests(known("h2load-log.tsv"))
    assert re.search("1 of 21 lines cannot be read .*status = 999 of request 21", found.notes[0].text)


def test_several_lines_within_quotes_are_one_row(tmp_path: Path):
    head = b"timeStamp,elapsed,label,responseCode,success,failureMessage\n"
    lines = b'1000,10,a,200,true,"first\nsecond"\n2000,10,a,200,true,none\nodd\n'
    found = read(tmp_path, "jmeter-5.6.3.csv", lambda _: head + lines)
    assert found.answered == 2
    assert "line 5 has 1 columns" in found.notes[-1].text
