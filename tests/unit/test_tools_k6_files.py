"""Files that versions of k6 wrote are read as the summary of the same run says."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "k6"
OLDEST = "0.30.0"
"""It has no metric of failures, which came with 0.31."""
NEWER = ["0.41.0", "1.0.0"]
VERSIONS = [OLDEST, *NEWER]


def figures(name: str) -> ToolFigures:
    return read_figures(Source(DATA / name), None)[0]


def metrics(name: str) -> dict[str, Any]:
    found = json.loads((DATA / f"{name}-summary.json").read_text())["metrics"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("file", "format_name", "summary"),
    [(".csv", "k6-csv", "-csv"), (".jsonl", "k6-json", ""), ("-not-found.jsonl", "k6-json", "-not-found")],
)
def test_samples_give_what_the_summary_says(version: str, file: str, format_name: str, summary: str):
    theirs, found = metrics(version + summary), figures(version + file)
    assert format_of(Source(DATA / (version + file)), None).name == format_name
    assert (found.answered, found.failed) == (theirs["http_reqs"]["count"], 0)
    assert found.latency is not None
    ours, times = found.latency.distribution, theirs["http_req_duration"]
    # The CSV has six decimals of a millisecond.
    assert [ours.min, ours.mean, ours.max] == pytest.approx(
        [times[one] for one in ("min", "avg", "max")], abs=1e-6
    )
    status = "4xx" if "not-found" in file else "2xx"
    assert {name: count for name, count in found.status.items() if count} == {status: found.answered}


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_connections_are_failures(version: str):
    found = figures(f"{version}-refused.jsonl")
    assert (found.answered, found.failed) == (0, metrics(f"{version}-refused")["http_reqs"]["count"])
    assert found.errors["connect_refused"] == found.failed


@pytest.mark.parametrize("version", NEWER)
def test_a_summary_is_read_as_it_stands(version: str):
    theirs, found = metrics(f"{version}-csv"), figures(f"{version}-csv-summary.json")
    assert (found.answered, found.failed) == (theirs["http_reqs"]["count"], 0)
    assert found.answered / found.duration_s == pytest.approx(theirs["http_reqs"]["rate"])
    assert found.latency is not None
    assert found.latency.distribution.p50 == theirs["http_req_duration"]["med"]
    refused = figures(f"{version}-refused-summary.json")
    assert (refused.answered, refused.failed) == (0, metrics(f"{version}-refused")["http_reqs"]["count"])


@pytest.mark.parametrize("kind", ["", "-refused"])
def test_a_summary_that_does_not_say_what_failed_is_refused(kind: str):
    with pytest.raises(Unreadable, match=r"how many requests failed; expected one of k6 0\.31 or newer"):
        figures(f"{OLDEST}{kind}-summary.json")
