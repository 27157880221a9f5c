"""What the engine and Python each say for themselves, and have to say alike."""

import re
from pathlib import Path

import pytest

from loadcurve.errors import OWN_CERTIFICATE, TRUSTED_BY
from loadcurve.explain import resumption, unaccepted_early_data

CRATES = Path(__file__).resolve().parents[2] / "crates"


def constant(file: str, name: str) -> str:
    """The value of a constant of Rust, as its source has it."""
    source = (CRATES / file).read_text(encoding="utf-8")
    found = re.search(rf"\bconst {name}: [^=]+=\s*([^;]+);", source)
    assert found is not None, f"{file} has no constant {name}"
    return found[1]


@pytest.mark.parametrize("finding", [resumption, unaccepted_early_data])
def test_findings_on_sessions_and_early_data_begin_where_the_verdict_doubts_them(finding):
    verdict = "engine/src/verdict/resumption.rs"
    assert int(constant(verdict, "LEAST_HANDSHAKES")) == finding.LEAST_HANDSHAKES
    assert float(constant(verdict, "TOLERANCE")) == finding.TOLERANCE


def test_a_certificate_is_refused_with_the_same_advice_before_a_load_and_in_it():
    failures = "tls/src/failure.rs"
    assert constant(failures, "ACCEPT") == f'"{TRUSTED_BY}"'
    # A backslash at the end of a line joins it to the next one, whose first spaces are left out.
    source = re.sub(r"\\\n\s*", "", (CRATES / failures).read_text(encoding="utf-8"))
    assert OWN_CERTIFICATE in source
