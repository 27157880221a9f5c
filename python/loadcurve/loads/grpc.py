"""What a load says of calls of gRPC: their message, the statuses that are right, the deadline."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationInfo
from pydantic.functional_validators import AfterValidator

from loadcurve._engine import body_length, encode_message
from loadcurve.loads.option import CommandLine
from loadcurve.loads.sent import FILE_MARK, LEAST_HIDDEN, BodyLines
from loadcurve.redaction import HIDDEN, remember
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import own_problem

STATUSES: Final = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
"""The statuses by which calls end, each in the place of its number."""
OK: Final = STATUSES[0]
_MESSAGE_IN_WORDS = (
    'a text of JSON, which requires proto, or "@" and the name of a file with the encoded message'
)


def _message(value: object, info: ValidationInfo) -> object:
    """Count the name of a file from the folder of the study, and keep a message out of errors of others."""
    if value == HIDDEN:
        text = f"found {HIDDEN}, which a run folder has in place of a message; expected the message"
        raise own_problem(text)
    if not isinstance(value, str):
        raise own_problem(f"found {show(value)}; expected {_MESSAGE_IN_WORDS}")
    if not value.startswith(FILE_MARK):
        if len(value) >= LEAST_HIDDEN:
            remember(value)
        return value
    file = _from_folder(value.removeprefix(FILE_MARK), info)
    try:
        body_length(file)
    except ValueError as error:
        raise own_problem(str(error)) from None
    return f"{FILE_MARK}{file}"


def _from_folder(name: str, info: ValidationInfo) -> str:
    return str(Path(info.context["folder"] if info.context else "", name))


def _recorded_message(message: str) -> str:
    return HIDDEN if message and not message.startswith(FILE_MARK) else message


def _status(value: object) -> object:
    name = value.upper() if isinstance(value, str) else value
    if name not in STATUSES:
        raise own_problem(f"found {show(value)}; expected a status of gRPC: {', '.join(STATUSES)}")
    return name


Status = Annotated[str, BeforeValidator(_status), Expected('a status of gRPC, such as "OK"')]
FileName = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(_from_folder),
    Expected('the name of a file, such as "api.proto"'),
]


class GrpcTable(BaseModel):
    """What a load says of calls of gRPC."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    message: Annotated[
        str,
        BeforeValidator(_message),
        PlainSerializer(_recorded_message),
        Expected(_MESSAGE_IN_WORDS),
        CommandLine(
            "--message",
            help="Message of gRPC calls in JSON; @FILE: encoded.",
            metavar="JSON",
            panel="Messages",
            place=50,
        ),
    ] = ""
    """The message of each call: JSON, which `proto` gives its form, or `@` and the name of a file with the
    encoded bytes; one without fields unless it is given. A request of the list has its own as `body`.
    """
    proto: Annotated[
        FileName | None,
        CommandLine(
            "--proto",
            help="Its .proto file, or a descriptor set.",
            metavar="FILE",
            panel="Messages",
            place=60,
        ),
    ] = None
    """The `.proto` file of the services, or a descriptor set
    (`protoc --descriptor_set_out=FILE --include_imports`).
    """
    proto_folders: Annotated[
        list[FileName],
        Expected("a list of names of folders"),
        CommandLine(
            "--proto-path",
            help="Folders of what the .proto file imports.",
            metavar="LIST",
            panel="Messages",
            place=70,
            form="list",
        ),
    ] = Field(default_factory=list)
    """Folders in which what the `.proto` file imports is looked for, beside its own."""
    statuses: Annotated[
        list[Status],
        Expected('a list of statuses of gRPC, such as ["OK", "NOT_FOUND"]'),
        CommandLine(
            "--grpc-status",
            help="Statuses of gRPC that are right; default OK.",
            metavar="LIST",
            panel="Messages",
            place=80,
            form="list",
        ),
    ] = Field(default_factory=list)
    """The statuses that are right; `OK` unless it is given."""
    deadline: Annotated[
        bool,
        CommandLine(
            "--deadline",
            help="Tell a gRPC server the timeout of each call.",
            panel="Messages",
            place=90,
        ),
    ] = False
    """Whether each call tells the server the load's `timeout` as its deadline (`grpc-timeout`)."""

    @property
    def right(self) -> Sequence[str]:
        """The statuses that are right."""
        return self.statuses or [OK]

    @property
    def planned(self) -> dict[str, Any]:
        """What the engine reads of it."""
        bits = {1 << STATUSES.index(name) for name in self.right}
        return {"right_statuses": sum(bits), "deadline": self.deadline}

    def encoded(self, path: str, message: str | bytes | BodyLines) -> str | bytes:
        """Return the message of a call of a path as a body: bytes, or a file of them behind ``@``.

        Raises ``ValueError``: the schema is none or is missing, has no such method, or the message does not
        fit it.
        """
        if isinstance(message, BodyLines):
            raise ValueError(  # noqa: TRY004 -- what cannot be sent is no fault of types
                "a message of gRPC is no line of a file; give it as JSON, or as @FILE"
            )
        if isinstance(message, bytes) or message.startswith(FILE_MARK):
            return message
        if self.proto is None:
            if message.strip() in ("", "{}"):
                return b""
            raise ValueError(
                "a message in JSON requires the .proto file or a descriptor set (proto, --proto); "
                "or give the encoded message as @FILE"
            )
        return _encoded(self.proto, tuple(self.proto_folders), path, message or "{}")


@cache
def _encoded(proto: str, folders: tuple[str, ...], path: str, message: str) -> bytes:
    encoded, streams_requests, streams_answers = encode_message(proto, folders, path, message)
    if streams_requests or streams_answers:
        what = "requests" if streams_requests else "answers"
        raise ValueError(f"{path} streams its {what}; a load calls methods of one message and one answer")
    return encoded


Grpc = Annotated[
    GrpcTable,
    PlainSerializer(lambda table: table.model_dump(mode="json", exclude_defaults=True)),
    Expected('a table about calls of gRPC, such as { message = "{}", proto = "api.proto" }'),
]
"""A record has what the study gives, without the message."""
