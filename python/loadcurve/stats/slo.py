"""Limits that a service is to keep, as people write them: ``"p99 < 10ms, errors < 0.1 %"``.

Those on one operation of a load name it: ``p99 of "GET /json" < 50ms``.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from loadcurve.errors import BadInput
from loadcurve.toml.bounds import MS_PER_UNIT, SHARE_PER_UNIT, bound_in
from loadcurve.toml.expected import nearest

LATENCY_FIELDS = {
    "mean": "mean",
    "p50": "p50",
    "p75": "p75",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
    "p99.9": "p99_9",
    "p99.99": "p99_99",
    "max": "max",
}
"""The latencies that can be limited, by the name that people use."""
ERRORS = "errors"
"""The share of the requests due that failed or were answered with a status of 400 or more."""
RATE_KEPT = "rate"
"""The share of the asked rate that was answered; only a load on a schedule asks for one."""
REACH = "reach"
"""The share of the expected deliveries to subscribers that came."""
EVENTS_DELIVERED = "events_delivered_share"
"""The share of the expected events that came."""
STREAMED_ANSWERS = "streamed answers"
SUBSCRIBERS = "subscribers"
EVENTS_EXPECTED = "events_expected"
MESSAGE_TIMES = {
    "first_event_p50": STREAMED_ANSWERS,
    "first_event_p99": STREAMED_ANSWERS,
    "event_gap_p50": STREAMED_ANSWERS,
    "event_gap_p99": STREAMED_ANSWERS,
    "delivery_p50": SUBSCRIBERS,
    "delivery_p99": SUBSCRIBERS,
}
"""The times of messages that can be limited, by the names of the measures; what loads must have for them."""
OF_MESSAGES = {**MESSAGE_TIMES, EVENTS_DELIVERED: EVENTS_EXPECTED, REACH: SUBSCRIBERS}
"""The same of all that can be limited of messages."""
FROM_BELOW = (RATE_KEPT, EVENTS_DELIVERED, REACH)
"""The measures whose limits are lowest values."""
MEASURES = [*LATENCY_FIELDS, ERRORS, RATE_KEPT, *OF_MESSAGES]

EXAMPLE = '"p99 < 10ms, errors < 0.1 %"'
_LIMIT = re.compile(
    r"(?P<measure>[A-Za-z][A-Za-z0-9._]*)"
    r"""(?:\s+of\s+(?:"(?P<quoted>[^"]+)"|'(?P<single>[^']+)'|(?P<plain>[^\s"'<>≤≥][^"'<>≤≥]*?)))?"""
    r"\s*(?P<relation><=|>=|≤|≥|<|>)\s*"
    r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>%|[A-Za-z]*)"
)
_SEPARATOR = re.compile(r",|(?<=\s)and(?=\s)")
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")

MOST_NAMED = 8
"""At most this many labels are named where one is unknown."""

Relation = Literal["<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: ``bound`` is in ms for a time and a share for all else."""

    measure: str
    relation: Relation
    bound: float
    text: str
    operation: str | None = None
    """The label of the operation that alone is limited; ``None`` of the whole load."""

    @property
    def name(self) -> str:
        """What is limited, such as ``p99`` or ``p99 of "GET /json"``."""
        return self.measure if self.operation is None else f'{self.measure} of "{self.operation}"'

    @property
    def is_on_time(self) -> bool:
        """Whether it bounds a latency or another time, in ms."""
        return self.measure in LATENCY_FIELDS or self.measure in MESSAGE_TIMES

    def holds(self, value: float) -> bool:
        """Say whether ``value`` keeps the limit."""
        if self.relation == "<":
            return value < self.bound
        if self.relation == "<=":
            return value <= self.bound
        return value > self.bound if self.relation == ">" else value >= self.bound


@dataclass(frozen=True, slots=True)
class Objective:
    """Limits that are to hold together."""

    limits: tuple[Limit, ...]

    @property
    def text(self) -> str:
        """The limits as they were given."""
        return ", ".join(limit.text for limit in self.limits)


def parse_objective(text: str) -> Objective:
    """Read limits such as ``p99 < 10ms``, ``errors < 0.1 %`` or ``rate >= 99 %``, joined by commas or "and".

    Raises ``BadInput``: the text is not such; the error says which part, and what was expected.
    """
    limits = tuple(_limit(part) for part in _parts(text.strip()))
    repeated = next((one for one in limits if sum(one.name == other.name for other in limits) > 1), None)
    if repeated is not None:
        raise BadInput(f"the limit on {repeated.name} is set twice in {text}; keep one")
    return Objective(limits)


def _parts(text: str) -> list[str]:
    """Return what commas and "and" join, without those within the quotes of an operation's label."""
    hidden = _QUOTED.sub(lambda quoted: "-" * len(quoted[0]), text)
    ends = [(found.start(), found.end()) for found in _SEPARATOR.finditer(hidden)]
    begins = [0, *(end for _, end in ends)]
    return [
        text[begin:end].strip()
        for begin, end in zip(begins, [*(start for start, _ in ends), None], strict=True)
    ]


def unknown_operations(objective: Objective, labels: Collection[str]) -> Iterator[str]:
    """Say of each limit on an operation that is not among these labels what is wrong with it."""
    for limit in objective.limits:
        if limit.operation is not None and limit.operation not in labels:
            expected = expected_operation(limit.operation, labels)
            yield f'{limit.text}: nothing that the load sends is "{limit.operation}"; {expected}'


def expected_operation(label: str, labels: Collection[str]) -> str:
    """Say which labels operations have, and which of them is nearest to one that none has."""
    known = ", ".join(f'"{label}"' for label in list(labels)[:MOST_NAMED])
    more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
    return f"expected one of {known}{more}{nearest(label, list(labels))}"


def _limit(part: str) -> Limit:
    match = _LIMIT.fullmatch(part)
    if match is None:
        raise BadInput(
            f'"{part}" is not a limit; expected a measure, a relation and a number with its unit, '
            f"such as {EXAMPLE}"
        )
    measure = "p" + match["measure"][1:].replace("_", ".") if match["measure"][0] == "p" else match["measure"]
    if measure not in MEASURES:
        raise BadInput(
            f'"{part}": "{match["measure"]}" cannot be limited; expected one of {", ".join(MEASURES)}'
            + nearest(measure, MEASURES)
        )
    relation: Relation
    match match["relation"]:
        case "<":
            relation = "<"
        case "<=" | "≤":
            relation = "<="
        case ">":
            relation = ">"
        case _:
            relation = ">="
    is_from_below = measure in FROM_BELOW
    expected_relations = (">", ">=") if is_from_below else ("<", "<=")
    if relation not in expected_relations:
        raise BadInput(
            f'"{part}": found {relation}; expected {" or ".join(expected_relations)}, '
            f"as the limit on {measure} is one from {'below' if is_from_below else 'above'}"
        )
    operation: str | None = match["quoted"] or match["single"] or match["plain"]
    if operation is not None and measure == RATE_KEPT:
        raise BadInput(
            f"{part}: a rate is asked for of the whole load; limit a latency or the errors of a request"
        )
    if operation is not None and measure in OF_MESSAGES:
        raise BadInput(
            f"{part}: {measure} is measured of the whole load; limit a latency or the errors of a request"
        )
    return Limit(measure, relation, _bound(part, measure, match["number"], match["unit"]), part, operation)


def _bound(part: str, measure: str, number: str, unit: str) -> float:
    found = f'found "{number}{unit and " "}{unit}"'
    if measure in LATENCY_FIELDS or measure in MESSAGE_TIMES:
        bound = bound_in(number + unit, MS_PER_UNIT)
        if bound is None:
            raise BadInput(f'"{part}": {found}; expected a time with its unit, such as 10ms or 1s')
        if bound == 0:
            raise BadInput(f'"{part}": {found}; expected a time above 0, such as 10ms')
        return bound
    share = bound_in(number + unit, SHARE_PER_UNIT)
    if share is None:
        raise BadInput(f'"{part}": {found}; expected a percentage, such as 0.1 % or 99 %')
    if share > 1:
        raise BadInput(f'"{part}": {found}; expected at most 100 %')
    return share
