"""What a tool does unless told otherwise that would change the work: following redirects, and the like.

Each is kept off by an option, is nothing that the tool does, or stays with the reason why that is no harm.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field

from loadcurve.toml.document import TomlTable
from loadcurve.toml.values import Text

WebDefault = Literal[
    "redirects", "compression", "cookies", "http2", "retries", "extra_connections", "keep_alive_field",
    "user_agent", "other_fields", "option_order",
]  # fmt: skip
"""Those of requests of HTTP: redirects that are followed; ``Accept-Encoding``; cookies that are sent back;
HTTP/2 where 1.1 is asked for; requests that are sent again; connections beside those of the load; a field
``Connection``; a ``User-Agent``; other fields; and options that count only in some order."""
DatabaseDefault = Literal["retries", "compression", "extra_connections", "batches"]
"""Those of operations: ones that are sent again; compressed messages; connections beside those of the
clients; and several operations in one message."""
WEB_DEFAULTS: tuple[WebDefault, ...] = get_args(WebDefault)
DATABASE_DEFAULTS: tuple[DatabaseDefault, ...] = get_args(DatabaseDefault)


class KeptOff(TomlTable):
    """One that an option switches off."""

    off_by: Text
    """The option, as it is on the command line or in the tool's file."""


class Absent(TomlTable):
    """One that the tool does not have."""

    absent: Literal[True]


class Stays(TomlTable):
    """One that it keeps to."""

    stays: Text
    """What it does, and why that is no harm or how it shows."""


Default = Annotated[KeptOff | Absent | Stays, Field(union_mode="left_to_right")]
