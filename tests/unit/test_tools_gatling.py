"""Logs that versions of Gatling wrote are read as its own table of the same run says."""

import re
from pathlib import Path

import pytest

from loadcurve.generate.tools.figures import ToolFigures
from loadcurve.generate.tools.formats import format_of, read_figures
from loadcurve.generate.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "gatling"
VERSIONS = ["3.0.3", "3.4.2", "3.11.5"]


def figures(version: str) -> ToolFigures:
    return read_figures(Source(DATA / f"{version}.log"), None)[0]


def of_table(version: str, row: str) -> tuple[int, int]:
    """Return what stands in a row of Gatling's table for requests that are OK, and for those that are not."""
    found = re.search(rf"^> {row} .*\(OK=(\d+) +KO=(\d+) *\)", (DATA / f"{version}.txt").read_text(), re.M)
    assert found is not None, row
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("version", VERSIONS)
def test_counts_and_times_are_those_of_its_table_which_has_whole_milliseconds(version: str):
    assert format_of(Source(DATA / f"{version}.log"), None).name == "gatling-log"
    found = figures(version)
    assert (found.answered, found.failed) == of_table(version, "request count")
    assert found.version is not None
    assert version.startswith(found.version)
    assert found.latency is not None
    ours = found.latency.distribution
    for figure, row in (
        (ours.min, "min response time"),
        (ours.max, "max response time"),
        (ours.mean, "mean response time"),
    ):
        assert figure == pytest.approx(of_table(version, row)[0], abs=0.5), row


@pytest.mark.parametrize("version", VERSIONS)
def test_a_failed_check_of_the_status_is_a_failure_without_a_class(version: str):
    # Each of two users asked ten times for a page, for one that is not there, and at a port without a listener.
    found = figures(version)
    assert (found.failed, found.errors["connect_refused"]) == (40, 20)
