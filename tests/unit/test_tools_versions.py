"""The versions with which formats are said to be tested are those of the real output in tests/data/tools."""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from docs.generate.formats import with_versions

from loadcurve.errors import BadInput
from loadcurve.tools.formats import FORMATS, TESTED, format_of
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
OF_FILES = tomllib.loads((DATA / "versions.toml").read_text())
MADE = re.compile(r"made|^jmeter/.*\.jtl$|^jmeter-documented|^access-logs/")
"""What no tool has written, or is no load's."""
WITHOUT_VERSION = {"wrk2-text"}
"""A tool whose versions have one name."""


def real_output() -> dict[str, set[str]]:
    """The versions of the files of each format."""
    found = defaultdict(set)
    known = {version for versions in TESTED.values() for version in versions}
    for path in sorted(DATA.rglob("*")):
        name = str(path.relative_to(DATA))
        if not path.is_file() or MADE.search(name):
            continue
        try:
            form = format_of(Source(path), None).name
        except BadInput:
            continue
        if form in WITHOUT_VERSION:
            continue
        of_name = [one for one in known if re.match(rf"{re.escape(one)}[-._]", path.name)]
        version = OF_FILES.get(name) or max(of_name, key=len, default=None)
        assert version, f"{name}: its version is neither in its name nor in versions.toml, or not in TESTED"
        found[form].add(version)
    return found


def test_each_format_is_tested_with_what_its_reader_says():
    assert {name: set(versions) for name, versions in TESTED.items()} == real_output()


def test_the_list_of_versions_has_files_that_are_there():
    assert [name for name in OF_FILES if not (DATA / name).is_file()] == []


def test_the_guide_names_each_format_once():
    guide = (DATA.parents[2] / "docs" / "guides" / "imports.md").read_text()
    rows = re.findall(r"^\| (`[^|]*) \|", guide[: guide.index("## What is a request")], re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(named) == sorted(one.name for one in FORMATS)


@pytest.mark.parametrize(
    ("names", "cell"),
    [
        ("`zrk-json`", "1.4.2"),
        ("`ycsb-text`, `ycsb-hdr`", "0.17.0"),
        ("`h2load-text`, `h2load-json`", "`h2load-text` 1.52.0, 1.70.90; `h2load-json` 1.70.90"),
        ("`hlog`, `hlog-us`", "—"),
    ],
)
def test_versions_are_the_last_cell_of_a_row(names: str, cell: str):
    table = f"| format | what | tested with |\n|---|---|---|\n| {names} | all | old |\n"
    assert with_versions(table).splitlines()[-1] == f"| {names} | all | {cell} |"
