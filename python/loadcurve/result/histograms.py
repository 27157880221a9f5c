"""HdrHistograms in arrays: the counts of millions of times, and the interchange format read and written.

The format is V2, deflated, in base64; V1 is read, too. Whatever the bytes declare, what reading them takes is
bounded before it is believed, as in the engine, which reads the histograms of records.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

import loadcurve._engine as native

Times = NDArray[numpy.int64]
"""Whole numbers, of nanoseconds unless something else is said."""

LONGEST_NS = 3_600 * 10**9
"""Longer times are counted as this long, as the engine does."""
_COOKIE, _COMPRESSED_COOKIE = 0x1C849313, 0x1C849314
_COOKIE_V1, _COMPRESSED_COOKIE_V1 = 0x1C849301, 0x1C849302
"""Those of the version before, in which counters have a fixed width; its number is in bits 4 to 7."""
_WIDTH_BITS = 0xF0
_HEADER = struct.Struct(">IIIIqqd")
_INFLATED_BYTES_MAX = 1 << 20
_ENCODED_BYTES_MAX = 4 << 20
_DIGITS_MAX = 5
_NUMBER_BYTES_MAX = 8
"""A number of nine bytes is of 2^56 at least: more than there can have been."""
COUNT_MAX = 2**53


class NoHistogramError(ValueError):
    """A text is no such histogram; the argument says why."""


@dataclass(frozen=True, slots=True)
class Counted:
    """How often each time was counted, in the order of the times; none was counted 0 times."""

    lowest: Times
    """Of the bucket."""
    highest: Times
    """Of the bucket: what an HdrHistogram gives as the value of its percentiles."""
    counts: NDArray[numpy.int64]

    @property
    def middle(self) -> Times:
        """The time in the middle of each bucket, by which means are computed."""
        return self.lowest + (self.highest - self.lowest + 1) // 2

    @property
    def total(self) -> int:
        """How many times were counted."""
        return int(self.counts.sum())


def _half_bits(digits: int) -> int:
    """Return the binary logarithm of the number of counters for each doubling."""
    resolved: int = 2 * 10**digits
    return (resolved - 1).bit_length() - 1


def bucket_of(times: Times, digits: int) -> Times:
    """Return the index of the counter of each time, 0 to 2^52."""
    bits = _half_bits(digits)
    _, length = numpy.frexp(times.astype(numpy.float64))
    doublings = numpy.maximum(length - (bits + 1), 0).astype(numpy.int64)
    indices: Times = (doublings << bits) + (times >> doublings)
    return indices


def counted_in(indices: Times, counts: NDArray[numpy.int64], digits: int, *, unit_bits: int = 0) -> Counted:
    """Return the counts of these counters, whose smallest bucket is 2^``unit_bits`` wide."""
    bits = _half_bits(digits)
    doublings = numpy.maximum((indices >> bits) - 1, 0)
    shift = doublings + unit_bits
    lowest = (indices - (doublings << bits)) << shift
    return Counted(lowest, lowest + (numpy.int64(1) << shift) - 1, counts)


def encoded(times: Times, digits: int, counts: NDArray[numpy.int64] | None = None) -> str:
    """Return the histogram of times in ns, each counted once, or as often as ``counts`` says."""
    indices = bucket_of(numpy.minimum(times, LONGEST_NS), digits)
    found, place = numpy.unique(indices, return_inverse=True)
    weights = numpy.ones(len(times), numpy.int64) if counts is None else counts
    sums = numpy.zeros(len(found), numpy.int64)
    numpy.add.at(sums, place, weights)
    return encoded_counters(found, sums, digits)


def encoded_counters(indices: Times, counts: NDArray[numpy.int64], digits: int) -> str:
    """Return the histogram of counters, whose indices rise, in ns up to an hour."""
    payload = native.encoded_counters(
        numpy.ascontiguousarray(indices, numpy.int64), numpy.ascontiguousarray(counts, numpy.int64)
    )
    plain = _HEADER.pack(_COOKIE, len(payload), 0, digits, 1, LONGEST_NS, 1.0) + payload
    packed = zlib.compress(plain)
    return base64.b64encode(struct.pack(">II", _COMPRESSED_COOKIE, len(packed)) + packed).decode()


def merged(parts: Sequence[Counted]) -> Counted:
    """Return the counts of all; buckets of one width are the same in all that are as precise."""
    if not parts:
        nothing = numpy.zeros(0, numpy.int64)
        return Counted(nothing, nothing, nothing)
    lowest = numpy.concatenate([one.lowest for one in parts])
    highest = numpy.concatenate([one.highest for one in parts])
    counts = numpy.concatenate([one.counts for one in parts])
    pairs, place = numpy.unique(numpy.stack([lowest, highest]), axis=1, return_inverse=True)
    sums = numpy.zeros(pairs.shape[1], numpy.int64)
    numpy.add.at(sums, place.reshape(-1), counts)
    return Counted(pairs[0], pairs[1], sums)


def decoded(text: str) -> Counted:
    """Return what a histogram has counted, in its own unit.

    Raises ``NoHistogramError``: it is none, or of a form that is not read.
    """
    cookie, digits, lowest, payload = _unpacked(text)
    indices, counts = _counters(payload) if cookie == _COOKIE else _wide_counters(payload, cookie)
    unit_bits = lowest.bit_length() - 1
    bits = _half_bits(digits)
    if len(indices) and (int(indices[-1]) >> bits) + bits + unit_bits > 61:  # noqa: PLR2004 -- bits of a time
        raise NoHistogramError("it counts times of more than 2^61")
    if float(counts.sum(dtype=numpy.float64)) > COUNT_MAX:
        raise NoHistogramError("its counts are larger than possible")
    return counted_in(indices, counts, digits, unit_bits=unit_bits)


def _unpacked(text: str) -> tuple[int, int, int, bytes]:
    """Return the cookie, significant digits and lowest value, and the bytes of the counters."""
    if len(text) > _ENCODED_BYTES_MAX:
        raise NoHistogramError("it is larger than a histogram of times")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoHistogramError("it is not base64") from error
    outer = int.from_bytes(data[:4], "big")
    is_compressed = outer == _COMPRESSED_COOKIE or outer & ~_WIDTH_BITS == _COMPRESSED_COOKIE_V1
    plain = _inflated(data[8:]) if is_compressed else data
    if len(plain) < _HEADER.size:
        raise NoHistogramError("it is truncated, or not a histogram")
    cookie, length, offset, digits, lowest, _highest, ratio = _HEADER.unpack_from(plain)
    if cookie != _COOKIE and cookie & ~_WIDTH_BITS != _COOKIE_V1:
        raise NoHistogramError("its format is neither V2 nor V1")
    if offset != 0 or ratio != 1.0:
        raise NoHistogramError("its counters are shifted or scaled, which is not supported")
    if digits > _DIGITS_MAX or lowest < 1:
        raise NoHistogramError("its precision or its range is invalid")
    payload = plain[_HEADER.size :][:length]
    if len(payload) < length:
        raise NoHistogramError("it is truncated")
    return cookie, digits, lowest, payload


def _inflated(packed: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(packed, _INFLATED_BYTES_MAX)
    except zlib.error as error:
        raise NoHistogramError("it cannot be decompressed") from error
    if inflater.unconsumed_tail:
        raise NoHistogramError("it is larger than a histogram of times")
    if not inflater.eof:
        raise NoHistogramError("it is truncated")
    return plain


def _counters(payload: bytes) -> tuple[Times, NDArray[numpy.int64]]:
    """Return the indices and the counts of the counters that are not 0."""
    data = numpy.frombuffer(payload, numpy.uint8).astype(numpy.int64)
    ends = numpy.flatnonzero(data < 0x80)  # noqa: PLR2004 -- the bit that says that more follows
    if not len(data):
        return numpy.zeros(0, numpy.int64), numpy.zeros(0, numpy.int64)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise NoHistogramError("it is truncated")
    starts = numpy.concatenate(([0], ends[:-1] + 1))
    if int((ends - starts).max()) >= _NUMBER_BYTES_MAX:
        raise NoHistogramError("its counts are larger than possible")
    place = numpy.arange(len(data)) - numpy.repeat(starts, ends - starts + 1)
    values = numpy.add.reduceat((data & 0x7F) << (7 * place), starts)
    halves, is_row = values >> 1, (values & 1).astype(bool)
    steps = numpy.where(is_row, halves + 1, 1)
    if float(steps.sum(dtype=numpy.float64)) > 1 << 40:
        raise NoHistogramError("it has more counters than times")
    indices = numpy.cumsum(steps) - steps
    counted = ~is_row & (halves > 0)
    return indices[counted], halves[counted]


def _wide_counters(payload: bytes, cookie: int) -> tuple[Times, NDArray[numpy.int64]]:
    """Return the same of counters of a fixed width."""
    width = (cookie & _WIDTH_BITS) >> 4
    if width not in {2, 4, 8} or len(payload) % width:
        raise NoHistogramError("its counters have an invalid width")
    counts = numpy.frombuffer(payload, f">i{width}").astype(numpy.int64)
    if len(counts) and int(counts.min()) < 0:
        raise NoHistogramError("it contains negative counts")
    indices = numpy.flatnonzero(counts).astype(numpy.int64)
    return indices, counts[indices]
