"""What threads make of blocks beforehand: in the order of the blocks, with errors in their place."""

from collections.abc import Iterator
from itertools import count

import pytest

from loadcurve.tools.blocks import made_ahead


def test_what_is_made_comes_in_the_order_of_the_items():
    assert list(made_ahead(lambda item: -item, iter(range(100)), threads=3)) == [-item for item in range(100)]


def test_nothing_is_made_of_nothing():
    assert list(made_ahead(str, iter(()), threads=2)) == []


def test_an_error_of_an_item_comes_behind_what_was_made_of_those_before_it():
    def items() -> Iterator[int]:
        yield from range(3)
        raise ValueError("the fourth")

    made = made_ahead(str, items(), threads=2)
    assert [next(made) for _ in range(3)] == ["0", "1", "2"]
    with pytest.raises(ValueError, match="the fourth"):
        next(made)


def test_an_error_of_the_making_comes_in_its_place():
    made = made_ahead(lambda item: 6 // (item - 2), iter(range(5)), threads=3)
    assert [next(made), next(made)] == [-3, -6]
    with pytest.raises(ZeroDivisionError):
        next(made)


def test_of_endless_items_only_as_many_are_taken_as_there_are_threads():
    items = count()
    made = made_ahead(lambda item: item, items, threads=2)
    assert [next(made) for _ in range(5)] == [0, 1, 2, 3, 4]
    made.close()
    assert next(items) == 7
