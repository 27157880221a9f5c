"""Files as strangers have them: from Windows, quoted, and pasted from a terminal, say what the tool wrote."""

from collections.abc import Callable
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools import pasted, source
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


def behind_a_command(data: bytes) -> bytes:
    return b"me@host:~/tests$ tool http://127.0.0.1/\n\n" + data


def behind_a_command_of_powershell(data: bytes) -> bytes:
    return b"PS C:\\Users\\me> tool http://127.0.0.1/\r\n" + with_line_ends_of_windows(data)


def behind_blank_lines(data: bytes) -> bytes:
    return b"\n  \n" + data


def with_times(data: bytes) -> bytes:
    """As continuous integration, ``docker logs -t`` and ``kubectl logs --timestamps`` have them."""
    return b"".join(b"2026-11-28T12:47:06.1234567Z " + line for line in data.splitlines(keepends=True))


def with_names_of_containers(data: bytes) -> bytes:
    return b"".join(b"load-1  | " + line for line in data.splitlines(keepends=True))


def in_front(prefix: bytes) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(prefix + line for line in data.splitlines(keepends=True))


@pytest.mark.parametrize(
    "change",
    [
        behind_a_command,
        behind_a_command_of_powershell,
        behind_blank_lines,
        with_times,
        with_names_of_containers,
        in_front(b"> "),
        in_front(b"[pod/load-7d9/k6] "),
        in_front(b"Nov 28 12:47:06 host load[123]: "),
        in_front(b"2026-11-28 12:47:06,123 INFO "),
    ],
)
@pytest.mark.parametrize("name", [*TEXTS, *DOCUMENTS])
def test_what_a_terminal_or_a_log_has_in_front_changes_nothing(
    name: str, change: Callable[[bytes], bytes], tmp_path: Path
):
    whole = (DATA / name).read_bytes()
    assert as_read(change(whole), tmp_path) == as_read(whole, tmp_path)


@pytest.mark.parametrize("behind", [b"\nme@host:~$ ", b"[me@host ~]$ \n", b"\n(env) PS C:\\Users\\me> "])
@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.endswith(".json")])
def test_a_prompt_behind_a_document_changes_nothing(name: str, behind: bytes, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    assert as_read(whole.rstrip() + behind, tmp_path) == as_read(whole, tmp_path)


@pytest.mark.parametrize("behind", [b"{}", b"\n7", b"and more", b"}$"])
def test_anything_else_behind_a_document_is_refused(behind: bytes, tmp_path: Path):
    with pytest.raises(Unreadable):
        as_read((DATA / "vegeta-report.json").read_bytes().rstrip() + behind, tmp_path)


def in_a_fence(data: bytes) -> bytes:
    return b"```json\n" + data.rstrip() + b"\n```\n"


def behind_warnings(data: bytes) -> bytes:
    return b"npm warn exec will be installed\nWarning: Nashorn is to be removed\n\n" + data


def before_a_note(data: bytes) -> bytes:
    return data.rstrip() + b"\n\nreal\t0m10.012s\nuser\t0m1.234s\nsys\t0m0.567s\n"


@pytest.mark.parametrize("change", [in_a_fence, behind_warnings, before_a_note])
@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.endswith(".json")])
def test_what_other_programs_said_around_a_document_changes_nothing(
    name: str, change: Callable[[bytes], bytes], tmp_path: Path
):
    whole = (DATA / name).read_bytes()
    assert as_read(change(whole), tmp_path) == as_read(whole, tmp_path)


@pytest.mark.parametrize(
    "name", ["hey.csv", "k6.csv", "oha/1.9.0.csv", "jmeter/5.6.3.csv", "jmeter/5.6.3.xml", "locust_stats.csv"]
)
def test_warnings_in_front_of_the_names_of_columns_change_nothing(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    assert as_read(behind_warnings(whole), tmp_path) == as_read(whole, tmp_path)


def test_names_of_columns_that_are_not_known_are_not_taken_for_a_warning(tmp_path: Path):
    """What is behind them are rows, which look like those of a table without names."""
    [_, *rows] = (DATA / "jmeter" / "5.6.3.csv").read_bytes().splitlines(keepends=True)
    with pytest.raises(BadInput):
        as_read(b"when,elapsed,label,responseCode,success\n" + b"".join(rows), tmp_path)


def test_a_line_of_a_pasted_file_has_the_number_that_it_has_there(tmp_path: Path):
    lines = (DATA / "ab.txt").read_text().splitlines(keepends=True)
    [place] = [place for place, line in enumerate(lines) if line.startswith("Complete requests")]
    lines[place] = "Complete requests:      many\n"
    with pytest.raises(Unreadable, match=rf"line {place + 3}: found 'many'"):
        as_read(b"\nme@host:~$ ab http://127.0.0.1/\n" + "".join(lines).encode(), tmp_path)


def test_a_table_of_another_program_is_not_taken_for_one_because_of_its_names(tmp_path: Path):
    """Five columns of numbers are vegeta's if nothing but a command is before them."""
    table = b"1,2,3,4,5,6,7\n" * 3
    for before in (b"a,b,c,d,e,f,g\n", b"memory of all > 5 GB\n"):
        with pytest.raises(BadInput, match="not recognised"):
            as_read(before + table, tmp_path)


def test_a_log_that_is_too_long_to_take_its_times_off_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pasted, "PASTED_BYTES_MAX", 9)
    with pytest.raises(Unreadable, match="more than 9 bytes of a log, or of what was copied"):
        as_read(with_times((DATA / "wrk.txt").read_bytes()), tmp_path)


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
    monkeypatch.setattr(source, "UTF16_BYTES_MAX", 9)
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(Unreadable, match=said):
        format_of(Source(tmp_path / "file"), None)


def test_a_table_of_percentiles_is_refused_with_what_is_read():
    with pytest.raises(BadInput, match="does not say in what time"):
        format_of(Source(DATA / "vegeta/12.13.0-hdrplot.txt"), None)
