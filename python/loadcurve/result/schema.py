"""The JSON Schemas of what a run and a load write; ``report.formats.schema`` publishes them."""

import json
from typing import Any

from loadcurve.result.ceiling import Ceiling
from loadcurve.result.load import LoadResult
from loadcurve.result.noise import Noise
from loadcurve.result.progress import RunProgress
from loadcurve.result.records import TRIAL_RECORD, RunRecord

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas by file name: those of a run folder's files, and of ``load --json``."""
    generated = {
        "run.schema.json": RunRecord.model_json_schema(by_alias=True, mode="serialization"),
        "trial.schema.json": TRIAL_RECORD.json_schema(by_alias=True, mode="serialization"),
        "ceiling.schema.json": Ceiling.model_json_schema(by_alias=True, mode="serialization"),
        "noise.schema.json": Noise.model_json_schema(by_alias=True, mode="serialization"),
        "progress.schema.json": RunProgress.model_json_schema(by_alias=True, mode="serialization"),
        "load.schema.json": LoadResult.model_json_schema(by_alias=True, mode="serialization"),
    }
    return {name: {"$schema": DIALECT, **schema} for name, schema in generated.items()}


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as the text of its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
