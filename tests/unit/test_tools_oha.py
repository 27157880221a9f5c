"""The JSON that oha wrote is read as written, and its parts agree."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "oha"
VERSIONS = ["0.5.9", "0.6.5", "1.4.7", "1.9.0"]
KINDS = ["", "-not-found", "-refused"]
NAMES = [f"{version}{kind}.json" for version in VERSIONS for kind in KINDS]


def document(name: str) -> Any:
    return json.loads((DATA / name).read_text())


def figures(name: str) -> ToolFigures:
    return read_figures(Source(DATA / name), None)[0]


@pytest.mark.parametrize("name", NAMES)
def test_requests_are_as_many_as_the_rate_and_the_time_of_oha_say(name: str):
    assert format_of(Source(DATA / name), None).name == "oha-json"
    found, summary = figures(name), document(name)["summary"]
    assert found.duration_s == summary["total"]
    assert found.failed is not None
    assert found.answered + found.failed == pytest.approx(summary["requestsPerSec"] * summary["total"])
    assert found.answered == sum(document(name)["responseTimeHistogram"].values())
    assert found.bytes_body == summary["totalData"]


@pytest.mark.parametrize("name", NAMES)
def test_times_are_those_that_stand_there_in_milliseconds(name: str):
    summary, percentiles = document(name)["summary"], document(name)["latencyPercentiles"]
    latency = figures(name).latency
    assert latency is not None
    ours = latency.distribution
    for figure, seconds in (
        (ours.min, summary["fastest"]),
        (ours.mean, summary["average"]),
        (ours.max, summary["slowest"]),
        (ours.p50, percentiles["p50"]),
        (ours.p90, percentiles["p90"]),
    ):
        assert figure == (None if seconds is None else pytest.approx(1e3 * seconds))


def test_a_csv_has_a_line_for_each_answer():
    found = figures("1.9.0.csv")
    lines = (DATA / "1.9.0.csv").read_text().splitlines()[1:]
    times_s = [float(line.split(",")[4]) for line in lines]
    assert format_of(Source(DATA / "1.9.0.csv"), None).name == "oha-csv"
    assert (found.answered, found.failed, found.bytes_body) == (120, None, 120 * 1024)
    assert found.latency is not None
    assert found.latency.distribution.mean == pytest.approx(1e3 * sum(times_s) / 120)
    assert found.latency.distribution.max == pytest.approx(1e3 * max(times_s))


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_connections_are_failures_and_error_statuses_are_answers(version: str):
    refused, missing = figures(f"{version}-refused.json"), figures(f"{version}-not-found.json")
    assert (refused.answered, refused.failed, refused.errors["connect_refused"]) == (0, 40, 40)
    assert (missing.answered, missing.failed, missing.status) == (40, 0, {"4xx": 40})
