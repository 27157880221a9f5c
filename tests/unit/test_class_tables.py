"""The tables of classes: one row each, from which documents, records and schemas come."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from docs.generate.schemas import published_schemas
from pydantic import TypeAdapter, ValidationError

from loadcurve import explain
from loadcurve.explain.all import FINDINGS
from loadcurve.explain.finding import Finding, FindingCode
from loadcurve.result.outcomes import (
    CAVEATS,
    FAILURES,
    NOTES,
    REASONS,
    STATUSES,
    Caveat,
    ErrorClass,
    Errors,
    StatusClasses,
    Verdict,
    VerdictNote,
    VerdictReason,
)

ROOT = Path(__file__).resolve().parents[2]
JUDGED_BY_TOOLS = frozenset({"check_failed"})
"""Classes of failures that the engine has no rule for, as a script's checks and assertions."""


def product_code_in_rust(*crates: str) -> str:
    """The sources of some crates, without those of tests."""
    files = [path for crate in crates for path in (ROOT / "crates" / crate / "src").rglob("*.rs")]
    texts = [path.read_text(encoding="utf-8") for path in files if "tests" not in str(path)]
    return "".join(text.partition("#[cfg(test)]\nmod tests {")[0] for text in texts)


def variant(code: str) -> str:
    """What Rust calls the row of a code."""
    return "".join(word.capitalize() for word in code.split("_"))


def test_every_class_of_failures_is_reported_by_the_engine_or_by_a_database():
    reported = set(re.findall(r"\bFailure::(\w+)", product_code_in_rust("engine", "database")))
    # The recorder compares lengths, so it reports those that differ.
    reported |= set(re.findall(r"failed\(Failure::(\w+)\)", product_code_in_rust("record")))
    assert {variant(code) for code in FAILURES} - reported == {variant(code) for code in JUDGED_BY_TOOLS}


def test_every_failure_that_only_other_generators_judge_is_reported_by_a_reader_of_theirs():
    readers = "".join(path.read_text() for path in (ROOT / "python/loadcurve/tools").rglob("*.py"))
    assert {code for code in JUDGED_BY_TOOLS if f'"{code}"' in readers} == JUDGED_BY_TOOLS


def test_counts_are_published_class_by_class_in_the_order_of_the_table():
    schemas = published_schemas()["load.schema.json"]["$defs"]
    for record, classes in ((Errors, FAILURES), (StatusClasses, STATUSES)):
        schema = schemas[record.__name__]
        assert list(schema["properties"]) == schema["required"] == list(classes)
    assert schemas["ErrorMessage"]["properties"]["error"]["enum"] == list(FAILURES)


def test_a_record_from_before_a_class_was_there_counted_none_of_it():
    errors = Errors({"timeout": 3, "reset": 0})
    assert (errors["timeout"], errors["not_found"]) == (3, 0)
    assert errors.nonzero() == {"timeout": 3}
    assert errors.model_dump() == {"timeout": 3, "reset": 0}


def test_what_is_counted_of_no_class_is_refused():
    with pytest.raises(ValidationError, match="unknown: resett; there are connect_refused"):
        Errors({"resett": 1})
    with pytest.raises(ValidationError, match="is not one of connect_refused"):
        TypeAdapter(ErrorClass).validate_python("resett")
    with pytest.raises(KeyError):
        Errors({})["resett"]


def test_every_finding_that_a_module_declares_is_in_the_table_and_published():
    modules = [
        importlib.import_module(one.name)
        for one in pkgutil.iter_modules(explain.__path__, "loadcurve.explain.")
    ]
    declared = {
        value.code for one in modules for value in vars(one).values() if isinstance(value, FindingCode)
    }
    assert declared == set(FINDINGS)
    finding = published_schemas()["numbers.schema.json"]["$defs"]["Finding"]
    assert finding["properties"]["code"]["enum"] == list(FINDINGS)


def test_a_finding_of_another_version_is_read_with_its_code():
    given = {"weight": "explains", "certainty": "shown", "server": "one", "points": [{"connections": 1}]}
    counted = {"trials": [1], "trials_measured": 1, "seen": "", "cause": "", "advice": ""}
    evidence = [{"name": "figure", "value": 1.0, "unit": ""}]
    finding = Finding.model_validate({"code": "of_another_version", **given, **counted, "evidence": evidence})
    assert finding.code == "of_another_version"


def test_every_code_of_a_verdict_is_given_by_the_engine_or_by_the_harness():
    engine = product_code_in_rust("engine")
    given = {code for code in [*REASONS, *NOTES] if re.search(rf"\bCode::{variant(code)}\b", engine)}
    harness = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "python" / "loadcurve").rglob("*.py")
    )
    given |= {code for code in [*REASONS, *NOTES, *CAVEATS] if f'"{code}"' in harness}
    assert {*REASONS, *NOTES, *CAVEATS} - given == set()


def test_the_codes_of_verdicts_and_caveats_are_published():
    records = {VerdictReason: REASONS, VerdictNote: NOTES, Caveat: CAVEATS}
    schemas = published_schemas().values()
    published = {name: one for schema in schemas for name, one in schema.get("$defs", {}).items()}
    for record, codes in records.items():
        assert published[record.__name__]["properties"]["code"]["enum"] == list(codes)
    assert [code for code, row in REASONS.items() if not (row.suspect or row.invalid)] == []


def test_a_code_that_is_not_in_its_table_cannot_be_given():
    for record in (VerdictReason, VerdictNote, Caveat):
        with pytest.raises(KeyError, match="rig_celing"):
            record.of("rig_celing", "text")
    valid = Verdict(status="valid", reasons=[])
    with pytest.raises(KeyError, match="rig_celing"):
        valid.with_reason("rig_celing", "text", "suspect")
    with pytest.raises(ValueError, match="rig_ceiling makes no result invalid"):
        valid.with_reason("rig_ceiling", "text", "invalid")
    assert valid.with_reason("rig_ceiling", "text", "suspect").status == "suspect"


def test_what_another_version_said_with_a_code_unknown_here_is_read_and_written_unchanged():
    said = {"code": "of_another_version", "text": "text"}
    record = {"status": "suspect", "reasons": [said], "notes": [said]}
    assert Verdict.model_validate(record).model_dump() == record
    assert Caveat.model_validate(said).model_dump() == said
