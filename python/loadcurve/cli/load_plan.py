"""From the options of ``loadcurve load`` to the plan of a load."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from loadcurve._engine import body_length
from loadcurve.errors import BadInput
from loadcurve.result.load import Rate
from loadcurve.run.plan import (
    EngineBody,
    EngineConversation,
    EngineListedRequests,
    EnginePlan,
    EngineRequest,
    EngineStop,
    IoChoice,
    body_of,
)
from loadcurve.server.target import Target
from loadcurve.study.expected import Kind
from loadcurve.study.http_loads import default_sessions_at_once
from loadcurve.study.rates import Arrivals, parse_rate
from loadcurve.study.requests import open_requests
from loadcurve.study.tables import Duration, Think, Timeout, Warmup

DEFAULT_CONNECTIONS = 10
DEFAULT_DURATION = "10s"

Pick = Literal["in-order", "random", "weighted"]
HttpVersion = Literal["1.0", "1.1"]


@dataclass(frozen=True)
class LoadOptions:
    """The options as the person gave them."""

    url: str
    connections: int | None
    threads: int
    duration: str | None
    requests_total: int | None
    rate: str | None
    arrivals: Arrivals
    connection_rate: str | None
    connections_total: int | None
    pipeline: int
    calls: int | None
    think: str
    urls: Path | None
    pick: Pick
    http: HttpVersion
    seed: int
    warmup: str
    timeout: str
    method: str
    headers: tuple[str, ...]
    body: str
    cpus: str
    io: IoChoice


def plan_of(options: LoadOptions, target: Target) -> EnginePlan:
    """Return the plan that the options ask for, without an address.

    Raises:
        BadInput: an option cannot be used, by itself or beside another.

    """
    _check_together(options)
    sessions = options.connection_rate is not None
    on_schedule = sessions or options.rate is not None
    return EnginePlan(
        address="",
        authority=target.authority,
        http=options.http,
        requests=_requests(options, target),
        pick=options.pick,
        model="sessions" if sessions else "open" if on_schedule else "closed",
        connections=_connections(options),
        rate_rps=rate_of("--rate", options.rate),
        connection_rate_cps=rate_of("--connection-rate", options.connection_rate),
        arrivals=options.arrivals if on_schedule else None,
        conversation=EngineConversation(
            pipeline=options.pipeline,
            calls=options.calls or (1 if sessions else None),
            think_s=seconds_of("--think", options.think, Think),
        ),
        stop=_stop(options),
        warmup_s=seconds_of("--warmup", options.warmup, Warmup),
        timeout_s=seconds_of("--timeout", options.timeout, Timeout),
        seed=options.seed,
        threads=options.threads,
        cpus=cpus_of(options.cpus),
        io=options.io,
    )


def _check_together(options: LoadOptions) -> None:
    """Refuse options that contradict each other; raises BadInput."""
    ends = {
        "--duration": options.duration,
        "--requests": options.requests_total,
        "--num-connections": options.connections_total,
    }
    given = [name for name, value in ends.items() if value is not None]
    if len(given) > 1:
        raise BadInput(f"{' and '.join(given)}: the load ends by one of them; give only one")
    if options.rate is not None and options.connection_rate is not None:
        raise BadInput("--rate and --connection-rate: either requests arrive or connections; give only one")
    if options.connection_rate is None and options.connections_total is not None:
        raise BadInput("--num-connections: only with --connection-rate, where connections arrive")
    if options.connection_rate is not None and options.requests_total is not None:
        raise BadInput("--requests: with --connection-rate the load ends by --num-connections or --duration")
    connections = _connections(options)
    if options.threads > connections:
        raise BadInput(
            f"--threads {options.threads}: more than the {connections} connections; "
            f"expected 1 to {connections}"
        )


def _connections(options: LoadOptions) -> int:
    """Return how many connections are kept, or may be open at once where they arrive."""
    if options.connections is not None:
        return options.connections
    if options.connection_rate is None:
        return DEFAULT_CONNECTIONS
    return default_sessions_at_once(options.connections_total)


def _stop(options: LoadOptions) -> EngineStop:
    if options.requests_total is None and options.connections_total is None:
        return EngineStop(duration_s=seconds_of("--duration", options.duration or DEFAULT_DURATION, Duration))
    return EngineStop(requests_total=options.requests_total, connections_total=options.connections_total)


def _requests(options: LoadOptions, target: Target) -> tuple[EngineRequest, ...] | EngineListedRequests:
    """Return the requests to take from: the URL's path, or the lines of the file given with --urls."""
    headers = tuple(_header(text) for text in options.headers)
    body = _body(options.body)
    if options.urls is None:
        return (EngineRequest(method=options.method, target=target.path, headers=headers, body=body),)
    open_requests(options.urls)
    return EngineListedRequests(file=str(options.urls), method=options.method, headers=headers, body=body)


def rate_of(option: str, text: str | None) -> Rate | None:
    """Read a rate per second; raises BadInput where it is none."""
    try:
        return None if text is None else parse_rate(text)
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from error


def seconds_of(option: str, text: str, kind: type[float]) -> float:
    """Read a duration within the limits of the study's key of the same name."""
    duration_s: TypeAdapter[float] = TypeAdapter(kind)
    try:
        return duration_s.validate_python(text)
    except ValidationError as error:
        raise BadInput(f"{option} {text}: expected {Kind.of(kind).in_words()}") from error


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise BadInput(f"--header {text!r}: there is no colon; expected 'NAME: VALUE'")
    return name.strip(), value.strip()


def _body(text: str) -> EngineBody | None:
    body = body_of(text)
    if body is not None and body.file is not None:
        try:
            body_length(body.file)
        except ValueError as error:
            raise BadInput(f"--body: {error}") from error
    return body


def cpus_of(text: str) -> tuple[int, ...]:
    """Read a list of CPUs; raises BadInput where this process may not use one of them."""
    try:
        cpus = tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise BadInput(
            f"--cpus {text}: expected CPU numbers with commas between them, such as 2,3"
        ) from error
    usable = sorted(os.sched_getaffinity(0))
    missing = [cpu for cpu in cpus if cpu not in usable]
    if missing:
        raise BadInput(
            f"--cpus {text}: CPU {missing[0]} is not there; this process may use "
            f"{', '.join(map(str, usable))}"
        )
    return cpus
