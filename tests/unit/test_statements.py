"""No sentence of a report contradicts a number of the same page, whatever was measured."""

import pytest
from hypothesis import Phase, given, settings

from support.statements import check_statements
from support.wild_run import WildRun, near_runs, wild_runs
from unit.test_wild_runs import material

SHORT, LONG = 15, 1_000
SMALL = 40
PHASES = (Phase.explicit, Phase.generate)


def holds(wild: WildRun) -> None:
    check_statements(material(wild).analysis)


@settings(max_examples=SHORT, phases=PHASES)
@given(near_runs())
def test_no_sentence_contradicts_the_table_of_servers_that_are_near_one_another(wild: WildRun):
    holds(wild)


@settings(max_examples=SHORT, phases=PHASES)
@given(wild_runs(SMALL))
def test_no_sentence_contradicts_the_table_of_a_wild_run(wild: WildRun):
    holds(wild)


@pytest.mark.long
@pytest.mark.parametrize("runs", [near_runs(), wild_runs()], ids=["near", "wild"])
def test_no_sentence_contradicts_the_table(runs):
    settings(max_examples=LONG, phases=PHASES)(given(runs)(holds))()
