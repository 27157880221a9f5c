"""Logs that versions of Gatling wrote are read as its own table of the same run says."""

import json
import math
import re
from pathlib import Path

import pytest

from loadcurve.tools import blocks
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "gatling"
IN_TEXT = ["2.3.1", "3.0.3", "3.4.2", "3.11.5", "3.12.0"]
IN_BINARY = ["3.13.5", "3.15.1"]
VERSIONS = [*IN_TEXT, *IN_BINARY]
OF_ROWS = (r"\(OK=(\d+) +KO=(\d+) *\)", r"\| +\d+ \| +(\d+) \| +(\d+)$")
"""What tables say of requests that are OK and of others, until 3.12 and from then on."""


def figures(version: str) -> ToolFigures:
    return read_figures(Source(DATA / f"{version}.log"), None)[0]


def of_table(version: str, row: str) -> tuple[int, int]:
    """Return the content of a row of Gatling's table for requests that are OK, and for those that are not."""
    text = (DATA / f"{version}.txt").read_text()
    found = re.search(rf"^> {row} .*{OF_ROWS[version in IN_BINARY]}", text, re.M)
    assert found is not None, row
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("version", VERSIONS)
def test_counts_and_times_are_those_of_its_table_which_has_whole_milliseconds(version: str):
    form = format_of(Source(DATA / f"{version}.log"), None).name
    assert form == ("gatling-log" if version in IN_TEXT else "gatling-binary")
    found = figures(version)
    assert (found.answered, found.failed) == of_table(version, "request count")
    # All logs of Gatling 2 say 2.0.
    assert found.version == ("2" if version == "2.3.1" else ".".join(version.split(".")[:2]))
    assert found.latency is not None
    ours = found.latency.distribution
    for figure, row in (
        (ours.min, "min response time"),
        (ours.max, "max response time"),
        (ours.mean, "mean response time"),
    ):
        assert figure == pytest.approx(of_table(version, row)[0], abs=0.5), row


@pytest.mark.parametrize("version", VERSIONS)
def test_a_failed_check_of_the_status_is_a_failure_of_a_class_of_its_own(version: str):
    # Two users asked ten times each for a page, for one that is not there, and at a port without a listener.
    found = figures(version)
    assert (found.failed, found.errors["connect_refused"], found.errors["check_failed"]) == (40, 20, 20)
    assert found.ok == found.answered


def test_a_log_of_2_1_has_a_request_from_its_begin_to_the_end_of_its_answer():
    found = figures("2.1-made")
    assert format_of(Source(DATA / "2.1-made.log"), None).name == "gatling-log"
    assert (found.version, found.answered, found.failed, found.duration_s) == ("2", 1, 1, 0.132)
    assert [(one.operation, one.latency_ms.max) for one in found.operations] == [
        ("add", None),
        ("open", 42.0),
    ]
    assert found.errors["check_failed"] == 1


@pytest.mark.parametrize("version", ["2.3.1", "3.4.2", "3.11.5"])
@pytest.mark.parametrize("name", ["stats", "global_stats"])
def test_a_report_says_what_the_log_says_of_which_it_was_made(version: str, name: str):
    source = Source(DATA / f"{version}-{name}.json")
    found, form = read_figures(source, None)
    log = figures(version)
    assert form.name == "gatling-stats"
    assert (found.answered, found.failed) == (log.answered, log.failed)
    # It counts whole seconds, rounded up.
    assert found.duration_s == math.ceil(log.duration_s)
    assert found.latency is not None
    assert log.latency is not None
    ours, theirs = found.latency.distribution, log.latency.distribution
    assert (ours.min, ours.max) == (theirs.min, theirs.max)
    assert ours.mean == pytest.approx(theirs.mean, abs=0.5)
    by_name = {one.operation: (one.answered, one.failed) for one in found.operations}
    of_log = {one.operation: (one.answered, one.failed) for one in log.operations}
    assert by_name == (of_log if name == "stats" else {})


def test_figures_in_quotes_and_minuses_of_older_reports_are_numbers_and_none(tmp_path: Path):
    text = (DATA / "2.3.1-global_stats.json").read_text()
    quoted = re.sub(r'"(total|ok|ko)": ([\d.]+)', r'"\1": "\2"', text)
    file = tmp_path / "global_stats.json"
    file.write_text(quoted)
    assert (
        read_figures(Source(file), None)[0] == read_figures(Source(DATA / "2.3.1-global_stats.json"), None)[0]
    )
    for none in ('"-"', "-1"):
        file.write_text(quoted.replace('"ok": "4"', f'"ok": {none}'))
        latency = read_figures(Source(file), None)[0].latency
        assert latency is not None
        assert latency.distribution.min is None


def test_a_report_of_2_0_has_minus_one_for_times_of_no_request(tmp_path: Path):
    document = json.loads((DATA / "2.3.1-global_stats.json").read_text())
    for name, one in document.items():
        if name.startswith(("min", "max", "mean", "standard", "percentiles")):
            one["ko"] = -1
    document["numberOfRequests"] |= {"total": document["numberOfRequests"]["ok"], "ko": 0}
    document["meanNumberOfRequestsPerSecond"] |= {"total": 7.5, "ko": -1}
    (tmp_path / "file").write_text(json.dumps(document))
    found = read_figures(Source(tmp_path / "file"), None)[0]
    right = document["numberOfRequests"]["ok"]
    assert (found.answered, found.failed, found.duration_s) == (right, 0, right / 7.5)


@pytest.mark.parametrize("version", IN_TEXT)
def test_a_log_in_text_is_read_in_blocks_as_in_one(version: str, monkeypatch: pytest.MonkeyPatch):
    whole = figures(version)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
    assert figures(version) == whole


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"RUN\ta\ta\t1\t \t3.9.5\nRUN\ta\ta\t1\t \t3.9.5\n", "line 2: found 'RUN.*line RUN once"),
        (b"RUN\ta\ta\t1\t \tnew\n", "line 1: found 'RUN.*with its version"),
        (b"REQUEST\t\ta\t1\t2\tOK\t \nRUN\ta\ta\t1\t \t3.9.5\n", "line 1: found no line RUN until then"),
        (b"RUN\ta\ta\t1\t \t3.9.5\nREQUEST\t\t\xff\t1\t2\tOK\t \n", "line 2: found bytes that are not UTF-8"),
        (b"RUN\ta\ta\t1\t \t3.9.5\nREQUEST\t\ta\t1\t2\tO", "line 2: found 'REQUEST"),
    ],
)
def test_a_log_in_text_that_gatling_cannot_have_written_is_refused(text: bytes, problem: str, tmp_path: Path):
    wrong = tmp_path / "wrong.log"
    wrong.write_bytes(text)
    with pytest.raises(Unreadable, match=problem):
        read_figures(Source(wrong), "gatling-log")


@pytest.mark.parametrize("version", IN_BINARY)
def test_names_of_a_binary_log_are_in_whatever_coding_java_had_them(version: str):
    assert {one.operation for one in figures(version).operations} == {"page", "missing", "日本 refused"}


@pytest.mark.parametrize("version", IN_BINARY)
def test_a_binary_log_that_ends_within_a_record_is_read_until_then(version: str, tmp_path: Path):
    whole = (DATA / f"{version}.log").read_bytes()
    cut = tmp_path / "cut.log"
    # The last record is that of a user who ends, ten bytes long.
    cut.write_bytes(whole[:-1])
    found, _ = read_figures(Source(cut), None)
    assert (found.answered, found.failed) == (figures(version).answered, figures(version).failed)
    assert re.search(rf"cut off: .*record at byte {len(whole) - 10:,}", found.notes[0].text)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"3.15.1", b"3.12.1", "version '3.12.1'.*3.13 or newer"),
        (
            b"\x01\x00\x00\x00\x00\x00\x00\x00\x01",
            b"\x07\x00\x00\x00\x00\x00\x00\x00\x01",
            "a record of kind 7",
        ),
        (b"\x00\x00\x00\x04page\x00", b"\x00\x00\x00\x04page\x05", "a text in coding 5"),
        (b"\x00\x00\x00\x04page\x00", b"\x7f\x00\x00\x04page\x00", "a text of 2,130,706,436 bytes"),
        (b"\xff\xff\xff\xff", b"\xff\xff\xff\x00", "text 256, which has not stood there"),
    ],
)
def test_a_binary_log_that_gatling_cannot_have_written_is_refused(
    old: bytes, new: bytes, problem: str, tmp_path: Path
):
    whole = (DATA / "3.15.1.log").read_bytes()
    assert old in whole
    wrong = tmp_path / "wrong.log"
    wrong.write_bytes(whole.replace(old, new, 1))
    with pytest.raises(Unreadable, match=problem):
        read_figures(Source(wrong), None)
