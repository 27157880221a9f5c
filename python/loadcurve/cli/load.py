"""``loadcurve load``: one load against one URL."""

import math
import os
import socket
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.live import Live
from rich.text import Text

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.result.load import LoadResult
from loadcurve.run.load import LoadInterrupted, Progress, run_load
from loadcurve.run.plan import EnginePlan, EngineRequest, EngineStop
from loadcurve.study.expected import Kind
from loadcurve.study.tables import Duration, Timeout, Warmup

EXIT_DONE = 0
EXIT_INVALID = 3
EXIT_INTERRUPTED = 130
DEFAULT_DURATION = "10s"
DEFAULT_PORT = 80
REFRESH_PER_SECOND = 4


@dataclass(frozen=True)
class LoadOptions:
    """The options as the person gave them."""

    url: str
    connections: int
    threads: int
    duration: str | None
    requests_total: int | None
    rate_rps: float | None
    warmup: str
    timeout: str
    method: str
    headers: tuple[str, ...]
    body: str
    cpus: str


@dataclass(frozen=True)
class Target:
    """Where a URL leads."""

    host: str
    port: int
    authority: str
    """What ``Host`` names."""
    path: str


def load_command(options: LoadOptions, *, json_output: bool) -> int:
    """Run one load, print its result on stdout, and return the exit code.

    Raises:
        BadInput: an option cannot be used; nothing was started.
        NothingMeasured: the URL leads nowhere, or nothing was answered.

    """
    target = read_url(options.url)
    # The address is looked up last, so that bad options are refused without a question to any name server.
    plan = _plan(options, target, address="")
    plan = plan.model_copy(update={"address": _reachable_address(target, plan.timeout_s)})
    try:
        result = _watched(plan)
    except LoadInterrupted as interrupt:
        _print(interrupt.result, json_output=json_output)
        return EXIT_INTERRUPTED
    _print(result, json_output=json_output)
    if not result.requests.answered:
        raise NothingMeasured(f"{options.url}: no request was answered: {_failures(result)}")
    return EXIT_INVALID if result.verdict.status == "invalid" else EXIT_DONE


def read_url(url: str) -> Target:
    """Return where ``url`` leads; raises BadInput where it cannot be used."""
    try:
        parts = urlsplit(url)
        fault = _fault(parts)
    except ValueError as error:
        fault = f"not a URL: {error}"
    if fault:
        raise BadInput(f"{url}: {fault}; expected http://host:port/path")
    if parts.username is not None:
        raise BadInput(f"{url}: a URL with a user cannot be used; give the header with -H 'Authorization: …'")
    path = parts.path or "/"
    return Target(
        host=parts.hostname or "",
        port=DEFAULT_PORT if parts.port is None else parts.port,
        authority=parts.netloc,
        path=f"{path}?{parts.query}" if parts.query else path,
    )


def _fault(parts: SplitResult) -> str | None:
    """Say what keeps a URL from being loaded; raises ValueError where its port is no port."""
    if not parts.scheme:
        return "the scheme is missing"
    if parts.scheme != "http":
        return f"the scheme is {parts.scheme!r}"
    if not parts.hostname:
        return "the host is missing"
    return "the port is 0" if parts.port == 0 else None


def _plan(options: LoadOptions, target: Target, address: str) -> EnginePlan:
    if options.duration is not None and options.requests_total is not None:
        raise BadInput("--duration and --requests: the load ends by one of them; give only one")
    if options.rate_rps is not None and not 0 < options.rate_rps < math.inf:
        raise BadInput(f"--rate {options.rate_rps:g}: expected a positive number of requests per second")
    if options.threads > options.connections:
        raise BadInput(
            f"--threads {options.threads}: more than the {options.connections} connections; "
            f"expected 1 to {options.connections}"
        )
    duration_s = None
    if options.requests_total is None:
        duration_s = _seconds("--duration", options.duration or DEFAULT_DURATION, Duration)
    request = EngineRequest(
        method=options.method,
        target=target.path,
        headers=tuple(_header(text) for text in options.headers),
        body=options.body,
    )
    return EnginePlan(
        address=address,
        authority=target.authority,
        requests=(request,),
        model="closed" if options.rate_rps is None else "open",
        connections=options.connections,
        rate_rps=options.rate_rps,
        arrivals=None if options.rate_rps is None else "constant",
        stop=EngineStop(duration_s=duration_s, requests_total=options.requests_total),
        warmup_s=_seconds("--warmup", options.warmup, Warmup),
        timeout_s=_seconds("--timeout", options.timeout, Timeout),
        threads=options.threads,
        cpus=_cpus(options.cpus),
    )


def _seconds(option: str, text: str, kind: type[float]) -> float:
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


def _cpus(text: str) -> tuple[int, ...]:
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


def _reachable_address(target: Target, timeout_s: float) -> str:
    """Return the first address of the host that accepts a connection, as ``host:port``."""
    where = f"{target.host}:{target.port}"
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a host name"
        raise NothingMeasured(f"{where}: the host is not found: {reason}") from error
    reasons = []
    for family, _, _, _, address in found:
        host, port = str(address[0]), int(address[1])
        try:
            with socket.create_connection((host, port), timeout=timeout_s):
                return f"[{host}]:{port}" if family == socket.AF_INET6 else f"{host}:{port}"
        except OSError as error:
            reasons.append(f"{host}: {error.strerror or error}")
    raise NothingMeasured(f"{where}: nobody answers there ({'; '.join(dict.fromkeys(reasons))})")


def _watched(plan: EnginePlan) -> LoadResult:
    """Run the load with one live line on stderr, where that is a terminal."""
    talk = Console(stderr=True, highlight=False)
    line = Text()
    live = (
        Live(line, console=talk, refresh_per_second=REFRESH_PER_SECOND, transient=True)
        if talk.is_terminal
        else nullcontext()
    )
    with live:
        return run_load(plan, lambda progress: _show_progress(line, progress, plan))


def _show_progress(line: Text, progress: Progress, plan: EnginePlan) -> None:
    if not progress.elapsed_s:
        line.plain = "connecting"
        return
    rate = f"{progress.answered / progress.elapsed_s:,.0f} requests/s"
    failed = f" · {progress.failed:,} failed" if progress.failed else ""
    if plan.stop.duration_s is None:
        line.plain = f"{progress.answered:,} of {plan.stop.requests_total:,} requests · {rate}{failed}"
    else:
        total_s = plan.warmup_s + plan.stop.duration_s
        line.plain = f"{progress.elapsed_s:.0f} of {total_s:g} s · {rate}{failed}"


def _print(result: LoadResult, *, json_output: bool) -> None:
    if json_output:
        sys.stdout.write(result.model_dump_json(by_alias=True) + "\n")
        return
    from loadcurve.report.load import load_summary

    Console(highlight=False).print(load_summary(result))


def _failures(result: LoadResult) -> str:
    counts = {name: count for name, count in result.errors.model_dump().items() if count}
    return (
        ", ".join(f"{count} {name}" for name, count in counts.items())
        or "the load ended before an answer came"
    )
