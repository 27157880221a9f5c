"""The protocols that servers speak, and the schemes of URLs that name them."""

import re
from typing import Literal
from urllib.parse import urlsplit

ProtocolName = Literal["http", "mongodb", "postgresql"]
"""What is spoken with a server."""

SCHEMES: dict[str, ProtocolName] = {
    "http": "http",
    "mongodb": "mongodb",
    "mongodb+srv": "mongodb",
    "postgresql": "postgresql",
    "postgres": "postgresql",
}
"""What is spoken under a URL, by its scheme."""


def protocol_of_url(url: str) -> ProtocolName | None:
    """Return what is spoken under a URL; ``None`` where its scheme is none that is known."""
    return SCHEMES.get(url.partition("://")[0])


def without_password(url: str) -> str:
    """Return a URL without its user and password, as records hold it."""
    return urlsplit(url)._replace(netloc=address_of(url)).geturl()


def without_passwords(text: str) -> str:
    """Return a text with every URL in it as :func:`without_password` has it."""
    return re.sub(r"(?<=://)[^\s\"'/?#]*@", "", text)


def address_of(url: str) -> str:
    """Return the host and port that a URL names, or several of them divided by commas."""
    return urlsplit(url).netloc.rpartition("@")[2]
