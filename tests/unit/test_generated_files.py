"""What in the project follows from the code is what the code gives."""

import re
import tomllib

import pytest
from docs.generate import ROOT
from docs.generate.files import generated_files
from docs.generate.manual import FOLDER as MANUAL_FOLDER
from docs.generate.models import key_table
from docs.generate.schemas import SCHEMA_FOLDER
from docs.generate.tables import TABLES, documents

from loadcurve.loads.table import LoadTable
from loadcurve.result.records import RunRecord
from loadcurve.server.description import (
    BINARY_PLACES,
    CERTIFICATE_PLACES,
    SECRET_PLACES,
    TEMPLATE_PLACES,
    URL_PLACES,
)

GENERATED = generated_files()


@pytest.mark.parametrize("path", sorted(GENERATED), ids=str)
def test_a_generated_file_is_what_the_code_gives(path):
    assert (ROOT / path).read_text(encoding="utf-8") == GENERATED[path], (
        f"{path} is out of date: run `python -m docs.generate` in the root folder"
    )


@pytest.mark.parametrize("folder", [SCHEMA_FOLDER, MANUAL_FOLDER], ids=str)
def test_a_folder_of_generated_files_has_no_others(folder):
    assert {path.relative_to(ROOT) for path in (ROOT / folder).iterdir()} <= set(GENERATED)


def test_every_table_is_in_one_document():
    marked = re.findall(r"<!-- table: ([\w-]+) -->", "".join(documents(ROOT).values()))
    assert sorted(marked) == sorted(TABLES)


def test_a_key_without_a_docstring_is_refused():
    with pytest.raises(ValueError, match="without a docstring"):
        key_table(RunRecord)


def test_defaults_are_shown_as_a_file_has_them():
    rows = key_table(LoadTable, but={"model", "duration_s"}).splitlines()[2:]
    assert [row.split(" | ")[-1] for row in rows] == ['`"1s"` |', '`"5s"` |']


def test_each_placeholder_of_a_description_is_explained():
    known = BINARY_PLACES | TEMPLATE_PLACES | CERTIFICATE_PLACES | SECRET_PLACES | URL_PLACES | {"build"}
    explained = re.findall(r"^\| `{(\w+)}`", TABLES["placeholders"](), re.MULTILINE)
    assert set(explained) == known


def test_the_wheel_carries_the_manual_pages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert ROOT / project["tool"]["maturin"]["data"] / "data/share/man/man1" == ROOT / MANUAL_FOLDER
