"""The protocols that servers speak, and the schemes of URLs that name them."""

from typing import Literal

ProtocolName = Literal["http", "mongodb", "postgresql"]
"""What is spoken with a server."""

SCHEMES: dict[str, ProtocolName] = {
    "http": "http",
    "https": "http",
    "mongodb": "mongodb",
    "mongodb+srv": "mongodb",
    "postgresql": "postgresql",
    "postgres": "postgresql",
}
"""What is spoken under a URL, by its scheme."""


def protocol_of_url(url: str) -> ProtocolName | None:
    """Return what is spoken under a URL; ``None`` for an unknown scheme."""
    return SCHEMES.get(url.partition("://")[0].lower())


def with_lower_case_scheme(url: str) -> str:
    """Return a URL as everybody understands it: drivers know schemes in lower case only (RFC 3986, 3.1)."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme.lower()}{separator}{rest}" if separator else url
