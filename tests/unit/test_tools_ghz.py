"""The JSON of ghz says what its own list of calls says, and counts of invented calls."""

import json
import math
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
MADE = json.loads((DATA / "made" / "ghz.json").read_text())


@pytest.fixture
def of(tmp_path: Path):
    def read(**changes: object) -> ToolFigures:
        (tmp_path / "ghz.json").write_text(json.dumps(MADE | changes))
        assert format_of(Source(tmp_path / "ghz.json"), None).name == "ghz-json"
        return read_figures(Source(tmp_path / "ghz.json"), None)[0]

    return read


@pytest.mark.parametrize(
    ("name", "connections", "streams", "rate"),
    [("0.121.0-errors", None, 4, None), ("0.121.0-timed", 4, None, 60.0)],
)
def test_the_figures_are_those_of_its_list_of_calls(name, connections, streams, rate):
    """The percentile of a share is the time at its place among those of calls that ended with OK."""
    calls = json.loads((DATA / "ghz" / f"{name}.json").read_text())["details"]
    found, form = read_figures(Source(DATA / "ghz" / f"{name}.json"), None)
    assert form.name == "ghz-json"
    times_ms = sorted(one["latency"] / 1e6 for one in calls if one["status"] == "OK")
    assert (found.answered, found.failed) == (len(times_ms), len(calls) - len(times_ms))
    assert found.failed
    assert (found.asked.connections, found.asked.streams, found.asked.rate_rps) == (
        connections,
        streams,
        rate,
    )
    assert found.latency is not None
    latency = found.latency.distribution
    # They went through seconds as floats, which are cut off at a nanosecond.
    shown = [latency.min, latency.max, latency.p50]
    own = [times_ms[0], times_ms[-1], times_ms[math.ceil(0.5 * len(times_ms)) - 1]]
    assert shown == pytest.approx(own, abs=1.1e-6)
    assert latency.mean is None
    assert found.contradictions == []


def test_counts_times_and_the_load_are_those_of_the_document(of):
    found = of()
    assert (found.answered, found.failed, found.duration_s) == (400, 0, 2.0)
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.min, latency.mean, latency.max) == (2.0, 12.5, 90.0)
    assert (latency.p50, latency.p75, latency.p90, latency.p95) == (11.0, 15.0, 21.0, 30.0)
    assert (found.asked.target, found.asked.paths) == ("127.0.0.1:50051", ["shop.Cart.Add"])


def test_a_call_that_did_not_end_with_ok_failed_and_the_mean_is_then_of_more_than_answers(of):
    found = of(
        statusCodeDistribution={"OK": 390, "Unavailable": 9, "DeadlineExceeded": 1},
        errorDistribution={"rpc error: code = Unavailable": 9, "rpc error: code = DeadlineExceeded": 1},
    )
    assert (found.answered, found.failed, found.ok) == (390, 10, 390)
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.count, latency.mean, latency.p50) == (390, None, 11.0)


def test_without_an_answer_there_are_no_times(of):
    found = of(statusCodeDistribution={"Unavailable": 400}, fastest=0, slowest=0, latencyDistribution=None)
    assert (found.answered, found.failed, found.latency) == (0, 400, None)


@pytest.mark.parametrize(
    ("options", "connections", "streams", "rate"),
    [
        ({"concurrency": 8, "connections": 1}, None, 8, None),
        ({"c": 8}, None, 8, None),
        ({"concurrency": 8, "connections": 8}, 8, None, None),
        ({"concurrency": 8, "connections": 2, "rps": 150}, 2, 4, 150.0),
        ({"concurrency": 8, "connections": 3}, 3, None, None),
        ({}, None, None, None),
    ],
)
def test_calls_at_once_are_streams_of_its_connections(of, options, connections, streams, rate):
    asked = of(options=options).asked
    assert (asked.connections, asked.streams, asked.rate_rps) == (connections, streams, rate)


def test_statuses_of_more_calls_than_there_were_are_refused(of):
    with pytest.raises(BadInput, match="found 401 calls by status; expected the 400 of count"):
        of(statusCodeDistribution={"OK": 401})


def test_a_rate_that_is_not_that_of_its_time_is_said(of):
    assert of(rps=250).contradictions == ["400 calls in 2 s are 200.0/s, and it says 250/s"]
