"""What a study sends with every request: the types of ``method``, ``headers`` and ``body``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, PlainSerializer, ValidationInfo

from loadcurve._engine import body_length, body_lines
from loadcurve.redaction import HIDDEN, may_be_secret, remember
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import own_problem
from loadcurve.toml.secret import GIVEN_IN_WORDS, SecretText, read_secret
from loadcurve.toml.values import from_study_folder

HeaderValues = tuple[SecretText, ...]
"""The values of the fields of one name, in their order."""
FieldsByName = dict[str, HeaderValues]

FILE_MARK = "@"
"""A body that begins with it names a file; what the file holds is the body."""


@dataclass(frozen=True)
class BodyLines:
    """Bodies that are the lines of a file: each request takes the next one, and the first after the last."""

    file: Path


LEAST_HIDDEN = 12
"""Characters of a body that texts of others lose: a shorter one may be a word of theirs."""
_WORD = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"  # RFC 9110, section 5.6.2
_LINE = re.compile(r"[\t -~\x80-\U0010FFFF]*")
_OUR_OWN_HEADERS = frozenset({"content-length", "transfer-encoding"})


def _no_tunnel(method: str) -> str:
    if method == "CONNECT":
        raise own_problem(f"found {show(method)}, which opens a tunnel; expected a method with a response")
    return method


def _a_table(headers: object) -> object:
    if not isinstance(headers, dict):
        # What was found is not repeated: it may be a secret.
        raise own_problem(f"expected {HEADERS_IN_WORDS}")
    return headers


def _of_the_person(headers: dict[str, HeaderValues]) -> dict[str, HeaderValues]:
    for name, values in headers.items():
        if name.lower() in _OUR_OWN_HEADERS:
            raise own_problem(f"found {show(name)}, which is set from the body; remove it")
        if may_be_secret(name):
            for value in values:
                remember(value.text)
    return headers


def _one_or_several(value: object, info: ValidationInfo) -> HeaderValues:
    """Read the value of a field, or a list of them: each is a field of the same name."""
    given = value if isinstance(value, list | tuple) else [value]
    if not given:
        raise own_problem(f"expected {HEADER_VALUES_IN_WORDS}")
    values = tuple(read_secret(one, info) for one in given)
    if not all(_LINE.fullmatch(one.text) for one in values):
        raise own_problem("contains a line break or another control character; expected a text without them")
    return values


Recorded = str | dict[str, str]


def _recorded_headers(headers: dict[str, HeaderValues]) -> dict[str, Recorded | list[Recorded]]:
    """Return what records have of headers: the values of those alone that carry no secrets."""
    recorded: dict[str, Recorded | list[Recorded]] = {}
    for name, values in headers.items():
        is_open = not may_be_secret(name)
        one, *more = [one.text if one.source is None and is_open else one.recorded for one in values]
        recorded[name] = [one, *more] if more else one
    return recorded


def header_fields(headers: Mapping[str, HeaderValues]) -> list[tuple[str, str]]:
    """Return the fields of the requests in their order, those of one name behind each other."""
    return [(name, value.text) for name, values in headers.items() for value in values]


def with_headers(headers: FieldsByName, more: FieldsByName) -> FieldsByName:
    """Return headers with ``more``, which replace those of their names."""
    replaced = {name.lower() for name in more}
    return {name: values for name, values in headers.items() if name.lower() not in replaced} | more


def recorded_text(text: str) -> str:
    """Return what records have of a text that is sent: the name of its file, or nothing of it."""
    return HIDDEN if text and not text.startswith(FILE_MARK) else text


def _recorded_body(body: str | BodyLines) -> object:
    return {"lines": str(body.file)} if isinstance(body, BodyLines) else recorded_text(body)


def require_not_hidden(value: object, what: str) -> None:
    """Refuse what a run folder has in place of a text that is sent, which is a ``what``."""
    if value == HIDDEN:
        raise own_problem(f"found {HIDDEN}, which a run folder has in place of a {what}; expected the {what}")


def text_or_file(value: str, info: ValidationInfo) -> str:
    """Return a text that is sent, or the mark and the name of its file, from the folder of the study.

    A file that cannot be sent is refused, and a text is kept out of errors of others.
    """
    if not value.startswith(FILE_MARK):
        if len(value) >= LEAST_HIDDEN:
            remember(value)
        return value
    file = from_study_folder(value.removeprefix(FILE_MARK), info)
    try:
        body_length(file)
    except ValueError as error:
        raise own_problem(str(error)) from None
    return f"{FILE_MARK}{file}"


def _body(value: object, info: ValidationInfo) -> object:
    """Read a body, and refuse a file that cannot be one."""
    require_not_hidden(value, "body")
    if isinstance(value, str):
        return text_or_file(value, info)
    if isinstance(value, dict) and [*value] == ["lines"] and isinstance(value["lines"], str):
        file = Path(from_study_folder(value["lines"], info))
        try:
            body_lines(file)
        except ValueError as error:
            raise own_problem(str(error)) from None
        return BodyLines(file)
    if not isinstance(value, BodyLines):
        raise own_problem(f"found {show(value)}; expected {BODY_IN_WORDS}")
    return value


Method = Annotated[
    str,
    Field(pattern=_WORD),
    AfterValidator(_no_tunnel),
    Expected('a method such as "GET", "HEAD" or "POST"'),
]
HeaderName = Annotated[str, Field(pattern=_WORD), Expected('the name of a header, such as "Accept"')]
HEADER_VALUES_IN_WORDS = f"{GIVEN_IN_WORDS}, or a list of them for several fields of this name"
HEADERS_IN_WORDS = 'a table of headers, such as { Accept = "text/html", Authorization = { env = "TOKEN" } }'
Headers = Annotated[
    dict[
        HeaderName,
        Annotated[
            InstanceOf[tuple],  # type: ignore[type-arg]
            BeforeValidator(_one_or_several),
            Expected(HEADER_VALUES_IN_WORDS),
        ],
    ],
    BeforeValidator(_a_table),
    AfterValidator(_of_the_person),
    PlainSerializer(_recorded_headers),
    Expected(HEADERS_IN_WORDS),
]
"""A record has the values of those alone that carry no secrets."""
BODY_IN_WORDS = 'a text in quotes, "@" and a file name, or { lines = "FILE" }'
if TYPE_CHECKING:
    Body = str | BodyLines
else:
    Body = Annotated[
        str | InstanceOf[BodyLines],
        BeforeValidator(_body),
        PlainSerializer(_recorded_body),
        Expected(BODY_IN_WORDS),
    ]
    """A record has the name of its file, or nothing of it."""
