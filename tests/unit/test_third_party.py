"""What a wheel says of the crates that are linked into its native parts."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import third_party  # noqa: E402 - the build backend's folder is no package


@pytest.fixture(scope="module")
def server_crates() -> list[third_party.Crate]:
    return third_party.linked_crates(ROOT, ["loadcurve-servers"])


def test_crates_that_are_linked_are_listed_and_those_of_tests_and_ours_are_not(server_crates):
    names = {crate.name for crate in server_crates}
    assert {"httparse", "rustix", "libc"} <= names
    assert not names & {"proptest", "loadcurve-plan", "loadcurve-servers"}


def test_a_licence_that_two_crates_share_is_written_once(tmp_path: Path):
    crates = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "LICENSE-MIT").write_text("Permission is hereby granted", encoding="utf-8")
        crates.append(third_party.Crate(name, "1.0.0", "MIT", tmp_path / name))
    text = third_party.notices(crates)
    assert text.count("Permission is hereby granted") == 1
    assert "one 1.0.0, two 1.0.0\n\nPermission" in text


def test_the_list_of_components_names_each_crate_with_its_licence_and_no_folder(server_crates):
    text = third_party.bill_of_materials(server_crates)
    document = json.loads(text)
    assert document["bomFormat"] == "CycloneDX"
    purls = {one["purl"]: one["licenses"] for one in document["components"]}
    assert len(purls) == len(server_crates)
    httparse = next(crate for crate in server_crates if crate.name == "httparse")
    assert purls[f"pkg:cargo/httparse@{httparse.version}"] == [{"expression": "MIT OR Apache-2.0"}]
    assert str(Path.home()) not in text
