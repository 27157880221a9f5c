"""What the field of a load says of its option beside type, range, default and meaning.

An option of a load is one field of a table in ``loads``. Its parameter of ``loadcurve load``, its place in
the engine's plan, and whether other generators can be asked for it follow from what is put into ``Annotated``
there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Literal, TypeVar

from pydantic import BaseModel

from loadcurve.loads.kinds import WorkName
from loadcurve.protocol import AskedHttp, HttpFamily, Messages

Panel = Literal["Arrivals and connections", "Requests", "Messages", "TLS", "Generator", "Databases"]
"""Sections of the help, beside the options that most loads need."""
Form = Literal[
    "value", "list", "only of a list", "pairs", "fields", "fields of variables", "variable", "none"
]
"""How the command line gives what a study has as a value: as it is; as names with commas between them; as the
only one of a list; as NAME=VALUE, repeated; as header fields, or as variables that hold their values; or as a
flag that stands for the value "none"."""
REPEATED: Final[tuple[Form, ...]] = ("pairs", "fields", "fields of variables")
Part = Literal["schedule", "stop", "times", "conversation", "h2", "messages", "way", "translated"]
"""Parts of the engine's plan; what is translated has another form there than in a study."""
OF_FIELD: Final = "the default of the field"
Said = TypeVar("Said")


@dataclass(frozen=True)
class CommandLine:
    """How an option is written in ``loadcurve load``."""

    written: str
    """Its names, such as ``-c/--connections``; the first long one is its name in Python as well."""
    _: KW_ONLY
    help: str
    metavar: str | None = None
    panel: Panel | None = None
    place: int = 1000
    """Its order within the section of the help."""
    form: Form = "value"
    default: object = OF_FIELD
    """Where it is another one than that of a study."""
    usual: str | int | None = None
    """What a load has without it, where its default does not say that: in the help, behind what it is for."""

    @property
    def help_with_usual(self) -> str:
        """What it is for, and what a load has without it."""
        return self.help if self.usual is None else f"{self.help.removesuffix('.')}; default {self.usual}."

    @property
    def parameter(self) -> str:
        """Its name in Python."""
        return next(one for one in self.written.split("/") if one.startswith("--"))[2:].replace("-", "_")


@dataclass(frozen=True)
class Shown:
    """What reports call the values of an option, where its key and its type do not say it."""

    title: str | None = None
    """Instead of the words of the key."""
    unit: str | None = None
    """What it counts; durations have theirs, which is s."""


@dataclass(frozen=True)
class Planned:
    """In which part of the engine's plan an option is; without it, beside the requests under its own name."""

    part: Part
    default: object = None
    """What the engine takes where a load does not say, if records have it all the same."""


@dataclass(frozen=True)
class OtherTools:
    """What other generators do with an option; without it they are only driven with its default."""

    takes_any: bool
    reason: str | None = None
    """Why only its default is possible, behind the name of the generator."""
    work: WorkName | None = None
    """The only work of whose loads this is said."""


@dataclass(frozen=True)
class OnlyOver:
    """Over which versions of HTTP an option is used; without it, over all."""

    versions: tuple[HttpFamily, ...]
    reasons: Mapping[HttpFamily, str] = field(default_factory=dict)
    """Why not over one of the others."""


@dataclass(frozen=True)
class NotOver:
    """Over which versions of HTTP an option can only have its default."""

    versions: tuple[AskedHttp, ...]
    words: str
    """Why, and what to do, behind the version."""


@dataclass(frozen=True)
class OfMessages:
    """The kinds of messages that have an option; without it, all, and loads without messages."""

    kinds: tuple[Messages, ...]


@dataclass(frozen=True)
class NotWith:
    """The options, by their keys, beside which an option can only have its default."""

    keys: tuple[str, ...]
    words: str = "; keep one of the two"
    """Why, and what to do, behind the other key."""


RATE_SHOWN: Final = Shown(unit="per second")
ASKED = OtherTools(takes_any=True)
"""They are asked for it as far as the abilities of each reach, or it changes nothing for them."""
OWN_HTTP2 = OtherTools(takes_any=False, reason="is only driven with its own settings of HTTP/2")


def said_of(model: type[BaseModel], name: str, kind: type[Said]) -> list[Said]:
    """Return what a field says of its option; one that narrows the type of a base says what the base does."""
    for one in model.__mro__:
        fields = one.model_fields if issubclass(one, BaseModel) else {}
        if name in fields and (said := [one for one in fields[name].metadata if isinstance(one, kind)]):
            return said
    return []


def options_of(model: type[BaseModel]) -> Iterator[tuple[str, CommandLine]]:
    """Yield the options of a table, each with the attribute that it sets; an attribute may have two."""
    for name in model.model_fields:
        yield from ((name, option) for option in said_of(model, name, CommandLine))


def planned_in(model: type[BaseModel], part: Part) -> dict[str, object]:
    """Return the options that are in a part of the engine's plan, each with the engine's default."""
    planned = {name: said_of(model, name, Planned) for name in model.model_fields}
    return {name: said[0].default for name, said in planned.items() if said and said[0].part == part}
