"""Output of tools as people copy it into issues, mails and logs says what the tool wrote there."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.imported.access_log import RequestFilter, requests_of
from loadcurve.imported.left_out import LeftOut
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
TEXTS = ["ab.txt", "wrk.txt", "hey.txt", "vegeta/12.12.0-half-report.txt", "k6/2.2.0-half.txt", "go-ycsb.txt"]
DOCUMENTS = [
    "vegeta-report.json", "fortio/1.63.10.json", "h2load.json", "bombardier/1.2.6-half.json", "zrk.json",
]  # fmt: skip
SOME = [
    "wrk.txt", "k6/2.2.0-half.txt", "go-ycsb.txt", "hey.csv", "vegeta.csv", "vegeta.jsonl", "h2load.json",
    "jmeter/5.6.3-bare.csv", "jmeter/5.6.3.xml", "gatling/3.11.5.log", "fortio/1.63.10.json",
]  # fmt: skip
"""One of each kind: texts, tables with and without names, lines of JSON, documents."""


def figures(data: bytes, folder: Path) -> ToolFigures:
    (folder / "file").write_bytes(data)
    return read_figures(Source(folder / "file"), None)[0]


def ended(data: bytes) -> bytes:
    return data if data.endswith(b"\n") else data + b"\n"


def each(prefix: bytes, data: bytes) -> bytes:
    return b"".join(prefix + line for line in data.splitlines(keepends=True))


def in_a_fence(data: bytes) -> bytes:
    return b"```\n" + ended(data) + b"```"


def in_an_issue(data: bytes) -> bytes:
    """With what was run in a block of its own, and a question behind."""
    command = b"I ran\n\n```sh\ntool -n 5 http://127.0.0.1/\n```\n\nand got\n\n"
    return command + b"```text\n" + ended(data) + b"```\n\n- Is 1 right?\n"


def in_a_list(data: bytes) -> bytes:
    return (
        b"1. run it\n\n   ~~~console\n"
        + each(b"   ", b"$ tool http://127.0.0.1/\n" + ended(data))
        + b"   ~~~\n"
    )


def in_html(data: bytes) -> bytes:
    return b"<details><summary>Output</summary>\n<pre>\n" + ended(data) + b"</pre></details>\n"


def of_compose(data: bytes) -> bytes:
    """What ``docker compose up`` shows, with its colours."""
    lines = each(b"\x1b[36mload-1  | \x1b[0m", ended(data))
    return b" Container x-load-1  Created\nAttaching to load-1\n" + lines + b"load-1 exited with code 0\n"


def of_compose_in_a_fence(data: bytes) -> bytes:
    return b"```\n$ docker compose logs\n" + each(b"load_1    | ", ended(data)) + b"```\n"


def of_github(data: bytes) -> bytes:
    """A downloaded log of a job, with a mark at its start, the step's command and what follows the step."""
    group = (
        b"##[group]Run tool http://127.0.0.1/\n\x1b[36;1mtool\x1b[0m\nshell: /bin/bash -e {0}\n##[endgroup]\n"
    )
    return b"\xef\xbb\xbf" + each(
        b"2026-11-28T12:47:06.1234567Z ", group + ended(data) + b"Post job cleanup.\n"
    )


def of_a_session(data: bytes) -> bytes:
    """What ``script`` keeps of a terminal."""
    prompt = b"\x1b]0;me@host: ~\x07\x1b[?2004h\x1b[01;32mme@host\x1b[00m:~$ "
    lines = ended(data).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return (
        b'Script started on 2026-11-28 12:00:00+00:00 [TERM="xterm"]\r\n' + prompt + b"tool http://127.0.0.1/\r\n"
        b"\x1b[?2004l\r" + lines + prompt + b"exit\r\n\r\nScript done on 2026-11-28 12:01:00+00:00\n"
    )  # fmt: skip


def behind_a_prompt_of_windows(data: bytes) -> bytes:
    return b"C:\\Users\\me>tool http://127.0.0.1/\r\n" + ended(data).replace(b"\n", b"\r\n")


def behind_a_prompt_of_a_theme(data: bytes) -> bytes:
    return "➜  load git:(main) ✗ tool http://127.0.0.1/\n".encode() + data


def traced(data: bytes) -> bytes:
    """What ``bash -x`` shows, and ``time`` behind."""
    return b"+ tool http://127.0.0.1/\n" + ended(data) + b"\nreal\t0m10.012s\nuser\t0m1.234s\nsys\t0m0.567s\n"


def indented(data: bytes) -> bytes:
    return each(b"    ", data)


@pytest.mark.parametrize(
    "change",
    [
        in_a_fence, in_an_issue, in_a_list, in_html, of_compose, of_compose_in_a_fence, of_github,
        of_a_session,
        behind_a_prompt_of_windows, behind_a_prompt_of_a_theme, traced, indented,
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", SOME)
def test_what_is_around_a_copy_changes_nothing(name: str, change: Callable[[bytes], bytes], tmp_path: Path):
    whole = (DATA / name).read_bytes()
    found, expected = figures(change(whole), tmp_path), figures(whole, tmp_path)
    # Lines without a container's name are noted.
    notes = [*expected.notes, *(found.notes[-1:] if change is of_compose else [])]
    assert found == replace(expected, notes=notes)


@pytest.mark.parametrize(
    "prefix",
    [
        b"bench\tRun load\t2026-11-28T12:47:06.1234567Z ",
        b"2026-11-28T12:47:06.123456Z 01O ",
        b"2026-11-28T12:47:06.123456+00:00 host load[123]: ",
        b"[2026-11-28 12:47:06] ",
        b"2026-11-28 12:47:06 ",
        b"12:47:06  ",
        b"Nov 28 12:47:06 ",
        b"> > ",
    ],
)
@pytest.mark.parametrize("name", ["wrk.txt", "vegeta.csv", "k6.jsonl", "fortio/1.63.10.json"])
def test_what_other_logs_have_in_front_of_each_line_changes_nothing(name: str, prefix: bytes, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    assert figures(each(prefix, whole), tmp_path) == figures(whole, tmp_path)


@pytest.mark.parametrize("name", TEXTS)
def test_spaces_and_signs_as_pages_and_windows_have_them_change_nothing(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    expected = figures(whole, tmp_path)
    assert figures(whole.replace(b"  ", "\u00a0 ".encode()), tmp_path) == expected
    assert figures("\u200b".encode() + whole, tmp_path) == expected
    assert figures(b"\n".join(line + b"   " for line in whole.split(b"\n")), tmp_path) == expected
    assert figures(b"".join(line + b"\n" for line in whole.splitlines(keepends=True)), tmp_path) == expected
    # As Windows PowerShell keeps what it took for the console's coding.
    for coding in ("cp437", "cp850"):
        assert figures(whole.decode(coding).replace("\n", "\r\n").encode("utf-16"), tmp_path) == expected


def test_a_time_in_microseconds_is_read_with_either_sign_for_micro(tmp_path: Path):
    for name in ("wrk.txt", "h2load.txt", "bombardier/1.2.6-half.txt", "vegeta/12.12.0-half-report.txt"):
        whole = (DATA / name).read_text().replace("µs", "us")
        assert re.search(r"\dus\b", whole)
        expected = figures(whole.encode(), tmp_path)
        for sign in ("\u00b5s", "\u03bcs"):
            assert figures(re.sub(r"(?<=\d)us\b", sign, whole).encode(), tmp_path) == expected
    latin = (DATA / "vegeta/12.12.0-half-report.txt").read_text().encode("latin-1")
    assert b"\xb5s" in latin
    assert figures(latin, tmp_path).answered == 100


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_was_laid_out_anew_is_read_alike(name: str, tmp_path: Path):
    whole = (DATA / name).read_bytes()
    document = json.loads(whole[whole.index(b'{"spec"') :] if name.startswith("bombardier") else whole)
    expected = figures(whole, tmp_path)
    for text in (
        json.dumps(document, indent=2),
        json.dumps(document, sort_keys=True),
        json.dumps(document, separators=(",", ":")),
        json.dumps(document, indent=2).replace("  ", "\u00a0\u00a0"),
    ):
        assert figures(text.encode(), tmp_path) == expected


@pytest.mark.parametrize("name", ["vegeta.jsonl", "k6.jsonl"])
def test_objects_that_were_laid_out_anew_are_read_alike(name: str, tmp_path: Path):
    """As ``jq .`` and ``jq -s .`` write them."""
    whole = (DATA / name).read_bytes()
    rows = [json.loads(line) for line in whole.splitlines()]
    expected = figures(whole, tmp_path)
    assert figures("".join(json.dumps(row) + "\n" for row in rows).encode(), tmp_path) == expected
    assert figures("\n".join(json.dumps(row, indent=2) for row in rows).encode(), tmp_path) == expected
    assert figures(json.dumps(rows, indent=2).encode(), tmp_path) == expected


@pytest.mark.parametrize("name", ["vegeta-report.json", "h2load.json", "jmeter/5.6.3.xml"])
def test_two_documents_in_one_file_are_refused_with_what_to_do(name: str, tmp_path: Path):
    whole = ended((DATA / name).read_bytes())
    with pytest.raises(Unreadable, match=r"another document .*split the file into one per load"):
        figures(whole * 2, tmp_path)


@pytest.mark.parametrize("name", ["hey.csv", "oha/1.9.0.csv"])
def test_two_tables_whose_moments_begin_anew_are_refused(name: str, tmp_path: Path):
    """Their requests would seem to be of one load at twice the rate."""
    whole = ended((DATA / name).read_bytes())
    line = whole.count(b"\n") + 1
    with pytest.raises(Unreadable, match=rf"line {line}: found the names of the columns once more"):
        figures(whole * 2, tmp_path)


def test_two_blocks_of_a_page_are_not_taken_for_one_load(tmp_path: Path):
    block = in_a_fence((DATA / "wrk.txt").read_bytes()) + b"\n"
    with pytest.raises(BadInput, match="split the file into one per load"):
        figures(block * 2, tmp_path)


def test_a_line_within_a_fence_has_the_number_that_it_has_in_the_page(tmp_path: Path):
    lines = (DATA / "ab.txt").read_bytes().splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if line.startswith(b"Complete requests"))
    lines[place] = b"Complete requests:      many\n"
    page = in_an_issue(b"".join(lines))
    number = page[: page.index(b"Complete requests")].count(b"\n") + 1
    with pytest.raises(Unreadable, match=rf"line {number}: found 'many'"):
        figures(page, tmp_path)


def test_the_last_line_of_a_block_that_is_not_closed_may_be_cut_off(tmp_path: Path):
    whole = (DATA / "vegeta.csv").read_bytes()
    found = figures(b"```\n" + whole[:-20], tmp_path)
    assert found.answered == whole.count(b"\n") - 1
    assert "cut off" in found.notes[0].text


def test_the_summary_that_jmeter_prints_in_german_has_commas(tmp_path: Path):
    """``summary =     12 in 00:00:05 =    2,4/s Avg:  1284 Min:  1201 Max:  1420 Err:     0 (0,00%)``."""
    found, _ = read_figures(Source(DATA / "jmeter/5.6.3-german-summary.txt"), None)
    latency = found.latency
    assert (found.answered, found.failed) == (12, 0)
    assert found.answered / found.duration_s == pytest.approx(2.4)
    assert latency is not None
    assert (latency.distribution.min, latency.distribution.mean, latency.distribution.max) == (
        1201,
        1284,
        1420,
    )


def test_a_jtl_with_times_of_iso_8601_and_their_zone_is_read():
    """Its rows are 20, between 02:05:31.581 and the last end, as computed here from its text."""
    path = DATA / "jmeter/5.6.3-iso-times.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    begins_ms = [1000 * (60 * int(row[0][14:16]) + float(row[0][17:23])) for row in rows]
    ends_ms = [begin + int(row[1]) for begin, row in zip(begins_ms, rows, strict=True)]
    found, form = read_figures(Source(path), None)
    assert form.name == "jmeter-csv"
    assert found.answered == len(rows) == 20
    assert found.duration_s == pytest.approx((max(ends_ms) - min(begins_ms)) / 1e3)


def test_the_json_that_fortio_prints_among_its_log_is_read():
    """``Ended after 1.003067293s : 20 calls. qps=19.939``, ``count 20 avg 0.00064478225``."""
    found, form = read_figures(Source(DATA / "fortio/1.63.10-stdout.json"), None)
    assert form.name == "fortio-json"
    assert (found.answered, found.duration_s) == (20, pytest.approx(1.003067293))
    assert found.latency is not None
    assert found.latency.distribution.mean == pytest.approx(0.64478225)


def test_lines_of_an_access_log_are_read_behind_what_containers_have_in_front(tmp_path: Path):
    lines = (DATA / "access-logs/nginx-1.22.log").read_bytes()
    found = []
    for data in (lines, each(b"nginx-1  | ", lines), each(b"2026-11-28T12:47:06.123456Z ", lines)):
        (tmp_path / "log").write_bytes(data)
        source = Source(tmp_path / "log")
        requests = requests_of(source, RequestFilter(), LeftOut(source))
        found.append([(one.target, one.status, one.time) for one in requests])
    assert found[0]
    assert all(one == other for one, other in pairwise(found))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ((DATA / "vegeta/12.13.0-hist.txt").read_bytes(), "import what vegeta report -type json"),
        (b"elapsed,label,responseCode,success\n12,a,200,true\n", "no column timeStamp, so that"),
        (b"Method,Name,Error,Occurrences\nGET,/,x,1\n", "import PREFIX_stats.csv, which is beside it"),
        (b'<?xml version="1.0"?>\n<jmeterTestPlan>\n', "this is JMeter's test plan, which holds"),
        (b"---- Global Information -----\n> request count  20 (OK=20 KO=0)\n", "import js/stats.json"),
        (b"Type     Name   # reqs      # fails |    Avg\n", "import PREFIX_stats.csv, which locust --csv"),
        (b'[{"name": "/", "num_requests": 1, "num_none_requests": 0}]', "locust's JSON is not read"),
        *(
            ((DATA / "access-logs" / name).read_bytes(), "--as requests or --as recording makes a list of it")
            for name in ("nginx-1.22.log", "apache-2.4.log", "caddy-2.6.jsonl", "nginx-1.22.jsonl")
        ),
    ],
)  # fmt: skip
def test_more_of_what_is_not_read_is_refused_with_what_is(data: bytes, said: str, tmp_path: Path):
    with pytest.raises(BadInput, match=said):
        figures(data, tmp_path)
