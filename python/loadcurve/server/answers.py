"""What a web server answers: whether it is ready, and whether it serves what it should."""

import http.client
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from loadcurve.errors import BadInput, in_words
from loadcurve.loads.asked import AskedRequest, ExpectedStatuses
from loadcurve.loads.grpc import SERVER_STREAM
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.table import LoadTable
from loadcurve.loads.verification import AnswerPattern, AnswerRule
from loadcurve.loads.way import SOCKET_HOST, is_socket, socket_address
from loadcurve.redaction import own_words
from loadcurve.result.records import ContentRecord
from loadcurve.server.asked import Answer, Site, answers_to, plain_load
from loadcurve.server.calls import require_call
from loadcurve.server.exchange import Asked, answer_within
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import ReadyQuestion
from loadcurve.server.signs import OpenPort, QuicPort
from loadcurve.server.transport import CLEAR_TEXT, Transport
from loadcurve.toml.expected import show

_LEADS_ELSEWHERE = (
    " It leads elsewhere: name the path that it leads to in `requests` of [load], often the same with a / at "
    "its end."
)
WHAT_HELPS: Final[Mapping[int, str]] = {
    **dict.fromkeys((301, 302, 303, 307, 308), _LEADS_ELSEWHERE),
    401: ' To log in, set headers = { Authorization = { env = "TOKEN" } } in [load].',
    403: " It may require a login or a token against forged requests: set it in `headers` of [load].",
    404: " Name paths that it has in `requests` of [load].",
    405: ' A request of another method is a table in `requests` of [load]: { path = "…", method = "POST" }.',
    415: ' What a body is, a header says: headers = { Content-Type = "application/json" }.',
    429: " It limits how many requests a client may send: switch that off for the measurement.",
}
"""What a person can do about the status of an own application, whose paths nobody else knows."""
ANSWER_TIMEOUT_S = 10.0
ONLY_OK = http.HTTPStatus.OK + 1
"""Statuses below it, from 200 on, are 200."""
CHANGES = (
    "is answered differently from request to request; a page whose text changes requires verify in [load]: "
    '"status", or { pattern = "…" } for what each text contains'
)
PROXY_PROTOCOL_ADVICE = (
    "Each connection begins with a header of the PROXY protocol (proxy_protocol), which the server must be "
    "configured to expect, as by `listen PORT proxy_protocol` in nginx or `accept-proxy` in HAProxy; "
    "servers of the catalogue are not."
)


@dataclass(frozen=True)
class WebSite:
    """What a web server that was started here offers, see :class:`loadcurve.server.live.Service`."""

    address: str
    port: int
    ready: ReadyQuestion | None
    """What it is asked until it is ready; ``None``: nothing, it has to accept a connection or answer QUIC."""
    content_folder: Path | None
    content: Mapping[str, ContentRecord] | None
    """``None`` where what is served is not known, so that only the status of an answer is compared."""
    transport: Transport = CLEAR_TEXT
    socket: Path | None = None
    """The Unix socket on which it listens, in place of the port."""

    @property
    def authority(self) -> str:
        """What ``Host`` names."""
        return f"{self.address}:{self.port}" if self.socket is None else SOCKET_HOST

    @property
    def url(self) -> str:
        """Where its root is."""
        return f"{self.transport.scheme}://{self.authority}"

    @property
    def sign_of_life(self) -> str:
        """What a ready server does, in words."""
        if self.ready is None:
            return self._port.sign_of_life
        below = self.ready.below_status
        status = "status 200" if below == ONLY_OK else f"a status below {below}"
        return f"answer GET {self.ready.path} with {status}"

    def refusal(self, timeout_s: float) -> str | None:
        """Ask for the ready path; ``None`` if the answer is that of a ready server, otherwise what it was."""
        if self.ready is None:
            return self._port.refusal(timeout_s)
        try:
            status = status_of(
                self.address, self.port, self.ready.path, timeout_s, self.transport, socket=self.socket
            )
        except (OSError, http.client.HTTPException) as error:
            return f"the last attempt failed with {in_words(error)}"
        if http.HTTPStatus.OK <= status < self.ready.below_status:
            return None
        if status == http.HTTPStatus.FORBIDDEN and os.geteuid() == 0 and self.content_folder is not None:
            return (
                f"the last status was {status}; because root starts it, it runs as another user, who must "
                f"be able to enter every folder of {self.content_folder} and to read the files in it"
            )
        return f"the last status was {status}"

    @property
    def _port(self) -> OpenPort | QuicPort:
        return (QuicPort if self.transport.is_quic_alone else OpenPort)(self.address, self.port)

    def verify(self, paths: Sequence[str], load: LoadTable | None = None, /) -> None:
        """Ask for each path once, as a load does, and check the answers as it says."""
        address = self.authority if self.socket is None else socket_address(str(self.socket))
        site = Site(address, self.authority, self.transport, ANSWER_TIMEOUT_S)
        verify_answers(site, paths, self.content, load)


def status_of(
    address: str,
    port: int,
    path: str,
    timeout_s: float,
    transport: Transport = CLEAR_TEXT,
    *,
    socket: Path | None = None,
) -> int:
    """Ask for a path and return the answer's status; raises OSError or HTTPException where there is none."""
    there = None if socket is None else socket_address(str(socket))
    with answer_within(timeout_s, address, port, Asked(path), transport, address=there) as response:
        return response.status


def verify_answers(
    site: Site,
    paths: Sequence[str],
    content: Mapping[str, ContentRecord] | None,
    load: LoadTable | None = None,
) -> dict[str, ContentRecord]:
    """Ask for each path once, as a load does, and compare status, length and digest with the content.

    What is compared is what the load says (``verify``, or what a request expects). Requests of another method
    than GET or with headers may be answered with anything but an error; what the content says is then asked
    for without them, where their answers are others. A status that is expected is right, whatever it is.
    Without content, as for a server that was not started here, only the status is compared. Without a load
    the paths are asked for in every version of HTTP that the server was set to speak. Returns the length and
    the digest of the last answer for each path.

    Raises:
        BadInput: a path leads to no file of the content, or the load cannot be sent.
        ServerFailure: an answer is missing or wrong, or the server does not agree to how it is to be spoken
            with ("wrong_answer").

    """
    if isinstance(load, HttpLoadTable):
        return _verified(site, paths, content, load)
    for version in sorted(site.transport.http_versions):
        records = _verified(site, paths, content, plain_load(site.transport, version))
    return records


def _verified(
    site: Site, paths: Sequence[str], content: Mapping[str, ContentRecord] | None, load: HttpLoadTable
) -> dict[str, ContentRecord]:
    requests = load.requests_for(paths)
    files = {}
    if content is not None:
        files = {one.path: _content_at(one.path, content) for one in requests if one.is_of_content}
    asking = _Asking(load, site, {path: record.bytes for path, record in files.items()})
    answers = asking.answers(requests)
    for request, answer in zip(requests, answers, strict=True):
        asking.require(request, answer, files.get(request.path) if request.is_of_content else None)
    return {request.path: answer.record for request, answer in zip(requests, answers, strict=True)}


@dataclass(frozen=True)
class _Asking:
    """How a load asks a server before it is measured."""

    load: HttpLoadTable
    site: Site
    lengths: Mapping[str, int]
    """Of the answers that are files of the content, by path."""

    def answers(self, requests: Sequence[AskedRequest]) -> list[Answer]:
        try:
            return answers_to(self.load, requests, self.site, self.lengths)
        except ServerFailure as failure:
            # Some servers close a connection whose first line is no request.
            if self.load.proxy_protocol is None:
                raise
            raise ServerFailure(failure.code, f"{failure.text} {PROXY_PROTOCOL_ADVICE}") from None

    def require(self, request: AskedRequest, answer: Answer, file: ContentRecord | None) -> None:
        """Refuse an answer that is not what its request must be answered with."""
        if self.load.makes_calls:
            is_stream = self.load.grpc.kind([request.path]) == SERVER_STREAM
            require_call(request.label, answer, self.load.grpc.right, is_stream=is_stream)
            return
        is_own_rule = request.rule != self.load.verify
        helps = "" if file is not None else WHAT_HELPS.get(answer.status, "")
        if request.expected is not None and answer.status != http.HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
            helps = ""
        if helps == _LEADS_ELSEWHERE and request.is_plain:
            helps = _redirect_words(location_of(self.site, request.path)) or helps
        advice = f"{helps}{self._advice(answer)}"
        if request.expected is not None:
            _require_expected(request.line, answer.status, request.expected, advice)
            if answer.status != http.HTTPStatus.OK and not is_own_rule:
                return
        else:
            _require_status(request.line, answer.status, advice, plain=request.is_plain)
        wrong = partial(_difference, expected=file, rule=request.rule)
        if (difference := wrong(answer)) is None:
            return
        if is_own_rule:
            raise ServerFailure("wrong_answer", f"{request.line} {difference}.")
        if not request.is_plain:
            (plain,) = self.answers([request.plain()])
            _require_status(f"GET {request.path}", plain.status, self._advice(plain), plain=True)
            difference = wrong(plain)
        elif file is not None and self.answers([request])[0].record != answer.record:
            difference = CHANGES
        if difference is not None:
            raise ServerFailure("wrong_answer", f"GET {request.path} {difference}.")

    def _advice(self, answer: Answer) -> str:
        """Return the server's own words, and what it takes an unexpected header of the PROXY protocol for."""
        is_cause = self.load.proxy_protocol is not None and answer.status == http.HTTPStatus.BAD_REQUEST
        said = own_words(answer.text) if answer.status >= http.HTTPStatus.BAD_REQUEST else ""
        quoted = f' It says: "{said}"' if said else ""
        return f"{quoted}{f' {PROXY_PROTOCOL_ADVICE}' if is_cause else ''}"


def location_of(site: Site, path: str) -> str | None:
    """Return where a path redirects to; ``None`` where it does not, or is not answered."""
    host, _, port = site.authority.partition(":")
    address = site.address if is_socket(site.address) else None
    try:
        with answer_within(
            site.timeout_s, host, int(port or 0), Asked(path), site.transport, address=address
        ) as answer:
            return answer.headers["Location"]
    except (OSError, ValueError, http.client.HTTPException):
        return None


def _redirect_words(location: str | None) -> str:
    if not location:
        return ""
    said = f' It leads to "{own_words(location)}"'
    if location.startswith("https:"):
        return (
            f"{said}. Where the application expects a proxy with TLS in front of it, the header of one may "
            'do: headers = { X-Forwarded-Proto = "https" } in [load].'
        )
    return f"{said}: name the path that it leads to in `requests` of [load]."


def _require_expected(request: str, status: int, expected: ExpectedStatuses, advice: str) -> None:
    """Refuse a status that is not expected."""
    if status not in expected.codes:
        text = f"{request} was answered with status {status}; {expected.by} {expected.words}.{advice}"
        raise ServerFailure("wrong_answer", text)


def _require_status(request: str, status: int, advice: str, *, plain: bool) -> None:
    """Refuse another status than 200 of a plain request, and an error of any."""
    said = f"{request} was answered with status {status}"
    if status != http.HTTPStatus.OK and plain:
        raise ServerFailure("wrong_answer", f"{said}, not 200.{advice}")
    if status >= http.HTTPStatus.BAD_REQUEST:
        raise ServerFailure("wrong_answer", f"{said}, an error.{advice}")


def content_name(path: str) -> str:
    """Return the name, in the content, of the file that a request path leads to."""
    return unquote(path.partition("?")[0]).removeprefix("/")


def _content_at(path: str, content: Mapping[str, ContentRecord]) -> ContentRecord:
    name = content_name(path)
    if name not in content:
        raise BadInput(
            f"The path {path} is not a file of the content; the content has: {', '.join(sorted(content))}."
        )
    return content[name]


def _difference(answer: Answer, *, expected: ContentRecord | None, rule: AnswerRule) -> str | None:
    """Return what is wrong with the body of an answer, if anything is."""
    if isinstance(rule, AnswerPattern):
        if re.search(rule.pattern, answer.text):
            return None
        return f"was answered with a text that {show(rule.pattern)} does not match"
    if expected is None or answer.record == expected:
        return None
    if answer.record.bytes != expected.bytes:
        return f"was answered with {answer.record.bytes} bytes instead of {expected.bytes}"
    return f"was answered with {expected.bytes} bytes of the right length but other content"
