"""Reports of artillery 1.5 to 2.0 (tests/data/tools/artillery) are read as they are there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "artillery"


def figures(path: Path | str) -> ToolFigures:
    return read_figures(Source(DATA / path), None)[0]


def aggregate(name: str) -> dict[str, Any]:
    found = json.loads((DATA / name).read_text())["aggregate"]
    assert isinstance(found, dict)
    return found


def written(folder: Path, run: dict[str, Any]) -> Path:
    (folder / "report").write_text(json.dumps({"aggregate": run, "intermediate": []}))
    return folder / "report"


@pytest.mark.parametrize("name", ["1.5.0-half.json", "1.5.0-closed.json", "1.7.9-half.json"])
def test_a_report_of_version_1_is_read_as_it_is(name: str):
    said, found = aggregate(name), figures(name)
    assert format_of(Source(DATA / name), None).name == "artillery-json"
    assert (found.answered, found.failed) == (said["requestsCompleted"], sum(said["errors"].values()))
    assert found.status is not None
    for digit in "2345":
        codes = [count for code, count in said["codes"].items() if code.startswith(digit)]
        assert found.status.get(f"{digit}xx", 0) == sum(codes)
    assert said["rps"]["count"] / found.duration_s == pytest.approx(said["rps"]["mean"])
    assert found.latency is not None
    latency, times = found.latency.distribution, said["latency"]
    assert (latency.min, latency.p50, latency.max) == (times["min"] or None, times["median"], times["max"])
    assert (latency.p95, latency.p99, latency.mean) == (times["p95"], None, None)


def test_a_report_of_version_2_is_read_as_it_is():
    said, found = aggregate("2.0.21-half.json"), figures("2.0.21-half.json")
    counters = said["counters"]
    assert (found.answered, found.failed) == (counters["http.responses"], 0)
    assert found.status == {
        "2xx": counters["http.codes.200"],
        "3xx": counters["http.codes.302"],
        "4xx": counters["http.codes.404"],
    }
    assert found.bytes_body == counters["http.downloaded_bytes"]
    assert found.latency is not None
    latency, times = found.latency.distribution, said["summaries"]["http.response_time"]
    assert (latency.count, latency.mean, latency.max) == (times["count"], times["mean"], times["max"])
    assert (latency.p50, latency.p75, latency.p90, latency.p95) == (
        times["p50"], times["p75"], times["p90"], times["p95"],
    )  # fmt: skip
    assert (latency.min, latency.p99) == (None, None), "0 is below a step, and 105 do not bound the other"


def test_its_text_says_the_same_of_the_run_and_is_refused_with_what_is_read():
    said = dict(re.findall(r"^(http\.[a-z0-9.]+): \.+ (\d+)$", (DATA / "2.0.21-half.txt").read_text(), re.M))
    found = figures("2.0.21-half.json")
    assert found.answered == int(said["http.responses"])
    assert found.status is not None
    assert found.status["4xx"] == int(said["http.codes.404"])


def test_the_moments_of_its_counts_are_the_window_and_not_its_rate_which_is_a_mean_of_periods():
    """50 requests in 4.9 s: 5 in the 0.4 s of the first period at 5/s, and 45 in the second at 10/s."""
    said, found = aggregate("2.0.21-refused.json"), figures("2.0.21-refused.json")
    assert found.failed == 50
    assert found.duration_s == pytest.approx(4.939)
    assert found.began_unix_s == said["firstCounterAt"] / 1e3
    assert said["rates"]["http.request_rate"] == 8


def test_names_of_the_first_reports_of_version_2_had_a_prefix():
    said, found = aggregate("2.0.0-7-half.json"), figures("2.0.0-7-half.json")
    assert found.answered == said["counters"]["engine.http.responses"] == 116
    assert found.latency is not None
    assert (found.latency.distribution.count, found.latency.completeness) == (106, "sampled")


@pytest.mark.parametrize("name", ["1.7.9-refused.json", "2.0.21-refused.json"])
def test_requests_without_a_response_have_failed_by_their_class(name: str):
    found = figures(name)
    assert (found.answered, found.failed, found.errors["connect_refused"]) == (0, 50, 50)
    assert found.latency is None


@pytest.mark.parametrize("name", ["1.7.9-slow.json", "2.0.21-slow.json"])
def test_a_response_that_was_not_whole_in_time_is_a_timeout(name: str):
    """Of 45 requests some had a status within the timeout of 1 s, and none its whole body."""
    found = figures(name)
    assert (found.answered, found.failed, found.errors["timeout"]) == (0, 45, 45)
    assert (found.status, found.latency) == (None, None)


def test_a_failed_capture_is_a_failed_check_and_hides_what_is_of_answers_alone():
    found = figures("2.0.21-check.json")
    assert (found.answered, found.failed) == (42, 45)
    assert (found.errors["check_failed"], found.errors["reset"]) == (42, 3)
    assert (found.status, found.latency) == (None, None)
    assert found.not_measured == [
        "latencies of answers: artillery summarises those of failures with them",
        "answers by class of their status: artillery counts those of failures with them",
    ]


def test_more_errors_than_requests_are_a_contradiction(tmp_path: Path):
    run = aggregate("2.0.21-refused.json")
    run["counters"]["errors.undefined function"] = 5
    found = figures(written(tmp_path, run))
    assert (found.answered, found.failed) == (0, 50)
    assert found.contradictions == ["55 errors are more than 50 requests"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lastCounterAt": 1795823329581}, "0 s from its first count to its last one"),
        ({"counters": {"http.requests": 1, "http.responses": 2, "vusers.created": 1}}, "2 responses to 1"),
        ({"counters": {"http.requests": 1, "http.codes.20x": 2, "vusers.created": 1}}, "a status of 20x"),
        ({"firstCounterAt": None}, "aggregate.firstCounterAt"),
    ],
)  # fmt: skip
def test_what_no_load_can_be_is_refused(change: dict[str, Any], said: str, tmp_path: Path):
    with pytest.raises(Unreadable, match=said):
        figures(written(tmp_path, aggregate("2.0.21-refused.json") | change))
