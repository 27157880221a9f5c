"""Tables of a run of any length: the page stays short, and nothing is lost."""

import re
from collections.abc import Sequence

import pytest

from loadcurve.report.appearance import appearances
from loadcurve.report.long_table import MOST_ROWS, Cell, TableRow, rest_of
from loadcurve.report.reasons import remarks
from loadcurve.result.folder import Run
from loadcurve.result.outcomes import Verdict, VerdictReason
from support import synthetic_run as synthetic
from support.page import rows_of
from support.report_pages import render_run


def doubted(run: Run, codes: Sequence[str]) -> Run:
    """The run in which every point of nginx is suspect, for reasons that tell its own number."""
    records = []
    for number, record in enumerate(run.points):
        reasons = [VerdictReason(code=code, text=f"{code} {number}") for code in codes]
        verdict = Verdict(status="suspect", reasons=reasons, notes=[])
        records.append(synthetic.with_load(record, verdict=verdict) if record.server == "nginx" else record)
    return synthetic.with_records(run, records)


def test_reasons_of_one_kind_are_one_row_however_many_there_are(run: Run):
    found = [one for one in remarks(doubted(run, ["unsettled", "rig_ceiling"])) if one.server == "nginx"]
    measured = [record for record in run.points if record.server == "nginx"]
    assert [(one.count, one.where) for one in found] == [(len(measured), "connections = 1 to 200")] * 2
    assert len(measured) == len(synthetic.TRIAL_FACTORS) * len(synthetic.CONNECTIONS)


def test_the_example_of_a_reason_is_at_the_highest_load(run: Run):
    [found] = [one for one in remarks(doubted(run, ["unsettled"])) if one.server == "nginx"]
    assert found.place == len(synthetic.CONNECTIONS) - 1
    number = int(found.example.removeprefix("unsettled "))
    example = run.points[number]
    assert (example.trial, example.point) == (found.trial, {"connections": 200})


def rows(count: int) -> list[TableRow]:
    return [
        TableRow(
            server="a" if number % 2 else "b",
            place=number,
            figures=[
                Cell(str(number), number),
                Cell("1,000", 1000.5, "990 to 1,010"),
                Cell("—", None),
                Cell("0", 0),
            ],
            trials=Cell("3 of 3", 3),
            verdict=None if number == count - 1 else "valid",
        )
        for number in range(count)
    ]


def test_a_table_of_few_rows_stands_on_the_page_whole():
    assert rest_of(rows(MOST_ROWS), appearances(["a", "b"])) is None


def test_what_does_not_stand_on_the_page_is_there_as_data():
    rest = rest_of(rows(MOST_ROWS + 30), appearances(["a", "b"]))
    stored = rows_of(rest["rows"])
    assert [row["place"] for row in stored] == list(range(MOST_ROWS, MOST_ROWS + 30))
    assert (stored[0]["shown-1"], stored[0]["sort-1"], stored[0]["margin-1"]) == (
        "1,000",
        1000.5,
        "990 to 1,010",
    )
    assert (stored[0]["sort-2"], stored[-1]["verdict"], rest["figures"]) == (None, None, 4)


def test_the_page_says_how_many_rows_there_are_and_where_paper_has_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("loadcurve.report.long_table.MOST_ROWS", 10)
    monkeypatch.setattr("loadcurve.report.html.MOST_ROWS", 10)
    page = render_run(run)
    assert "first 10 of 24 rows" in page
    table = page.partition('data-rest="rest-of-rows"')[2].partition("</table>")[0]
    assert len(re.findall("<tr>", table.partition("<tbody>")[2])) == 10
    assert "report-estimates.csv" in page
