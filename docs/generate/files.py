"""Every generated file of the project, by its path from the root folder."""

from pathlib import Path

from docs.generate import ROOT
from docs.generate.api_options import api_options
from docs.generate.limits import limits
from docs.generate.load_options import load_options
from docs.generate.manual import manual_pages
from docs.generate.schemas import schema_files
from docs.generate.tables import documents


def generated_files() -> dict[Path, str]:
    """Return the text of each generated file as the code gives it."""
    return {
        **schema_files(),
        **documents(ROOT),
        **manual_pages(ROOT),
        **api_options(),
        **load_options(),
        **limits(),
    }
