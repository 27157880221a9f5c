"""Summaries of siege 4.0.7 and 4.2.0 (tests/data/tools/siege) are read as they are there."""

import json
import re
from pathlib import Path

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "siege"
TEXTS = sorted(file.name for file in DATA.glob("*.txt"))
JSONS = sorted(file.name for file in DATA.glob("*.json"))


def figures(path: Path | str) -> ToolFigures:
    return read_figures(Source(DATA / path), None)[0]


def changed(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    text = (DATA / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "changed").write_text(text)
    return folder / "changed"


@pytest.mark.parametrize("name", TEXTS)
def test_its_text_is_read_as_it_is(name: str):
    text, found = (DATA / name).read_text(), figures(name)
    said = dict(re.findall(r"^([A-Z][a-z ]+):\s+(\d[\d.]*)", text, re.MULTILINE))
    assert format_of(Source(DATA / name), None).name == "siege-text"
    assert (found.answered, found.failed) == (int(said["Transactions"]), int(said["Failed transactions"]))
    assert found.ok == int(said["Successful transactions"])
    assert found.duration_s == pytest.approx(float(said["Elapsed time"]), abs=0.01)
    assert found.answered / found.duration_s == pytest.approx(float(said["Transaction rate"]), rel=0.01)
    assert found.contradictions == []
    users = re.findall(r"Preparing (\d+) concurrent users", text)
    assert [found.asked.connections] == [*map(int, users)]
    assert f"SIEGE {found.version}" in text


@pytest.mark.parametrize("name", JSONS)
def test_its_json_is_read_as_it_is_whatever_is_in_front_of_it(name: str):
    text, found = (DATA / name).read_text(), figures(name)
    said = json.loads(text[text.index("{") :])
    assert format_of(Source(DATA / name), None).name == "siege-json"
    assert (found.answered, found.failed) == (said["transactions"], said["failed_transactions"])
    assert found.duration_s == pytest.approx(said["elapsed_time"], abs=0.01)


@pytest.mark.parametrize(
    ("name", "least_ms", "mean_ms", "most_ms"),
    [("4.0.7-slow.txt", 6010, 6030, 6040), ("4.2.0-b4-slow.txt", 6020, 6031.5, 6040)],
)
def test_times_have_the_unit_that_the_version_prints(
    name: str, least_ms: float, mean_ms: float, most_ms: float
):
    found = figures(name).latency
    assert found is not None
    latency = found.distribution
    assert (latency.count, latency.p50, found.resolution_ms) == (20, None, 10.0)
    assert (latency.min, latency.mean, latency.max) == pytest.approx((least_ms, mean_ms, most_ms))


def test_a_time_below_the_step_of_its_clock_is_not_known():
    found = figures("4.0.7-half.txt").latency
    assert found is not None
    assert (found.distribution.min, found.distribution.mean, found.distribution.max) == (None, None, 10.0)


def test_answers_of_4xx_are_neither_right_nor_failed():
    """Of 100 requests half were answered with 404, and it calls the availability 100 %."""
    found = figures("4.0.7-half.txt")
    assert (found.answered, found.ok, found.failed) == (100, 50, 0)


@pytest.mark.parametrize("name", ["4.0.7-errors.txt", "4.0.7-closed.txt", "4.2.0-b4-closed.json"])
def test_failures_hide_the_times_of_answers_and_which_of_them_are_5xx(name: str):
    found = figures(name)
    assert found.failed
    assert (found.latency, found.status, dict(found.errors)) == (None, None, {})
    assert found.not_measured == [
        "latencies of answers: siege summarises those of failures with them",
        "answers of 5xx: siege counts them as failures, with what had no answer",
    ]


def test_a_request_that_a_user_had_counted_by_half_is_right_once(tmp_path: Path):
    name = "4.0.7-timed-mixed.json"
    assert '"successful_transactions":\t       19443' in (DATA / name).read_text()
    assert (figures(name).answered, figures(name).ok) == (19442, 19442)
    more = changed(tmp_path, name, ("19443", "29443"))
    assert figures(more).ok == 29443


def test_a_document_that_another_program_has_written_anew_is_read(tmp_path: Path):
    text = (DATA / "4.0.7-half.json").read_text()
    (tmp_path / "compact").write_text(json.dumps(json.loads(text)))
    found = figures(tmp_path / "compact")
    assert (found.answered, found.ok, found.duration_s) == (100, 54, pytest.approx(100 / 3333.33))


def test_a_rate_that_is_not_that_of_its_time_is_said(tmp_path: Path):
    text = (DATA / "4.2.0-b4-timed.txt").read_text()
    assert "9057.83" in text
    [said] = figures(changed(tmp_path, "4.2.0-b4-timed.txt", ("9057.83", "5000.00"))).contradictions
    assert said == "22,554 transactions in 2.49 s are 9,057.8/s, and it says 5,000/s"


def test_a_load_shorter_than_its_clock_shows_is_refused(tmp_path: Path):
    short = changed(
        tmp_path, "4.0.7-half.txt", ("        0.02 secs", "        0.00 secs"), ("5000.00", "0.00")
    )
    with pytest.raises(Unreadable, match=r"an elapsed time of 0 s; .* longer than siege's clock shows"):
        figures(short)


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_text_of_an_old_version_is_read(end: str, tmp_path: Path):
    """Until 3.x it says "done." behind the battle, and what is pasted has its prompt."""
    text = (DATA / "4.0.7-half.txt").read_text().replace("siege...", "siege..      done.")
    old = f"user@host:~$ siege -b -c5 -r20 http://127.0.0.1/\n{text.replace('4.0.7', '2.70')}user@host:~$ \n"
    (tmp_path / "old").write_bytes(old.replace("\n", end).encode())
    found = figures(tmp_path / "old")
    assert (found.version, found.answered, found.ok) == ("2.70", 100, 50)
