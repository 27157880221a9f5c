"""Files as strangers have them: from Windows, quoted, and pasted from a terminal, say what the tool wrote."""

from collections.abc import Callable
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools import marks
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
TEXTS = [
    "ab.txt", "wrk.txt", "wrk2.txt", "hey.txt", "hey-refused.txt", "h2load.txt", "httperf.txt",
    "vegeta/12.12.0-half-report.txt", "bombardier/1.2.6-half.txt", "k6/2.2.0-half.txt",
    "siege/4.0.7-half.txt", "ycsb.txt", "go-ycsb.txt",
]  # fmt: skip
"""What tools print for people."""
DOCUMENTS = [
    "hey.csv", "vegeta.csv", "vegeta.jsonl", "vegeta-report.json", "k6.csv", "k6.jsonl", "k6-export.json",
    "autocannon/9.0.0-half.json", "bombardier/1.2.6-half.json", "fortio/1.63.10.json", "oha/1.9.0.json",
    "oha/1.9.0.csv", "zrk.json", "h2load.json", "h2load-log.tsv", "jmeter/5.6.3.csv", "jmeter/5.6.3.xml",
    "jmeter/5.6.3-statistics.json", "gatling/3.11.5.log", "gatling/3.11.5-stats.json", "locust_stats.csv",
    "go-ycsb.csv", "artillery/2.0.21-half.json", "siege/4.0.7-half.json",
]  # fmt: skip
"""What they write for programs."""


def as_read(data: bytes, folder: Path) -> ToolFigures:
    (folder / "file").write_bytes(data)
    return read_figures(Source(folder / "file"), None)[0]


def with_line_ends_of_windows(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def with_mark(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data


def from_powershell(data: bytes) -> bytes:
    return with_line_ends_of_windows(data).decode().encode("utf-16")


def quoted(data: bytes) -> bytes:
    return b"".join(b"    " + line for line in data.splitlines(keepends=True))


def with_blanks_at_line_ends(data: bytes) -> bytes:
    return b"".join(line.rstrip(b"\n") + b"  \n" for line in data.splitlines(keepends=True))


def between_prompts(data: bytes) -> bytes:
    return b"me@host:~$ tool http://127.0.0.1/\n" + data + b"me@host:~$ \n"


def in_colours(data: bytes) -> bytes:
    return b"".join(
        b"\x1b[1;32m" + line.rstrip(b"\n") + b"\x1b[0m\n" for line in data.splitlines(keepends=True)
    )


@pytest.mark.parametrize("change", [with_line_ends_of_windows, with_mark, from_powershell])
@pytest.mark.parametrize("name", [*TEXTS, *DOCUMENTS])
def test_a_file_from_windows_is_read_as_the_one_that_the_tool_wrote(
    name: str, change: Callable[[bytes], bytes], tmp_path: Path
):
    whole = (DATA / name).read_bytes()
    assert as_read(change(whole), tmp_path) == as_read(whole, tmp_path)


@pytest.mark.parametrize("change", [quoted, with_blanks_at_line_ends, between_prompts, in_colours])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_was_pasted_is_read_as_the_one_that_the_tool_printed(
    name: str, change: Callable[[bytes], bytes], tmp_path: Path
):
    whole = (DATA / name).read_bytes()
    assert as_read(change(whole), tmp_path) == as_read(whole, tmp_path)


def test_of_what_a_tool_shows_again_and_again_the_last_counts():
    """What ``vegeta report -every 500ms`` wrote clears the terminal before each report."""
    text = (DATA / "vegeta/12.13.0-every.txt").read_text()
    assert text.count("Requests      [total") > 1
    found = read_figures(Source(DATA / "vegeta/12.13.0-every.txt"), None)[0]
    assert found.answered == 100


def test_a_line_that_is_not_read_has_its_number_behind_what_was_shown_before(tmp_path: Path):
    text = (DATA / "vegeta/12.13.0-every.txt").read_text()
    (tmp_path / "file").write_text(text.replace("200:49", "999:49"))
    [number] = [place for place, line in enumerate(text.splitlines(), start=1) if "200:49" in line]
    with pytest.raises(Unreadable, match=rf"line {number}: found a status of 999"):
        read_figures(Source(tmp_path / "file"), None)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\xff\xfe\x00", "UTF-16 text that is broken"), (b"\xff\xfe" + b"ab" * 6, "more than 9 b")],
)
def test_utf_16_that_is_broken_or_too_long_is_refused(
    data: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(marks, "UTF16_BYTES_MAX", 9)
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(Unreadable, match=said):
        format_of(Source(tmp_path / "file"), None)


def test_a_table_of_percentiles_is_refused_with_what_is_read():
    with pytest.raises(BadInput, match="does not say in what time"):
        format_of(Source(DATA / "vegeta/12.13.0-hdrplot.txt"), None)
