"""JSON data that a published schema allows and that nobody would expect: any size, zeros, nulls."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from support.schemas import SCHEMAS
from support.synthetic_run import encode

LEAST, GREATEST = -9, 9
"""Powers of ten between which any number lies."""
WORDS = ("<b>a & b</b>", "=1+1", "écrit à la main", "x" * 60, "GET /1k.txt", "read", "")
Schema = Mapping[str, Any]


@functools.cache
def _histograms() -> tuple[str, ...]:
    """Histograms of nothing, of one value, and of values that are as far apart as one can hold."""
    return tuple(map(encode, ([], [5_000_000], [1, 1_000, 10**6, 10**9, 3_600 * 10**9])))


@dataclass
class WildValues:
    """Makes values of a schema at random, close to an example or far from it."""

    drawn: Random
    file: str
    """The schema's file, within which its definitions are."""
    changed: float
    """Which share of the example's values becomes anything."""
    nulls: float
    """Which share of what may be null is."""
    zeros: float
    """Which share of the numbers that are changed becomes zero."""

    def number(self) -> float:
        """Any number from 1e-9 to 1e9, or zero."""
        return 0.0 if self.drawn.random() < self.zeros else float(10 ** self.drawn.uniform(LEAST, GREATEST))

    def like(self, schema: Schema, example: Any = None, name: str = "") -> Any:
        """Return a value that the schema allows; ``name`` is the member's, where it is one of an object."""
        if "$ref" in schema:
            return self._referred(schema["$ref"], example, name)
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices is not None:
            return self._one_of(choices, example, name)
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, example, name)
        if kind == "array":
            return self._array(schema, example, name)
        is_kept = kind is None or (example is not None and self.drawn.random() >= self.changed)
        return example if is_kept else self._scalar(schema, name)

    def _referred(self, reference: str, example: Any, name: str) -> Any:
        file, _, path = reference.partition("#")
        inside = WildValues(self.drawn, file or self.file, self.changed, self.nulls, self.zeros)
        found = SCHEMAS[inside.file]
        for key in filter(None, path.split("/")):
            found = found[key]
        return inside.like(found, example, name)

    def _one_of(self, choices: list[Schema], example: Any, name: str) -> Any:
        others = [choice for choice in choices if choice.get("type") != "null"]
        if len(others) < len(choices) and self.drawn.random() < self.nulls:
            return None
        if all(choice.get("type") in {"integer", "number"} for choice in others):
            return self.like(self.drawn.choice(others), example, name)
        # Which of several objects it is follows from its other members, so the example's is kept.
        return example if len(others) > 1 else self.like(others[0], example, name)

    def _object(self, schema: Schema, example: Any, name: str) -> dict[str, Any]:
        members = schema.get("properties", {})
        given = example if isinstance(example, dict) else {}
        required = schema.get("required", ())
        made = {
            key: self.like(of_member, given.get(key), name if "histogram" in name else key)
            for key, of_member in members.items()
            if key in required or key in given or ("pattern" not in of_member and self.drawn.random() < 0.5)
        }
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            allowed = schema.get("propertyNames", {}).get("enum", ("one", "other"))
            others = [key for key in given or allowed[:2] if key not in members]
            made |= {key: self.like(more, given.get(key), key) for key in others}
        elif not members or more is True:
            made = {**given, **made}
        return _in_columns(made) if "t_s" in made else made

    def _array(self, schema: Schema, example: Any, name: str) -> list[Any]:
        given = example if isinstance(example, list) else []
        if not given or self.drawn.random() < self.changed:
            given = (given + [None] * 3)[: self.drawn.randint(schema.get("minItems", 0), 3)]
        return [self.like(schema["items"], one, name) for one in given]

    def _scalar(self, schema: Schema, name: str) -> Any:
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.drawn.choice(schema["enum"])
        if schema["type"] == "boolean":
            return self.drawn.random() < 0.5
        if schema["type"] == "string":
            return self.drawn.choice(_histograms() if "histogram" in name else WORDS)
        number = self.number()
        if schema["type"] == "integer":
            least = max(round(number), schema.get("minimum", 0), schema.get("exclusiveMinimum", -1) + 1)
            return min(least, schema.get("maximum", least))
        if "exclusiveMaximum" in schema:
            number = min(number, schema["exclusiveMaximum"] / 2)
        return number or (0.5 if "exclusiveMinimum" in schema else 0.0)


def _in_columns(made: dict[str, Any]) -> dict[str, Any]:
    """Give the columns of a table over time one length, and its moments their order."""
    moments = sorted(made["t_s"]) if isinstance(made["t_s"], list) else made["t_s"]
    if not isinstance(moments, list):
        return made

    def fitting(column: Any) -> Any:
        if isinstance(column, dict):
            return {name: fitting(one) for name, one in column.items()}
        return (
            (column * len(moments) + [0] * len(moments))[: len(moments)]
            if isinstance(column, list)
            else column
        )

    return {name: fitting(column) for name, column in made.items() if name != "t_s"} | {"t_s": moments}
