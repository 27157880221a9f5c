"""Columns of numbers in as few bytes as they need: what was added comes back."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.tools.numbers import Numbers

NUMBERS = st.one_of(
    st.integers(0, 300), st.integers(0, 2**16 + 10), st.integers(0, 2**33), st.integers(0, 2**63 - 1)
)


@given(st.lists(st.lists(NUMBERS)))
def test_numbers_come_back_in_their_order(blocks: list[list[int]]):
    numbers = Numbers()
    for block in blocks:
        numbers.add(numpy.array(block, numpy.int64))
    assert numbers.taken().tolist() == [number for block in blocks for number in block]
    assert not len(numbers.taken())


@pytest.mark.parametrize(
    ("greatest", "bytes_each"), [(255, 1), (256, 2), (2**16, 4), (2**32 - 1, 4), (2**32, 8), (2**63 - 1, 8)]
)
def test_each_takes_as_many_bytes_as_the_greatest_needs(greatest: int, bytes_each: int):
    numbers = Numbers()
    many = numpy.arange(100_000) % 100
    numbers.add(many)
    numbers.add(numpy.array([greatest]))
    numbers.add(many)
    taken = numbers.taken()
    assert taken.itemsize == bytes_each
    assert taken.tolist() == [*many, greatest, *many]
