"""The plan of one load, as the engine reads it."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Literal

from pydantic import BaseModel, ConfigDict

from loadcurve.result.load import Rate
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import content_name
from loadcurve.study.http_loads import ClosedLoad, HttpLoad, OpenLoad, SessionsLoad
from loadcurve.study.requests import LongList
from loadcurve.study.sent import FILE_MARK

IoChoice = Literal["auto", "uring", "epoll"]
"""How the engine talks to the kernel; ``auto`` is the one that costs less, where the kernel allows it."""


class EngineModel(BaseModel):
    """A part of the plan; what is ``None`` is left out of its JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EngineBody(EngineModel):
    """What a request carries behind its head: exactly one of them is set."""

    text: str | None = None
    file: str | None = None
    """A file that the engine reads while it sends it."""


class EngineRequest(EngineModel):
    """One request of the list that the load takes from."""

    method: str = "GET"
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: EngineBody | None = None
    expected_body_bytes: int | None = None
    weight: float = 1.0


class EngineListedRequests(EngineModel):
    """The requests of a list, one for each of its lines, which the engine reads while it sends them."""

    file: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: EngineBody | None = None


class EngineConversation(EngineModel):
    """What happens on one connection."""

    pipeline: int = 1
    """Requests under way at once; in the sessions model, those that are written together."""
    calls: int | None = None
    """Requests after which the connection is closed; ``None`` for never."""
    think_s: float = 0.0


class EngineStop(EngineModel):
    """When the measured window ends: exactly one of them is set."""

    duration_s: float | None = None
    requests_total: int | None = None
    connections_total: int | None = None


class EnginePlan(EngineModel):
    """Everything that decides what is sent, when, and until when."""

    address: str
    """``host:port`` with a numeric host."""
    authority: str
    http: Literal["1.0", "1.1"] = "1.1"
    requests: tuple[EngineRequest, ...] | EngineListedRequests
    pick: Literal["in-order", "random", "weighted"] = "in-order"
    model: Literal["closed", "open", "sessions"]
    connections: int
    """How many are kept open; in the sessions model, how many may be open at once."""
    rate_rps: Rate | None = None
    connection_rate_cps: Rate | None = None
    arrivals: Literal["constant", "poisson"] | None = None
    conversation: EngineConversation = EngineConversation()
    stop: EngineStop
    warmup_s: float
    timeout_s: float
    seed: int = 0
    threads: int
    cpus: tuple[int, ...] = ()
    io: IoChoice = "auto"

    def to_json(self) -> str:
        """Return the plan as the engine reads it."""
        return self.model_dump_json(exclude_none=True)


def body_of(text: str) -> EngineBody | None:
    """Return the body that a person has given as a text, or as the name of a file behind ``@``."""
    if text.startswith(FILE_MARK):
        return EngineBody(file=text.removeprefix(FILE_MARK))
    return EngineBody(text=text) if text else None


def plan_at_point(
    load: HttpLoad,
    address: str,
    content: Mapping[str, ContentRecord],
    cpus: Sequence[int],
    seed: int,
    *,
    authority: str | None = None,
) -> EnginePlan:
    """Return the plan of a study's load against a server that serves ``content``.

    The lengths of the answers to paths of the content are checked during the load, except those to a long
    list, to another method than GET, and to requests with headers. ``Host`` names the ``authority``, or else
    the address. Without a number of threads in the study there is one for each CPU of the load, as far as
    there are connections for them. ``seed`` repeats what is drawn at random.
    """
    connections = load.connections_at_once if isinstance(load, SessionsLoad) else load.connections
    return EnginePlan(
        address=address,
        authority=authority or address,
        http=load.http,
        requests=_requests(load, content),
        pick=load.pick,
        model=load.model,
        connections=connections,
        rate_rps=load.rate_rps if isinstance(load, OpenLoad) else None,
        connection_rate_cps=load.connection_rate_cps if isinstance(load, SessionsLoad) else None,
        arrivals=None if isinstance(load, ClosedLoad) else load.arrivals,
        conversation=_conversation(load),
        stop=_stop(load),
        warmup_s=load.warmup_s,
        timeout_s=load.timeout_s,
        seed=seed,
        threads=load.threads or min(len(cpus), connections),
        cpus=tuple(cpus),
    )


def _requests(
    load: HttpLoad, content: Mapping[str, ContentRecord]
) -> tuple[EngineRequest, ...] | EngineListedRequests:
    headers, body = tuple(load.headers.items()), body_of(load.body)
    if isinstance(load.requests, LongList):
        file = str(load.requests.file)
        return EngineListedRequests(file=file, method=load.method, headers=headers, body=body)
    # Another request than the verified one may be answered with another length.
    is_verified = load.method == "GET" and not headers
    return tuple(
        EngineRequest(
            method=load.method,
            target=path,
            headers=headers,
            body=body,
            expected_body_bytes=_body_bytes(path, content) if is_verified else None,
            weight=weight,
        )
        for path, weight in zip(load.requests, load.weights or repeat(1.0), strict=False)
    )


def _conversation(load: HttpLoad) -> EngineConversation:
    if isinstance(load, SessionsLoad):
        return EngineConversation(pipeline=load.burst, calls=load.calls, think_s=load.think_s)
    think_s = load.think_s if isinstance(load, ClosedLoad) else 0.0
    return EngineConversation(pipeline=load.pipeline, calls=load.calls, think_s=think_s)


def _stop(load: HttpLoad) -> EngineStop:
    if isinstance(load, SessionsLoad):
        return EngineStop(duration_s=load.duration_s, connections_total=load.num_connections)
    return EngineStop(duration_s=load.duration_s, requests_total=load.requests_total)


def _body_bytes(path: str, content: Mapping[str, ContentRecord]) -> int | None:
    record = content.get(content_name(path))
    return None if record is None else record.bytes
