"""The keys of a table of a TOML file, from the model that reads it."""

import ast
import inspect
import itertools
import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import get_args

from docs.generate.markdown import table
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from loadcurve.result.measure_names import MeasureName, PublishedMeasureName
from loadcurve.toml.expected import Kind
from loadcurve.toml.quantities import SHARE_IN_WORDS

_LISTED = {
    get_args(MeasureName): "a [measure](#measures)",
    get_args(PublishedMeasureName): "a [measure](#measures), of connections as well",
}
"""The words for values that are too many for a cell, with the place of their list."""
_SECONDS_PER_UNIT = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


@dataclass(frozen=True)
class Key:
    """A key of a table."""

    name: str
    expected: str
    default: str
    about: str


def key_table(
    model: type[BaseModel], *, but: Iterable[str] = (), defaults: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the reference table of a model's keys, but for those of some attributes.

    ``defaults`` has, by key, what replaces it where the model itself does not know it.

    Raises ``ValueError`` where a key has no docstring.
    """
    rows = (
        (f"`{key.name}`", key.about, key.expected, defaults.get(key.name, key.default))
        for key in _keys(model, but)
    )
    return table(("key", "meaning", "expected", "default"), rows)


def _keys(model: type[BaseModel], but: Iterable[str]) -> list[Key]:
    about = _docstrings(model)
    fields = {name: field for name, field in model.model_fields.items() if name not in but}
    missing = fields.keys() - about.keys()
    if missing:
        raise ValueError(f"{model.__name__}: {', '.join(sorted(missing))} without a docstring")
    return [
        Key(field.alias or name, _expected(field), _default(name, field), about[name])
        for name, field in fields.items()
    ]


def _expected(field: FieldInfo) -> str:
    kind = Kind.of_field(field)
    return _LISTED.get(kind.choices) or kind.in_words()


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the text below each attribute, in one line; that of a class over those of its bases."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, BaseModel) and one.__module__.startswith("loadcurve."):
            body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0].body  # type: ignore[attr-defined]
            for field, text in itertools.pairwise(body):
                match field, text:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(words))),
                    ):
                        found[name] = " ".join(words.split()).replace("``", "`")
    return found


def _default(name: str, field: FieldInfo) -> str:
    """Return the default as a file would have it; empty where there is none to write."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, BaseModel) or value in ({}, [], ""):
        return ""
    if name.endswith("_s") and isinstance(value, float):
        return f"`{json.dumps(_duration(value))}`"
    if SHARE_IN_WORDS in _expected(field):
        return f'`"{100 * value:g} %"`'
    return f"`{json.dumps(value)}`"


def _duration(seconds: float) -> str:
    unit, size = next(((unit, size) for unit, size in _SECONDS_PER_UNIT if seconds >= size), ("s", 1.0))
    return f"{seconds / size:g}{unit}"
