"""A web server asked by the engine, exactly as a load will ask it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from loadcurve._engine import ask
from loadcurve.errors import BadInput, sentence
from loadcurve.loads.asked import AskedRequest
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.table import LoadTable
from loadcurve.protocol import HTTP1_1, HTTP2, HTTP3, HttpVersion
from loadcurve.result.records import ContentRecord
from loadcurve.server.alt_svc import following
from loadcurve.server.failure import ServerFailure
from loadcurve.server.transport import HTTP2_SETTING, Transport

MATCHED_BYTES = 1 << 20
"""A pattern is looked for in this much of an answer, from its start."""
_OF_MANY = {*LoadTable.model_fields, "requests", "pick", "weights", "generator", "threads"}
"""Load fields that do not affect how a single request is made."""
_AS_ASKED = [name for name in HttpLoadTable.model_fields if name not in _OF_MANY]
"""Load fields that decide how a single request is made."""

Ended = tuple[str, str | None]
"""How a call of gRPC has ended: the name of its status, and what the server says of it."""
Answered = tuple[int, int, Ended | None]
"""The status of an answer, the length of its body, and how it has ended where it is a call."""


@dataclass(frozen=True)
class Answer:
    """What one request was answered with."""

    status: int
    record: ContentRecord
    text: str
    """The start of its body."""
    call: Ended | None = None
    """``None`` without a status of gRPC."""


@dataclass(frozen=True)
class Site:
    """Where a web server is asked, and how it is spoken to."""

    address: str
    """``host:port`` with a numeric host."""
    authority: str
    """What ``Host`` names."""
    transport: Transport
    timeout_s: float
    """Each answer has it, from connecting on, but for what a long body takes that does not come slowly."""


def plain_load(transport: Transport, http: HttpVersion = HTTP1_1) -> ClosedLoad:
    """Return a load that asks for paths and says nothing else, with the settings of TLS of a server."""
    load = ClosedLoad(model="closed", requests=["/"], connections=1, requests_total=1)
    return load.model_copy(update={"http": http, "tls": transport.tls})


def answers_to(
    load: HttpLoadTable, requests: Sequence[AskedRequest], site: Site, lengths: Mapping[str, int]
) -> list[Answer]:
    """Make each request once, as this load does; answers may take the time that ``lengths`` of paths take.

    Raises:
        BadInput: the load cannot be sent.
        ServerFailure: the server does not agree to how it is to be spoken with, or a request is not answered
            ("wrong_answer").

    """
    bodies = [_Body() for _ in requests]
    outcomes = _outcomes(load, requests, site, lengths, lambda at, part: bodies[at].take(part))
    answers = []
    # Behind a request that is not answered, no other one is made.
    for request, body, outcome in zip(requests, bodies, outcomes, strict=False):
        status, _, call = _answered(load, request, outcome)
        answers.append(Answer(status, body.record, body.text, call))
    return answers


def answer_as_it_comes(
    load: HttpLoadTable, request: AskedRequest, site: Site, take: Callable[[bytes], object]
) -> tuple[int, Ended | None]:
    """Make a request as this load does, and hand the parts of the answer over; what ``take`` raises ends it.

    Returns the status of HTTP and, of a call of gRPC, how it has ended. Raises as :func:`answers_to`.
    """
    (outcome,) = _outcomes(load, [request], site, {}, lambda _, part: take(part))
    status, _, call = _answered(load, request, outcome)
    return status, call


def _outcomes(
    load: HttpLoadTable,
    requests: Sequence[AskedRequest],
    site: Site,
    lengths: Mapping[str, int],
    take_body: Callable[[int, bytes], object],
) -> list[tuple[Answered | None, tuple[str, str] | None]]:
    if site.transport.is_quic_alone and load.http != HTTP3:
        text = (
            f'The server speaks HTTP/3 alone, and the load HTTP/{load.http}: set http = "{HTTP3}" in [load].'
        )
        raise ServerFailure("wrong_answer", text)
    plan = following(_plan(load, requests, site, lengths))
    try:
        return ask(plan.to_json(), take_body)
    except ValueError as error:
        raise BadInput(str(error)) from None
    except RuntimeError as error:
        is_off = load.http == HTTP2 and site.transport.http2_is_off
        hint = f"; `{HTTP2_SETTING} = true` in its table of the study switches HTTP/2 on" if is_off else ""
        raise ServerFailure("wrong_answer", sentence(f"{error}{hint}")) from None


def _answered(
    load: HttpLoadTable, request: AskedRequest, outcome: tuple[Answered | None, tuple[str, str] | None]
) -> Answered:
    answered, failed = outcome
    if answered is None:
        why = "" if failed is None else f": {failed[1]}"
        asked = request.label if load.makes_calls else request.line
        raise ServerFailure("wrong_answer", sentence(f"{asked} was not answered{why}"))
    return answered


def _plan(
    load: HttpLoadTable, requests: Sequence[AskedRequest], site: Site, lengths: Mapping[str, int]
) -> HttpPlan:
    as_asked: dict[str, Any] = {name: getattr(load, name) for name in _AS_ASKED}
    asked = plain_load(site.transport).model_copy(update={**as_asked, "timeout_s": site.timeout_s})
    return HttpPlan(
        load=asked,
        alone=requests,
        address=site.address,
        authority=site.authority,
        scheme=site.transport.scheme,
        host=urlsplit(f"//{site.authority}").hostname or "",
        verify=site.transport.tls.verify,
        other_addresses=site.transport.other_addresses,
        body_bytes=lengths,
        threads=1,
    )


@dataclass
class _Body:
    """The start of the body of an answer; the rest is not kept."""

    size_bytes: int = 0
    begin: bytearray = field(default_factory=bytearray)
    digest: Any = field(default_factory=hashlib.sha256)

    def take(self, part: bytes) -> None:
        if self.size_bytes < MATCHED_BYTES:
            self.begin += part[: MATCHED_BYTES - self.size_bytes]
        self.digest.update(part)
        self.size_bytes += len(part)

    @property
    def record(self) -> ContentRecord:
        return ContentRecord(bytes=self.size_bytes, sha256=self.digest.hexdigest())

    @property
    def text(self) -> str:
        return self.begin.decode(errors="replace")
