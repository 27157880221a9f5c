"""A line of a megabyte costs no reader more than 0.2 s of a CPU.

The bound is what Python takes for counting, which grows on slower machines alike.
"""

import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.formats import FORMATS, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
LINE_BYTES = 2**20
COUNTED = 5_000_000
"""To which Python counts in 0.2 s."""
TRIES = 3
FILLS = [
    b"9",
    b"\t",
    b" ",
    b",",
    b'"',
    b"[",
    b"{",
    b"<",
    b"\\",
    b":",
    b"a",
    b"a://",
    b"\x1b[",
    b"1 ",
    b"me@h:~$ ",
    b"=#",
]
FILES = {
    "ab-html": "ab/2.3-some-500.html", "ab-requests": "ab-requests.tsv", "ab-text": "ab.txt",
    "artillery-json": "artillery/2.0.21-half.json", "autocannon-json": "autocannon/9.0.0-half.json",
    "bombardier-json": "bombardier/1.2.6-half.json", "bombardier-text": "bombardier/1.2.6-half.txt",
    "fortio-json": "fortio/1.63.10.json", "gatling-log": "gatling/3.11.5.log",
    "gatling-binary": "gatling/3.13.5.log", "gatling-stats": "gatling/3.11.5-stats.json",
    "go-ycsb-csv": "go-ycsb.csv", "go-ycsb-summary": "go-ycsb-2020-made.txt",
    "h2load-json": "h2load.json", "h2load-log": "h2load-log.tsv", "h2load-text": "h2load.txt",
    "hey-csv": "hey.csv", "hey-text": "hey.txt", "httperf-text": "httperf.txt",
    "jmeter-csv": "jmeter/5.6.3.csv", "jmeter-xml": "jmeter/5.6.3.xml",
    "jmeter-statistics": "jmeter/5.6.3-statistics.json", "jmeter-summary": "jmeter/5.6.3-summary.txt",
    "jmeter-report": "made/jmeter-report.csv", "ghz-json": "made/ghz.json",
    "k6-csv": "k6.csv", "k6-json": "k6.jsonl",
    "k6-summary": "k6-export.json", "k6-text": "k6/2.2.0-half.txt", "locust-csv": "locust_stats.csv",
    "locust-history": "locust/2.47.0_stats_history.csv", "oha-csv": "oha/1.9.0.csv",
    "oha-json": "oha/1.9.0.json", "oha-text": "made/oha-text.txt",
    "siege-json": "siege/4.0.7-half.json", "siege-text": "siege/4.0.7-half.txt", "vegeta-csv": "vegeta.csv",
    "vegeta-json": "vegeta.jsonl", "vegeta-report": "vegeta-report.json",
    "vegeta-text": "vegeta/12.12.0-half-report.txt", "wrk-text": "wrk.txt", "wrk2-text": "wrk2.txt",
    "ycsb-hdr": "ycsb-read.hdr", "ycsb-text": "ycsb.txt", "zrk-json": "zrk.json",
    "hlog": "ycsb-read.hdr", "hlog-us": "ycsb-read.hdr", "hlog-ms": "ycsb-read.hdr",
    "loadcurve-json": "zrk.json",
}  # fmt: skip


@cache
def bound_s() -> float:
    begin = time.process_time()
    number = 0
    while number < COUNTED:
        number += 1
    return time.process_time() - begin


def reading_s(path: Path, named: str | None) -> float:
    begin = time.process_time()
    with suppress(BadInput):
        read_figures(Source(path), named)
    return time.process_time() - begin


def test_each_format_is_tried():
    assert FILES.keys() == {one.name for one in FORMATS}


def require_fast(name: str, fill: bytes, folder: Path) -> None:
    first, *others = (DATA / FILES[name]).read_bytes().splitlines(keepends=True)
    line = fill * (LINE_BYTES // len(fill))
    middle = len(others) // 2
    for changed in (
        [first.rstrip(b"\r\n"), line, b"\n", *others],
        [line, b"\n", first, *others],
        [first, *others[:middle], line, b"\n", *others[middle:]],
        [first, *others, line],
    ):
        path = folder / "file"
        path.write_bytes(b"".join(changed))
        for named in (name, None):
            tries = (reading_s(path, named) <= bound_s() for _ in range(TRIES))
            assert any(tries), f"{fill!r} in {FILES[name]} as {named}"


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_a_line_of_a_megabyte_of_anything_is_read_or_refused_at_once(name: str, tmp_path: Path):
    for fill in FILLS:
        require_fast(name, fill, tmp_path)
