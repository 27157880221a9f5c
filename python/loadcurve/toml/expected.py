"""Plain words for the types of a TOML file: what a key expects, and what was found there."""

import json
import math
import types
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from loadcurve.units import cut

BEGUN_LENGTH_MIN = 3
"""Too many names begin with fewer letters."""
FOUND_VALUE_LENGTH_MAX = 60
"""How much of a value an error repeats, in characters."""

_SCALARS_IN_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    Path: "a path in quotes",
}


@dataclass(frozen=True)
class Expected:
    """Put into ``Annotated``: what a value of this type is, in the words of an error's "expected …"."""

    words: str


@dataclass(frozen=True)
class Kind:
    """The type of one value, freed of ``Annotated`` and ``| None``, and the annotations around it."""

    type: Any
    annotations: tuple[Any, ...] = ()

    @classmethod
    def of(cls, annotation: object, annotations: tuple[Any, ...] = ()) -> Self:
        """Read the type hint ``annotation``."""
        if get_origin(annotation) is Annotated:
            inner, *outer = get_args(annotation)
            return cls.of(inner, (*outer, *annotations))
        if _is_union(annotation) and types.NoneType in get_args(annotation):
            present = tuple(member for member in get_args(annotation) if member is not types.NoneType)
            return cls.of(Union[present], annotations)  # noqa: UP007 -- the members are a tuple
        return cls(annotation, annotations)

    @classmethod
    def of_field(cls, field: FieldInfo) -> Self:
        """Read the type of a model's field."""
        return cls.of(field.annotation, tuple(field.metadata))

    @property
    def is_union(self) -> bool:
        """Whether several types are possible."""
        return _is_union(self.type)

    @property
    def choices(self) -> tuple[object, ...]:
        """The values that are possible, where the type names them."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def own_words(self) -> str | None:
        """The words of the outermost :class:`Expected`."""
        words = [annotation.words for annotation in self.annotations if isinstance(annotation, Expected)]
        return words[-1] if words else None

    def in_words(self) -> str:
        """Say what is expected, for people."""
        if self.own_words is not None:
            return self.own_words
        if self.choices:
            return alternatives([show(choice) for choice in self.choices])
        if self.is_union:
            return alternatives([Kind.of(member).in_words() for member in get_args(self.type)])
        origin = get_origin(self.type) or self.type
        if origin is list:
            (element,) = get_args(self.type)
            return f"a list, each item {Kind.of(element).in_words()}"
        if origin is dict or (isinstance(origin, type) and issubclass(origin, BaseModel)):
            return "a table"
        return _SCALARS_IN_WORDS.get(origin, "another value")


UNKNOWN = Kind(object)
"""The kind of a value whose type is not described."""


def _is_union(annotation: object) -> bool:
    return get_origin(annotation) in (Union, types.UnionType)


def alternatives(words: list[str]) -> str:
    """Join ``words`` as ``a, b or c``, each once."""
    *others, last = dict.fromkeys(words)
    return f"{', '.join(others)} or {last}" if others else last


def show(value: object) -> str:
    """Show a value as it is in a TOML file, shortened."""
    if isinstance(value, dict):
        return "a table" if value else "an empty table"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value == []:
        return "an empty list"
    return cut(json.dumps(value, ensure_ascii=False, default=str), FOUND_VALUE_LENGTH_MAX)


SLIP_RATIO = 0.9
"""Of the letters that a name and its slip have in common, as difflib counts them."""


def nearest(given: str, known: list[str]) -> str:
    """Return ``; did you mean "…"?`` with the nearest of ``known``, or nothing where none is near.

    A name that begins with what was given is preferred to any that only resembles it.
    """
    matches = sorted(_begun(given, known), key=len) or get_close_matches(given, known, n=1)
    return f"; did you mean {show(matches[0])}?" if matches else ""


def is_slip(given: str, known: list[str]) -> bool:
    """Say whether a name is one of ``known`` but for a slip: a letter or two, or its end left out.

    ``conections`` is one for ``connections``, and ``worker_connections`` is not.
    """
    return bool(_begun(given, known) or get_close_matches(given, known, n=1, cutoff=SLIP_RATIO))


def _begun(given: str, known: list[str]) -> list[str]:
    """Return the names that begin with what was given, if that is enough to tell."""
    return [name for name in known if len(given) >= BEGUN_LENGTH_MIN and name.startswith(given)]


def unknown_key(key: str, known: list[str]) -> str:
    """Say that ``key`` is not in ``known``, and which of them was probably meant."""
    return f"unknown key; expected one of {', '.join(known)}{nearest(key, known)}"
