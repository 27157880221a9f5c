"""What records, messages and pages show of URLs, header fields and studies: nothing that is a secret.

A password should be encoded in a URL, and often is not. Drivers then disagree on where it ends, so what could
be part of one under any reading is left out, if need be all but the scheme.

What a server or a driver writes may repeat a secret that it was given. Whoever reads a secret therefore calls
:func:`remember`, and texts of others go through :func:`hidden`.
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator
from typing import Any
from urllib.parse import quote, unquote

from loadcurve.protocol import SCHEMES

SECRETS = ("user", "pass", "authmechanism", "key", "secret", "token")
"""What is in the names of options that records do not hold: who logs in, with which password or key file."""
SECRET_VARIABLES = ("pass", "pwd", "auth", "key", "secret", "token", "credential", "cookie", "private", "dsn")
"""What is in the names of environment variables whose values records do not hold."""
OPEN_HEADERS = frozenset(
    {
        *("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection"),
        *("content-encoding", "content-language", "content-type", "date", "expect", "host", "keep-alive"),
        *("if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "pragma"),
        *("priority", "range", "te", "trailer", "upgrade", "upgrade-insecure-requests", "user-agent", "via"),
    }
)
"""Header fields that carry no credentials. The value of any other one may, and is shown nowhere."""
HIDDEN = "(hidden)"
"""Stands for what is a secret, or cannot be distinguished from one."""
LEAST_REMEMBERED = 4
"""Shorter secrets are not looked for in texts, which would have them by chance."""

SAID_MAX = 120
"""Characters of an error's body that are shown: a line or so says why."""
UNREADABLE = "\N{REPLACEMENT CHARACTER}"
UNREADABLE_SHARE_MAX = 0.2
"""Of the characters of a body; one with more is no text, such as a compressed one."""
_TAG = re.compile(r"<[^<>]*>")

_remembered: set[str] = set()
"""The secrets that this process has read, in every form in which a text may repeat them."""

_HOST = r"(?:\[[\w:.%]+\]|[\w.%-]*)(?::\d*)?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*")
_END_OF_HOSTS = re.compile(r"[/?#]")
_OPTION = re.compile(r"[?&;]([^=?&;@]*)=")

_DATABASES = tuple(f"{scheme}://" for scheme in SCHEMES if scheme != "http")
_BEHIND_SCHEME = "://"
_SCHEME_CHARACTERS_MAX = 64
"""Of a text before ``://``, where a scheme is looked for. No scheme is as long."""
_SCHEME = re.compile(rf"[A-Za-z][\w+.-]{{0,{_SCHEME_CHARACTERS_MAX}}}\Z")
_REST_OF_URL = re.compile(r"\S+")
_SPACE = re.compile(r"\s")
_LOOKED_AT = 4_096
"""In characters, many times what a message shows: a longer text is cut at the next space behind them."""
_CLOSING = "\"'`,;:.)]}>"
"""What follows a URL in a text, and not at its end."""

_LOGIN = re.compile(r"[\w.+-]+@")
"""A user without a password, who to ssh is part of where a machine is, and no secret."""

TOML_TOKEN = re.compile(
    # What has no end is a token, too: it is then looked through once.
    r'''(?P<comment>\#[^\n]*)
    |"""(?:\\.|"(?!"")|[^"\\])*+"{0,5}|\'\'\'(?:\'(?!\'\')|[^\'])*+\'{0,5}
    |"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+\'?''',
    re.DOTALL | re.VERBOSE,
)
"""A comment of a TOML text, or a text in it."""

_GIVEN_IN_COMMENT = re.compile(r"""(?<![\w-])(?P<name>[\w-]++)["']?\s*+[=:]\s*+(?=\S)""")
"""A name and what gives it a value; each word is looked at once."""
_SECRET_NAME = re.compile(r"authorization|cookie|api-?key|token|secret|passw|pwd", re.IGNORECASE)


def remember(secret: str) -> None:
    """Keep a secret out of what :func:`hidden` returns, as it is and encoded as in a URL or in JSON."""
    forms = {secret, secret.strip(), quote(secret, safe=""), quote(secret), unquote(secret)}
    forms |= {json.dumps(form)[1:-1] for form in forms}
    # Of "Bearer TOKEN" the token alone is the secret.
    forms |= {word for form in forms if len(words := form.split()) == 2 for word in words[1:]}  # noqa: PLR2004
    _remembered.update(form for form in forms if len(form) >= LEAST_REMEMBERED)


def remember_url(url: str) -> None:
    """Remember the password of a URL, and the values of its secret options, under every reading of it."""
    _, separator, rest = url.partition("://")
    before, at, place = rest.rpartition("@")
    if separator and at:
        # A password begins behind the first colon; what precedes it is a user, whose name others show.
        for first in {before, before.rpartition("/")[2]}:
            remember(first.partition(":")[2])
    for option in re.split("[&;]", place.partition("?")[2]):
        name, _, value = option.partition("=")
        if _is_secret(name) and "user" not in name.lower():
            remember(value)


def holds_secret(text: str) -> bool:
    """Say whether a remembered secret is in a text."""
    return any(secret in text for secret in _remembered)


def hidden(text: str) -> str:
    """Return a text of somebody else's without the remembered secrets, and without passwords in URLs."""
    return _without_users(_without_remembered(text))


def hidden_start(text: str, characters_max: int) -> str:
    """Return the start of a text as :func:`hidden` has it, which ends with ``…`` where it is not all.

    Of a long text little more is looked at: it is cut between two words, and so within no URL.
    """
    text = _without_remembered(text)
    end = _SPACE.search(text, _LOOKED_AT)
    start = _without_users(text if end is None else text[: end.start()])
    return start if end is None and len(start) <= characters_max else f"{start[:characters_max]}…"


def own_words(body: str, *, is_cut: bool = False) -> str:
    """Return the start of an error's body as one line: without tags, control characters and secrets.

    What is named as secrets are ends it. Of a body that is cut somewhere, the beginning of a secret may be at
    its end.
    """
    known = _without_remembered(body, is_cut=is_cut)
    words = " ".join(_TAG.sub(" ", known).split())
    printable = "".join(one if one.isprintable() else UNREADABLE for one in words)
    if UNREADABLE_SHARE_MAX * len(printable) < printable.count(UNREADABLE):
        return "(compressed, or no text)"
    return hidden_start(_without_given_secret(printable), SAID_MAX)


def _without_remembered(text: str, *, is_cut: bool = False) -> str:
    """Return a text without remembered secrets, and without the beginning of one at which it is cut.

    All of them are found before any is hidden: of two that overlap, neither leaves a part of the other.
    """
    places = [place for secret in _remembered for place in _places_of(secret, text)]
    if is_cut and (begun := _longest_begun(text)):
        places.append((len(text) - begun, len(text)))
    kept, end = [], 0
    for first, last in sorted(places):
        if first >= end:
            kept += [text[end:first], HIDDEN]
        end = max(end, last)
    return "".join([*kept, text[end:]])


def _places_of(secret: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a secret begins and ends in a text."""
    first = text.find(secret)
    while first >= 0:
        yield first, first + len(secret)
        first = text.find(secret, first + 1)


def _longest_begun(text: str) -> int:
    """Return the length of the longest end of a text that may be the beginning of a remembered secret."""
    return max(
        (
            length
            for secret in _remembered
            for length in range(LEAST_REMEMBERED, min(len(secret), len(text) + 1))
            if text.endswith(secret[:length])
        ),
        default=0,
    )


def may_be_secret(header: str) -> bool:
    """Say whether the value of a header field may be a secret; only of some it is known that it is none."""
    return header.lower() not in OPEN_HEADERS


def names_secret(header: str) -> bool:
    """Say whether the value of a header field is a secret, by its name."""
    return _SECRET_NAME.search(header) is not None


def is_secret_variable(name: str) -> bool:
    """Say whether the value of an environment variable is a secret, by its name."""
    return any(secret in name.lower() for secret in SECRET_VARIABLES)


_SECRET_MEMBERS: dict[str, Callable[[str], bool]] = {
    "headers": may_be_secret,
    "environment": is_secret_variable,
}
"""The tables of a study with secrets among their texts, each with what says so by the name of one."""
_TABLES_OF_NAMES = ("content", "loads", "machines", "servers")
"""The tables of a study whose keys are names that people choose, and say nothing of what is in them."""


def without_password(url: str) -> str:
    """Return the URL of a server without what belongs to whoever uses it."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url.rpartition("@")[2]
    place = _place(rest)
    return f"{scheme}://{HIDDEN if place is None else _without_secret_options(place)}"


def hosts_of(url: str) -> str:
    """Return the host and port that a server's URL names, or several of them divided by commas."""
    return _END_OF_HOSTS.split(without_password(url).partition("://")[2], maxsplit=1)[0]


def without_passwords(text: str) -> str:
    """Return a text with every URL of a database in it as :func:`without_password` has it.

    Others lose their users alone: their options are those of web pages.
    """
    if text.lower().startswith(_DATABASES):
        # The text is the URL, whatever characters it has.
        return without_password(text)
    return _without_users(text)


def without_passwords_in(value: Any) -> Any:  # noqa: ANN401 - any value that JSON has
    """Return a value with :func:`without_passwords` done to all texts in it."""
    if isinstance(value, str):
        return without_passwords(value)
    if isinstance(value, dict):
        return {key: without_passwords_in(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_passwords_in(one) for one in value]
    return value


def study_without_secrets(text: str) -> str:
    """Return the TOML text of a study without secrets; it can be read again where these came from elsewhere.

    Each of its texts, as read, and its comments lose what :func:`without_passwords` leaves out. Hidden as a
    whole are the values of header fields that may be secret, bodies, passwords, variables named as secrets
    are, and what is not TOML.
    """
    try:
        secrets = set(_secrets_in(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:
        return HIDDEN
    return TOML_TOKEN.sub(lambda token: _shown_token(token, secrets), text)


def _secrets_in(table: dict[str, Any], *, keys_are_names: bool = False) -> Iterator[str]:
    """Yield the texts in a study, or in a table of it, that are secrets as a whole.

    A key says so wherever it is: a study may have loads in several places.
    """
    for key, value in table.items():
        if not keys_are_names:
            yield from _secrets_of(key, value)
        named = not keys_are_names and key in _TABLES_OF_NAMES
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from _secrets_in(one, keys_are_names=named)


def _secrets_of(key: str, value: object) -> Iterator[str]:
    """Yield what a key of a study holds that is a secret."""
    if isinstance(value, str):
        if key == "password" or (key in {"body", "message"} and not value.startswith("@")):
            yield value
    elif isinstance(value, dict) and (is_secret := _SECRET_MEMBERS.get(key)):
        of_names = [one for name, one in value.items() if is_secret(name)]
        # A header field may have a list of values.
        values = (one for given in of_names for one in (given if isinstance(given, list) else [given]))
        yield from (one for one in values if isinstance(one, str))


def _place(rest: str) -> str | None:
    """Return what of a URL is behind its user; ``None`` where that cannot be determined."""
    before, _, place = rest.rpartition("@")
    # An @ in a password among the options: what is behind it is the rest of the password.
    if any(_is_secret(name) for name in _OPTION.findall(before)):
        return None
    return place if _HOSTS.fullmatch(_END_OF_HOSTS.split(place, maxsplit=1)[0]) else None


def _without_secret_options(place: str) -> str:
    hosts, _, options = place.partition("?")
    kept = [option for option in re.split("[&;]", options) if _may_be_kept(option)]
    return f"{hosts}?{'&'.join(kept)}" if kept else hosts


def _may_be_kept(option: str) -> bool:
    """Say whether an option is not secret; without a value it may be the rest of one that is."""
    name, equals, _ = option.partition("=")
    return bool(equals) and not _is_secret(name)


def _is_secret(name: str) -> bool:
    return any(secret in unquote(name).lower() for secret in SECRETS)


def _without_users(text: str) -> str:
    """Return a text in which each URL has lost its user.

    A URL is found by what is behind its scheme, which is then read backwards: a pattern that begins with
    the scheme would begin anew with each letter of a long word.
    """
    parts, done, looked = [], 0, 0
    while (mark := text.find(_BEHIND_SCHEME, looked)) >= 0:
        looked = mark + len(_BEHIND_SCHEME)
        if not text[looked : looked + 1].strip():
            continue
        scheme = _SCHEME.search(text, max(done, mark - _SCHEME_CHARACTERS_MAX), mark)
        if scheme is None or (rest := _REST_OF_URL.match(text, looked)) is None:
            continue
        parts += [text[done : scheme.start()], _without_its_user(text[scheme.start() : rest.end()])]
        done = looked = rest.end()
    return "".join([*parts, text[done:]])


def _without_its_user(found: str) -> str:
    url = found.rstrip(_CLOSING)
    behind = found[len(url) :]
    if url.lower().startswith(_DATABASES):
        return without_password(url) + behind
    scheme, _, rest = url.partition("://")
    hosts = re.split(r"[/?#\"']", rest, maxsplit=1)[0]
    # What is no host and port either is a user, whose password continues until the last @.
    user_end = hosts.rfind("@") if "@" in hosts or _HOSTS.fullmatch(hosts) else rest.rfind("@")
    if scheme.lower() == "ssh" and _LOGIN.fullmatch(rest[: user_end + 1]):
        user_end = -1
    return f"{scheme}://{rest[user_end + 1 :]}{behind}"


def _without_given_secret(comment: str) -> str:
    """Return a comment up to the first value of what is named as secrets are."""
    given = _GIVEN_IN_COMMENT.finditer(comment)
    end = next((one.end() for one in given if _SECRET_NAME.search(one["name"])), None)
    return comment if end is None else f"{comment[:end]}{HIDDEN}"


def _shown_token(token: re.Match[str], secrets: Collection[str]) -> str:
    if token["comment"]:
        comment = token[0]
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            comment = comment.replace(secret, HIDDEN)
        return _without_given_secret(without_passwords(comment))
    try:
        said: str = tomllib.loads(f"text = {token[0]}")["text"]
    except tomllib.TOMLDecodeError:
        return without_passwords(token[0])
    shown = HIDDEN if said and said in secrets else without_passwords(said)
    if shown == said:
        return token[0]
    return token[0].replace(said, shown) if said in token[0] else json.dumps(shown, ensure_ascii=False)
