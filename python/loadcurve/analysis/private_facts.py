"""What a published result leaves out of texts: folders, addresses, names of machines and people."""

import functools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import Any

PATH, ADDRESS, LOGIN, NAME = "{path}", "{address}", "{login}", "{name}"
_LEAST_NAME = 3
"""Shorter names are found in texts by chance."""
_OPEN_NAMES = frozenset(
    {
        *("root", "localhost", "nobody", "user", "admin", "server", "debian", "ubuntu", "vagrant"),
        *("test", "bench", "benchmark", "dev", "demo", "build", "runner", "host", "web", "app"),
        *("postgres", "mysql", "www-data"),
    }
)
"""Names that say of nobody who it is, and may be part of any text."""

_FOLDERS = "home|root|Users|tmp|var|opt|mnt|media|srv|data|work|workspace|builds|private|usr|etc|run|nix"
# A path of a URL follows a host, and that of a request is told apart by its key.
_OF_PATH = re.compile(rf"(?<![\w.:/}}])/(?:{_FOLDERS})(?:/[^\s\"'`,;:()<>\[\]{{}}=]*)?(?![\w-])")
_OF_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_OF_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:.])")
_OF_LOGIN = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?=[A-Za-z])[\w-]{1,64}(?:\.[\w-]{1,64}){0,8}")
_OF_HOST = re.compile(r"(?P<before>(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]{0,32}://)(?P<host>[^\s/?#\"'`]{1,300})")
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]", "0.0.0.0"})  # noqa: S104 - it is left in texts


@dataclass(frozen=True, slots=True)
class PrivateFact:
    """A part of a text that says whose machine it is of."""

    place: str
    """The keys that lead to the text, joined by points."""
    text: str
    kind: str
    """``a path``, ``an address``, ``a login`` or ``a name``."""


def without_private_facts(
    value: Any,  # noqa: ANN401 - JSON
    names: Collection[str] = (),
    public: Collection[str] = (),
    *,
    path: bool = True,
) -> Any:  # noqa: ANN401 - as above
    """Return a value of JSON with texts that say nothing private; ``names`` are those of machines and people.

    A text that is one of ``public`` stays as it is. Without ``path``, what looks like a folder is left,
    because it is what requests ask for.
    """
    match value:
        case str():
            return value if value in public else _replaced(value, names, path=path)
        case list() | tuple():
            return [without_private_facts(one, names, public, path=path) for one in value]
        case dict():
            return {
                without_private_facts(key, names, path=path): without_private_facts(
                    one, names, public, path=path and key not in REQUEST_KEYS
                )
                for key, one in value.items()
            }
        case _:
            return value


REQUEST_KEYS = frozenset({"path", "paths", "requests"})
"""Keys of a load whose values are paths of requests, and no folders."""


def private_facts(
    value: object,
    names: Collection[str] = (),
    public: Collection[str] = (),
    place: str = "",
    *,
    path: bool = True,
) -> Iterator[PrivateFact]:
    """Yield what :func:`without_private_facts` would leave out of a value."""
    match value:
        case str():
            yield from () if value in public else _found(value, names, place, path=path)
        case list() | tuple():
            for number, one in enumerate(value):
                yield from private_facts(one, names, public, f"{place}.{number}", path=path)
        case dict():
            for key, one in value.items():
                at = f"{place}.{key}".removeprefix(".")
                yield from _found(str(key), names, at, path=path)
                yield from private_facts(one, names, public, at, path=path and key not in REQUEST_KEYS)
        case _:
            pass


def _rules(names: Collection[str], *, path: bool) -> Iterator[tuple[re.Pattern[str], str, str]]:
    yield _OF_LOGIN, LOGIN, "a login"
    if path:
        yield _OF_PATH, PATH, "a path"
    yield _OF_IPV4, ADDRESS, "an address"
    yield _OF_IPV6, ADDRESS, "an address"
    pattern = _of_names(frozenset(names))
    if pattern is not None:
        yield pattern, NAME, "a name"


@functools.cache
def _of_names(names: frozenset[str]) -> re.Pattern[str] | None:
    """Return what finds these names, the longest first; ``None`` where no name says who somebody is."""
    known = sorted(
        {name for name in names if len(name) >= _LEAST_NAME and name.lower() not in _OPEN_NAMES},
        key=lambda name: (-len(name), name),
    )
    if not known:
        return None
    words = "|".join(map(re.escape, known))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])", re.IGNORECASE)


def _replaced(text: str, names: Collection[str], *, path: bool) -> str:
    text = _OF_HOST.sub(_host_replaced, text)
    for pattern, mark, _ in _rules(names, path=path):
        text = pattern.sub(partial(_marked, mark=mark), text)
    return text


def _marked(found: re.Match[str], mark: str) -> str:
    return _kept(found[0], mark) or mark


def _host_replaced(found: re.Match[str]) -> str:
    return found[0] if _is_local(found["host"]) else f"{found['before']}{ADDRESS}"


def _is_local(host: str) -> bool:
    """Say whether a URL names no machine, or this one."""
    name = host.rpartition("@")[2]
    name = name if name.endswith("]") else name.rpartition(":")[0] or name
    return name in _LOCAL_HOSTS or name.startswith("{") or name.endswith(".example")


def _kept(text: str, mark: str) -> str | None:
    """Return a text that stays as it is: an address of no particular machine, or what is no address."""
    if mark != ADDRESS:
        return None
    try:
        address = ip_address(text)
    except ValueError:
        return text
    return text if address.is_loopback or address.is_unspecified else None


def _found(text: str, names: Collection[str], place: str, *, path: bool) -> Iterator[PrivateFact]:
    for found in _OF_HOST.finditer(text):
        if not _is_local(found["host"]) and found["host"] != ADDRESS:
            yield PrivateFact(place, found["host"], "an address")
    for pattern, mark, kind in _rules(names, path=path):
        for found in pattern.finditer(text):
            if _kept(found[0], mark) is None:
                yield PrivateFact(place, found[0], kind)
