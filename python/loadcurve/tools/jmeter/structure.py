"""Which rows of a JTL are requests: not those that are the sum of others.

JMeter writes a sample of several requests, such as redirects and embedded files, and behind it each of them,
under its name with a number (``NAME-0``), or until version 4 by its URL. A transaction controller writes a
sum of the samples before it, or, where it generates a parent sample, before or instead of them. A thread of
JMeter sends its samples one after the other, so what begins within another one of its thread is a part of
that.

Source: ``CSVSaveService.java``, ``SampleResult.java`` and ``TransactionController.java`` of JMeter 5.6.3.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy
import polars
from numpy.typing import NDArray

from loadcurve.tools.jmeter.requests import ERROR_STATUS_MIN, HAS_URL, IDLE, SAMPLES, THREAD
from loadcurve.tools.requests import BEGIN, OPERATION, STATUS, TIME

_Rows = NDArray[numpy.bool_]
_NUMBERED = re.compile(r"(.+)-\d{1,6}", re.DOTALL)
_FIRST_PART = "-0"
_ROUNDING_NS = 10**6
"""Moments and times are cut off to whole ms, each by itself."""


@dataclass(frozen=True)
class Sums:
    """Which rows of a table are no requests."""

    of_parts: _Rows
    """Samples whose parts follow."""
    of_samples: _Rows
    """Those of transaction controllers, with their samples in the file."""
    alone: _Rows
    """Those of transaction controllers, without their samples in the file."""
    failed_parts: _Rows
    """Requests that are the last part of a sample that failed as a whole, and of no part."""

    @property
    def all(self) -> _Rows:
        """Every row that is no request."""
        return self.of_parts | self.of_samples | self.alone


def may_have_parts(labels: Iterable[str]) -> bool:
    """Say whether some samples may be parts of others, by the names of all."""
    known = set(labels)
    numbered = (_NUMBERED.fullmatch(label) for label in known)
    return any(found and found[1] in known for found in numbered) or any("://" in label for label in known)


def sums_of(samples: polars.DataFrame) -> Sums:
    """Return the sums among samples, which have ``THREAD``, and ``SAMPLES`` where messages were saved."""
    threads = samples[THREAD].to_physical().to_numpy()
    # Those of a thread behind each other, as they are in the file.
    order = numpy.argsort(threads, kind="stable")
    by_thread = _ByThread(samples[order], threads[order])
    followed_by_parts = by_thread.followed_by_parts()
    is_stated = SAMPLES in samples.columns
    sums = by_thread.stated_sums() if is_stated else by_thread.unstated_sums(followed_by_parts)
    has_samples = by_thread.has_samples() if is_stated else sums
    of_parts = followed_by_parts & ~sums
    in_file = numpy.argsort(order, kind="stable")
    return Sums(
        of_parts=of_parts[in_file],
        of_samples=(sums & has_samples)[in_file],
        alone=(sums & ~has_samples)[in_file],
        failed_parts=by_thread.failed_parts(of_parts)[in_file],
    )


class _ByThread:
    """Samples, those of a thread behind each other."""

    def __init__(self, samples: polars.DataFrame, threads: NDArray[numpy.uint32]) -> None:
        self.samples = samples
        self.is_same_thread = threads[1:] == threads[:-1]
        self.begin = samples[BEGIN].to_numpy()
        self.time = samples[TIME].to_numpy()
        self.end = self.begin + self.time
        self.failed = ((samples[STATUS] == 0) | (samples[STATUS] >= ERROR_STATUS_MIN)).to_numpy()
        codes = samples[OPERATION].to_physical().to_numpy()
        known, first, self.labels = numpy.unique(codes, return_index=True, return_inverse=True)
        self.texts = [str(samples[OPERATION][int(place)]) for place in first[: len(known)]]

    def followed_by_parts(self) -> _Rows:
        """Return the samples behind which a first part follows, which begins with and ends within them."""
        places = {text: place for place, text in enumerate(self.texts)}
        first_part = numpy.array([places.get(text + _FIRST_PART, -1) for text in self.texts])
        is_url = numpy.array(["://" in text for text in self.texts])
        this, following = self.labels[:-1], self.labels[1:]
        is_named = first_part[this] == following
        is_by_url = is_url[following] & (this != following) & (self.time[:-1] > _ROUNDING_NS)
        begins_with_it = numpy.abs(self.begin[1:] - self.begin[:-1]) <= _ROUNDING_NS
        is_within = begins_with_it & (self.end[1:] <= self.end[:-1] + _ROUNDING_NS)
        return numpy.append(self.is_same_thread & (is_named | is_by_url) & is_within, False)

    def stated_sums(self) -> _Rows:
        """Return the samples whose message is that of a transaction controller."""
        return self.samples[SAMPLES].is_not_null().to_numpy()

    def unstated_sums(self, followed_by_parts: _Rows) -> _Rows:
        """Return the samples without a URL that begin with or before the one before them, as only sums do."""
        sums = numpy.zeros(len(self.begin), bool)
        parts = self._parts(followed_by_parts)
        [kept] = numpy.nonzero(~followed_by_parts)
        begin, time = self.begin[kept], self.time[kept]
        thread = numpy.append(False, ~self.is_same_thread).cumsum()[kept]
        is_earlier = (begin[1:] < begin[:-1]) | ((begin[1:] == begin[:-1]) & (time[:-1] > 0))
        is_sum = (thread[1:] == thread[:-1]) & is_earlier & (time[1:] >= time[:-1])
        sums[kept[1:]] = is_sum & ~parts[kept[1:]]
        return sums & ~self.samples[HAS_URL].to_numpy() if HAS_URL in self.samples.columns else sums

    def _parts(self, followed_by_parts: _Rows) -> _Rows:
        """Return the parts behind samples, which may be sent at once where they are embedded files."""
        parts = numpy.zeros(len(self.begin), bool)
        for place in numpy.flatnonzero(followed_by_parts):
            parts[place + 1 : self._last_part(int(place)) + 1] = True
        return parts

    def has_samples(self) -> _Rows:
        """Say of each row whether the one before or behind it began within its time."""
        is_before = self.is_same_thread & (self.begin[:-1] >= self.begin[1:])
        end = self.end
        if IDLE in self.samples.columns:
            end = end + self.samples[IDLE].fill_null(0).to_numpy()
        is_behind = (self.begin[1:] >= self.begin[:-1]) & (self.begin[1:] < end[:-1])
        found: _Rows = numpy.append(False, is_before) | numpy.append(self.is_same_thread & is_behind, False)
        return found

    def failed_parts(self, of_parts: _Rows) -> _Rows:
        """Return the last parts of failed samples without a failed part."""
        found = numpy.zeros(len(self.begin), bool)
        for place in numpy.flatnonzero(of_parts & self.failed):
            last = self._last_part(int(place))
            found[last] = not self.failed[place + 1 : last + 1].any()
        return found

    def _last_part(self, place: int) -> int:
        """Return the place of the last row behind a sample that lies within its time."""
        last = place
        while (
            last + 1 < len(self.begin)
            and self.is_same_thread[last]
            and self.begin[place] - _ROUNDING_NS <= self.begin[last + 1]
            and self.end[last + 1] <= self.end[place] + _ROUNDING_NS
        ):
            last += 1
        return last
