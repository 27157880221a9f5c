"""No module of any language needs itself, however long the way round is."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = [path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")]

Module = tuple[str, ...]
Graph = dict[Module, set[Module]]


def circles(graph: Graph) -> list[list[Module]]:
    """The groups of modules each of which needs all others of its group (Tarjan's algorithm)."""
    found: list[list[Module]] = []
    position: dict[Module, int] = {}
    lowest: dict[Module, int] = {}
    stack: list[Module] = []

    def visit(module: Module) -> None:
        position[module] = lowest[module] = len(position)
        stack.append(module)
        for needed in graph[module]:
            if needed not in position:
                visit(needed)
                lowest[module] = min(lowest[module], lowest[needed])
            elif needed in stack:
                lowest[module] = min(lowest[module], position[needed])
        if lowest[module] == position[module]:
            start = stack.index(module)
            group = sorted(stack[start:])
            del stack[start:]
            if len(group) > 1:
                found.append(group)

    for module in graph:
        if module not in position:
            visit(module)
    return found


RUST_PATH = re.compile(r"(?<!:)\b(?P<root>crate|self|super(?:::super)*)::")
NAME = re.compile(r"\s*(\w+|\*)(\s+as\s+\w+)?")
DECLARED = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod (\w+);", re.MULTILINE)


def rust_modules(source: Path) -> dict[Module, Path]:
    """The modules of a crate by their paths, without tests and without the crate's root."""
    found: dict[Module, Path] = {}
    for path in source.rglob("*.rs"):
        *above, name = path.relative_to(source).with_suffix("").parts
        if not {"tests", "lib", "main"} & {name, *above}:
            found[(*above, name) if name != "mod" else tuple(above)] = path
    return found


def use_tree(text: str, at: int) -> tuple[list[Module], int]:
    """The paths that a part of a path may be continued to from a position of a text, and where they end."""
    if text[at:].lstrip().startswith("{"):
        at, branches = text.index("{", at) + 1, []
        while True:
            while text[at] in " \n\t,":
                at += 1
            if text[at] == "}":
                return branches, at + 1
            inner, at = use_tree(text, at)
            branches += inner
    name = NAME.match(text, at)
    if name is None:
        return [()], at + 1
    if not text.startswith("::", name.end()) or text.startswith("::<", name.end()):
        return [(name[1],)], name.end()
    inner, at = use_tree(text, name.end() + 2)
    return [(name[1], *rest) for rest in inner], at


def named_modules(module: Module, text: str, known: set[Module]) -> Iterator[Module]:
    """The modules that a Rust file names by a path, and those that it declares."""
    text = re.sub(r"//.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", "", text, flags=re.DOTALL)
    for found in RUST_PATH.finditer(text):
        above = found["root"].count("super")
        place = () if found["root"] == "crate" else module[: len(module) - above]
        for path in use_tree(text, found.end())[0]:
            full = (*place, *path)
            while full and full not in known:
                full = full[:-1]
            if full:
                yield full
    yield from ((*module, name) for name in DECLARED.findall(text) if (*module, name) in known)


def rust_graph(source: Path) -> Graph:
    """What the modules of a crate need. A module may name those above it, whose types it often completes."""
    modules = rust_modules(source)
    return {
        module: {
            named
            for named in named_modules(module, path.read_text(encoding="utf-8"), set(modules))
            if module[: len(named)] != named
        }
        for module, path in modules.items()
    }


@pytest.mark.parametrize("crate", CRATES)
def test_no_rust_module_needs_itself(crate: str):
    assert circles(rust_graph(ROOT / "crates" / crate / "src")) == []


@functools.cache
def python_graph(root: Path) -> Graph:
    """What the modules of a package import, wherever in them that is: in functions and for types, too."""
    paths: dict[Module, Path] = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        paths[parts[:-1] if parts[-1] == "__init__" else parts] = path
    graph: Graph = {}
    for module, path in paths.items():
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                base = tuple((node.module or "").split("."))
                imported |= {(*base, one.name) if (*base, one.name) in paths else base for one in node.names}
            elif isinstance(node, ast.Import):
                imported |= {tuple(one.name.split(".")) for one in node.names}
        graph[module] = imported & set(paths) - {module}
    return graph


def test_no_python_module_needs_itself():
    graph = python_graph(ROOT / "python" / "loadcurve")
    assert sum(map(len, graph.values())) > len(graph) > 300
    assert circles(graph) == []


def test_no_python_package_needs_itself():
    packages: Graph = {}
    for module, imported in python_graph(ROOT / "python" / "loadcurve").items():
        own = module[:2]
        packages.setdefault(own, set()).update({other[:2] for other in imported} - {own, ("loadcurve",)})
    assert len(packages) > 20
    assert circles(packages) == []


def test_a_circle_through_three_rust_files_and_a_nested_one_is_found(tmp_path: Path):
    (tmp_path / "a").mkdir()
    for name, text in {
        "lib.rs": "mod a; mod b; mod c; mod d;",
        "a.rs": "mod inner;\n/// crate::c is no use.\npub struct A;",
        "a/inner.rs": "use super::A;\nuse crate::{b::{self, B}, d::D};",
        "b.rs": "fn b() { crate::c::c(); }",
        "c.rs": "use super::a::A as Other;\n#[cfg(test)]\nmod tests { use crate::d::D; }",
        "d.rs": "",
    }.items():
        (tmp_path / name).write_text(text)
    graph = rust_graph(tmp_path)
    assert graph[("a", "inner")] == {("b",), ("d",)}
    assert graph[("c",)] == {("a",)}
    assert circles(graph) == [[("a",), ("a", "inner"), ("b",), ("c",)]]


def test_a_circle_through_an_import_in_a_function_is_found(tmp_path: Path):
    package = tmp_path / "p"
    package.mkdir()
    for name, text in {
        "__init__.py": "",
        "a.py": "from p.b import x",
        "b.py": "def x():\n    from p import c",
        "c.py": "import p.a",
    }.items():
        (package / name).write_text(text)
    assert circles(python_graph(package)) == [[("p", "a"), ("p", "b"), ("p", "c")]]
