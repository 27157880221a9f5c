"""What a web server answers: whether it is ready, and whether it serves what it should."""

import hashlib
import http.client
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote

from loadcurve.errors import BadInput
from loadcurve.loads.verification import AnswerPattern, AnswerRule
from loadcurve.result.records import ContentRecord
from loadcurve.server.exchange import answer_within
from loadcurve.server.failure import ServerFailure
from loadcurve.server.transport import CLEAR_TEXT, Transport
from loadcurve.toml.expected import show

CHUNK_BYTES = 1 << 20
ANSWER_TIMEOUT_S = 10.0
MATCHED_BYTES = 1 << 20
"""A pattern is looked for in this much of an answer, from its begin."""
CHANGES = (
    "is answered differently from request to request; a page whose text changes requires verify in [load]: "
    '"status", or { pattern = "…" } for what each text contains'
)


@dataclass(frozen=True)
class WebSite:
    """What a web server that was started here offers, see :class:`loadcurve.server.live.Service`."""

    address: str
    port: int
    ready_path: str | None
    """What is asked for until it is answered; ``None`` for the first file of the content, which holds one."""
    content_folder: Path
    content: Mapping[str, ContentRecord]
    transport: Transport = CLEAR_TEXT

    @property
    def url(self) -> str:
        """Where its root is."""
        return f"{self.transport.scheme}://{self.address}:{self.port}"

    @property
    def sign_of_life(self) -> str:
        """What a ready server does, in words."""
        return f"answer GET {self._asked_path} with status 200"

    def refusal(self, timeout_s: float) -> str | None:
        """Ask for the ready path; ``None`` if the answer is that of a ready server, otherwise what it was."""
        try:
            status = status_of(self.address, self.port, self._asked_path, timeout_s, self.transport)
        except (OSError, http.client.HTTPException) as error:
            return f"the last attempt failed with {error or type(error).__name__}"
        if status == http.HTTPStatus.OK:
            return None
        if status == http.HTTPStatus.FORBIDDEN and os.geteuid() == 0:
            return (
                f"the last status was {status}; because root starts it, it runs as another user, who must "
                f"be able to enter every folder of {self.content_folder} and to read the files in it"
            )
        return f"the last status was {status}"

    def verify(self, paths: Sequence[str], rule: AnswerRule = "content", /) -> None:
        """Ask for each path once and check the answer by the rule."""
        verify_answers(self.address, self.port, paths, self.content, rule=rule, transport=self.transport)

    @property
    def _asked_path(self) -> str:
        return self.ready_path or "/" + quote(next(iter(self.content)))


def status_of(address: str, port: int, path: str, timeout_s: float, transport: Transport = CLEAR_TEXT) -> int:
    """Ask for a path and return the answer's status; raises OSError or HTTPException where there is none."""
    with answer_within(timeout_s, address, port, path, transport=transport) as response:
        return response.status


def verify_answers(
    address: str,
    port: int,
    paths: Iterable[str],
    content: Mapping[str, ContentRecord] | None,
    timeout_s: float = ANSWER_TIMEOUT_S,
    *,
    rule: AnswerRule = "content",
    transport: Transport = CLEAR_TEXT,
) -> dict[str, ContentRecord]:
    """Ask for each path once and compare status, length and digest with the content, or as the rule says.

    Without content, as for a server that was not started here, only the status is compared. Each answer has
    ``timeout_s``, see :func:`loadcurve.server.exchange.answer_within`. Returns the length and the digest of
    each answer.

    Raises:
        BadInput: a path leads to no file of the content.
        ServerFailure: an answer is missing or wrong ("wrong_answer").

    """
    answers = {}
    ask = partial(_answer, address, port, timeout_s=timeout_s, transport=transport)
    for path in paths:
        expected = _content_at(path, content) if rule == "content" and content is not None else None
        body_bytes = None if expected is None else expected.bytes
        answers[path], text = ask(path, expected_bytes=body_bytes)
        if isinstance(rule, AnswerPattern) and not re.search(rule.pattern, text):
            raise ServerFailure(
                "wrong_answer",
                f"GET {path} was answered with a text that {show(rule.pattern)} does not match.",
            )
        if expected is not None and answers[path] != expected:
            again, _ = ask(path, expected_bytes=body_bytes)
            difference = _difference(answers[path], expected) if again == answers[path] else CHANGES
            raise ServerFailure("wrong_answer", f"GET {path} {difference}.")
    return answers


def content_name(path: str) -> str:
    """Return the name, in the content, of the file that a request path leads to."""
    return unquote(path.partition("?")[0]).removeprefix("/")


def _content_at(path: str, content: Mapping[str, ContentRecord]) -> ContentRecord:
    name = content_name(path)
    if name not in content:
        raise BadInput(
            f"The path {path} is no file of the content; the content has: {', '.join(sorted(content))}."
        )
    return content[name]


def _answer(
    address: str, port: int, path: str, *, timeout_s: float, expected_bytes: int | None, transport: Transport
) -> tuple[ContentRecord, str]:
    """Return the length and the digest of an answer, and the begin of its text."""
    try:
        with answer_within(
            timeout_s, address, port, path, body_bytes=expected_bytes, transport=transport
        ) as response:
            if response.status != http.HTTPStatus.OK:
                raise ServerFailure(
                    "wrong_answer", f"GET {path} was answered with status {response.status}, not 200."
                )
            digest = hashlib.sha256()
            size_bytes, begin = 0, b""
            while chunk := response.read(CHUNK_BYTES):
                if size_bytes < MATCHED_BYTES:
                    begin += chunk
                digest.update(chunk)
                size_bytes += len(chunk)
            if response.length:
                text = f"GET {path} ended {response.length} bytes before the length that its header names."
                raise ServerFailure("wrong_answer", text)
    except (OSError, http.client.HTTPException) as error:
        raise ServerFailure(
            "wrong_answer", f"GET {path} was not answered: {error or type(error).__name__}."
        ) from None
    answer = ContentRecord(bytes=size_bytes, sha256=digest.hexdigest())
    return answer, begin[:MATCHED_BYTES].decode(errors="replace")


def _difference(answer: ContentRecord, expected: ContentRecord) -> str:
    if answer.bytes != expected.bytes:
        return f"was answered with {answer.bytes} bytes instead of {expected.bytes}"
    return f"was answered with {answer.bytes} bytes of the right length but other content"
