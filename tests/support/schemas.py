"""The published schemas, which refer to each other."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

SCHEMA_FOLDER = Path(__file__).parents[2] / "docs" / "schema"
SCHEMAS: dict[str, Any] = {path.name: json.loads(path.read_text()) for path in SCHEMA_FOLDER.glob("*.json")}
REGISTRY: Registry[Any] = Registry().with_resources(
    (name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items()
)


def validate(document: object, name: str) -> None:
    """Raise an error unless a document fits the schema ``NAME.schema.json``."""
    Draft202012Validator({"$ref": f"{name}.schema.json"}, registry=REGISTRY).validate(document)
