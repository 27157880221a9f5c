"""Links of every document in the repository: each leads to a file, a heading or a line that is there."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

PROJECT = Path(__file__).parents[2]
WITHOUT_DOCUMENTS = {"target", "node_modules", "dist"}
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
INLINE = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]^]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)
HTML = re.compile(r"<(?:a|img)\s[^>]*?(?:href|src)=\"([^\"]+)\"")
HTML_ANCHOR = re.compile(r"<[a-z]+\s[^>]*?(?:id|name)=\"([^\"]+)\"")
LINE = re.compile(r"L(\d+)(?:-L(\d+))?")


def documents(folder: Path) -> list[Path]:
    """Every Markdown file below a folder, but for what builds and environments leave there."""
    found = [path for path in folder.glob("*.md") if path.is_file()]
    for inner in folder.iterdir():
        if (
            inner.is_dir()
            and not inner.is_symlink()
            and inner.name[0] != "."
            and inner.name not in WITHOUT_DOCUMENTS
        ):
            found += documents(inner)
    return sorted(found)


DOCUMENTS = documents(PROJECT)


@cache
def text_of(path: Path) -> str:
    """What a document says, without its examples."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


@cache
def anchors(path: Path) -> frozenset[str]:
    """What the headings of a document are called in links, by the rules of GitHub and of the site alike.

    GitHub leaves several hyphens in a row, and the site makes one of them.
    """
    found: list[str] = []
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text_of(path), re.MULTILINE):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        repeated = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", other) is not None for other in found)
        found.append(f"{name}-{repeated}" if repeated else name)
    alike = frozenset(name for name in found if "--" not in name)
    return alike | frozenset(HTML_ANCHOR.findall(text_of(path)))


def targets(path: Path) -> list[str]:
    """Where the links and pictures of a document lead."""
    text = text_of(path)
    shown = CODE.sub("", text)
    return [*INLINE.findall(shown), *REFERENCE.findall(shown), *HTML.findall(shown)]


def has_place(file: Path, place: str) -> bool:
    """Whether a file has the part that a link names: a heading of a document, lines of any other text."""
    if file.suffix == ".md":
        return place in anchors(file)
    lines = LINE.fullmatch(place)
    return lines is not None and int(lines[2] or lines[1]) <= len(
        file.read_text(encoding="utf-8").splitlines()
    )


def broken(path: Path) -> list[str]:
    """The links of a document that lead nowhere."""
    wrong = []
    for target in targets(path):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, place = unquote(target).partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or not file.is_relative_to(PROJECT) or (place and not has_place(file, place)):
            wrong.append(target)
    return wrong


def name_of(path: Path) -> str:
    return str(path.relative_to(PROJECT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_each_link_leads_to_a_file_and_a_place_that_are_there(path: Path):
    assert broken(path) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_each_link_to_another_host_is_a_url(path: Path):
    for target in targets(path):
        if target.startswith("http"):
            assert re.fullmatch(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[^\s<>{}|]*)?", target), target


def test_every_folder_with_documents_is_looked_at():
    assert {"README.md", "docs/guides/loads.md", "docs/internals/engine.md", "docs/decisions/index.md"} <= {
        name_of(path) for path in DOCUMENTS
    }


@pytest.mark.parametrize(
    ("link", "is_broken"),
    [
        ("[a](page.md)", False),
        ("[a](page.md#two-words)", False),
        ("[a](page.md#two-words-1)", False),
        ("[a](page.md#two-words-2)", True),
        ("[a](page.md#code-and-a-link)", False),
        ("[a](#its-own)", False),
        ("[a](code.py#L2)", False),
        ("[a](code.py#L3)", True),
        ("[a](code.py#two-words)", True),
        ("[a](missing.md)", True),
        ("![a](missing.png)", True),
        ("[a]\n\n[a]: missing.md", True),
        ('<img alt="a" src="missing.png">', True),
        ("[a](../outside.md)", True),
        ("`[a](missing.md)`", False),
        ("```\n[a](missing.md)\n```", False),
        ("[a](https://example.org/missing)", False),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link, is_broken, tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.PROJECT", tmp_path / "project")
    (tmp_path / "project").mkdir()
    (tmp_path / "outside.md").write_text("")
    page = "# Two words\n\n## Two words\n\n## `Code` and [a link](page.md)\n"
    (tmp_path / "project" / "page.md").write_text(page)
    (tmp_path / "project" / "code.py").write_text("one\ntwo\n")
    document = tmp_path / "project" / "document.md"
    document.write_text(f"# Its own\n\n{link}\n")
    assert bool(broken(document)) == is_broken
