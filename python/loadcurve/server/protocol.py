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


SECRETS = ("user", "pass", "authmechanism", "key")
"""What is in the names of options that records do not hold: who logs in, with which password or key file."""


def without_password(url: str) -> str:
    """Return a URL without its user, password and key file, as records hold it."""
    return _without_secret_options(urlsplit(url)._replace(netloc=address_of(url)).geturl())


def without_passwords(text: str) -> str:
    """Return a text with every URL of a database in it as :func:`without_password` has it.

    Others lose their users alone: their options are those of web pages.
    """
    databases = "|".join(re.escape(scheme) for scheme in SCHEMES if scheme != "http")
    text = re.sub(rf"({databases})://[^\s\"']*", lambda url: _without_secret_options(url[0]), text)
    return re.sub(r"(?<=://)[^\s\"'/?#]*@", "", text)


def _without_secret_options(url: str) -> str:
    place, _, options = url.partition("?")
    kept = [option for option in options.split("&") if option and not _is_secret(option)]
    return f"{place}?{'&'.join(kept)}" if kept else place


def _is_secret(option: str) -> bool:
    name = option.partition("=")[0].lower()
    return any(secret in name for secret in SECRETS)


def address_of(url: str) -> str:
    """Return the host and port that a URL names, or several of them divided by commas."""
    return urlsplit(url).netloc.rpartition("@")[2]
