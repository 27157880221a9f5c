"""The engine's tables: the classes that results count by, with counts by class, and the codes of verdicts."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    RootModel,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from loadcurve._engine import tables
from loadcurve.loads.kinds import LoadKind
from loadcurve.record import Count


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
