"""The published JSON Schemas, on the disk and against records."""

import json
from pathlib import Path

import jsonschema
import pytest

from loadcurve.report.formats.schema import SCHEMA_FOLDER, published_schemas
from loadcurve.result.schema import schema_text
from support import synthetic_run as synthetic

PUBLISHED = Path(__file__).resolve().parents[2] / SCHEMA_FOLDER


def test_every_generated_schema_is_published_and_no_other():
    assert {path.name for path in PUBLISHED.glob("*.json")} == set(published_schemas())


@pytest.mark.parametrize("name", sorted(published_schemas()))
def test_the_published_schema_is_the_generated_one(name: str):
    assert (PUBLISHED / name).read_text(encoding="utf-8") == schema_text(published_schemas()[name]), (
        f"{SCHEMA_FOLDER / name} is out of date: "
        "run `python -m loadcurve.report.formats.schema` in the root folder"
    )


@pytest.mark.parametrize("name", sorted(published_schemas()))
def test_every_schema_is_a_valid_schema(name: str):
    jsonschema.Draft202012Validator.check_schema(published_schemas()[name])


def test_records_as_written_fit_their_published_schemas():
    record = synthetic.run_record()
    jsonschema.validate(
        json.loads(record.model_dump_json(by_alias=True)), published_schemas()["run.schema.json"]
    )
    line = jsonschema.Draft202012Validator(published_schemas()["trial.schema.json"])
    for one in synthetic.trial_records(record):
        line.validate(json.loads(one.model_dump_json(by_alias=True)))
    jsonschema.validate(synthetic.load_result("nginx", 1), published_schemas()["load.schema.json"])


def test_a_load_without_its_unit_fields_does_not_fit():
    load = synthetic.load_result("nginx", 1)
    load["latency"] = load.pop("latency_ms")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(load, published_schemas()["load.schema.json"])
