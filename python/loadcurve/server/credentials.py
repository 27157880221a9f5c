"""URLs as records, messages and pages hold them: without user, password and key file.

A password should be encoded in a URL, and often is not. Drivers then disagree on where it ends, so what could
be part of one under any reading is left out, if need be all but the scheme.
"""

import json
import re
import tomllib
from typing import Any
from urllib.parse import unquote

from loadcurve.server.protocol import SCHEMES

SECRETS = ("user", "pass", "authmechanism", "key", "secret", "token")
"""What is in the names of options that records do not hold: who logs in, with which password or key file."""
HIDDEN = "(hidden)"
"""Stands for a place that cannot be told from a password."""

_HOST = r"(?:\[[\w:.%]+\]|[\w.%-]*)(?::\d*)?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*")
_END_OF_HOSTS = re.compile(r"[/?#]")
_OPTION = re.compile(r"[?&;]([^=?&;@]*)=")

_DATABASES = tuple(f"{scheme}://" for scheme in SCHEMES if scheme != "http")
_URL = re.compile(r"(?P<scheme>[A-Za-z][\w+.-]*)://\S+")
_CLOSING = "\"'`,;)]}>"
"""What stands behind a URL in a text, and not at its end."""

_TOML_TOKEN = re.compile(
    r'''(?P<comment>\#[^\n]*)|"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*\'''',
    re.DOTALL | re.VERBOSE,
)


def without_password(url: str) -> str:
    """Return the URL of a server without what belongs to whoever uses it."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url.rpartition("@")[2]
    place = _place(rest)
    return f"{scheme}://{HIDDEN if place is None else _without_secret_options(place)}"


def hosts_of(url: str) -> str:
    """Return the host and port that a server's URL names, or several of them divided by commas."""
    return _END_OF_HOSTS.split(without_password(url).partition("://")[2])[0]


def without_passwords(text: str) -> str:
    """Return a text with every URL of a database in it as :func:`without_password` has it.

    Others lose their users alone: their options are those of web pages.
    """
    if text.startswith(_DATABASES):
        # The text is the URL, whatever characters it has.
        return without_password(text)
    return _URL.sub(_without_its_user, text)


def without_passwords_in(value: Any) -> Any:  # noqa: ANN401 - any value that JSON has
    """Return a value with :func:`without_passwords` done to all texts in it."""
    if isinstance(value, str):
        return without_passwords(value)
    if isinstance(value, dict):
        return {key: without_passwords_in(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_passwords_in(one) for one in value]
    return value


def study_without_passwords(text: str) -> str:
    """Return a TOML text with :func:`without_passwords` done to each of its texts, as read, and comments."""
    return _TOML_TOKEN.sub(_shown_token, text)


def _place(rest: str) -> str | None:
    """Return what of a URL is behind its user; ``None`` where that cannot be told."""
    before, _, place = rest.rpartition("@")
    # An @ in a password among the options: what is behind it is the rest of the password.
    if any(_is_secret(name) for name in _OPTION.findall(before)):
        return None
    return place if _HOSTS.fullmatch(_END_OF_HOSTS.split(place)[0]) else None


def _without_secret_options(place: str) -> str:
    hosts, _, options = place.partition("?")
    kept = [option for option in re.split("[&;]", options) if _may_be_kept(option)]
    return f"{hosts}?{'&'.join(kept)}" if kept else hosts


def _may_be_kept(option: str) -> bool:
    """Say whether an option is none that is secret; without a value it may be the rest of one that is."""
    name, equals, _ = option.partition("=")
    return bool(equals) and not _is_secret(name)


def _is_secret(name: str) -> bool:
    return any(secret in unquote(name).lower() for secret in SECRETS)


def _without_its_user(found: re.Match[str]) -> str:
    url = found[0].rstrip(_CLOSING)
    behind = found[0][len(url) :]
    if url.startswith(_DATABASES):
        return without_password(url) + behind
    scheme, _, rest = url.partition("://")
    hosts = re.split(r"[/?#\"']", rest)[0]
    # What is no host and port either is a user, whose password goes on until the last @.
    user_end = hosts.rfind("@") if "@" in hosts or _HOSTS.fullmatch(hosts) else rest.rfind("@")
    return f"{scheme}://{rest[user_end + 1 :]}{behind}"


def _shown_token(token: re.Match[str]) -> str:
    if token["comment"]:
        return without_passwords(token[0])
    try:
        said: str = tomllib.loads(f"text = {token[0]}")["text"]
    except tomllib.TOMLDecodeError:
        return without_passwords(token[0])
    shown = without_passwords(said)
    if shown == said:
        return token[0]
    return token[0].replace(said, shown) if said in token[0] else json.dumps(shown, ensure_ascii=False)
