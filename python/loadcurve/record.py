"""The base of all records, and the types of their plainest values."""

from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError
from pydantic_core import PydanticCustomError

Count = Annotated[int, Field(ge=0)]
Time = Annotated[float, Field(ge=0)]


class Record(BaseModel):
    """A record read from outside: unknown keys are refused, and nothing is changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Item = TypeVar("Item")


class _FirstProblem(FailFast):
    """Pydantic's own cannot be part of a union, which wants to hash it."""

    __hash__ = object.__hash__


Many = Annotated[list[Item], _FirstProblem()]
"""A list that is refused at its first wrong item: a record from outside may hold millions, each an error."""

_CONTRADICTION: Final = "contradiction"


def contradiction(text: str) -> PydanticCustomError:
    """Return the error of a record whose figures have their forms, but cannot all be true."""
    return PydanticCustomError(_CONTRADICTION, "{text}", {"text": text})


def is_contradiction(error: ValidationError) -> bool:
    """Whether that is all that is wrong with a record: its form is known, so it is no other version's."""
    return all(problem["type"] == _CONTRADICTION for problem in error.errors(include_url=False))
