"""The JSON Schemas of everything that Loadcurve writes, for readers in other languages.

``python -m loadcurve.report.formats.schema`` writes them into ``docs/schema`` of the folder where it is
called.
"""

from pathlib import Path
from typing import Any

from loadcurve.analysis.numbers import Numbers
from loadcurve.result.schema import DIALECT, schema_text, schemas

SCHEMA_FOLDER = Path("docs") / "schema"


def published_schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas by file name: those of the records, and that of ``numbers.json``."""
    numbers = Numbers.model_json_schema(by_alias=True, mode="serialization")
    return {**schemas(), "numbers.schema.json": {"$schema": DIALECT, **numbers}}


def write_schemas(folder: Path) -> None:
    """Write every schema into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in published_schemas().items():
        (folder / name).write_text(schema_text(schema), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(SCHEMA_FOLDER)
