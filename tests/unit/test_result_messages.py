"""The messages of a load as records have them: their measures, and what cannot be true together."""

import pytest
from pydantic import ValidationError

from loadcurve.result.messages import MessagesResult
from support.measured_messages import FIGURES


def test_what_was_delivered_is_a_share_of_what_was_expected_if_anything_was():
    assert MessagesResult.model_validate(FIGURES).delivered_share == 0.8
    assert MessagesResult.model_validate(FIGURES | {"expected": None}).delivered_share is None


@pytest.mark.parametrize(
    ("figures", "problem"),
    [
        ({"together": 9}, "9 of 8 events arrived together"),
        ({"delivered": 11}, "11 events of 10 that are expected were delivered"),
        ({"reconnects": 2, "reconnects_with_id": 3}, "3 of 2 reconnects said an id"),
    ],
)
def test_figures_that_contradict_each_other_are_refused(figures, problem):
    with pytest.raises(ValidationError, match=problem):
        MessagesResult.model_validate(FIGURES | figures)
