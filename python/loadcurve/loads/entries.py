"""One request of a list, as the file gives it: a path alone, or a table with what is its own."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PrivateAttr

from loadcurve.loads.requests import REQUEST_PATH_IN_WORDS, REQUEST_PATH_PATTERN, encoded_path
from loadcurve.loads.sent import Body, Headers, Method
from loadcurve.loads.targets.target import Origin
from loadcurve.loads.values import is_status
from loadcurve.loads.verification import Pattern
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import own_problem
from loadcurve.toml.values import Text

STATUSES_IN_WORDS = 'a status such as 404, a class of them such as "2xx", or a list of these'
ENTRY_IN_WORDS = 'a path such as "/1k.txt", or a table such as { path = "/orders", method = "POST" }'
_CLASS = re.compile(r"[1-5]xx")


def _encoded(path: object) -> object:
    """Refuse a path that would do if it were encoded: which bytes a server expects, others know."""
    if isinstance(path, str) and path.startswith("/") and (encoded := encoded_path(path)) != path:
        raise own_problem(f"found {show(path)}; expected it percent-encoded, {show(encoded)} in UTF-8")
    return path


RequestPath = Annotated[
    str, Field(pattern=REQUEST_PATH_PATTERN), BeforeValidator(_encoded), Expected(REQUEST_PATH_IN_WORDS)
]


def _statuses(value: object) -> object:
    given = value if isinstance(value, list | tuple) else [value]
    for one in given or [value]:
        is_class = isinstance(one, str) and _CLASS.fullmatch(one)
        if not is_class and not is_status(one):
            raise own_problem(f"found {show(one)}; expected {STATUSES_IN_WORDS}")
    return tuple(given)


def _recorded_statuses(statuses: tuple[int | str, ...]) -> object:
    one, *more = statuses
    return [one, *more] if more else one


Statuses = Annotated[
    tuple[int | str, ...],
    BeforeValidator(_statuses),
    PlainSerializer(_recorded_statuses),
    Expected(STATUSES_IN_WORDS),
]


def codes_of(statuses: tuple[int | str, ...]) -> frozenset[int]:
    """Return the status codes that are meant: ``"2xx"`` is each from 200 to 299."""
    codes: set[int] = set()
    for one in statuses:
        if isinstance(one, int):
            codes.add(one)
        else:
            first = 100 * int(one[0])
            codes.update(range(first, first + 100))
    return frozenset(codes)


@dataclass(frozen=True)
class ReadFrom:
    """Where a request of a file of targets was read, and what a table of a study cannot say of it."""

    file: Path
    place: str
    """As ``file:line``."""
    origin: Origin | None
    """The server that it names; ``None`` where it names a path alone."""
    body: bytes | None
    """Its body, where the file itself has it."""
    status: int | None
    """That of its answer when it was recorded."""
    is_of_archive: bool = False
    """Whether the file is an HTTP archive."""


class ExpectTable(TomlTable):
    """What the answers to one request of a list must be."""

    status: Statuses | None = None
    """The statuses that are right, and no others: `201`, `[200, 404]` or `"2xx"`."""
    pattern: Pattern | None = None
    """A regular expression that matches somewhere in the text of its answer, when it is verified."""


class RequestEntry(TomlTable):
    """One request of the list `requests` with what is its own; what it leaves out is as the load says."""

    path: RequestPath
    """The path with its query."""
    method: Method | None = None
    """Its method."""
    headers: Headers = Field(default_factory=dict)
    """Header fields beside those of the load, whose fields of the same names they replace."""
    body: Body | None = None
    """Its body: a text, `@` and the name of a file, or `{ lines = "FILE" }`, whose lines the requests
    take in turn.
    """
    chunked: bool | None = None
    """Whether its body is sent in chunks, without its length."""
    weight: Annotated[float, Field(ge=0), Expected("a number of 0 or more")] | None = None
    """How often it is picked beside the others; 1 unless it is given. One weight makes `pick` "weighted"."""
    name: Text | None = None
    """What its figures go by, instead of method and path. Requests of one name have them together."""
    expect: ExpectTable | None = None
    """What its answers must be, instead of what `verify` says of all."""

    _source: ReadFrom | None = PrivateAttr(None)

    @property
    def source(self) -> ReadFrom | None:
        """Where it was read; ``None`` of one in a study."""
        return self._source

    @classmethod
    def read_from(cls, source: ReadFrom, table: dict[str, object], folder: Path) -> Self:
        """Return a request of a file of targets, as a study would have it; its files count from ``folder``.

        Raises:
            ValidationError: it cannot be sent.

        """
        entry = cls.model_validate(table, context={"folder": folder})
        entry._source = source  # noqa: SLF001 -- its own class
        return entry


def _as_table(value: object) -> object:
    if isinstance(value, str):
        return {"path": value}
    if not isinstance(value, dict | RequestEntry):
        raise own_problem(f"found {show(value)}; expected {ENTRY_IN_WORDS}")
    return value


def _path_alone(entry: RequestEntry) -> "str | RequestEntry":
    return entry.path if entry.model_fields_set == {"path"} else entry


def _recorded_entry(entry: "str | RequestEntry") -> object:
    return entry if isinstance(entry, str) else entry.model_dump(mode="json", exclude_unset=True)


if TYPE_CHECKING:
    Entry = str | RequestEntry
else:
    # To pydantic this is no union: it would report what is wrong with a path once for each member.
    Entry = Annotated[
        RequestEntry,
        BeforeValidator(_as_table),
        AfterValidator(_path_alone),
        PlainSerializer(_recorded_entry),
        Expected(ENTRY_IN_WORDS),
    ]
    """A path where it says nothing else."""


def source_of(entry: "str | RequestEntry") -> ReadFrom | None:
    """Return where a request was read; ``None`` of one in a study."""
    return None if isinstance(entry, str) else entry.source


def path_of(entry: "str | RequestEntry") -> str:
    """Return the path of a request."""
    return entry if isinstance(entry, str) else entry.path
