"""The published JSON Schemas, against records."""

import json
import re
from collections import Counter
from typing import Any

import jsonschema
import pytest
from docs.generate.schemas import linked, published_schemas

from support import synthetic_run as synthetic
from support.schemas import REGISTRY, validate


@pytest.mark.parametrize("name", sorted(published_schemas()))
def test_every_schema_is_a_valid_schema(name: str):
    jsonschema.Draft202012Validator.check_schema(published_schemas()[name])


def test_every_definition_stands_in_one_file_and_every_reference_leads_to_one():
    definitions = Counter(name for schema in published_schemas().values() for name in schema.get("$defs", ()))
    # The requests of a point in the analysis are other ones than those of a load.
    assert [name for name, count in definitions.items() if count > 1] == ["Requests"]
    for name, schema in published_schemas().items():
        for reference in re.findall(r'"\$ref": "(.+?)"', json.dumps(schema)):
            REGISTRY.resolver(base_uri=name).lookup(reference)


def test_what_is_shared_is_told_apart_where_what_it_refers_to_differs():
    def schema(number: str) -> dict[str, Any]:
        return {"$defs": {"A": {"type": "object"}, "B": {"$ref": "#/$defs/C"}, "C": {"type": number}}}

    first, second = linked({"1": schema("integer"), "2": schema("number")}).values()
    assert first == schema("integer")
    assert set(second["$defs"]) == {"B", "C"}


def test_records_as_written_fit_their_published_schemas():
    record = synthetic.run_record()
    validate(json.loads(record.model_dump_json(by_alias=True)), "run")
    for one in synthetic.trial_records(record):
        validate(json.loads(one.model_dump_json(by_alias=True)), "trial")
    validate(synthetic.load_result("nginx", 1), "load")


def test_a_load_without_its_unit_fields_does_not_fit():
    load = synthetic.load_result("nginx", 1)
    load["latency"] = load.pop("latency_ms")
    with pytest.raises(jsonschema.ValidationError):
        validate(load, "load")
