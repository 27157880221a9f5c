"""The page of a large run stays small enough to be sent and opened."""

import json

import pytest

from loadcurve.report.columns import columns
from loadcurve.report.columns import rows_of as made_again
from support.large_run import large_run
from support.page import rows_of
from support.report_pages import render_run

MOST_BYTES = 8_000_000


@pytest.mark.long
def test_the_page_of_ten_servers_fifty_points_and_ten_trials_is_below_eight_megabytes():
    assert len(render_run(large_run()).encode()) < MOST_BYTES


@pytest.mark.parametrize(
    "values",
    [
        [7, 7, 7, 7],
        [1, 2, 3, 4],
        [1, 1, 1, 1, 2, 2, 2, 2],
        [1, 2, 1, 2, 1, 2, 1, 2],
        [1, True, 1.0, None, "1", 1],
        [None, None, None, 0, 0, 0, False, False, False],
        [],
    ],
)
def test_rows_come_out_of_columns_as_they_went_in(values: list[object]):
    rows = [{"place": place, "value": value} for place, value in enumerate(values)]
    stored = columns(rows)
    assert rows_of(json.loads(json.dumps(stored))) == rows == made_again(stored)
    # One and true are equal in Python, but not in JSON.
    assert [type(row["value"]) for row in rows_of(stored)] == [type(value) for value in values]


def test_a_column_of_one_value_or_of_few_is_stored_as_these():
    rows = [{"server": "nginx", "even": x % 2 == 0} for x in range(9)]
    assert columns(rows)["columns"] == {
        "server": {"all": "nginx"},
        "even": {"of": [True, False], "at": [0, 1, 0, 1, 0, 1, 0, 1, 0]},
    }
