"""What another says, as a sentence behind which ours follows and as a part of ours."""

import pytest

from loadcurve.errors import clause, sentence


@pytest.mark.parametrize("said", ["Too many open files", "Too many open files.", "Too many open files. \n"])
def test_a_sentence_has_one_full_stop_whoever_wrote_it(said: str):
    assert sentence(said) == "Too many open files."


@pytest.mark.parametrize("said", ["Is it there?", "It is not!", "It ended early \N{HORIZONTAL ELLIPSIS}"])
def test_a_sentence_that_ends_in_another_way_keeps_its_end(said: str):
    assert sentence(said) == said


@pytest.mark.parametrize("said", ["the server ended", "the server ended."])
def test_a_part_of_a_sentence_has_no_full_stop(said: str):
    assert clause(said) == "the server ended"


def test_dots_that_say_that_something_goes_on_are_kept():
    assert clause("first, second, ...") == "first, second, ..."
