"""What in the project follows from the code is what the code gives."""

import tomllib

import pytest
from docs.generate.command_page import PAGE
from docs.generate.files import ROOT, generated_files
from docs.generate.manual import FOLDER as MANUAL_FOLDER
from docs.generate.schemas import SCHEMA_FOLDER

GENERATED = generated_files()


@pytest.mark.parametrize("path", sorted(GENERATED), ids=str)
def test_a_generated_file_is_what_the_code_gives(path):
    assert (ROOT / path).read_text(encoding="utf-8") == GENERATED[path], (
        f"{path} is out of date: run `python -m docs.generate` in the root folder"
    )


@pytest.mark.parametrize("folder", [SCHEMA_FOLDER, PAGE.parent, MANUAL_FOLDER], ids=str)
def test_a_folder_of_generated_files_has_no_others(folder):
    assert {path.relative_to(ROOT) for path in (ROOT / folder).iterdir()} <= set(GENERATED)


def test_the_wheel_carries_the_manual_pages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert ROOT / project["tool"]["maturin"]["data"] / "data/share/man/man1" == ROOT / MANUAL_FOLDER
