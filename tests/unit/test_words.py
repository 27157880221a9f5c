"""The words of code, comments, documents and messages: plain technical English, and the glossary's terms."""

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import loadcurve

PACKAGE = Path(loadcurve.__file__).parent
PROJECT = Path(__file__).parents[2]
CATALOG = PROJECT / "python" / "loadcurve" / "catalog"
MODULES = sorted(PACKAGE.rglob("*.py"))
GLOSSARY = re.compile(r"^\| [^|]+ \| [^|]+ \| (?P<words>[^|]*) \| [^|]*\|$", re.MULTILINE)

TURNS_OF_PHRASE = {
    "so many, without a number": r"so many(?! and)",
    "told, for reported": r"(?:is|are|be) told(?! apart| here)",
    "none of, for not one of": r"(?:is|are|was|were|be) none (?:of|that)",
    "brought home, for recorded": r"(?:bring|brings|bringing|brought) home",
    "for ever": r"for ever",
    "to be had, for available": r"to be had",
    "whom": r"whom",
    "goes on, for continues": r"goes on",
    "of which, for whose": r"of which (?:each|any|no|nothing|none|nobody|every|only|one)",
    "as of, for such as": r"(?<!much )as of (?!\d|one moment|the address)",
    "stands, for is": r"stands?(?! (?:for|out|still|alone|in for|clear|unfolded)|-in)",
    "begin, for start": r"(?:the|its|their|common|very|own) begin(?! with)",
}
"""What this project's texts once were full of, and what no other project's are."""
DIALECT = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in TURNS_OF_PHRASE.values()), re.IGNORECASE)
IN_NAMES = re.compile(r"\bso_many\b|_(?:is|are|be)_told\b(?!_apart|_here)", re.IGNORECASE)


def words_that_are_not_used() -> list[str]:
    """The words of the glossary's column "not"."""
    table = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Glossary")[2]
    cells = [found["words"] for found in GLOSSARY.finditer(table)]
    return [word.strip() for cell in cells[1:] for word in cell.split(",") if word.strip(" -")]


NOT_USED = re.compile(rf"(?:\b|_)(?:{'|'.join(words_that_are_not_used())})s?(?:\b|_)")
SOURCES = sorted(
    file
    for folder in ("python", "crates", "fuzz", "benches", "tests", "docs", "packaging", ".")
    for suffix in ("py", "pyi", "rs", "js", "md", "jinja", "toml")
    for file in (PROJECT / folder).glob(f"*.{suffix}" if folder == "." else f"**/*.{suffix}")
    if file not in {Path(__file__), PROJECT / "CONTRIBUTING.md"}
    # An edit of a source in the catalogue builds its server anew, for everybody.
    and not (file.suffix == ".rs" and file.is_relative_to(CATALOG))
    and not {"node_modules", "target", "site"} & set(file.parts)
)


def found_in(text: str, pattern: re.Pattern[str]) -> list[str]:
    """What a pattern finds, on one line or over the end of one, with some words around it."""
    plain = re.sub(r"\s+(?:///?|//!|#|\*)?\s*", " ", text)
    return [plain[max(0, at.start() - 30) : at.end() + 20] for at in pattern.finditer(plain)]


def test_the_sources_are_there():
    assert len(SOURCES) > 1000
    assert len(words_that_are_not_used()) > 5


@pytest.mark.parametrize("pattern", [DIALECT, IN_NAMES, NOT_USED], ids=["phrases", "names", "glossary"])
def test_sources_are_in_plain_english(pattern):
    found = [
        f"{file.relative_to(PROJECT)}: {at}"
        for file in SOURCES
        for at in found_in(file.read_text(encoding="utf-8"), pattern)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("A file with more damaged lines is none of records", True),
        ("None of the servers answers; none of them is right", False),
        ("what it brings\n    /// home", True),
        ("the point at which the line stands", True),
        ("what the name stands for, and a stand-in for Ray", False),
        ("From the begin of the window", True),
        ("Where they begin, or begin with a letter", False),
        ("servers of which no two differ", True),
        ("servers, one of which differs", False),
        ("They cannot be told apart", False),
        ("The worker is told", True),
    ],
)
def test_a_turn_of_phrase_is_found_and_ordinary_english_is_not(text, is_found):
    assert bool(found_in(text, DIALECT)) == is_found


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
