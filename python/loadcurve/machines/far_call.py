"""What the far side of a channel may say: each message and each answer has a model, all else is refused."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from loadcurve.machines.messages import BadMessage, Message, shown

Answer = TypeVar("Answer")

ANSWER_LIMIT_S: Final = 600.0
"""How long an answer may take, unless its call says something else."""
SHOWN_BYTES: Final = 200

Text = Annotated[str, Field(max_length=1 << 20)]
Line = Annotated[str, Field(max_length=4096)]
Port = Annotated[int, Field(gt=0, lt=1 << 16)]
ClockReading = Annotated[int, Field(ge=0, lt=1 << 62)]
"""Of a monotonic clock, in ns."""


class FarRecord(BaseModel):
    """What comes from another machine; what is not known of it is left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Greeting(FarRecord):
    """The first message of an agent, see :func:`loadcurve.machines.messages.greeting`."""

    format: Line
    version: Line
    python: Line
    processor: Line
    pid: Annotated[int, Field(gt=0)]
    user_id: Annotated[int, Field(ge=0)]
    program: Line


class Bootstrapped(FarRecord):
    """The first message of :mod:`loadcurve.machines.bootstrap`: what the machine has."""

    python: Annotated[list[Annotated[int, Field(ge=0, lt=1000)]], Field(min_length=2, max_length=3)]
    processor: Line
    libc: tuple[Line, Annotated[str, Field(pattern=r"^[\d.]{0,20}$")]]
    folder: Line
    free_bytes: Annotated[int, Field(ge=0)]
    there: list[Line]


class NotStored(FarRecord):
    """What the bootstrap says where it could not store what was brought."""

    failed: Line


class Removed(FarRecord):
    """What the bootstrap has removed."""

    folder: Line
    removed: list[Line]


class ErrorMessage(BaseModel):
    """Why a call came to nothing; what else a role says of it is in ``model_extra``."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: Line
    text: Text


class AnswerMessage(FarRecord):
    """A message of an agent behind its greeting: an event or the end of a call, or a sign of life."""

    beat: Literal[1] | None = None
    id: Annotated[int, Field(strict=True)] = 0
    error: ErrorMessage | None = None


class Echo(FarRecord):
    """When a question arrived, and when its answer left."""

    arrived_ns: ClockReading
    sent_ns: ClockReading


@dataclass(frozen=True)
class FarCall(Generic[Answer]):
    """A call that an agent knows, and what comes of it."""

    name: str
    answer: TypeAdapter[Answer]
    event: TypeAdapter[Any] | None = None
    """What comes before the answer; ``None`` for nothing."""
    limit_s: float | None = ANSWER_LIMIT_S
    """How long it is waited for the answer; ``None`` for as long as the machine lives."""


ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)
NOTHING: TypeAdapter[None] = TypeAdapter(None)
ECHO: Final = FarCall("echo", TypeAdapter(Echo))
_GREETING, _BOOTSTRAPPED = TypeAdapter(Greeting), TypeAdapter(Bootstrapped)
_ANSWER, _NOT_STORED, _REMOVED = TypeAdapter(AnswerMessage), TypeAdapter(NotStored), TypeAdapter(Removed)


def read(what: str, adapter: TypeAdapter[Answer], value: object) -> Answer:
    """Return a value as its model has it; raises BadMessage with what it is of and where it is wrong."""
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        at = shown(f"{place}: {first['msg']}".encode(errors="replace"), SHOWN_BYTES)
        raise BadMessage(f"{what} is not one of an agent ({at})") from None


def greeting_of(message: Message) -> Greeting:
    """Return the first message of an agent; raises BadMessage."""
    return read("its greeting", _GREETING, message)


def bootstrapped_of(message: Message) -> Bootstrapped:
    """Return the first message of a bootstrap; raises BadMessage."""
    return read("what it says of itself", _BOOTSTRAPPED, message)


def not_stored_of(message: Message) -> NotStored:
    """Return why nothing was stored; raises BadMessage."""
    return read("what it says of its files", _NOT_STORED, message)


def removed_of(message: Message) -> Removed:
    """Return what was removed; raises BadMessage."""
    return read("what it says of its files", _REMOVED, message)


def answer_of(message: Message) -> AnswerMessage:
    """Return a message behind the greeting; raises BadMessage."""
    return read("a message", _ANSWER, message)
