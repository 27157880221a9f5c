"""One target: a request as a file of another tool has it."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

AUTHORIZATION = "Authorization"
_PORTS = {"http": 80, "https": 443}
URL_IN_WORDS = "a path such as /orders, or a URL such as http://127.0.0.1:8080/orders"


@dataclass(frozen=True)
class Origin:
    """Where a URL leads, without its path."""

    scheme: str
    host: str
    """In lower case; an IPv6 address without brackets."""
    port: int

    @property
    def authority(self) -> str:
        """What ``Host`` names: the port is left out where it is the scheme's."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def words(self) -> str:
        """Its URL."""
        return f"{self.scheme}://{self.authority}"

    def is_named_by(self, host: str) -> bool:
        """Whether a value of ``Host`` names it."""
        named = origin_of(f"{self.scheme}://{host}")
        return named == self


class BadTarget(ValueError):  # noqa: N818 -- the name says what is wrong
    """A target that cannot be one: what was found, and what was expected."""


class NotHttp(BadTarget):
    """What an archive has beside requests of HTTP, by the scheme of its URL, such as ``wss`` or ``data``."""


@dataclass(frozen=True)
class Target:
    """A request with all its parts."""

    place: str
    """What finds it in its file, behind the file's name: ``:3`` for its line."""
    method: str
    url: str
    """As the file has it: a URL, or a path."""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | None = None
    body_file: str | None = None
    """The name of the file that holds its body."""
    status: int | None = None
    """That of its answer when it was recorded."""
    weight: float | None = None
    """How often it is asked for among the others, in proportion."""

    @property
    def path(self) -> str:
        """The path with its query; a fragment is no part of what is asked for."""
        url, _, _ = self.url.partition("#")
        if url.startswith("/"):
            return url
        _, _, place = url.partition("://")
        path = place[len(re.split("[/?]", place, maxsplit=1)[0]) :]
        return path if path.startswith("/") else f"/{path}"

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Its headers, with user and password of its URL as Basic credentials, which vegeta and curl send so.

        A header ``Authorization`` of the target goes before them.
        """
        login, at, _ = urlsplit(self.url).netloc.rpartition("@")
        if not at or any(name.lower() == AUTHORIZATION.lower() for name, _ in self.headers):
            return [*self.headers]
        user, _, password = login.partition(":")
        credentials = f"{unquote(user)}:{unquote(password)}".encode()
        return [*self.headers, (AUTHORIZATION, f"Basic {b64encode(credentials).decode()}")]

    @property
    def origin(self) -> Origin | None:
        """Where its URL leads; ``None`` for a path alone."""
        return None if self.url.startswith("/") else origin_of(self.url)


def origin_of(url: str) -> Origin | None:
    """Return where a URL of HTTP leads; ``None`` for anything else."""
    try:
        parts = urlsplit(url)
        scheme, host = parts.scheme.lower(), parts.hostname
        if scheme not in _PORTS or not host or parts.port == 0:
            return None
        return Origin(scheme, host, _PORTS[scheme] if parts.port is None else parts.port)
    except ValueError:
        return None


def require_url(url: str) -> str:
    """Return what a target asks for; raises :class:`BadTarget` where it is neither a path nor a URL."""
    if url.startswith("/") or origin_of(url) is not None:
        return url
    # A URL may have a password.
    scheme = url.partition("://")[0] if "://" in url else ""
    found = f"a URL of {scheme}" if scheme else f'"{url[:60]}"'
    raise BadTarget(f"found {found}; expected {URL_IN_WORDS}")
