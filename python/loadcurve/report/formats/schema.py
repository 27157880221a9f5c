"""The JSON Schemas of everything that Loadcurve writes, for readers in other languages.

``python -m loadcurve.report.formats.schema`` writes them into ``docs/schema`` of the folder where it is
called.
"""

from pathlib import Path

from loadcurve.analysis.numbers import Numbers
from loadcurve.explain.all import FINDINGS
from loadcurve.result.schema import DIALECT, Generator, Schemas, linked, schema_text, schemas

SCHEMA_FOLDER = Path("docs") / "schema"


def published_schemas() -> Schemas:
    """Return the schemas by file name: those of the records, and that of ``numbers.json``.

    A definition that several have stands in one of them, to which the others refer by the name of its file.
    """
    numbers = Numbers.model_json_schema(mode="serialization", schema_generator=Generator)
    numbers["$defs"]["Finding"]["properties"]["code"]["enum"] = list(FINDINGS)
    return linked({**schemas(), "numbers.schema.json": {"$schema": DIALECT, **numbers}})


def write_schemas(folder: Path) -> None:
    """Write every schema into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in published_schemas().items():
        (folder / name).write_text(schema_text(schema), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(SCHEMA_FOLDER)
