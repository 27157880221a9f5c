"""The parts of a URL of PostgreSQL, for tools that take each of them apart from the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from loadcurve.protocol import known_database
from loadcurve.tools.driver import Refused

_CLEAR_TEXT = {"sslmode": "disable"}


@dataclass(frozen=True)
class PostgresqlUrl:
    """Where a database is, and who logs in there; nothing is encoded any more."""

    host: str
    """In brackets, if it is an address of IPv6."""
    port: int
    database: str
    user: str
    password: str
    options: Mapping[str, str]

    @property
    def says_clear_text(self) -> bool:
        """Whether it says that its connections are not encrypted, whatever the server offers."""
        return self.options == _CLEAR_TEXT


def postgresql_url(url: str) -> PostgresqlUrl:
    """Return the parts of a URL; raises ``Refused``, which repeats none of them, where it is no plain one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _not_plain("one host with a port") from None
    login, at, place = parts.netloc.rpartition("@")
    if not at or not login.partition(":")[0] or "@" in login:
        raise _not_plain("USER@ or USER:PASSWORD@ before the host, percent-encoded")
    if parts.hostname is None or "," in place or "%" in place or parts.fragment:
        raise _not_plain("one host with a port")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if options not in ({}, _CLEAR_TEXT):
        raise _not_plain("no option but sslmode=disable")
    user, _, password = map(unquote, login.partition(":"))
    return PostgresqlUrl(
        host=place[: place.index("]") + 1] if place.startswith("[") else parts.hostname,
        port=port or known_database("postgresql").usual_port,
        # As libpq and our engine have it.
        database=unquote(parts.path.removeprefix("/")) or user,
        user=user,
        password=password,
        options=options,
    )


def postgresql_lacks_clear_text(url: str) -> str | None:
    """Return what a URL has to say so that no connection is encrypted; ``None`` where it says so."""
    return None if postgresql_url(url).says_clear_text else "sslmode=disable"


def _not_plain(expected: str) -> Refused:
    return Refused("generator", f"it takes a URL apart; expected {expected}")
