"""The hosts that a load goes to, as its plan is written for the engine."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from loadcurve.redaction import hosts_of, without_password

HOST_OPTIONS = ("host", "hostaddr")
"""Options of a URL of PostgreSQL that stand for its hosts, or for the folder of a socket."""


def loopback_in(work: Mapping[str, Any]) -> str | None:
    """Return, in words, a host of a plan's work that every machine takes for itself; ``None`` without one."""
    hosts = _hosts_of(work)
    if any(not host or host.startswith("/") for host in hosts):
        return "a socket of this machine"
    return next((host for host in hosts if _is_loopback(host)), None)


def numeric_host(work: Mapping[str, Any]) -> str | None:
    """Return the first host of a plan's work that is a numeric address; ``None`` without one."""
    return next((host for host in _hosts_of(work) if _address(host) is not None), None)


def named_ports(work: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return each host of a plan's work with its port, where the plan names the port."""
    named = hosts_of(str(work["url"])).split(",") if "url" in work else [str(work["address"])]
    found = [(_without_port(one), one.rpartition(":")[2]) for one in named if ":" in one]
    return [(host, int(port)) for host, port in found if host and port.isdecimal()]


def _hosts_of(work: Mapping[str, Any]) -> list[str]:
    return [*_database_hosts(str(work["url"]))] if "url" in work else [_without_port(str(work["address"]))]


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


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
    if (address := _address(host)) is not None:
        return address.is_loopback
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost")
