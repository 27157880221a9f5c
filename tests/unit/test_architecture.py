"""ARCHITECTURE.md and the tree agree: on the parts that there are, and on what they may use."""

import ast
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
    """Those of the known names that stand in a cell of the table."""
    return set(re.findall(r"\w+", uses)) & set(known)


def modules_of(path: Path) -> Iterator[str]:
    """What a file imports, wherever in it that is, with the names in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
    assert {"errors.py", "files.py", "protocol.py", "redaction.py"} <= set(modules)
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


def test_every_module_that_the_text_names_exists():
    named = re.findall(r"`([a-z_]+)(?:\.|::)(?!json|toml)([a-z_]+)\b", TEXT)
    parts = [(part, module) for part, module in named if part in PACKAGES or part in CRATES]
    assert parts
    missing = [
        (part, module)
        for part, module in parts
        if not list((ROOT / "python" / "loadcurve" / part).glob(f"{module}*"))
        and not list((ROOT / "crates" / part / "src").glob(f"{module}*"))
    ]
    assert missing == []


def python_dependencies() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = [one for extra in project["project"]["optional-dependencies"].values() for one in extra]
    wanted = [*project["project"]["dependencies"], *extras, *project["dependency-groups"]["dev"]]
    return {re.split(r"[><=]", one)[0].removesuffix("-python") for one in wanted}


def rust_dependencies() -> set[str]:
    places = ("crates/*", "benches/*", "fuzz", "python/loadcurve/catalog/*")
    files = [path for place in places for path in ROOT.glob(f"{place}/Cargo.toml")]
    manifests = [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]
    for_targets = [target for manifest in manifests for target in manifest.get("target", {}).values()]
    return {
        name
        for manifest in [*manifests, *for_targets]
        for name in manifest.get("dependencies", {}) | manifest.get("dev-dependencies", {})
        if not name.startswith("loadcurve")
    }


def test_every_dependency_has_its_reason():
    table = TEXT.partition("## Dependencies")[2]
    documented = {
        name.strip() for row in re.findall(r"^\| (.+?) \|", table, re.MULTILINE) for name in row.split(",")
    }
    documented = {re.sub(r" \(.*\)|-python$", "", name) for name in documented}
    assert (python_dependencies() | rust_dependencies()) - documented == set()


NAMED = re.compile(r"\b(?P<root>crate|super)::(?P<names>\{[^;]*?\}|[a-z_0-9]+)")
"""What a Rust file names in the same crate: one module, or several in braces."""


def rust_modules(source: Path) -> dict[tuple[str, ...], Path]:
    """The modules of a crate by their paths, without tests and without the crate's root."""
    found = {}
    for path in source.rglob("*.rs"):
        *above, name = path.relative_to(source).with_suffix("").parts
        if not {"tests", "lib", "main"} & {name, *above}:
            found[(*above, name) if name != "mod" else tuple(above)] = path
    return found


def named_modules(module: tuple[str, ...], path: Path) -> Iterator[tuple[str, ...]]:
    """The modules that a file names, from the root of its crate or from beside itself."""
    text = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for found in NAMED.finditer(text.partition("#[cfg(test)]")[0]):
        place = module[:-1] if found["root"] == "super" else ()
        names = re.findall(r"(?:^|[{,])\s*([a-z_0-9]+)", found["names"])
        yield from ((*place, name) for name in names)


@pytest.mark.parametrize("crate", CRATES)
def test_no_two_rust_files_name_each_other(crate):
    modules = rust_modules(ROOT / "crates" / crate / "src")
    names = {module: set(named_modules(module, path)) for module, path in modules.items()}
    both = {
        tuple(sorted((one, another)))
        for one, named in names.items()
        for another in named & names.keys() - {one}
        if one in names[another] and one[: len(another)] != another and another[: len(one)] != one
    }
    assert both == set()
