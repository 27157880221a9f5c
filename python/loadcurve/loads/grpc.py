"""What a load says of calls of gRPC: their message, the statuses that are right, the deadline."""

import base64
import binascii
import gzip
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from errno import EFBIG
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationInfo
from pydantic.functional_validators import AfterValidator

from loadcurve._engine import encode_message, grpc_statuses, method_streams
from loadcurve.files import read_given
from loadcurve.loads.asked import AskedRequest
from loadcurve.loads.option import CommandLine
from loadcurve.loads.requests import LongList
from loadcurve.loads.sent import FILE_MARK, BodyLines, recorded_text, require_not_hidden, text_or_file
from loadcurve.loads.values import PositiveCount
from loadcurve.loads.verification import AnswerPattern
from loadcurve.protocol import HTTP2, HTTP3, AskedHttp
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import KeyPath, Problem, own_problem
from loadcurve.toml.values import from_study_folder

CALL_METHOD: Final = "POST"
"""The method of HTTP by which calls of gRPC are made."""
CallKind = Literal["unary", "server_stream", "client_stream", "bidirectional"]
"""What a call consists of: which side streams its messages."""
UNARY: Final = "unary"
SERVER_STREAM: Final = "server_stream"
CLIENT_STREAM: Final = "client_stream"
BIDIRECTIONAL: Final = "bidirectional"
_STREAMED: Final[Mapping[tuple[bool, bool], CallKind]] = {
    (False, False): UNARY,
    (False, True): SERVER_STREAM,
    (True, False): CLIENT_STREAM,
    (True, True): BIDIRECTIONAL,
}
"""Which kind of calls a method is of that streams its requests, and its answers."""
STATUSES: Final = (*grpc_statuses(),)
"""The statuses by which calls end, each in the place of its number."""
OK: Final = STATUSES[0]
_METHOD = re.compile("/[^/?#]+/[^/?#]+")
GZIP: Final = "gzip"
COMPRESSED_BYTES_MAX: Final = 4 * 1024 * 1024
"""The longest message of a file that is compressed: what most servers take of one that is not."""
_MESSAGE_IN_WORDS = (
    'a text of JSON, which requires proto, or "@" and the name of a file with the encoded message'
)

_DESCRIPTORS_IN_WORDS = "a descriptor set in base64"


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


def _descriptors(value: object) -> object:
    try:
        base64.b64decode(value if isinstance(value, str) else "?", validate=True)
    except (binascii.Error, ValueError):
        raise own_problem(f"found {show(value)}; expected {_DESCRIPTORS_IN_WORDS}") from None
    return value


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
    descriptors: Annotated[
        str | None, BeforeValidator(_descriptors), Expected(_DESCRIPTORS_IN_WORDS), Field(exclude=True)
    ] = None
    """In place of `proto`: a descriptor set in base64. `loadcurve load` has it from the server's reflection,
    and writes it into the study in its folder.
    """
    statuses: Annotated[
        list[Status],
        Expected('a list of statuses of gRPC, such as ["OK", "NOT_FOUND"]'),
        CommandLine(
            "--grpc-status",
            help="Statuses of gRPC that are right.",
            usual="OK",
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

    compression: Annotated[
        Literal["identity", "gzip"],
        CommandLine(
            "--compression",
            help="Compress gRPC messages with gzip.",
            panel="Messages",
            place=93,
        ),
    ] = "identity"
    """How messages are compressed: not at all ("identity"), or with "gzip" (`grpc-encoding`), once before the
    load; those of answers may then be, too, and are counted as they come.
    """
    call: Annotated[
        CallKind | None,
        CommandLine(
            "--call",
            help="What a gRPC call consists of; else as --proto says.",
            panel="Messages",
            place=95,
        ),
    ] = None
    """What a call consists of: one message that one answers ("unary") or a stream of them ("server_stream"),
    several messages that one answers ("client_stream"), or one message at a time on a call that is kept, each
    answered by one ("bidirectional"). Unless set it is what `proto` says of the method, and unary without it.
    """
    messages_per_call: Annotated[
        PositiveCount | None,
        CommandLine(
            "--messages-per-call",
            help="How many messages a client_stream call of gRPC has.",
            metavar="N",
            panel="Messages",
            place=97,
        ),
    ] = None
    """How often the message is sent in each call that streams its requests alone; 1 unless set."""

    @property
    def right(self) -> Sequence[str]:
        """The statuses that are right."""
        return self.statuses or [OK]

    def planned(self, paths: Iterable[str]) -> dict[str, Any]:
        """Return what the engine reads of it, of calls of these paths."""
        bits = {1 << STATUSES.index(name) for name in self.right}
        planned = {"right_statuses": sum(bits), "deadline": self.deadline, "call": self.kind(paths)}
        is_gzip = self.compression == GZIP
        return planned | {"messages_per_call": self.messages_per_call or 1, "is_gzip": is_gzip}

    def kind(self, paths: Iterable[str]) -> CallKind:
        """Return what calls of these paths consist of.

        Raises ``ValueError``: they are of several kinds, or of another than `call` says; or the schema is
        none, or has no such method.
        """
        kinds = {path: self._kind(path) for path in paths}
        for path, kind in kinds.items():
            if self.call not in (None, kind):
                raise ValueError(f"found {self.call}, but {path} is {kind}; remove call, or correct it")
        if len({*kinds.values()}) > 1:
            found = ", ".join(f"{path} is {kind}" for path, kind in kinds.items())
            raise ValueError(f"{found}; expected methods of one kind in a load")
        return next(iter(kinds.values()), UNARY)

    @property
    def _schema(self) -> str | bytes | None:
        """The file of the schema, or a descriptor set."""
        return self.proto if self.descriptors is None else base64.b64decode(self.descriptors)

    def lacks_schema(self, calls: Sequence[AskedRequest]) -> bool:
        """Whether calls of methods have messages in JSON that nothing gives a form."""
        if self._schema is not None or not all(_METHOD.fullmatch(call.path) for call in calls):
            return False
        return any(_requires_schema(call.body) for call in calls)

    def _kind(self, path: str) -> CallKind:
        if self._schema is None:
            return self.call or UNARY
        return _STREAMED[method_streams(self._schema, self.proto_folders, path)]

    def encoded(self, path: str, message: str | bytes | BodyLines) -> str | bytes:
        """Return the message of a call of a path as a body: bytes, or a file of them behind ``@``.

        Raises ``ValueError``: the schema is none or is missing, has no such method, or the message does not
        fit it; or it is to be compressed, and cannot be read, or is too long for that.
        """
        encoded = self._encoded(path, message)
        return encoded if self.compression != GZIP else _compressed(encoded)

    def _encoded(self, path: str, message: str | bytes | BodyLines) -> str | bytes:
        if isinstance(message, BodyLines):
            raise ValueError(  # noqa: TRY004 -- what cannot be sent is no fault of types
                "a message of gRPC is no line of a file; give it as JSON, or as @FILE"
            )
        if isinstance(message, bytes) or message.startswith(FILE_MARK):
            return message
        if self._schema is not None:
            return encode_message(self._schema, self.proto_folders, path, message or "{}")
        if not _requires_schema(message):
            return b""
        raise ValueError(
            "a message in JSON requires the .proto file or a descriptor set (proto, --proto); "
            "or give the encoded message as @FILE"
        )


def _requires_schema(message: str | bytes | BodyLines) -> bool:
    """Whether a message is JSON with fields."""
    if not isinstance(message, str) or message.startswith(FILE_MARK):
        return False
    return message.strip() not in ("", "{}")


def _compressed(message: str | bytes) -> bytes:
    if isinstance(message, str):
        file = Path(message.removeprefix(FILE_MARK))
        try:
            message, _ = read_given(file, COMPRESSED_BYTES_MAX)
        except OSError as error:
            reason = (
                "a message that is compressed has at most 4 MiB" if error.errno == EFBIG else error.strerror
            )
            raise ValueError(f"{file}: it cannot be read: {reason}") from None
    return gzip.compress(message, mtime=0)


Grpc = Annotated[
    GrpcTable,
    PlainSerializer(lambda table: table.model_dump(mode="json", exclude_defaults=True)),
    Expected('a table about calls of gRPC, such as { message = "{}", proto = "api.proto" }'),
]
"""A record has what the study gives, without the message."""


def problems_of_calls(
    grpc: GrpcTable,
    http: AskedHttp,
    requests: object,
    calls: Sequence[AskedRequest],
    of_streams: Sequence[KeyPath],
) -> Iterator[Problem]:
    """Check that calls of gRPC can be made as a load says: over this version, with these requests.

    ``of_streams`` are the places of what a study says of streamed answers.
    """
    if http not in {HTTP2, HTTP3}:
        text = f'found {http}, but gRPC is spoken over HTTP/2 or HTTP/3; expected "{HTTP2}" or "{HTTP3}"'
        yield Problem(("load", "http"), text)
    if isinstance(requests, LongList):
        text = "calls of gRPC are not read from a long list; expected a list of paths in the study"
        yield Problem(("load", "requests"), text)
        return
    without_method = {
        index: call.path for index, call in enumerate(calls) if not _METHOD.fullmatch(call.path)
    }
    for index, path in without_method.items():
        text = f"found {show(path)}, which names no method of gRPC; expected /package.Service/Method"
        yield Problem(("load", "requests", str(index)), text)
    yield from _not_of_requests(calls)
    if without_method:
        return
    if grpc.proto is not None and grpc.descriptors is not None:
        text = "cannot be combined with proto; keep one of the two"
        yield Problem(("load", "grpc", "descriptors"), text)
    try:
        kind = grpc.kind(call.path for call in calls)
    except ValueError as error:
        yield Problem(("load", "grpc", "call"), str(error))
        return
    yield from _problems_of_kind(grpc, kind, calls)
    if kind == BIDIRECTIONAL and http == HTTP3:
        text = f'calls that stream both ways are kept on streams of HTTP/2; expected "{HTTP2}", or nothing'
        yield Problem(("load", "http"), text)
    if kind != SERVER_STREAM:
        for place in of_streams:
            yield Problem(place, f"only used with methods that stream their answers; found {kind}; remove it")
    encoded = cache(grpc.encoded)
    for index, call in enumerate(calls):
        try:
            encoded(call.path, call.body)
        except ValueError as error:
            own = call.body != grpc.message
            yield Problem(
                ("load", "requests", str(index)) if own else ("load", "grpc", "message"), str(error)
            )


def _not_of_requests(calls: Sequence[AskedRequest]) -> Iterator[Problem]:
    """Check that no request of the list says what calls of gRPC do not have."""
    for index, call in enumerate(calls):
        place = ("load", "requests", str(index))
        if call.method != CALL_METHOD:
            text = f"found {show(call.method)}; calls of gRPC are made by {CALL_METHOD}; remove the method"
            yield Problem(place, text)
        if call.chunked:
            yield Problem(place, "messages of gRPC have no chunks; remove chunked")
        if isinstance(call.rule, AnswerPattern):
            text = "a pattern is not used: calls of gRPC are right by their status; remove it"
            yield Problem(place, text)


def _problems_of_kind(grpc: GrpcTable, kind: CallKind, calls: Sequence[AskedRequest]) -> Iterator[Problem]:
    """Check that nothing is said of calls that belongs to another kind of them."""
    if grpc.messages_per_call is not None and kind != CLIENT_STREAM:
        text = f"only used with methods that stream their requests alone; found {kind}; remove it"
        yield Problem(("load", "grpc", "messages_per_call"), text)
    if kind != BIDIRECTIONAL:
        return
    if grpc.deadline:
        text = "a deadline is that of a whole call, but calls that stream both ways are kept; remove it"
        yield Problem(("load", "grpc", "deadline"), text)
    if grpc.statuses not in ([], [OK]):
        text = "calls that stream both ways are kept, so that no status ends a message; remove it"
        yield Problem(("load", "grpc", "statuses"), text)
    if len({call.path for call in calls}) > 1:
        text = (
            "calls that stream both ways are kept, so that all messages go to one method; expected one path"
        )
        yield Problem(("load", "requests"), text)
