"""Whether a load goes to the machine that sends it, as its plan is written for the engine."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from loadcurve.redaction import hosts_of, without_password

HOST_OPTIONS = ("host", "hostaddr")
"""Options of a URL of PostgreSQL that stand for its hosts, or for the folder of a socket."""


def loopback_in(work: Mapping[str, Any]) -> str | None:
    """Return, in words, a host of a plan's work that every machine takes for itself; ``None`` without one."""
    hosts = [*_database_hosts(str(work["url"]))] if "url" in work else [_without_port(str(work["address"]))]
    if any(not host or host.startswith("/") for host in hosts):
        return "a socket of this machine"
    return next((host for host in hosts if _is_loopback(host)), None)


def _database_hosts(url: str) -> Iterator[str]:
    """Yield the hosts that the URL of a database names; nothing, or a path, where that is a socket."""
    options = parse_qsl(urlsplit(without_password(url)).query)
    named = [host for key, value in options if key in HOST_OPTIONS for host in value.split(",")]
    before_options = hosts_of(url)
    if before_options or not named:
        yield from map(_without_port, before_options.split(","))
    yield from named


def _without_port(host: str) -> str:
    """Return a host without its port, and without the brackets around an IPv6 address."""
    host = unquote(host)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.startswith("/") else host.partition(":")[0]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        name = host.lower().rstrip(".")
        return name == "localhost" or name.endswith(".localhost")
