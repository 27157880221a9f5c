"""The campaigns against harmful servers, files and machines: what they run and keep."""

import datetime
import importlib

import pytest
from benches.campaigns import CAMPAIGNS, RECORD, Campaign, Outcome, recorded
from benches.rig import named_with

BY_NAME = {
    "hostile_servers": "MANNERS",
    "hostile_http2": "MANNERS",
    "hostile_grpc": "MANNERS",
    "hostile_messages": "MANNERS",
    "hostile_folders": "CASES",
}
"""Which table of names `--only` selects from, in the campaigns that have it."""


@pytest.mark.parametrize("module", BY_NAME)
def test_the_short_form_selects_some_but_not_all(module):
    [campaign] = [one for one in CAMPAIGNS if one.module == module]
    names = getattr(importlib.import_module(f"benches.{module}"), BY_NAME[module])
    text = campaign.short[campaign.short.index("--only") + 1]
    assert 0 < len(named_with(text, names)) < len(names)


def test_a_selection_of_nothing_is_refused():
    with pytest.raises(SystemExit, match="no name has the text 'x'"):
        named_with("x", ["a", "b"])


def test_every_campaign_has_one_row_in_the_page_of_results():
    page = RECORD.read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(campaign.module for campaign in CAMPAIGNS)


def test_a_result_replaces_its_own_row_alone():
    page = "# T\n\n| campaign |\n|---|\n| `one` | old |\n| `other` | old |\n"
    outcome = Outcome(Campaign("one", "servers"), 1, 90.0, "3 | 4 wrong")
    lines = recorded(page, outcome, datetime.date(2026, 1, 2)).splitlines()
    assert lines[:4] + lines[5:] == ["# T", "", "| campaign |", "|---|", "| `other` | old |"]
    # A bar would begin another cell.
    assert lines[4].startswith("| `one` | servers | 2026-01-02 | 1.5 | exit code 1 | 3 / 4 wrong | ")
