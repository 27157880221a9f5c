"""The JSON of three versions of autocannon (tests/data/tools/autocannon) is read as it is there."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "autocannon"
VERSIONS = ["4.6.0", "7.15.0", "9.0.0"]


def figures(path: Path | str) -> ToolFigures:
    return read_figures(Source(DATA / path), None)[0]


def document(name: str) -> dict[str, Any]:
    found = json.loads((DATA / name).read_text())
    assert isinstance(found, dict)
    return found


def changed(folder: Path, name: str, **changes: object) -> ToolFigures:
    (folder / "run").write_text(json.dumps(document(name) | changes, indent=2))
    return figures(folder / "run")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["half", "rate"])
def test_its_json_is_read_as_it_stands(version: str, kind: str):
    name = f"{version}-{kind}.json"
    written, found = document(name), figures(name)
    assert format_of(Source(DATA / name), None).name == "autocannon-json"
    assert (found.answered, found.failed) == (written["requests"]["total"], 0)
    assert found.ok == written["2xx"]
    assert found.status is not None
    assert (found.status["2xx"], found.status["4xx"]) == (written["2xx"], written["4xx"])
    # It has two decimals of it, and moments of start and end in ms.
    assert found.duration_s == pytest.approx(written["duration"], abs=0.0101)
    assert (found.asked.connections, found.asked.target) == (written["connections"], written["url"])
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.mean, latency.max) == (written["latency"]["mean"], written["latency"]["max"])
    assert found.bytes_received == written["throughput"]["total"]
    assert found.latency.resolution_ms == 1.0


@pytest.mark.parametrize("version", VERSIONS)
def test_its_percentiles_are_whole_milliseconds_of_which_0_is_none(version: str):
    written, found = document(f"{version}-half.json")["latency"], figures(f"{version}-half.json")
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.p50, latency.p99, latency.min) == (written["p50"] or None, written["p99"], None)


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_connections_are_failures(version: str):
    found = figures(f"{version}-refused.json")
    assert (found.answered, found.failed) == (0, document(f"{version}-refused.json")["errors"])
    assert found.latency is None


def test_times_that_it_added_at_a_rate_are_said():
    """It has 370 times of 126 answers."""
    assert figures("9.0.0-rate.json").not_measured == [
        "latencies alone: autocannon added 244 for requests that it sent late"
    ]
    assert figures("9.0.0-half.json").not_measured == []


def test_answers_with_another_body_are_failures_and_timeouts_are_among_its_errors(tmp_path: Path):
    found = changed(tmp_path, "9.0.0-half.json", mismatches=10, errors=7, timeouts=3)
    assert (found.answered, found.failed) == (28186 - 10, 17)
    assert (found.errors["timeout"], found.errors["mismatch"]) == (3, 10)


def test_moments_that_do_not_fit_its_duration_are_said(tmp_path: Path):
    found = changed(tmp_path, "9.0.0-half.json", duration=10.03)
    assert found.duration_s == 10.03
    assert found.contradictions == ["2.030 s from its start to its end, and it says 10.03 s"]
    [said] = changed(tmp_path, "9.0.0-half.json", **{"4xx": 100}).contradictions
    assert said == "14,302 answers by status are not the 28,186 of all requests"


def test_its_text_is_refused_with_what_is_read():
    with pytest.raises(BadInput, match=r"rounds its counts .* import its JSON \(autocannon -j\)"):
        figures("9.0.0-half.txt")
