"""URLs of MongoDB's protocol, for tools whose drivers read the same options as ours."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from loadcurve.tools.driver import Refused

_SCHEME = "mongodb://"
_ENCRYPTION = ("tls", "ssl")
_NOT_IN_PROPERTIES = ("\\", "${", "\n", "\r", " ")
"""What a file of properties would not give back as it is; a URL has it encoded."""


def is_clear_text(url: str) -> bool:
    """Say whether connections to a URL are not encrypted."""
    return url.startswith(_SCHEME) and not any(name.startswith(_ENCRYPTION) for name in _options(url))


def mongodb_lacks_clear_text(url: str) -> str | None:
    """Return how a URL has to be so that no connection is encrypted; ``None`` where it is so."""
    return None if is_clear_text(url) else f"{_SCHEME} without tls"


def with_options(url: str, options: Mapping[str, str]) -> str:
    """Return a URL with options that it does not give itself; raises ``Refused`` without repeating it."""
    if not is_clear_text(url) or any(part in url for part in _NOT_IN_PROPERTIES):
        text = "it takes a percent-encoded URL in clear text; expected one such as mongodb://127.0.0.1:27017"
        raise Refused("generator", text)
    given = _options(url)
    more = "&".join(f"{name}={value}" for name, value in options.items() if name.lower() not in given)
    if not more:
        return url
    before, mark, after = url.partition("?")
    if mark:
        return f"{before}?{after}&{more}" if after else f"{before}?{more}"
    has_path = "/" in before.removeprefix(_SCHEME)
    return f"{before}?{more}" if has_path else f"{before}/?{more}"


def for_clients(url: str, clients: int) -> str:
    """Return a URL by which a driver works as our engine: one connection for each client, no retries."""
    asked = {"maxPoolSize": str(clients), "retryReads": "false", "retryWrites": "false"}
    return with_options(url, asked)


def in_database(url: str, name: str) -> str:
    """Return a URL whose database is another one; who logs in is still known where the URL says."""
    before, mark, options = url.partition("?")
    hosts, _, database = before.removeprefix(_SCHEME).partition("/")
    moved = f"{_SCHEME}{hosts}/{name}{mark}{options}"
    return with_options(moved, {"authSource": database or "admin"}) if "@" in hosts else moved


def _options(url: str) -> set[str]:
    return {name.lower() for name, _ in parse_qsl(url.partition("?")[2], keep_blank_values=True)}
