"""What a load says of calls of gRPC: their message, the statuses that are right, the deadline."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationInfo
from pydantic.functional_validators import AfterValidator

from loadcurve._engine import encode_message, grpc_statuses
from loadcurve.loads.asked import AskedRequest
from loadcurve.loads.option import CommandLine
from loadcurve.loads.requests import LongList
from loadcurve.loads.sent import FILE_MARK, BodyLines, recorded_text, require_not_hidden, text_or_file
from loadcurve.protocol import HTTP2, HttpVersion
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import Problem, own_problem
from loadcurve.toml.values import from_study_folder

STATUSES: Final = (*grpc_statuses(),)
"""The statuses by which calls end, each in the place of its number."""
OK: Final = STATUSES[0]
_MESSAGE_IN_WORDS = (
    'a text of JSON, which requires proto, or "@" and the name of a file with the encoded message'
)


def _message(value: object, info: ValidationInfo) -> object:
    require_not_hidden(value, "message")
    if not isinstance(value, str):
        raise own_problem(f"found {show(value)}; expected {_MESSAGE_IN_WORDS}")
    return text_or_file(value, info)


def _status(value: object) -> object:
    name = value.upper() if isinstance(value, str) else value
    if name not in STATUSES:
        raise own_problem(f"found {show(value)}; expected a status of gRPC: {', '.join(STATUSES)}")
    return name


Status = Annotated[str, BeforeValidator(_status), Expected('a status of gRPC, such as "OK"')]
FileName = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(from_study_folder),
    Expected('the name of a file, such as "api.proto"'),
]


class GrpcTable(BaseModel):
    """What a load says of calls of gRPC."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    message: Annotated[
        str,
        BeforeValidator(_message),
        PlainSerializer(recorded_text),
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
            help="Send the timeout of each call to the gRPC server.",
            panel="Messages",
            place=90,
        ),
    ] = False
    """Whether each call carries the load's `timeout` as its deadline (`grpc-timeout`)."""

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


def problems_of_calls(
    grpc: GrpcTable, http: HttpVersion, requests: object, calls: Sequence[AskedRequest]
) -> Iterator[Problem]:
    """Check that calls of gRPC can be made as a load says: over this version, with these requests."""
    if http != HTTP2:
        text = f'found {http}, but gRPC is spoken over HTTP/2; expected "{HTTP2}", or nothing'
        yield Problem(("load", "http"), text)
    if isinstance(requests, LongList):
        text = "calls of gRPC are not read from a long list; expected a list of paths in the study"
        yield Problem(("load", "requests"), text)
    for index, call in enumerate(calls):
        try:
            grpc.encoded(call.path, call.body)
        except ValueError as error:
            own = call.body != grpc.message
            yield Problem(
                ("load", "requests", str(index)) if own else ("load", "grpc", "message"), str(error)
            )
