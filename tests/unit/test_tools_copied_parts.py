"""What is copied besides the output of a tool is reported where it may have been part of that."""

import gzip
import html
import json
import re
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools import fences, pasted, source
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
PROMPT = b"$ tool http://127.0.0.1/\n"
FILLER = b"and so on, line by line\n" * 4_000
"""Longer than the start by which a format is recognised."""


def figures(data: bytes, folder: Path) -> ToolFigures:
    (folder / "file").write_bytes(data)
    return read_figures(Source(folder / "file"), None)[0]


def notes(found: ToolFigures) -> str:
    return "\n".join(note.text for note in found.notes)


def rows(name: str) -> list[bytes]:
    return (DATA / name).read_bytes().splitlines(keepends=True)


def laid_out(found: list[bytes]) -> str:
    """As ``jq -s .`` writes them."""
    return json.dumps([json.loads(row) for row in found], indent=2) + "\n"


def test_lines_of_a_log_without_what_the_others_have_in_front_are_counted_and_shown(tmp_path: Path):
    lines = [b"load-1  | " + row for row in rows("vegeta.csv")]
    lines[6] = lines[6].removeprefix(b"load-1  | ")
    found = figures(b"".join([b"Attaching to load-1\n", *lines]), tmp_path)
    assert found.answered == len(lines) - 1
    assert "2 lines without what the others of the log have in front" in notes(found)
    assert "line 1 has 'Attaching to load-1'" in notes(found)
    assert f"line 8 has '{lines[6][:9].decode()}" in notes(found)


def test_a_log_that_ends_with_many_lines_of_another_form_is_refused(tmp_path: Path):
    [first, *others] = [b"load-1  | " + row for row in rows("vegeta.csv")] * 20
    head = b"".join([b"Attaching to load-1\n", first, *others])
    behind = b"".join(rows("vegeta.csv")) * 20
    with pytest.raises(Unreadable, match=rf"line 1: found {len(others) + 2:,} of .* lines without"):
        figures(head + behind, tmp_path)


@pytest.mark.parametrize("name", ["vegeta.jsonl", "k6.jsonl"])
def test_lists_of_objects_behind_each_other_are_read_as_the_lines_of_both(name: str, tmp_path: Path):
    whole = rows(name)
    middle = len(whole) // 2
    found = figures((laid_out(whole[:middle]) + laid_out(whole[middle:])).encode(), tmp_path)
    assert found == figures(b"".join(whole), tmp_path)


def test_what_is_behind_a_broken_object_is_read_and_the_object_named_by_its_line(tmp_path: Path):
    text = laid_out(rows("vegeta.jsonl"))
    line = text.splitlines().index("  {", 20) + 1
    lines = text.splitlines(keepends=True)
    lines[line] = lines[line].replace(":", "", 1)
    found = figures("".join(lines).encode(), tmp_path)
    assert found.answered == text.count("\n  {") - 1
    assert f"line {line} has " in notes(found)


def test_an_object_that_is_cut_off_is_the_end_that_was_left_out(tmp_path: Path):
    text = laid_out(rows("vegeta.jsonl"))
    found = figures(text[: text.rindex('"') - 1].encode(), tmp_path)
    assert found.answered == text.count("\n  {") - 1
    assert "the end of the file was left out, as it is cut off" in notes(found)


def test_an_object_of_another_form_has_the_line_that_it_has_in_the_file(tmp_path: Path):
    text = laid_out(rows("vegeta.jsonl"))
    lines = text.splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if place > 20 and '"code"' in line)
    begin = max(place for place in range(place) if lines[place] == "  {\n") + 1
    lines[place] = re.sub(r'"code": \d+', '"code": "none"', lines[place])
    assert f"line {begin} has " in notes(figures("".join(lines).encode(), tmp_path))


def test_a_page_whose_block_is_not_where_its_start_has_it_is_refused(tmp_path: Path):
    """Its start is indented, and the whole is not: the fence is then deep in what is indented."""
    page = b"```\n" + (DATA / "wrk.txt").read_bytes() + b"```\n" + FILLER
    indented = b"".join(b" " * 20 + line for line in page.splitlines(keepends=True))
    with pytest.raises(BadInput):
        figures(indented + b"That was all.\n", tmp_path)


def test_a_second_block_that_is_far_behind_is_refused_by_its_line(tmp_path: Path):
    block = b"```\n" + (DATA / "wrk.txt").read_bytes() + b"```\n"
    line = (block + FILLER).count(b"\n") + 1
    with pytest.raises(Unreadable, match=rf"line {line}: found another block .*split the file into one per"):
        figures(block + FILLER + block, tmp_path)
    assert figures(block + FILLER, tmp_path) == figures((DATA / "wrk.txt").read_bytes(), tmp_path)


def test_two_blocks_of_tables_are_refused_with_what_to_do(tmp_path: Path):
    block = b"```\n" + (DATA / "hey.csv").read_bytes() + b"```\n"
    with pytest.raises(Unreadable, match=r"found another block .*split the file into one per load"):
        figures(block * 2, tmp_path)


def test_a_page_of_more_blocks_than_anybody_pastes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fences, "_BLOCKS_MAX", 3)
    page = b"```\n" + (DATA / "wrk.txt").read_bytes() + b"```\n" + b"```\nx\n```\n" * 9
    with pytest.raises(Unreadable, match="more than 3 blocks"):
        figures(page, tmp_path)


@pytest.mark.parametrize(
    "name", ["wrk.txt", "k6/2.2.0-half.txt", "hey.csv", "vegeta.jsonl", "jmeter/5.6.3.xml", "h2load.json"]
)
def test_an_element_of_a_page_has_the_characters_that_its_entities_stand_for(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    page = "<p>I &amp; you</p>\n<pre>" + html.escape(whole.decode()) + "</pre>\n"
    assert figures(page.encode(), tmp_path) == figures(whole, tmp_path)


def test_entities_of_a_number_stand_for_characters_and_never_for_an_end_of_a_line(tmp_path: Path):
    whole = (DATA / "vegeta-report.json").read_bytes()
    page = b"<pre>" + whole.replace(b'"', b"&#34;").replace(b":", b"&#x3A;") + b"</pre>"
    assert figures(page, tmp_path) == figures(whole, tmp_path)
    with pytest.raises(BadInput):
        figures(page.replace(b"&#34;", b"&#10;", 1), tmp_path)


def test_whether_a_file_is_short_is_said_of_what_gzip_has_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One that is not is read as it comes, however little it takes."""
    table = PROMPT + b"".join(rows("vegeta.csv")) * 20
    packed = gzip.compress(table)
    monkeypatch.setattr(source, "SHORT_BYTES_MAX", (len(packed) + len(table)) // 2)
    monkeypatch.setattr(pasted, "PASTED_BYTES_MAX", len(table) - 1)
    assert figures(packed, tmp_path).answered == 20 * len(rows("vegeta.csv"))


def minified(document: bytes) -> bytes:
    return re.sub(rb">\s+<", b"><", document).strip()


def test_results_of_jmeter_on_one_line_are_read_and_two_of_them_refused(tmp_path: Path):
    whole = (DATA / "jmeter/5.6.3.xml").read_bytes()
    one = minified(whole)
    assert b"\n" not in one
    assert figures(one, tmp_path) == figures(whole, tmp_path)
    with pytest.raises(Unreadable, match=r"another document .*split the file into one per load"):
        figures(one * 2, tmp_path)


def test_a_document_with_a_status_is_no_access_log(tmp_path: Path):
    for document in ('{\n  "status": "ok",\n  "uri": "/x"\n}\n', '{"a": {"status": 1}, "uri": "/x"}\n'):
        with pytest.raises(BadInput, match="its format is not recognised"):
            figures(document.encode(), tmp_path)


def test_an_end_that_is_cut_off_is_one_behind_blank_lines_too(tmp_path: Path):
    whole = b"".join(rows("vegeta.jsonl"))
    found = figures(b"\n\n" + whole[:-9], tmp_path)
    assert found.answered == whole.count(b"\n") - 1
    assert "the end of the file was left out, as it is cut off" in notes(found)
