"""What a gRPC server says of its methods by server reflection, which is asked once, before a load."""

import http
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from loadcurve._engine import descriptor_set, reflection_answer, reflection_question, schema_methods
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.loads.asked import AskedRequest
from loadcurve.loads.grpc import CALL_METHOD, OK, STATUSES, GrpcTable
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.redaction import own_words
from loadcurve.server.asked import Ended, Site, answer_as_it_comes
from loadcurve.server.failure import ServerFailure
from loadcurve.toml.expected import nearest, show

VERSIONS: Final = ("v1", "v1alpha")
"""Of the service of reflection, the newest first: servers have one of them, or both."""
FILES_MAX: Final = 500
BYTES_MAX: Final = 8 * 1024 * 1024
"""What is taken of descriptors, together. The largest public interfaces have a few MiB."""
LISTED_MAX: Final = 20
"""How many names an error repeats."""
TIMEOUT_S_MIN: Final = 1e-3
PREFIX_BYTES: Final = 5
"""What precedes the message of an answer."""
UNIMPLEMENTED: Final = "UNIMPLEMENTED"
NOT_FOUND: Final = "NOT_FOUND"
INSTEAD: Final = (
    "give its .proto file or a descriptor set (--proto FILE), or the encoded message (--message @FILE)"
)

File = tuple[str, list[str], bytes]
"""A name, the names of what the file imports, and its descriptors."""
Read = TypeVar("Read")


def reflected(load: HttpLoadTable, site: Site) -> bytes:
    """Return the descriptor set of the methods that a load calls, as their server has it.

    All questions together have the timeout of the site.

    Raises:
        BadInput: the server has no reflection, or no such service or method.
        NothingMeasured: a question is not answered as it should be.

    """
    asking = _Asking(load, site, time.monotonic() + site.timeout_s)
    try:
        paths = [*dict.fromkeys(one.path.removeprefix("/") for one in load.asked)]
        for service in dict.fromkeys(path.partition("/")[0] for path in paths):
            asking.find(service)
        found = descriptor_set([*asking.files.values()])
        methods = asking.understood(lambda: schema_methods(found))
    except ServerFailure as failure:
        raise NothingMeasured(f"{failure.text} Instead, {INSTEAD}.") from None
    for path in paths:
        if path not in methods:
            service = path.partition("/")[0]
            raise _missing("method", path, [one for one in methods if one.startswith(f"{service}/")])
    return found


@dataclass
class _Asking:
    """The questions to a server, and the files that have come."""

    load: HttpLoadTable
    site: Site
    deadline_s: float
    files: dict[str, bytes] = field(default_factory=dict)
    """The descriptors by the names of their files."""
    version: str | None = None
    """The version of reflection that has answered."""
    size_bytes: int = 0
    """Of all answers."""

    def find(self, service: str) -> None:
        """Take the file of a service, and all that it imports."""
        if not (found := self._asked(symbol=service)):
            raise _missing("service", service, self._services())
        due = self._taken(found)
        while due:
            name, importer = due.popitem()
            found = self._asked(file=name)
            if name not in (one[0] for one in found):
                raise self._failure(f"it has no file {show(name)}, which {show(importer)} imports")
            due |= self._taken(found)
            due = {name: importer for name, importer in due.items() if name not in self.files}

    def _taken(self, files: list[File]) -> dict[str, str]:
        """Keep files; return what they import that is missing, each with one that imports it."""
        for name, _, content in files:
            self.files.setdefault(name, content)
        imports = {one: name for name, those, _ in files for one in those if one not in self.files}
        if len(self.files) + len(imports) > FILES_MAX:
            raise self._failure(f"its descriptors are more than {FILES_MAX} files")
        return imports

    def _services(self) -> list[str]:
        services = self._message(reflection_question())[1]
        return [one for one in services if not one.startswith("grpc.reflection.")]

    def _asked(self, *, symbol: str | None = None, file: str | None = None) -> list[File]:
        """Return the files that answer a question; an empty list if the server has no such symbol or file."""
        return self._message(reflection_question(symbol=symbol, file=file))[0]

    def _message(self, question: bytes) -> tuple[list[File], list[str]]:
        """Return the files or the services of an answer; nothing where there is no such thing."""
        (name, said), message = self._answer(question)
        if name == NOT_FOUND:
            return [], []
        if name != OK:
            raise self._failure(_in_words(name, said))
        files, services, refused = self.understood(lambda: reflection_answer(message))
        if refused is not None:
            code, said = refused
            name = STATUSES[code] if 0 < code < len(STATUSES) else f"the error {code}"
            if name != NOT_FOUND:
                raise self._failure(_in_words(name, said))
        return files, services

    def _answer(self, question: bytes) -> tuple[Ended, bytes]:
        """Ask one version of reflection after the other, until one is implemented."""
        for version in VERSIONS if self.version is None else [self.version]:
            status, ended, message = self._called(version, question)
            if ended is None:
                where = "" if status == http.HTTPStatus.OK else f" with status {status} of HTTP"
                raise self._failure(f"it answers{where} without a status of gRPC: does gRPC listen there?")
            if ended[0] != UNIMPLEMENTED:
                self.version = version
                return ended, message
        raise BadInput(
            f"{self.site.authority}: the server has no reflection (grpc.reflection.v1 and v1alpha are both "
            f"{UNIMPLEMENTED}), which a message in JSON is encoded by; {INSTEAD}"
        )

    def _called(self, version: str, question: bytes) -> tuple[int, Ended | None, bytes]:
        """Make a call of one message, whose stream of answers is then one message, too."""
        path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
        request = AskedRequest(path, CALL_METHOD, self.load.headers, question, "status", name=path[1:])
        plain = {"grpc": GrpcTable(), "events_expected": None, "stream_for_s": None}
        left_s = max(TIMEOUT_S_MIN, self.deadline_s - time.monotonic())
        message = bytearray()

        def take(part: bytes) -> None:
            self.size_bytes += len(part)
            if self.size_bytes > BYTES_MAX:
                raise self._failure(f"its descriptors are more than {BYTES_MAX // 1024**2} MiB")
            message.extend(part)

        load = self.load.model_copy(update=plain)
        status, ended = answer_as_it_comes(load, request, replace(self.site, timeout_s=left_s), take)
        return status, ended, bytes(message[PREFIX_BYTES:])

    def understood(self, read: Callable[[], Read]) -> Read:
        """Return what is read of the server's words."""
        try:
            return read()
        except ValueError as error:
            raise self._failure(f"its descriptors cannot be used: {error}") from None

    def _failure(self, text: str) -> ServerFailure:
        return ServerFailure(
            "wrong_answer", f"{self.site.authority}: its reflection gives no descriptors: {text}."
        )


def _in_words(name: str, said: str | None) -> str:
    quoted = own_words(said or "")
    return f'it answers with {name}: "{quoted}"' if quoted else f"it answers with {name}"


def _missing(kind: str, name: str, known: list[str]) -> BadInput:
    """Return the error about a name that a server does not know, with those that it does."""
    listed = ", ".join(known[:LISTED_MAX]) or "none"
    more = len(known) - LISTED_MAX
    others = f" and {more} more" if more > 0 else ""
    return BadInput(
        f"URL: the server has no {kind} {show(name)}; it has {listed}{others}{nearest(name, known)}"
    )
