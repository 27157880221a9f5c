"""What another tool printed is read as a whole or refused: cut off anywhere, or two outputs in one file."""

import re
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import FORMATS, format_of
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
OF_ONE_LOAD = [
    "ab.txt", "wrk.txt", "wrk-not-found.txt", "wrk-1.0.0.txt", "wrk-2.0.0.txt",
    "wrk2.txt", "httperf.txt", "h2load.txt", "h2load-duration.txt",
    "hey.txt", "hey-refused.txt", "ycsb.txt", "ycsb-read.txt", "go-ycsb.txt", "go-ycsb.json",
    "locust_stats.csv", "vegeta-report.json", "k6-export.json", "zrk.json", "locust/0.11.0_requests.csv",
    "locust/0.14.6_stats.csv", "locust/1.0.3_stats.csv",
    "h2load/1.52.0-half.txt", "ab/2.3-closed.txt", "made/ab-2.0.txt", "made/wrk-without-indentation.txt",
    "siege/4.0.7-half.txt", "siege/4.2.0-b4-timed.txt", "made/oha-text.txt",
]  # fmt: skip
"""Files that say once, anywhere, what a load was."""
OF_REQUESTS = ["hey.csv", "vegeta.csv", "vegeta.jsonl", "k6.jsonl", "k6.csv", "go-ycsb.csv", "h2load-log.tsv"]
"""Files with a line for each request."""


def read(path: Path, format_name: str, data: bytes) -> ToolFigures | Unreadable:
    path.write_bytes(data)
    form = next(one for one in FORMATS if one.name == format_name)
    try:
        return form.read(Source(path))
    except Unreadable as error:
        return error


def _cuts(whole: bytes) -> list[int]:
    """Where a text is cut off: at each line, in each at some places, and anywhere near the end."""
    ends = [place for place in range(len(whole)) if whole[place : place + 1] == b"\n"]
    return sorted({*ends, *range(0, len(whole), 11), *range(max(len(whole) - 150, 0), len(whole))})


@pytest.mark.parametrize("name", OF_ONE_LOAD)
def test_a_text_that_is_cut_off_anywhere_is_refused_or_lacks_nothing(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    format_name = format_of(Source(DATA / name), None).name
    figures = read(tmp_path / "whole", format_name, whole)
    assert isinstance(figures, ToolFigures)
    for length in _cuts(whole):
        found = read(tmp_path / "cut", format_name, whole[:length])
        if isinstance(found, Unreadable):
            assert "expected" in str(found)
        else:
            assert found == figures, f"cut behind {whole[:length][-60:]!r}"
            assert not whole[length:].strip(), "it is whole but for what ends its last line"


@pytest.mark.parametrize("name", OF_ONE_LOAD)
def test_two_texts_in_one_file_are_refused(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    format_name = format_of(Source(DATA / name), None).name
    for other in (whole, whole[: len(whole) * 2 // 3]):
        assert isinstance(read(tmp_path / "two", format_name, whole + b"\n" + other), Unreadable)


def test_the_second_text_in_a_file_is_named_with_both_lines_and_what_to_do(tmp_path: Path):
    text = (DATA / "wrk.txt").read_bytes()
    error = read(tmp_path / "two", "wrk-text", text * 2)
    assert re.search(
        r"two, line 14: found 'Running 2s test .* after that of line 1; .* split the file", str(error)
    )
    assert "read until then: 13 lines" in str(error)


@pytest.mark.parametrize("name", OF_REQUESTS)
def test_a_file_of_requests_that_is_cut_off_is_refused_or_has_fewer_of_them(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    format_name = format_of(Source(DATA / name), None).name
    figures = read(tmp_path / "whole", format_name, whole)
    assert isinstance(figures, ToolFigures)
    lines = whole.splitlines(keepends=True)
    for count in {2, len(lines) // 2, len(lines) - 1}:
        at_end = b"".join(lines[:count])
        within = read(tmp_path / "within", format_name, at_end[: -len(lines[count - 1]) // 2])
        if isinstance(within, ToolFigures):
            assert "the end of the file was left out" in within.notes[-1].text
        shorter = read(tmp_path / "shorter", format_name, at_end)
        if isinstance(shorter, ToolFigures):
            assert 0 < shorter.answered + (shorter.failed or 0) <= figures.answered + (figures.failed or 0)


@pytest.mark.parametrize("name", OF_REQUESTS)
def test_two_files_of_requests_in_one_are_all_of_their_requests_or_refused(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    format_name = format_of(Source(DATA / name), None).name
    figures = read(tmp_path / "whole", format_name, whole)
    twice = read(tmp_path / "twice", format_name, whole * 2)
    assert isinstance(figures, ToolFigures)
    if isinstance(twice, ToolFigures):
        assert (twice.answered, twice.duration_s) == (2 * figures.answered, figures.duration_s)


def test_a_log_of_histograms_that_begins_anew_is_refused(tmp_path: Path):
    whole = (DATA / "ycsb-read.hdr").read_bytes()
    assert isinstance(read(tmp_path / "two", "ycsb-hdr", whole * 2), Unreadable)


def test_operations_of_ycsb_that_are_missing_are_counted(tmp_path: Path):
    text = (DATA / "ycsb.txt").read_text()
    without_updates = "".join(line for line in text.splitlines(keepends=True) if "UPDATE" not in line)
    error = read(tmp_path / "cut", "ycsb-text", without_updates.encode())
    assert "found 19,030 operations; expected the 20,000" in str(error)


def test_intended_times_that_are_cut_off_are_refused(tmp_path: Path):
    text = (DATA / "ycsb-both.txt").read_text()
    error = read(tmp_path / "cut", "ycsb-text", text[: text.index("[Intended-UPDATE], 99th")].encode())
    assert "expected [Intended-UPDATE], 99" in str(error)


@pytest.mark.parametrize("name", ["siege/4.0.7-half.txt", "hey.txt", "ycsb.txt", "made/oha-text.txt"])
def test_what_is_behind_the_last_line_of_a_tool_may_lack_its_end(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    form = format_of(Source(DATA / name), None).name
    found = read(tmp_path / "out.txt", form, whole + b"\nexited with code 0")
    assert found == read(tmp_path / "out.txt", form, whole)
    assert isinstance(found, ToolFigures)


@pytest.mark.parametrize("name", ["hey.txt", "httperf.txt"])
def test_a_text_whose_last_count_is_whole_may_lack_the_end_of_its_last_line(name: str, tmp_path: Path):
    """The counts of hey agree with its rate, and those of httperf with their sum."""
    whole = (DATA / name).read_bytes()
    form = format_of(Source(DATA / name), None).name
    assert read(tmp_path / "out.txt", form, whole.rstrip()) == read(tmp_path / "out.txt", form, whole)


def test_a_text_of_hey_without_indentation_has_the_same_figures(tmp_path: Path):
    flat = b"".join(line.strip() + b"\n" for line in (DATA / "hey.txt").read_bytes().splitlines())
    found = read(tmp_path / "out.txt", "hey-text", flat)
    assert found == read(tmp_path / "out.txt", "hey-text", (DATA / "hey.txt").read_bytes())
    assert isinstance(found, ToolFigures)


def test_a_percentile_table_of_ab_alone_names_what_to_import_instead():
    with pytest.raises(BadInput, match="neither how many requests"):
        format_of(Source(DATA / "ab-percentiles.csv"), None)
