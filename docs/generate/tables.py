"""The documents with tables that follow from the code, each between two markers."""

import re
from pathlib import Path

from docs.generate.behaviour import BEHAVIOUR_TABLES
from docs.generate.catalog import CATALOG_TABLES
from docs.generate.classes import CLASS_TABLES
from docs.generate.command_tables import COMMAND_TABLES
from docs.generate.formats import with_versions
from docs.generate.keys import KEY_TABLES
from docs.generate.markdown import Tables
from docs.generate.tools import TOOL_TABLES

TABLES: Tables = {
    **CLASS_TABLES,
    **COMMAND_TABLES,
    **KEY_TABLES,
    **CATALOG_TABLES,
    **BEHAVIOUR_TABLES,
    **TOOL_TABLES,
}

_MARKED = re.compile(r"(?P<begin><!-- table: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)

_COLUMN = re.compile(r"(?P<begin><!-- column: versions -->\n)(?P<table>.*?)(?P<end><!-- end -->)", re.DOTALL)


def documents(root: Path) -> dict[Path, str]:
    """Return the text of each document with tables, with those of the code."""
    texts = {
        path.relative_to(root): path.read_text(encoding="utf-8") for path in (root / "docs").rglob("*.md")
    }
    return {
        path: with_tables(text)
        for path, text in texts.items()
        if _MARKED.search(text) or _COLUMN.search(text)
    }


def with_tables(text: str) -> str:
    """Return a document whose marked tables are those of the code.

    Raises ``KeyError`` for a marker of a table that does not exist.
    """
    text = _COLUMN.sub(lambda mark: f"{mark['begin']}\n{with_versions(mark['table'])}\n\n{mark['end']}", text)
    return _MARKED.sub(lambda mark: f"{mark['begin']}\n{TABLES[mark['name']]()}\n{mark['end']}", text)
