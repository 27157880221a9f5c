"""What a server answers: whether it is ready, and whether it serves what it should."""

import hashlib
import http.client
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from loadcurve.errors import BadInput
from loadcurve.result.records import ContentRecord
from loadcurve.server.failure import ServerFailure

CHUNK_BYTES = 1 << 20
ANSWER_TIMEOUT_S = 10.0


def status_of(address: str, port: int, path: str, timeout_s: float) -> int:
    """Ask for a path and return the answer's status; raises OSError or HTTPException where there is none."""
    connection = http.client.HTTPConnection(address, port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().status
    finally:
        connection.close()


def verify_answers(
    address: str, port: int, paths: Iterable[str], content: Mapping[str, ContentRecord] | None
) -> dict[str, ContentRecord]:
    """Ask for each path once and compare status, length and digest with the content.

    Without content, as for a server that was not started here, only the status is compared. Returns the
    length and the digest of each answer.

    Raises:
        BadInput: a path leads to no file of the content.
        ServerFailure: an answer is missing or wrong ("wrong_answer").

    """
    answers = {}
    for path in paths:
        expected = None if content is None else _content_at(path, content)
        answers[path] = _answer(address, port, path)
        if expected is not None and answers[path] != expected:
            raise ServerFailure("wrong_answer", f"GET {path} {_difference(answers[path], expected)}.")
    return answers


def content_name(path: str) -> str:
    """Return the name, in the content, of the file that a request path leads to."""
    return unquote(path.partition("?")[0]).removeprefix("/")


def _content_at(path: str, content: Mapping[str, ContentRecord]) -> ContentRecord:
    name = content_name(path)
    if name not in content:
        raise BadInput(
            f"The path {path} leads to no file of the content, which holds: {', '.join(sorted(content))}."
        )
    return content[name]


def _answer(address: str, port: int, path: str) -> ContentRecord:
    connection = http.client.HTTPConnection(address, port, timeout=ANSWER_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        response = connection.getresponse()
        if response.status != http.HTTPStatus.OK:
            raise ServerFailure(
                "wrong_answer", f"GET {path} was answered with status {response.status}, not 200."
            )
        digest = hashlib.sha256()
        size_bytes = 0
        while chunk := response.read(CHUNK_BYTES):
            digest.update(chunk)
            size_bytes += len(chunk)
        if response.length:
            text = f"GET {path} ended {response.length} bytes before the length that its header names."
            raise ServerFailure("wrong_answer", text)
    except (OSError, http.client.HTTPException) as error:
        raise ServerFailure(
            "wrong_answer", f"GET {path} was not answered: {error or type(error).__name__}."
        ) from None
    finally:
        connection.close()
    return ContentRecord(bytes=size_bytes, sha256=digest.hexdigest())


def _difference(answer: ContentRecord, expected: ContentRecord) -> str:
    if answer.bytes != expected.bytes:
        return f"was answered with {answer.bytes} bytes instead of {expected.bytes}"
    return f"was answered with {answer.bytes} bytes of the right length but other content"
