"""Reading a TOML file into a model, with every problem named by file, line and key."""

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from loadcurve._engine import toml_positions
from loadcurve.errors import BadInput
from loadcurve.study.problems import KeyPath, Problem, problems_of
from loadcurve.study.text_file import read_text

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class TomlTable(BaseModel):
    """A table of a TOML file: unknown keys are refused, no value is converted, nothing changes after reading.

    Validators find the folder of the file in ``info.context["folder"]``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class TomlDocument:
    """A TOML file as it was read, and the line of each of its keys."""

    path: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the TOML file at ``path``.

        Raises:
            BadInput: the file cannot be read, is not UTF-8 or is not TOML.

        """
        text = read_text(path, "a TOML file")
        try:
            lines = {tuple(keys): line for keys, line, _ in toml_positions(text)}
        except ValueError as error:
            message, line, column = error.args
            raise BadInput(f"{path}:{line}: not TOML at column {column}: {message}") from error
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            # The engine reads TOML 1.1, and Python's standard library 1.0; its message names the line.
            raise BadInput(f"{path}: not TOML 1.0: {error}") from error
        return cls(path, data, lines)

    def to_model(self, model: type[Model]) -> Model:
        """Read the document as ``model``.

        Raises:
            BadInput: the document does not fit; the text has one line for each problem, in the file's order.

        """
        try:
            return model.model_validate(self.data, context={"folder": self.path.parent})
        except ValidationError as error:
            problems = sorted(problems_of(error, model), key=lambda problem: self._line(problem.path) or 0)
            raise BadInput("\n".join(self.report(problem) for problem in problems)) from error

    def report(self, problem: Problem) -> str:
        """Return a problem as a line of its own: ``file:line: key: text``."""
        line = self._line(problem.path)
        place = f"{self.path}" if line is None else f"{self.path}:{line}"
        key = self._key(problem.path)
        return f"{place}: {key}: {problem.text}" if key else f"{place}: {problem.text}"

    def _line(self, path: KeyPath) -> int | None:
        """Return the line of a key; of a missing one, the line of the table where it belongs."""
        ancestors = (path[:length] for length in range(len(path), 0, -1))
        return next((self.lines[ancestor] for ancestor in ancestors if ancestor in self.lines), None)

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


def read_toml_model(path: Path, model: type[Model]) -> Model:
    """Read the TOML file at ``path`` as ``model``.

    Raises:
        BadInput: the file cannot be read, is not TOML, or does not fit the model; the text has one line per
            problem, as ``file:line: key: what was found; what was expected``, with the nearest known key.

    """
    return TomlDocument.read(path).to_model(model)
