"""An option of a load is one row: everything else follows from its field."""

from collections import Counter
from typing import Annotated, get_args

import pytest
from docs.generate import load_options
from pydantic import Field

from loadcurve.cli.commands.load import ROWS
from loadcurve.cli.commands.load_options import LOAD_OPTIONS
from loadcurve.cli.commands.row import PANELS
from loadcurve.loads.http import ClosedLoad, ClosedLoadTable
from loadcurve.loads.models import INNER_TABLES, LoadTables
from loadcurve.loads.option import (
    ASKED,
    CommandLine,
    OtherTools,
    Panel,
    Planned,
    options_of,
    planned_in,
    said_of,
)
from loadcurve.loads.values import PositiveCount, Timeout
from loadcurve.tools.exact import only_defaults

TABLES = (*get_args(LoadTables), *INNER_TABLES.values())


class LaterTable(ClosedLoadTable):
    """A closed loop with an option more, all of which is said here."""

    later_s: Annotated[
        Timeout | None,
        CommandLine("-l/--later", help="Another time.", metavar="TIME", panel="Requests", place=5),
        Planned("conversation"),
        ASKED,
    ] = Field(None, alias="later")


def test_the_row_of_the_command_follows_from_the_field():
    [(name, option)] = [one for one in options_of(LaterTable) if one[1].parameter == "later"]
    text = load_options._row(LaterTable.model_fields[name], name, option)
    assert " ".join(text.split()) == (
        'Row("later", "-l/--later", str, help="Another time.", metavar="TIME", panel="Requests", place=5),'
    )


def test_its_place_in_the_plan_and_what_other_tools_do_with_it_follow_as_well():
    assert "later_s" in planned_in(LaterTable, "conversation")
    load = LaterTable(model="closed", requests=["/"], connections=1, duration=1.0, later="1s")
    assert list(only_defaults(load)) == []


def test_what_narrows_a_field_has_what_is_said_of_it_in_the_base():
    assert said_of(ClosedLoad, "connections", CommandLine) == said_of(
        ClosedLoadTable, "connections", CommandLine
    )
    assert said_of(ClosedLoad, "connections", OtherTools) == [ASKED]


def test_bounds_and_defaults_are_those_of_the_field():
    class Bounded(ClosedLoadTable):
        share: Annotated[float, Field(ge=0, le=1), CommandLine("--share", help="A share.")] = 0.5
        count: Annotated[PositiveCount, CommandLine("--count", help="A count.", default=None)] = 7

    rows = {
        name: load_options._row(Bounded.model_fields[name], name, option)
        for name, option in options_of(Bounded)
    }
    assert "default=0.5" in rows["share"]
    assert "minimum=0" in rows["share"]
    assert "maximum=1)" in rows["share"]
    assert "minimum=1)" in rows["count"]
    assert "default" not in rows["count"], "the command has another one than a study: none"


def test_no_two_options_have_a_name_in_common():
    names = Counter(name for row in ROWS for name in row.written.split("/"))
    assert [name for name, count in names.items() if count > 1] == []
    assert Counter(row.name for row in ROWS).most_common(1)[0][1] == 1
    attributes = Counter(
        (name, option.written)
        for table in TABLES
        for name, option in options_of(table)
        if name in table.__annotations__
    )
    assert [one for one, count in attributes.items() if count > 1] == []


def test_the_rows_of_the_command_are_the_options_of_the_tables():
    there = {option.parameter: option.written for table in TABLES for _, option in options_of(table)}
    assert {row.name: row.written for row in LOAD_OPTIONS} == there


def test_every_section_of_a_row_is_one_of_the_help():
    assert {None, *get_args(Panel)} == {*PANELS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_says_in_a_sentence_what_it_is(row):
    assert row.help.endswith(".")
    assert row.help[0].isupper() or row.help.startswith("HTTP")


def test_no_help_repeats_what_the_row_has_as_its_default():
    helps = [option.help for table in TABLES for _, option in options_of(table)]
    assert [one for one in helps if "default" in one] == []
