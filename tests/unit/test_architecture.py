"""ARCHITECTURE.md and the tree agree: on the parts that there are, and on what they may use."""

import ast
import functools
import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?P<places>`.+?) \| .+? \|(?P<uses>.*) \|$", re.MULTILINE)

MAY_USE = {
    place: row["uses"]
    for row in ROW.finditer(TEXT.partition("## Where things are")[2].partition("\n## ")[0])
    for place in re.findall(r"`(.+?)`", row["places"])
}
"""The last column of the table by what its first one names."""

CRATES = [path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")]
PACKAGES = [path.parent.name for path in ROOT.glob("python/loadcurve/*/__init__.py")]
USES_ALL = "cli"
"""The package that may use everything."""


def names_in(uses: str, known: list[str]) -> set[str]:
    """Those of the known names that are in a cell of the table."""
    return set(re.findall(r"\w+", uses)) & set(known)


@functools.cache
def nodes_of(path: Path) -> list[ast.AST]:
    """The imports and functions of a file, wherever in it they are."""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def modules_of(path: Path) -> Iterator[str]:
    """What a file imports, with the names in it."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def imports_of(package: str) -> Iterator[str]:
    """The packages of Loadcurve that the modules of one, or a single module, import, wherever that is."""
    place = ROOT / "python" / "loadcurve" / package
    for path in [place] if place.is_file() else place.rglob("*.py"):
        for module in modules_of(path):
            library, name, *_ = [*module.split("."), ""]
            if library == "loadcurve":
                yield name


def test_every_place_of_the_table_exists():
    assert [place for place in MAY_USE if not (ROOT / place).exists()] == []


def test_every_crate_and_every_package_has_its_row():
    parts = {f"crates/{name}" for name in CRATES} | {f"python/loadcurve/{name}" for name in PACKAGES}
    assert parts
    assert parts - set(MAY_USE) == set()


@pytest.mark.parametrize("package", sorted(set(PACKAGES) - {USES_ALL}))
def test_a_package_imports_what_its_row_says_and_nothing_else(package: str):
    known = [*PACKAGES, "_engine"]
    allowed = names_in(MAY_USE[f"python/loadcurve/{package}"], known)
    assert set(imports_of(package)) & set(known) - {package} == allowed


def test_what_lies_beside_the_packages_imports_none_of_them():
    modules = [path.name for path in (ROOT / "python" / "loadcurve").glob("*.py")]
    assert {"errors.py", "files.py", "protocol.py", "record.py", "redaction.py"} <= set(modules)
    modules.remove("__init__.py")
    assert [name for name in modules if set(imports_of(name)) & set(PACKAGES)] == []
    assert set(imports_of("__init__.py")) & set(PACKAGES) == {"api"}, "what people import"


def test_exactly_one_file_imports_ray():
    package = ROOT / "python" / "loadcurve"
    importing = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(module.split(".")[0] == "ray" for module in modules_of(path))
    }
    assert importing == {"generate/on_ray.py"}


@pytest.mark.parametrize("crate", CRATES)
def test_a_crate_depends_on_what_its_row_says_and_nothing_else(crate: str):
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8"))
    own = {name.removeprefix("loadcurve-") for name in manifest["dependencies"] if "loadcurve" in name}
    assert own == names_in(MAY_USE[f"crates/{crate}"], CRATES)


HEADINGS = {"## Context", "## Decision", "## What it costs", "## What would overturn it"}


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/decisions/0*.md")), ids=lambda page: page.stem)
def test_a_decision_says_why_what_at_what_cost_and_what_would_overturn_it(page: Path):
    assert {*page.read_text(encoding="utf-8").splitlines()} >= HEADINGS


PAGES = [ROOT / "ARCHITECTURE.md", *ROOT.glob("docs/internals/*.md"), *ROOT.glob("docs/decisions/*.md")]
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")


def words_of_the_sources() -> set[str]:
    """Every name that the sources have, and the names of their files and folders."""
    suffixes = {".py", ".pyi", ".rs", ".toml", ".jinja", ".js", ".json", ".yaml", ""}
    found: set[str] = set()
    for place in (
        "python",
        "crates",
        "benches",
        "packaging",
        "tests",
        "docs/generate",
        "Makefile",
        "clippy.toml",
    ):
        files = [ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*")
        for path in files:
            found.update(WORD.findall(str(path.relative_to(ROOT))))
            if path.is_file() and path.suffix in suffixes and path.stat().st_size < SOURCE_BYTES_MAX:
                found.update(WORD.findall(path.read_text(encoding="utf-8", errors="ignore")))
    return found


SOURCE_BYTES_MAX = 2**20
"""Larger files are data and programs."""


def test_every_name_on_the_pages_of_the_architecture_occurs_in_the_sources():
    known = words_of_the_sources()
    named = [
        (page.name, word)
        for page in PAGES
        for code in CODE.findall(page.read_text())
        for word in WORD.findall(code)
    ]
    assert len(named) > 500
    assert sorted({(page, word) for page, word in named if word not in known}) == []


def test_every_module_that_the_pages_name_exists():
    named = {
        (part, module)
        for page in PAGES
        for code in CODE.findall(page.read_text())
        for part, module in re.findall(r"^([a-z_]+)(?:\.|::)(?!json|toml)([a-z_]+)\b", code)
    }
    parts = [(part, module) for part, module in named if part in PACKAGES or part in CRATES]
    assert parts
    missing = [
        (part, module)
        for part, module in parts
        if not list((ROOT / "python" / "loadcurve" / part).glob(f"{module}*"))
        and not list((ROOT / "crates" / part / "src").glob(f"{module}*"))
    ]
    assert missing == []


REASONED = [
    ROOT / "pyproject.toml",
    ROOT / "Cargo.toml",
    ROOT / "fuzz" / "Cargo.toml",
    *ROOT.glob("crates/*/Cargo.toml"),
]
"""Where dependencies are declared; those of the catalogue have a table on the page about servers."""


def dependencies_of(manifest: Path) -> set[str]:
    """The names of what a manifest depends on, but for what is ours and what its workspace declares."""
    tables = tomllib.loads(manifest.read_text(encoding="utf-8"))
    if project := tables.get("project"):
        extras = [one for extra in project["optional-dependencies"].values() for one in extra]
        listed = [*project["dependencies"], *extras, *tables["dependency-groups"]["dev"]]
        return {re.split(r"[><=]", one)[0] for one in listed}
    parts = [tables, tables.get("workspace", {}), *tables.get("target", {}).values()]
    declared = [part.get(key, {}).items() for part in parts for key in ("dependencies", "dev-dependencies")]
    return {
        name
        for table in declared
        for name, value in table
        if not name.startswith("loadcurve") and not (isinstance(value, dict) and value.get("workspace"))
    }


def has_reason(manifest: Path, dependency: str) -> bool:
    """Whether a comment is behind the first line that declares a dependency, or above it."""
    lines = manifest.read_text(encoding="utf-8").splitlines()
    declares = re.compile(rf'^(?:\s*(?:\w+ = \[)?"{re.escape(dependency)}[><=]|{re.escape(dependency)} = )')
    for above, line in itertools.pairwise(["", *lines]):
        if declares.match(line) and (re.search(r"[,\]] # \w", line) or re.match(r"\s*# \w", above)):
            return True
    return False


@pytest.mark.parametrize("manifest", REASONED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_dependency_has_its_reason_beside_it(manifest: Path):
    assert {one for one in dependencies_of(manifest) if not has_reason(manifest, one)} == set()


def test_every_dependency_of_the_catalogue_has_its_reason():
    page = (ROOT / "docs" / "internals" / "servers.md").read_text(encoding="utf-8")
    documented = {
        name.strip() for row in re.findall(r"^\| (.+?) \|", page, re.MULTILINE) for name in row.split(",")
    }
    manifests = list(ROOT.glob("python/loadcurve/catalog/*/Cargo.toml"))
    assert manifests
    assert {name for manifest in manifests for name in dependencies_of(manifest)} - documented == set()


def test_every_bench_is_run_by_a_target_a_campaign_or_another_bench():
    benches = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("benches/*.py")}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    forgotten = [
        name
        for name, text in benches.items()
        if '__name__ == "__main__"' in text
        and f"benches.{name}\n" not in makefile.replace(" ", "\n")
        and not any(re.search(rf"\b{name}\b", other) for one, other in benches.items() if one != name)
    ]
    assert forgotten == []


def test_the_map_is_short():
    assert len(TEXT.splitlines()) <= MAP_LINES_MAX
    assert len(TEXT.encode()) <= MAP_BYTES_MAX


MAP_LINES_MAX, MAP_BYTES_MAX = 250, 20_000
"""What can be read in ten minutes."""


PERCENT = re.compile(r":[,+]*\.\d%")
"""How Python writes a share: as 75%, where all else of ours is as 75 %."""


def test_shares_are_written_by_the_module_of_units_alone():
    sources = (ROOT / "python/loadcurve").rglob("*.py")
    assert [path.name for path in sources if PERCENT.search(path.read_text(encoding="utf-8"))] == []


LOGIC_LINES_MAX = 60
"""Of a body without its docstring, blank lines and comments; clippy.toml has the same for Rust."""


def long_functions(path: Path) -> Iterator[tuple[str, int]]:
    """The functions of a file whose bodies are longer, with their lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            logic = node.body[1:] if ast.get_docstring(node) else node.body
            body = lines[logic[0].lineno - 1 : node.end_lineno] if logic else []
            count = sum(1 for line in body if line.strip() and not line.strip().startswith("#"))
            if count > LOGIC_LINES_MAX:
                yield node.name, count


def test_no_function_of_the_package_has_more_than_sixty_lines_of_logic():
    files = list((ROOT / "python" / "loadcurve").rglob("*.py"))
    assert len(files) > 300
    assert [(path.name, *one) for path in files for one in long_functions(path)] == []


def test_lines_of_logic_are_those_of_the_body_alone(tmp_path):
    long = (
        'def f(\n    a,\n    b,\n):\n    """What.\n\n    More.\n    """\n' + "    # why\n\n    a = b\n" * 60
    )
    within, beyond = tmp_path / "within.py", tmp_path / "beyond.py"
    within.write_text(long)
    beyond.write_text(long + "    b = a\n")
    assert list(long_functions(within)) == []
    assert list(long_functions(beyond)) == [("f", 61)]


def test_at_most_five_functions_of_rust_may_be_longer_and_each_says_why():
    allowed = [
        (path.relative_to(ROOT).as_posix(), line.strip())
        for path in ROOT.glob("crates/*/src/**/*.rs")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "clippy::too_many_lines" in line
    ]
    assert len(allowed) <= 5
    assert [place for place, line in allowed if "reason" not in line] == []
