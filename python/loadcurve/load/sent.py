"""What a study sends with every request: the types of ``method``, ``headers`` and ``body``."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from loadcurve._engine import body_length
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import own_problem

FILE_MARK = "@"
"""A body that begins with it names a file; what the file holds is the body."""

_WORD = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"  # RFC 9110, section 5.6.2
_OUR_OWN_HEADERS = frozenset({"content-length", "transfer-encoding"})


def _no_tunnel(method: str) -> str:
    if method == "CONNECT":
        raise own_problem(
            f"found {show(method)}, which opens a tunnel; expected a method that gets an answer"
        )
    return method


def _of_the_person(headers: dict[str, str]) -> dict[str, str]:
    for name in headers:
        if name.lower() in _OUR_OWN_HEADERS:
            raise own_problem(f"found {show(name)}, which is set for the body; leave it out")
    return headers


def _existing_file(value: object, info: ValidationInfo) -> object:
    """Count the name of a file from the folder of the study, and refuse one that cannot be a body."""
    if not isinstance(value, str) or not value.startswith(FILE_MARK):
        return value
    file = Path(info.context["folder"] if info.context else "", value.removeprefix(FILE_MARK))
    try:
        body_length(file)
    except ValueError as error:
        raise own_problem(str(error)) from None
    return f"{FILE_MARK}{file}"


Method = Annotated[
    str,
    Field(pattern=_WORD),
    AfterValidator(_no_tunnel),
    Expected('a method such as "GET", "HEAD" or "POST"'),
]
HeaderName = Annotated[str, Field(pattern=_WORD), Expected('the name of a header, such as "Accept"')]
HeaderValue = Annotated[
    str, Field(pattern=r"^[\t -~\x80-\x{10FFFF}]*$"), Expected("a text in quotes without line breaks")
]
Headers = Annotated[
    dict[HeaderName, HeaderValue],
    AfterValidator(_of_the_person),
    Expected('a table of headers, such as { Accept = "text/html" }'),
]
Body = Annotated[
    str, BeforeValidator(_existing_file), Expected('a text in quotes, or "@" and the name of a file with it')
]
