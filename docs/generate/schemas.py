"""The JSON Schemas of everything that Loadcurve writes, for readers in other languages."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from loadcurve.analysis.numbers import Numbers
from loadcurve.explain.all import FINDINGS
from loadcurve.result.history import HistoryEntry
from loadcurve.result.load import LoadResult
from loadcurve.result.publication import PublishedRun
from loadcurve.result.records import TRIAL_RECORD, RunRecord
from loadcurve.result.rig import Ceiling, MachinesCeiling, Noise
from loadcurve.result.several import InterferenceRecord, SeveralLoadsRecord, SuiteRecord
from loadcurve.result.site_index import SiteIndex
from loadcurve.watch.progress import RunProgress

if TYPE_CHECKING:
    from pydantic import BaseModel

SCHEMA_FOLDER = Path("docs") / "schema"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
LINE_WIDTH = 110
Schemas = dict[str, dict[str, Any]]
"""Schemas by the names of their files."""


class Generator(GenerateJsonSchema):
    """Gives fields no titles, which would repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 -- as the base class has it
        """Return that it should not."""
        return False


def schema_files() -> dict[Path, str]:
    """Return the text of each schema's file."""
    return {SCHEMA_FOLDER / name: schema_text(schema) for name, schema in published_schemas().items()}


def published_schemas() -> Schemas:
    """Return the schemas by file name: those of the records, and that of ``numbers.json``.

    A definition that several have is in one of them, to which the others refer by the name of its file.
    """
    numbers = Numbers.model_json_schema(mode="serialization", schema_generator=Generator)
    numbers["$defs"]["Finding"]["properties"]["code"]["enum"] = list(FINDINGS)
    return linked({**_complete(), "numbers.schema.json": {"$schema": DIALECT, **numbers}})


def _complete() -> Schemas:
    """Return the schemas of a run folder's files, and of ``load --json``, each complete in itself."""
    models: dict[str, type[BaseModel]] = {
        "load": LoadResult,
        "ceiling": Ceiling,
        "machines-ceiling": MachinesCeiling,
        "noise": Noise,
        "run": RunRecord,
        "progress": RunProgress,
        "loads": SeveralLoadsRecord,
        "interference": InterferenceRecord,
        "suite": SuiteRecord,
        "history": HistoryEntry,
        "published": PublishedRun,
        "site": SiteIndex,
    }
    generated = {
        f"{name}.schema.json": model.model_json_schema(mode="serialization", schema_generator=Generator)
        for name, model in models.items()
    }
    generated["trial.schema.json"] = TRIAL_RECORD.json_schema(
        mode="serialization", schema_generator=Generator
    )
    return {name: {"$schema": DIALECT, **schema} for name, schema in generated.items()}


def linked(complete: Schemas) -> Schemas:
    """Return the schemas with each definition in one file alone, to which the others refer by its name."""
    homes: dict[str, tuple[str, Any]] = {}
    for file, schema in complete.items():
        whole = {key: value for key, value in schema.items() if key not in {"$schema", "$defs"}}
        homes.setdefault(schema.get("title", file), (file, whole))
    for file, schema in complete.items():
        for name, definition in schema.get("$defs", {}).items():
            homes.setdefault(name, (f"{file}#/$defs/{name}", definition))
    return {file: _linked(file, schema, homes) for file, schema in complete.items()}


def _linked(file: str, schema: dict[str, Any], homes: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    own = schema.get("$defs", {})
    same = {name for name, definition in own.items() if homes[name][1] == definition}
    # One that refers to another definition than its namesake does is not the same, either.
    while other := {name for name in same if _referred_to(own[name]) - same}:
        same -= other
    elsewhere = {name for name in same if not homes[name][0].startswith(file)}
    kept = {name: definition for name, definition in own.items() if name not in elsewhere}
    text = re.sub(
        r'"#/\$defs/(\w+)"',
        lambda found: f'"{homes[found[1]][0]}"' if found[1] in elsewhere else found[0],
        json.dumps({**schema, "$defs": kept}),
    )
    result: dict[str, Any] = json.loads(text)
    return result if kept else {key: value for key, value in result.items() if key != "$defs"}


def _referred_to(definition: object) -> set[str]:
    return set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(definition)))


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as the text of its file; what fits into a line is in one."""
    return _text(schema, "", "") + "\n"


def _text(value: Any, indent: str, key: str) -> str:  # noqa: ANN401 -- JSON
    line = f"{key}{json.dumps(value, ensure_ascii=False)}"
    if not isinstance(value, dict | list) or len(indent) + len(line) < LINE_WIDTH:
        return indent + line
    inside = f"{indent}  "
    if isinstance(value, dict):
        items = [_text(one, inside, f"{json.dumps(name)}: ") for name, one in value.items()]
    else:
        items = _filled([_text(one, inside, "") for one in value])
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{indent}{key}{opening}\n" + ",\n".join(items) + f"\n{indent}{closing}"


def _filled(items: list[str]) -> list[str]:
    """Return the items of a list with as many in a line as fit, where none needs several lines."""
    lines = items[:1]
    for item in items[1:]:
        joined = f"{lines[-1]}, {item.lstrip()}"
        if "\n" in joined or len(joined) >= LINE_WIDTH:
            lines.append(item)
        else:
            lines[-1] = joined
    return lines
