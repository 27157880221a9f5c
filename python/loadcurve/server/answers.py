"""What a web server answers: whether it is ready, and whether it serves what it should."""

import http.client
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from loadcurve.errors import BadInput
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.requests import is_met
from loadcurve.loads.table import LoadTable
from loadcurve.loads.verification import AnswerPattern, AnswerRule
from loadcurve.result.records import ContentRecord
from loadcurve.server.asked import Answer, Site, answers_to, as_plain, is_plain, plain_load
from loadcurve.server.exchange import Asked, answer_within
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import ReadyQuestion
from loadcurve.server.transport import CLEAR_TEXT, Transport
from loadcurve.toml.expected import show

ANSWER_TIMEOUT_S = 10.0
ONLY_OK = http.HTTPStatus.OK + 1
"""Statuses below it, from 200 on, are 200."""
_OK: Collection[int] = (http.HTTPStatus.OK,)
"""What is expected of a path for which no list expects a status."""
CHANGES = (
    "is answered differently from request to request; a page whose text changes requires verify in [load]: "
    '"status", or { pattern = "…" } for what each text contains'
)


@dataclass(frozen=True)
class WebSite:
    """What a web server that was started here offers, see :class:`loadcurve.server.live.Service`."""

    address: str
    port: int
    ready: ReadyQuestion
    content_folder: Path | None
    content: Mapping[str, ContentRecord] | None
    """``None`` where what is served is not known, so that only the status of an answer is compared."""
    transport: Transport = CLEAR_TEXT

    @property
    def url(self) -> str:
        """Where its root is."""
        return f"{self.transport.scheme}://{self.address}:{self.port}"

    @property
    def sign_of_life(self) -> str:
        """What a ready server does, in words."""
        below = self.ready.below_status
        status = "status 200" if below == ONLY_OK else f"a status below {below}"
        return f"answer GET {self.ready.path} with {status}"

    def refusal(self, timeout_s: float) -> str | None:
        """Ask for the ready path; ``None`` if the answer is that of a ready server, otherwise what it was."""
        try:
            status = status_of(self.address, self.port, self.ready.path, timeout_s, self.transport)
        except (OSError, http.client.HTTPException) as error:
            return f"the last attempt failed with {error or type(error).__name__}"
        if http.HTTPStatus.OK <= status < self.ready.below_status:
            return None
        if status == http.HTTPStatus.FORBIDDEN and os.geteuid() == 0 and self.content_folder is not None:
            return (
                f"the last status was {status}; because root starts it, it runs as another user, who must "
                f"be able to enter every folder of {self.content_folder} and to read the files in it"
            )
        return f"the last status was {status}"

    def verify(self, paths: Sequence[str], load: LoadTable | None = None, /) -> None:
        """Ask for each path once, as a load does, and check the answers as it says."""
        address = f"{self.address}:{self.port}"
        site = Site(address, address, self.transport, ANSWER_TIMEOUT_S)
        verify_answers(site, paths, self.content, load)


def status_of(address: str, port: int, path: str, timeout_s: float, transport: Transport = CLEAR_TEXT) -> int:
    """Ask for a path and return the answer's status; raises OSError or HTTPException where there is none."""
    with answer_within(timeout_s, address, port, Asked(path), transport) as response:
        return response.status


def verify_answers(
    site: Site,
    paths: Sequence[str],
    content: Mapping[str, ContentRecord] | None,
    load: LoadTable | None = None,
) -> dict[str, ContentRecord]:
    """Ask for each path once, as a load does, and compare status, length and digest with the content.

    What is compared is what the load says (``verify``). Requests of another method than GET or with headers
    may be answered with anything but an error; what the content says is then asked for without them, where
    their answers are others. A status that the list of requests expects is right, whatever it is. Without
    content, as for a server that was not started here, only the status is compared. Without a load the paths
    are asked for in every version of HTTP that the server was set to speak. Returns the length and the digest
    of each answer.

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
    expected, statuses = {}, load.expected_statuses(paths)
    if load.verify == "content" and content is not None:
        expected = {path: _content_at(path, content) for path in paths_with_content(load, paths)}
    lengths = {path: record.bytes for path, record in expected.items()}
    answers = answers_to(load, paths, site, lengths)
    for path, answer in answers.items():
        if path in statuses:
            _require_expected(f"{load.method} {path}", answer.status, statuses[path])
            if answer.status != http.HTTPStatus.OK:
                continue
        _require_status(f"{load.method} {path}", answer.status, plain=is_plain(load))
        wrong = partial(_difference, expected=expected.get(path), rule=load.verify)
        if (difference := wrong(answer)) is None:
            continue
        if not is_plain(load):
            plain = answers_to(as_plain(load), [path], site, lengths)[path]
            _require_status(f"GET {path}", plain.status, plain=True)
            difference = wrong(plain)
        elif path in expected and answers_to(load, [path], site, lengths)[path].record != answer.record:
            difference = CHANGES
        if difference is not None:
            raise ServerFailure("wrong_answer", f"GET {path} {difference}.")
    return {path: answer.record for path, answer in answers.items()}


def paths_with_content(load: LoadTable, paths: Sequence[str]) -> list[str]:
    """Return those of the paths that lead to files, and for which no list expects another status than 200."""
    statuses = load.expected_statuses(paths)
    return [path for path in paths if is_met(statuses.get(path, _OK), http.HTTPStatus.OK)]


def _require_expected(request: str, status: int, expected: Collection[int]) -> None:
    """Refuse a status that the list of requests does not expect."""
    if not is_met(expected, status):
        words = " or ".join(map(str, sorted(expected)))
        text = f"{request} was answered with status {status}; the list of requests expects {words}."
        raise ServerFailure("wrong_answer", text)


def _require_status(request: str, status: int, *, plain: bool) -> None:
    """Refuse another status than 200 of a plain request, and an error of any."""
    if status != http.HTTPStatus.OK and plain:
        raise ServerFailure("wrong_answer", f"{request} was answered with status {status}, not 200.")
    if status >= http.HTTPStatus.BAD_REQUEST:
        raise ServerFailure("wrong_answer", f"{request} was answered with status {status}, an error.")


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
