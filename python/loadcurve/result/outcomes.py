"""What became of requests, and whether the numbers may be used: counts and codes by the engine's tables."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    RootModel,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from loadcurve._engine import tables
from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.values import Status
from loadcurve.record import Count, Many, Record, contradiction


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str
    """What results call it."""


class FailureClass(_Row):
    """Why requests fail."""

    origin: Literal["server", "answer", "generator"]
    """Where the cause lies: in the server or on the way to it, in its answer, or in the load's machine."""
    happened: str
    """What became of the requests, behind their number."""
    happened_to_operations: str | None
    """The same of operations of a database, where that has other words."""
    remark: str | None
    """What else there is to know about when it counts."""

    def happened_to(self, kind: LoadKind) -> str:
        """Return what became of a load's requests or operations that failed so."""
        return (self.happened_to_operations if kind.by_operation else None) or self.happened


class StatusClass(_Row):
    """What answers of one hundred of HTTP's status codes say."""

    meaning: str
    is_error: bool
    """Whether it counts as one without a right answer."""


class VerdictCode(_Row):
    """What may be said of a load, of a run or of what was seen of a server."""

    kind: Literal["reason", "note", "caveat"]
    meaning: str
    """What it says; with limits, the figure that these are of."""
    suspect: str | None
    """Where it makes a result suspect."""
    invalid: str | None
    """Where it makes a result invalid."""
    origin: Literal["server", "answer", "generator"] | None
    """Whose doing it is, where that is known."""


class Tables(BaseModel):
    """The engine's tables, each in the order of results."""

    failures: tuple[FailureClass, ...]
    statuses: tuple[StatusClass, ...]
    codes: tuple[VerdictCode, ...]


TABLES = Tables.model_validate_json(tables())
FAILURES: Mapping[str, FailureClass] = {row.code: row for row in TABLES.failures}
STATUSES: Mapping[str, StatusClass] = {row.code: row for row in TABLES.statuses}
REASONS, NOTES, CAVEATS = (
    {row.code: row for row in TABLES.codes if row.kind == kind} for kind in ("reason", "note", "caveat")
)


def _known_failure(code: str) -> str:
    if code not in FAILURES:
        raise ValueError(f"is not one of {', '.join(FAILURES)}")
    return code


ErrorClass = Annotated[
    str, AfterValidator(_known_failure), WithJsonSchema({"type": "string", "enum": list(FAILURES)})
]
"""Why a request failed."""


CountOf = TypeVar("CountOf", Count, Count | None)


class ClassCounts(RootModel[dict[str, CountOf]]):
    """How many there were of each class of a table; what is counted of none of them is refused."""

    model_config = ConfigDict(frozen=True)
    classes: ClassVar[Mapping[str, _Row]]

    @model_validator(mode="after")
    def _check_classes(self) -> Self:
        if unknown := sorted(self.root.keys() - self.classes.keys()):
            raise ValueError(f"unknown: {', '.join(unknown)}; there are {', '.join(self.classes)}")
        return self

    def __getitem__(self, code: str) -> CountOf | int:
        """Return the count of a class of the table; none were counted of one that came after the record."""
        return self.root.get(self.classes[code].code, 0)

    def nonzero(self) -> dict[str, int]:
        """Return the classes of which there were any, in the order of the table."""
        return {code: count for code in self.classes if (count := self[code])}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> dict[str, Any]:
        """Return the schema of an object of all classes."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        count = schema.pop("additionalProperties")
        properties = dict.fromkeys(cls.classes, count)
        return schema | {
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }


class Errors(ClassCounts[Count | None]):
    """Failed requests by class; null where another generator does not tell a class apart."""

    classes = FAILURES


class StatusClasses(ClassCounts[Count]):
    """Answers by the class of their status code."""

    classes = STATUSES


class OfStatus(Record):
    """The answers of one status."""

    status: Status
    answered: Count
    wrong: Count
    """How many of them are not what was asked for: an error, or another status than the expected one."""
    body: str | None = Field(None, max_length=200)
    """How the body of one of those begins, on one line and without secrets; ``None`` without any."""

    @model_validator(mode="after")
    def _has_wrong_ones(self) -> Self:
        if self.wrong > self.answered:
            raise contradiction(f"{self.wrong:,} of {self.answered:,} answers of {self.status} are wrong")
        return self


ENDS: Final = ("answered", "failed", "unanswered", "never_sent")
"""What a request that was due may come to, each to exactly one."""


class Requests(Record):
    """What became of the requests: due = answered + failed + unanswered + never_sent, always.

    Another generator than the engine may count only those that have ended: for it these are the ones that are
    due and sent, and what it does not count is ``None``.
    """

    due: Count
    sent: Count
    answered: Count
    ok: Count | None
    failed: Count | None
    unanswered: Count | None
    never_sent: Count | None
    moved: Count | None = None
    """Of those that were sent: how many were sent once more, because the server had not looked at them."""

    @property
    def taken_up(self) -> int:
        """How many were given to a connection, whether it came to send them or not."""
        return self.due - (self.never_sent or 0)

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        counts = {name: getattr(self, name) for name in ENDS}
        if self.due != sum(count or 0 for count in counts.values()):
            ends = " + ".join(f"{count:,} {name}" for name, count in counts.items() if count is not None)
            raise contradiction(f"{self.due:,} requests were due, which {ends} do not add up to")
        return self

    def difference(self, parts: Iterable["Requests"]) -> str | None:
        """Return which count is not the sum of those of a load's parts; ``None`` where each of them is."""
        listed = list(parts)
        for name in ("due", "sent", *ENDS):
            whole, sum_of_parts = getattr(self, name), sum(getattr(part, name) or 0 for part in listed)
            if (whole or 0) != sum_of_parts:
                return f"{whole or 0:,} requests {name}, and {sum_of_parts:,} in its parts"
        return None


class Reason(Record):
    """Why something is as it is: a stable code, and a sentence with evidence and advice.

    A record of another version may have a code that this one does not know; it is read and shown like others.
    """

    code: str
    text: str


class _OfTable(Reason):
    codes: ClassVar[Mapping[str, VerdictCode]]

    @classmethod
    def of(cls, code: str, text: str) -> Self:
        """Return one with a code of the table; raises ``KeyError`` for any other."""
        return cls(code=cls.codes[code].code, text=text)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> dict[str, Any]:
        """Return the schema, which names the codes that this version writes."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema["properties"]["code"]["enum"] = list(cls.codes)
        return schema


class VerdictReason(_OfTable):
    """Why a verdict is not ``valid``."""

    codes = REASONS


class VerdictNote(_OfTable):
    """What a reader should know, although it is no reason for doubt."""

    codes = NOTES


class Caveat(_OfTable):
    """What must be known of a run, or of what was seen of a server, to read the figures."""

    codes = CAVEATS


class Verdict(Record):
    """Whether the numbers may be used."""

    status: Literal["valid", "suspect", "invalid"]
    reasons: Many[VerdictReason]
    notes: Many[VerdictNote] = Field([])
    """Records may lack them."""

    def with_reason(self, code: str, text: str, status: Literal["suspect", "invalid"]) -> Self:
        """Return the verdict with one more reason, for which it is ``status`` at least.

        Raises ``KeyError`` for a code that is not in the table, ``ValueError`` for one that makes no result
        ``status``.
        """
        if getattr(REASONS[code], status) is None:
            raise ValueError(f"{code} makes no result {status}")
        worse = "invalid" if "invalid" in {self.status, status} else status
        reasons = [*self.reasons, VerdictReason.of(code, text)]
        return self.model_copy(update={"status": worse, "reasons": reasons})
