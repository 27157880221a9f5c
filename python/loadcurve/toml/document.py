"""Reading a TOML file into a model, with every problem named by file, line and key."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from loadcurve._engine import toml_positions
from loadcurve.errors import BadInput
from loadcurve.toml.problems import KeyPath, Problem, problems_of
from loadcurve.toml.text_file import read_text

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class TomlTable(BaseModel):
    """A table of a TOML file: unknown keys are refused, no value is converted, nothing changes after reading.

    Validators find the folder of the file in ``info.context["folder"]``, beside what its reader adds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


Model = TypeVar("Model", bound=BaseModel)


class Place(NamedTuple):
    """Where a key is."""

    file: Path
    line: int


@dataclass(frozen=True)
class TomlDocument:
    """A TOML file as it was read, and the place of each of its keys."""

    path: Path
    data: dict[str, Any]
    places: dict[KeyPath, Place]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the TOML file at ``path``.

        Raises ``BadInput``: the file cannot be read, is not UTF-8 or is not TOML.
        """
        text = read_text(path, "a TOML file")
        try:
            places = {tuple(keys): Place(path, line) for keys, line, _ in toml_positions(text)}
        except ValueError as error:
            message, line, column = error.args
            raise BadInput(f"{path}:{line}: not TOML at column {column}: {message}") from error
        try:
            data = tomllib.loads(text)
        except ValueError as error:
            # The engine reads TOML 1.1, and Python's standard library 1.0; its message names the line,
            # but for a number of thousands of digits.
            raise BadInput(f"{path}: not TOML 1.0: {error}") from error
        return cls(path, data, places)

    def based_on(self, base: Self) -> Self:
        """Return this document with what ``base`` says where this one is silent: tables join key by key."""
        return type(self)(self.path, _joined(base.data, self.data), base.places | self.places)

    def to_model(self, model: type[Model], known: Mapping[str, object] = MappingProxyType({})) -> Model:
        """Read the document as ``model``, whose validators find what is ``known`` in their context.

        Raises ``BadInput``: the document does not fit; the text has one line for each problem, in the file's
        order.
        """
        try:
            return model.model_validate(self.data, context={**known, "folder": self.path.parent})
        except ValidationError as error:
            problems = sorted(problems_of(error, model), key=lambda problem: self.place(problem.path))
            raise BadInput("\n".join(self.report(problem) for problem in problems)) from error

    def report(self, problem: Problem) -> str:
        """Return a problem as a separate line: ``file:line: key: text``."""
        file, line = self.place(problem.path)
        place = f"{file}:{line}" if line else f"{file}"
        key = self._key(problem.path)
        return f"{place}: {key}: {problem.text}" if key else f"{place}: {problem.text}"

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key; of a missing one, that of its table, or line 0 for the whole file."""
        ancestors = (path[:length] for length in range(len(path), 0, -1))
        known = (self.places[ancestor] for ancestor in ancestors if ancestor in self.places)
        return next(known, Place(self.path, 0))

    def _key(self, path: KeyPath) -> str:
        """Write a path as a dotted key.

        An element goes by its array, or by the text that names a file of elements: its line and value say
        which it is.
        """
        value: object = self.data
        keys = []
        for part in path:
            if isinstance(value, list):
                value = value[int(part)]
            elif not isinstance(value, str):
                keys.append(part if _BARE_KEY.fullmatch(part) else json.dumps(part, ensure_ascii=False))
                value = value.get(part) if isinstance(value, dict) else None
        return ".".join(keys)


def _joined(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return both tables as one; where both have a value, the one ``above`` holds, unless both are tables."""
    joined = below | above
    for key in below.keys() & above.keys():
        if isinstance(below[key], dict) and isinstance(above[key], dict):
            joined[key] = _joined(below[key], above[key])
    return joined


def read_toml_model(
    path: Path, model: type[Model], known: Mapping[str, object] = MappingProxyType({})
) -> Model:
    """Read the TOML file at ``path`` as ``model``, whose validators find what is ``known`` in their context.

    Raises ``BadInput``: the file cannot be read, is not TOML, or does not fit the model; the text has one
    line per problem, as ``file:line: key: what was found; what was expected``, with the nearest known key.
    """
    return TomlDocument.read(path).to_model(model, known)
