"""The axis of servers, where nothing else varies."""

import json
import re

import pytest

from loadcurve.analysis.sweep import Slice
from loadcurve.report.charts.figure import sweep_axis

SETTINGS = [f"nginx-workers-{workers}-access_log-{log}" for workers in (1, 2, 4) for log in ("true", "false")]


def axis_of(servers):
    return sweep_axis(Slice(None, {}, [{}]), servers).to_dict()["axis"]


def labels_of(servers):
    """What is below the figure, in order; ``None`` where the axis has the names as they are."""
    found = re.fullmatch(r"\((\{.*\})\)\[datum\.value\]", axis_of(servers).get("labelExpr", ""))
    return found and [json.loads(found[1])[name] for name in servers]


def test_long_names_are_shortened_to_what_tells_them_apart():
    labels = labels_of(SETTINGS)
    assert len(set(labels)) == len(SETTINGS)
    # About 56 pixels each in the narrower figure, at 6 or 7 pixels for a character.
    assert max(map(len, labels)) <= 8


@pytest.mark.parametrize("servers", [["nginx", "caddy", "apache-event"], ["one"]])
def test_short_names_are_as_they_are(servers):
    assert labels_of(servers) is None
    assert axis_of(servers).get("labels") is None


def test_more_servers_than_have_room_are_named_by_the_legend_alone():
    assert axis_of([f"server-{number}" for number in range(20)])["labels"] is False
