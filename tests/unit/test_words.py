"""The words that people read: plain technical English, without turns of phrase that this project once had."""

import ast
import re
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
)
BANNED = re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in TURNS_OF_PHRASE), re.IGNORECASE)

PAGES = [PROJECT / "README.md", PROJECT / "METHODOLOGY.md", *sorted((PROJECT / "docs").rglob("*.md"))]
MODULES = sorted(PACKAGE.rglob("*.py"))


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


def test_what_the_command_says_is_in_plain_english():
    found = [
        f"{module.relative_to(PACKAGE)}: {text}"
        for module in MODULES
        for text in texts(module)
        if BANNED.search(text)
    ]
    assert found == []
