"""Every generated file of the project, by its path from the root folder."""

from pathlib import Path

from docs.generate.manual import manual_pages
from docs.generate.schemas import schema_files
from docs.generate.tables import documents

ROOT = Path(__file__).resolve().parents[2]


def generated_files() -> dict[Path, str]:
    """Return the text of each generated file as the code gives it."""
    return {**schema_files(), **documents(ROOT), **manual_pages(ROOT)}
