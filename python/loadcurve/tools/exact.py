"""Whether a tool puts a load on a server exactly as it is asked for; if not, why not."""

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from loadcurve.loads.http import ClosedLoad, HttpLoad, OpenLoad, RecordedLoad, SessionsLoad
from loadcurve.loads.models import Load
from loadcurve.loads.option import OtherTools, said_of
from loadcurve.loads.sent import header_fields
from loadcurve.loads.table import LoadTable
from loadcurve.loads.tls import Scheme
from loadcurve.redaction import may_be_secret
from loadcurve.tools.catalog import Tool
from loadcurve.tools.driver import Refused
from loadcurve.tools.table import Abilities
from loadcurve.units import setting

_ENDS = {
    "duration": "duration_s",
    "requests_total": "requests_total",
    "num_connections": "connections_total",
}
_MODELS = {"closed": "a closed loop", "open": "requests at a fixed rate", "sessions": "sessions"}
_EXPECTED = {
    "closed": "a closed loop, without a rate",
    "open": "a rate",
    "sessions": "sessions, by a connection rate",
}
"""The models as a study asks for them, and as the command does, which has no word for them."""


def require_exact(tool: Tool, load: Load, scheme: Scheme, authority: str | None = None) -> None:
    """Raise ``Refused`` with the first reason why a tool cannot put a load on a server as it is.

    ``authority`` is what ``Host`` names; ``None`` for the server's address.
    """
    can = tool.table.can
    if can is None:
        raise Refused("generator", f"{tool.name} puts loads only on databases")
    if not isinstance(load, HttpLoad):
        raise Refused("generator", f"{tool.name} puts loads only on web servers")
    for key, reason in _refusals(tool.name, can, load, scheme, authority):
        raise Refused(key, reason)


def threads_of(tool: Tool, load: HttpLoad, available: int) -> int:
    """Return how many threads a tool has: as the load says, or as its CPUs and connections allow.

    Each thread is given equally many connections, because wrk leaves the rest of them closed.
    """
    if tool.table.can is None or not tool.table.can.threads:
        return 1
    connections = load.connections_at_once
    most = load.threads or min(available, connections)
    return next(count for count in range(max(most, 1), 0, -1) if connections % count == 0)


def _refusals(
    name: str, can: Abilities, load: HttpLoad, scheme: Scheme, authority: str | None
) -> Iterator[tuple[str, str]]:
    yield from _model(name, can, load)
    for key, reason in only_defaults(load):
        yield key, f"{name} {reason or f'is only driven with the default of {key}'}"
    yield from _requests(name, can, load)
    yield from _connections(name, can, load)
    yield from _times(name, can, load)
    if scheme != "http":
        yield "generator", f"{name} is only driven over connections in clear text"
    if not can.names_host:
        yield from _host(name, load, authority)


def _model(name: str, can: Abilities, load: HttpLoad) -> Iterator[tuple[str, str]]:
    if isinstance(load, RecordedLoad):
        yield "arrivals", f"{name} cannot send requests at the times at which they were recorded"
    if load.model not in can.models:
        known = " or ".join(_EXPECTED[model] for model in can.models)
        yield "model", f"{name} has no {_without_article(_MODELS[load.model])}; expected {known}"
    if isinstance(load, OpenLoad | SessionsLoad):
        rate = load.rate_rps if isinstance(load, OpenLoad) else load.connection_rate_cps
        if isinstance(rate, list):
            yield "rate", f"{name} sends at one constant rate, but this one changes"
        elif can.whole_rate and rate % 1:
            yield "rate", f"{name} takes whole requests per second; found {setting(rate)}"
        if load.arrivals == "poisson" and not can.poisson:
            yield "arrivals", f"{name} has no random arrivals"
    if load.http not in can.http:
        versions = " and ".join(can.http)
        yield "http", f'{name} speaks HTTP/{versions}; expected http = "{can.http[0]}" for this generator'
    for key, attribute in _ENDS.items():
        if getattr(load, attribute, None) is not None and key not in can.ends:
            yield key, f"{name} cannot end a load this way; expected {' or '.join(can.ends)}"


def _requests(name: str, can: Abilities, load: HttpLoad) -> Iterator[tuple[str, str]]:
    if not isinstance(load.requests, list) or len(load.requests) != 1:
        yield "requests", f"{name} is driven with one path for all requests"
    elif not isinstance(load.requests[0], str):
        yield "requests", f"{name} is driven with a path alone; put what goes with it into the load"
    secret = next(filter(may_be_secret, load.headers), None)
    if secret is not None:
        text = f"{secret} may be secret, but {name} takes it on its command line, which other users can read"
        yield "headers", text
    elif load.headers and not can.headers:
        yield "headers", f"{name} is not driven with header fields"
    names = [field.lower() for field, _ in header_fields(load.headers)]
    repeated = next((field for field in names if names.count(field) > 1), None)
    if repeated is not None:
        # Some send the last one alone.
        yield "headers", f"{name} is driven with one {repeated} field; put its values into one"


def _connections(name: str, can: Abilities, load: HttpLoad) -> Iterator[tuple[str, str]]:
    if can.calls == "kept" and load.calls is not None:
        yield "calls", f"{name} keeps its connections open; remove it"
    if can.calls == "one or kept" and load.calls not in (None, 1):
        yield "calls", f"{name} closes a connection after one request, or keeps it open"
    if isinstance(load, SessionsLoad) and load.connections is not None:
        yield "connections", f"{name} opens connections as they arrive, however many are open; remove it"
    for key in ("pipeline", "streams"):
        if getattr(load, key, 1) > 1 and key not in can.requests_at_once:
            yield key, f"{name} has one request at a time on a connection"
    if isinstance(load, ClosedLoad | SessionsLoad) and load.think_s and not can.think:
        yield "think", f"{name} has no pause between requests"
    if load.threads is not None and load.threads > 1:
        if not can.threads:
            yield "threads", f"{name} has one thread; remove it"
        elif load.connections_at_once % load.threads:
            text = f"{load.connections_at_once} connections cannot be divided equally among them for {name}"
            yield "threads", text


def _host(name: str, load: HttpLoad, authority: str | None) -> Iterator[tuple[str, str]]:
    if any(field.lower() == "host" for field in load.headers):
        yield "headers", f"{name} sets Host itself"
    if authority is not None and not _is_address(authority):
        text = f"{name} has no other Host than the address to which it connects; expected that in the URL"
        yield "generator", text


def _is_address(authority: str) -> bool:
    try:
        ip_address(urlsplit(f"//{authority}").hostname or "")
    except ValueError:
        return False
    return True


def _times(name: str, can: Abilities, load: HttpLoad) -> Iterator[tuple[str, str]]:
    if can.timeout == "whole seconds" and load.timeout_s % 1:
        yield "timeout", f"{name} takes whole seconds; found {load.timeout_s:g} s"
    if can.timeout == "none" and load.timeout_s != default_of(load, "timeout_s"):
        yield "timeout", f"{name} has no timeout; remove it"


def only_defaults(load: LoadTable) -> Iterator[tuple[str, str | None]]:
    """Yield the keys that differ from their defaults, though no tool is asked for anything else, and why."""
    for attribute in type(load).model_fields:
        said = [one for one in said_of(type(load), attribute, OtherTools) if one.work in (None, load.work)]
        if not any(one.takes_any for one in said) and getattr(load, attribute) != default_of(load, attribute):
            yield key_of(load, attribute), next((one.reason for one in said), None)


def default_of(load: LoadTable, attribute: str) -> object:
    """Return the default of an attribute of a load."""
    return type(load).model_fields[attribute].get_default(call_default_factory=True)


def key_of(load: LoadTable, attribute: str) -> str:
    """Return the key of a study that sets an attribute of a load."""
    return type(load).model_fields[attribute].alias or attribute


def _without_article(words: str) -> str:
    return words.removeprefix("a ")
