"""JSON and text of bombardier 1.2.6 (tests/data/tools/bombardier) are read as they are there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "bombardier"


def figures(path: Path | str) -> ToolFigures:
    return read_figures(Source(DATA / path), None)[0]


def document(name: str) -> dict[str, Any]:
    text = (DATA / name).read_text()
    found = json.loads(text[text.index('{"spec"') :])
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", ["1.2.6-half.json", "1.2.6-rate.json", "1.2.6-with-progress.json"])
def test_its_json_is_read_as_it_stands_behind_any_lines_of_its_progress(name: str):
    written, found = document(name), figures(name)
    spec, result = written["spec"], written["result"]
    assert format_of(Source(DATA / name), None).name == "bombardier-json"
    assert found.answered == sum(result[f"req{digit}xx"] for digit in range(1, 6))
    assert (found.failed, found.duration_s) == (0, result["timeTakenSeconds"])
    assert found.status is not None
    assert (found.status["2xx"], found.status["4xx"]) == (result["req2xx"], result["req4xx"])
    assert (found.asked.connections, found.asked.rate_rps) == (spec["numberOfConnections"], spec.get("rate"))
    assert found.bytes_received == result["bytesRead"]
    assert found.latency is not None
    latency, times = found.latency.distribution, result["latency"]
    assert latency.mean == pytest.approx(times["mean"] / 1e3)
    assert (latency.max, latency.p50) == (
        times["max"] / 1e3,
        times["percentiles"]["50"] / 1e3 if found.answered > 5 else None,
    )


def test_its_text_is_read_as_it_stands():
    text, found = (DATA / "1.2.6-half.txt").read_text(), figures("1.2.6-half.txt")
    of = {name: int(count) for name, count in re.findall(r"([1-5]xx) - (\d+)", text)}
    assert (found.status, found.answered, found.failed) == (of, sum(of.values()), 0)
    rate_rps = float(re.findall(r"Reqs/sec +([\d.]+)", text)[0])
    assert found.answered / found.duration_s == pytest.approx(rate_rps)
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.mean, latency.stddev, latency.max) == (0.18669, 0.3963, 10.99)
    assert (latency.p50, latency.p75, latency.p90, latency.p95, latency.p99) == (
        0.136, 0.157, 0.205, 0.258, 2.3,
    )  # fmt: skip
    assert found.latency.resolution_ms == 0.01


def test_where_its_text_begins_with_the_duration_that_counts(tmp_path: Path):
    """Its rate is a mean of rates over 10 ms each, of which most are 0 at a low rate."""
    first = "Bombarding http://127.0.0.1:18480/half for 10s using 125 connection(s)\n"
    (tmp_path / "text").write_text(first + (DATA / "1.2.6-half.txt").read_text())
    found = figures(tmp_path / "text")
    assert (found.duration_s, found.asked.duration_s, found.asked.connections) == (10.0, 10.0, 125)
    assert found.asked.target == "http://127.0.0.1:18480/half"


@pytest.mark.parametrize("name", ["1.2.6-refused.json", "1.2.6-refused.txt"])
def test_requests_without_an_answer_are_failures_with_their_class(name: str):
    found = figures(name)
    assert (found.answered, found.failed, found.errors["connect_refused"]) == (0, 40, 40)
    assert found.latency is None


def test_latencies_of_failures_are_not_those_of_answers():
    found = figures("1.2.6-closed.txt")
    assert (found.answered, found.failed, found.errors["closed_early"], found.latency) == (99, 1, 1, None)
    assert "latencies of answers: bombardier summarises those of failures with them" in found.not_measured
    assert (found.asked.connections, found.asked.requests_total) == (4, 100)


def test_an_answer_that_broke_off_has_a_status_and_an_error(tmp_path: Path):
    written = document("1.2.6-half.json")
    written["result"]["errors"] = [{"description": "unexpected EOF", "count": 7}]
    (tmp_path / "run").write_text(json.dumps(written, separators=(",", ":")))
    found = figures(tmp_path / "run")
    assert (found.answered + 7, found.failed) == (figures("1.2.6-half.json").answered, 7)


def test_a_text_that_is_cut_off_is_refused(tmp_path: Path):
    lines = (DATA / "1.2.6-closed.txt").read_text().splitlines(keepends=True)
    for count in range(1, len(lines)):
        (tmp_path / "cut").write_text("".join(lines[:count]))
        with pytest.raises(Unreadable, match="expected"):
            read_figures(Source(tmp_path / "cut"), "bombardier-text")


def test_a_great_number_has_an_exponent_in_its_json():
    """Its longest time is 5.02498e+06 µs."""
    found = figures("1.2.6-slow.json")
    assert (found.answered, found.failed, found.errors["timeout"]) == (0, 4, 4)
    assert found.duration_s == 10.037927499


def test_a_load_took_as_long_as_its_requests_one_after_the_other():
    """Four requests of 5.02 s by two connections took 10.04 s; its mean rate is 4.14/s."""
    found = figures("1.2.6-slow.txt")
    assert found.duration_s == pytest.approx(10.04)
    assert found.not_measured[-1].endswith("from bombardier's mean latency, as its mean rate is above that")
