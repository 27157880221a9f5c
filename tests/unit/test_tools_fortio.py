"""The JSON of four versions of fortio says what fortio printed of the same calls."""

import json
import re
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.imported.pattern import named_files
from loadcurve.imported.plan import read_files
from loadcurve.imported.records import load_result
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.possible import out_of_order
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "fortio"
MADE = DATA.parent / "made"
VERSIONS = ["1.3.1", "1.17.1", "1.38.4", "1.63.10"]


def figures(name: str) -> ToolFigures:
    return read_figures(Source(DATA / name), None)[0]


def said(version: str, pattern: str) -> float:
    found = re.search(pattern, (DATA / f"{version}.txt").read_text(), re.MULTILINE)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_json_of_each_version_says_what_it_printed(version: str):
    name = f"{version}.json"
    assert format_of(Source(DATA / name), None).name == "fortio-json"
    found = figures(name)
    assert (found.answered, found.failed) == (said(version, r"^Code 200 : (\d+)"), 0)
    assert found.duration_s == pytest.approx(said(version, r"^Ended after ([\d.]+)ms") / 1e3)
    assert found.answered / found.duration_s == pytest.approx(said(version, r"qps=([\d.]+)"), rel=1e-4)
    assert found.asked.connections == said(version, r"with (\d+) thread")
    assert found.asked.rate_rps == said(version, r"running at (\d+) queries")
    assert found.connections_opened == said(version, r"Sockets used: (\d+)")
    assert found.latency is not None
    latency = found.latency.distribution
    times = r"^Aggregated Function Time : count \d+ avg \S+ \S+ \S+ min \S+ max "
    assert latency.count == said(version, r"^Aggregated Function Time : count (\d+)")
    assert latency.max == pytest.approx(1e3 * said(version, times + r"(\S+)"))
    assert latency.min == pytest.approx(1e3 * said(version, r"^Aggregated .* min (\S+)"))
    assert latency.mean == pytest.approx(1e3 * said(version, r"^Aggregated .* avg (\S+)"), rel=1e-6)
    for share, ours in ((50, latency.p50), (75, latency.p75), (90, latency.p90)):
        assert ours == pytest.approx(1e3 * said(version, rf"^# target {share}% (\S+)"), rel=1e-5)


@pytest.mark.parametrize("version", ["1.3.1", "1.63.10"])
def test_calls_without_an_answer_failed_and_error_statuses_are_answers(version: str):
    refused, missing = figures(f"{version}-refused.json"), figures(f"{version}-404.json")
    assert (refused.answered, refused.failed, refused.latency) == (0, 20, None)
    assert (missing.answered, missing.failed, missing.status) == (40, 0, {"4xx": 40})


def test_nighthawks_json_has_counts_as_texts_and_fewer_times_than_statuses():
    found = read_figures(Source(MADE / "nighthawk-fortio.json"), None)[0]
    assert (found.answered, found.failed, found.duration_s, found.status) == (380, 0, 10.0, {"2xx": 380})
    assert (found.asked.rate_rps, found.asked.connections) == (40.0, 4)
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.count, latency.p50, latency.p90, latency.p99) == (376, 4.0, 8.0, 18.0)
    assert found.not_measured == ["latencies of 4 of the 380 calls"]


def test_a_rate_that_is_not_that_of_the_calls_is_said(tmp_path: Path):
    text = (MADE / "nighthawk-fortio.json").read_text()
    (tmp_path / "run").write_text(text.replace('"ActualQPS":38.0', '"ActualQPS":44.0'))
    [said] = read_figures(Source(tmp_path / "run"), None)[0].contradictions
    assert said == "380 calls in 10 s are 38.0/s, and it says 44/s"


def test_times_that_are_out_of_order_are_said(tmp_path: Path):
    document = json.loads((DATA / "1.63.10.json").read_text())
    histogram = document["DurationHistogram"]
    [p90] = [one for one in histogram["Percentiles"] if one["Percentile"] == 90]
    p90["Value"], histogram["Max"] = 0.1, 0.01
    for one in histogram["Percentiles"]:
        one["Value"] = min(one["Value"], 0.1)
    path = tmp_path / "out-of-order.json"
    path.write_text(json.dumps(document))
    [one] = read_files(named_files([str(path)], ""), None, None, {})
    verdict = load_result(one).verdict
    assert verdict.status != "valid"
    [text] = [reason.text for reason in verdict.reasons if reason.code == "contradictory"]
    assert "a p90 of 100 ms is above a" in text
    # What each version wrote is in order.
    for version in VERSIONS:
        found = figures(f"{version}.json").latency
        assert found is not None
        assert out_of_order(found) is None


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"ActualDuration": 10**22}, "duration_ns has a whole number of more than 1e+18"),
        ({"RetCodes": {"200": 10**16}}, "answers; expected the figures of a load"),
    ],
)
def test_figures_that_no_load_can_have_are_refused(tmp_path: Path, change: dict[str, object], found: str):
    path = tmp_path / "impossible.json"
    path.write_text(json.dumps(json.loads((DATA / "1.63.10.json").read_text()) | change))
    with pytest.raises(BadInput) as refused:
        read_figures(Source(path), None)
    assert str(path) in str(refused.value)
    assert found in str(refused.value)
