"""The words that people read: plain technical English, without turns of phrase that this project once had."""

import ast
import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import loadcurve

PACKAGE = Path(loadcurve.__file__).parent
PROJECT = Path(__file__).parents[2]
TURNS_OF_PHRASE = (
    *("is told", "tells of", "so many", "of its own", "stands beside", "none where"),
    *("brings home", "brought home", "brought along", "whoever", "near side", "far side", "goes on alone"),
    *(
        "it is there already",
        "times apart",
        "leads there",
        "what it does not tell",
        "it tells",
        "an arm more",
    ),
    *("the rest as ever", "as ssh takes", "by our own engine alone", "what befalls", "known, and neither"),
    *("put up with", "the machine's mood", "in brackets stand", "refuses nothing", "here stands"),
    *("one is silent", "say it with", "a thing of this start", "hold more than serving"),
    *(
        "speak no",
        "speaks no",
        "sent once more",
        "the begin",
        "common begin",
        "own begin",
        "cannot be told from",
    ),
    *(
        "give no",
        "stands for",
        "gives out",
        "laid side by side",
        "holds every place",
        "no whole",
        "not looked at",
    ),
    *(
        "mend",
        "mended",
        "another length than",
        "another value than",
        "untried",
        "is none of",
        "in vain",
        "for ever",
    ),
    *("does not tell", "do not tell", "cannot tell", "beyond any number", "of one's own"),
)
BANNED = re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in TURNS_OF_PHRASE), re.IGNORECASE)

DIALECT = re.compile(r"\b(so many(?! and)|(is|are|be) told(?!\W+(apart|here)))\b", re.IGNORECASE)
"""What must not come back into comments and names, either; "told apart" is a term of statistics."""
SOURCES = sorted(
    file
    for folder in ("python", "crates", "benches", "tests", "docs", "packaging")
    for suffix in ("*.py", "*.pyi", "*.rs", "*.js", "*.md", "*.jinja")
    for file in (PROJECT / folder).rglob(suffix)
    if file != Path(__file__) and not {"node_modules", "target", "site"} & set(file.parts)
)

PAGES = [
    *(PROJECT / name for name in ("README.md", "METHODOLOGY.md", "SECURITY.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted((PACKAGE / "studies").rglob("*.md")),
]
MODULES = sorted(PACKAGE.rglob("*.py"))
TEMPLATES = sorted((PACKAGE / "report" / "templates").rglob("*.jinja"))
CRATES = sorted(
    file
    for file in (PROJECT / "crates").glob("*/src/**/*.rs")
    if "tests" not in str(file.relative_to(PROJECT))
)
RUST_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def texts(module: Path) -> Iterator[str]:
    """The texts of a module that people may read: all but its documentation."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    documentation = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            yield " ".join(node.value.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_pages_are_in_plain_english(page: Path):
    words = " ".join(page.read_text(encoding="utf-8").split())
    assert [words[max(0, at.start() - 40) : at.end() + 20] for at in BANNED.finditer(words)] == []


def test_sources_are_in_plain_english():
    found = [
        f"{file.relative_to(PROJECT)}: {at.group()}"
        for file in SOURCES
        for at in DIALECT.finditer(file.read_text(encoding="utf-8").replace("_", " "))
    ]
    assert found == []


def test_what_the_command_says_is_in_plain_english():
    found = [
        f"{module.relative_to(PACKAGE)}: {text}"
        for module in MODULES
        for text in texts(module)
        if BANNED.search(text)
    ]
    assert found == []


def ended_errors(module: Path) -> Iterator[str]:
    """The places where a module puts a full stop behind the text of an error that it has caught."""
    for handler in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None:
            continue
        for text in (node for node in ast.walk(handler) if isinstance(node, ast.JoinedStr)):
            for part, following in itertools.pairwise(text.values):
                said = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
                is_ended = isinstance(following, ast.Constant) and str(following.value).startswith(".")
                # The system's own messages have no full stop.
                if is_ended and re.search(rf"\b{handler.name}\b(?!\.(strerror|errno|filename))", said):
                    yield f"{module.relative_to(PACKAGE)}:{text.lineno}: {said}"


def test_no_full_stop_is_put_behind_the_text_of_an_error_which_may_have_one():
    assert [place for module in MODULES for place in ended_errors(module)] == []


def texts_of_table(value: object) -> Iterator[str]:
    """The texts of a TOML document, in whatever tables and lists they are."""
    if isinstance(value, str):
        yield " ".join(value.split())
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_of_table(part)


def test_servers_tools_and_studies_are_described_in_plain_english():
    found = [
        f"{file.relative_to(PACKAGE)}: {text}"
        for file in sorted(PACKAGE.rglob("*.toml"))
        for text in texts_of_table(tomllib.loads(file.read_text(encoding="utf-8")))
        if BANNED.search(text)
    ]
    assert found == []


def test_the_pages_of_reports_are_in_plain_english():
    words = {file.name: " ".join(file.read_text(encoding="utf-8").split()) for file in TEMPLATES}
    assert [f"{name}: {at.group()}" for name, text in words.items() for at in BANNED.finditer(text)] == []


def rust_texts(file: Path) -> Iterator[str]:
    """The texts of a file in Rust, without those of its comments and its tests."""
    code = file.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests {")[0]
    without_comments = re.sub(r"^\s*//.*$|'\\?\"'", "", code, flags=re.MULTILINE)
    for text in RUST_TEXT.findall(without_comments):
        yield " ".join(text.replace("\\\n", " ").split())


def test_what_the_programs_in_rust_say_is_in_plain_english():
    found = [
        f"{file.relative_to(PROJECT)}: {text}"
        for file in CRATES
        for text in rust_texts(file)
        if BANNED.search(text)
    ]
    assert found == []
