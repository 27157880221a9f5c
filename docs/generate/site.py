"""Lay the documents where the site is built from: ``python -m docs.generate.site FOLDER``.

They keep their places, so that links between them lead to their pages. A link to another file of the project,
which the site does not have, becomes its text with the file's path.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from docs.generate import ROOT

from loadcurve.report.site.build import build_site
from loadcurve.server.catalog import languages

DOCUMENTS = ("*.md", "docs/**/*.md", "docs/*.css", "docs/*.ipynb", "docs/pictures/*.*g", "docs/schema/*.json")
EXAMPLE = Path("docs") / "example-site"
"""Published results, of which the pages are built here."""
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]+)\]\((?!https?:|#)(?P<target>[^)#\s]+)[^)\s]*\)")


def lay_out(folder: Path) -> None:
    """Copy every document into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    files = {path.relative_to(ROOT) for pattern in DOCUMENTS for path in ROOT.glob(pattern)}
    shutil.copytree(ROOT / EXAMPLE, folder / EXAMPLE)
    build_site(folder / EXAMPLE, languages())
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            text = (ROOT / file).read_text(encoding="utf-8")
            (folder / file).write_text(
                without_links_to_other_files(text, file, {*files, EXAMPLE}), encoding="utf-8"
            )
        else:
            shutil.copyfile(ROOT / file, folder / file)


def without_links_to_other_files(text: str, document: Path, files: set[Path]) -> str:
    """Return a document in which only links to some files are left."""

    def link_or_path(link: re.Match[str]) -> str:
        file = Path(os.path.normpath(document.parent / link["target"]))
        if file in files:
            return link[0]
        return f"`{file}`" if str(file).endswith(link["text"]) else f"{link['text']} (`{file}`)"

    return _LINK.sub(link_or_path, text)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
