"""Columns of millions of numbers, in as few bytes as their greatest one needs."""

from typing import Any

import numpy
from numpy.typing import NDArray

Whole = NDArray[Any]
"""Whole numbers, of any width."""
_TYPES = (numpy.uint8, numpy.uint16, numpy.uint32, numpy.int64)
_GROWTH = 8
"""By one in as many there is more room each time: the kernel moves pages then, and copies none."""
_ROOM_MIN = 2**16


class Numbers:
    """Numbers of 0 or more, which are added in blocks."""

    def __init__(self) -> None:
        """Begin without any."""
        self._room: Whole = numpy.empty(_ROOM_MIN, _TYPES[0])
        self._count = 0

    def add(self, more: Whole) -> None:
        """Add some behind the others."""
        if not len(more):
            return
        if (needed := _type_of(int(more.max()))) > self._room.dtype:
            wider = numpy.empty(len(self._room), needed)
            wider[: self._count] = self._room[: self._count]
            self._room = wider
        count = self._count + len(more)
        if count > len(self._room):
            # Nothing else refers to it until all are taken.
            self._room.resize(count + count // _GROWTH, refcheck=False)
        self._room[self._count : count] = more
        self._count = count

    def taken(self) -> Whole:
        """Return all of them; what is added afterwards begins anew."""
        taken = self._room[: self._count]
        self._room, self._count = numpy.empty(_ROOM_MIN, _TYPES[0]), 0
        return taken


def _type_of(most: int) -> numpy.dtype[Any]:
    return numpy.dtype(next((one for one in _TYPES[:-1] if most <= numpy.iinfo(one).max), _TYPES[-1]))
