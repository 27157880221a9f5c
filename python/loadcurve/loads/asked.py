"""What a load asks for, request by request: each with its method, headers and body, and what it expects."""

import http
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from typing import Self

from loadcurve._engine import is_expected_status
from loadcurve.loads.entries import ExpectTable, RequestEntry, codes_of
from loadcurve.loads.limits import STATUS_MAX, STATUS_MIN
from loadcurve.loads.sent import BodyLines, FieldsByName, with_headers
from loadcurve.loads.verification import AnswerPattern, AnswerRule


@dataclass(frozen=True)
class ExpectedStatuses:
    """The statuses that are right for the answers to a request."""

    codes: frozenset[int]
    words: str
    """Which they are, for people."""
    by: str
    """What says so, with its verb: "the list of requests expects"."""

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The codes as ranges, both ends included, in their order."""
        return [*_ranges(sorted(self.codes))]


@dataclass(frozen=True)
class AskedRequest:
    """One request as it is sent."""

    path: str
    method: str
    headers: FieldsByName
    body: str | bytes | BodyLines
    rule: AnswerRule
    """What the body of its answer must be."""
    chunked: bool = False
    """Whether its body is sent in chunks."""
    weight: float = 1.0
    name: str | None = None
    expected: ExpectedStatuses | None = None
    """``None`` where the load says nothing of its status."""

    @property
    def label(self) -> str:
        """What its figures go by."""
        return self.name or self.line

    @property
    def line(self) -> str:
        """Its method and path."""
        return f"{self.method} {self.path}"

    @property
    def is_plain(self) -> bool:
        """Whether it asks for the path itself, in no special way."""
        return self.method == "GET" and not self.headers

    @property
    def is_of_content(self) -> bool:
        """Whether its path must lead to a file of the content, where there is any."""
        is_ok = self.expected is None or http.HTTPStatus.OK in self.expected.codes
        return self.rule == "content" and is_ok

    def plain(self) -> Self:
        """Return the same as a GET request without its headers and body."""
        return replace(self, method="GET", headers={}, body="", chunked=False)


def asked_of(
    entries: Sequence[str | RequestEntry], weights: Sequence[float] | None, common: AskedRequest
) -> list[AskedRequest]:
    """Return the requests of a list: what an entry leaves out is as in ``common``."""
    weighted = zip(entries, weights or repeat(None), strict=False)
    return [_of_entry(entry, weight, common) for entry, weight in weighted]


def _of_entry(entry: str | RequestEntry, weight: float | None, common: AskedRequest) -> AskedRequest:
    if isinstance(entry, str):
        return replace(common, path=entry, weight=1.0 if weight is None else weight)
    own = entry.weight if weight is None else weight
    body = entry.body if entry.source is None or entry.source.body is None else entry.source.body
    return replace(
        common,
        path=entry.path,
        method=entry.method or common.method,
        headers=with_headers(common.headers, entry.headers),
        body=common.body if body is None else body,
        chunked=common.chunked if entry.chunked is None else entry.chunked,
        rule=_rule_of(entry.expect, common.rule),
        weight=1.0 if own is None else own,
        name=entry.name,
        expected=_expected_of(entry),
    )


def _rule_of(expect: ExpectTable | None, common: AnswerRule) -> AnswerRule:
    if expect is None:
        return common
    return "status" if expect.pattern is None else AnswerPattern(expect.pattern)


def _expected_of(entry: RequestEntry) -> ExpectedStatuses | None:
    if entry.source is not None and (recorded := entry.source.status) is not None:
        return ExpectedStatuses(as_good_as([recorded]), str(recorded), f"{entry.source.place} expects")
    if entry.expect is None or entry.expect.status is None:
        return None
    words = " or ".join(map(str, entry.expect.status))
    return ExpectedStatuses(codes_of(entry.expect.status), words, "its expect says")


def asked_at(
    paths: Sequence[str], recorded: Mapping[str, Collection[int]], common: AskedRequest
) -> list[AskedRequest]:
    """Return the requests for these paths of a file, some of which were recorded with statuses."""
    by = "the list of requests expects"
    return [
        replace(
            common,
            path=path,
            expected=ExpectedStatuses(as_good_as(statuses), " or ".join(map(str, sorted(statuses))), by)
            if (statuses := recorded.get(path))
            else None,
        )
        for path in paths
    ]


def as_good_as(recorded: Collection[int]) -> frozenset[int]:
    """Return the statuses that are right where these were recorded: themselves, and those as good."""
    return frozenset().union(*map(_as_good_as, recorded))


@cache
def _as_good_as(recorded: int) -> frozenset[int]:
    return frozenset(code for code in range(STATUS_MIN, STATUS_MAX + 1) if is_expected_status(recorded, code))


def _ranges(codes: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = previous = codes[0]
    for code in codes[1:]:
        if code != previous + 1:
            yield first, previous
            first = code
        previous = code
    yield first, previous
