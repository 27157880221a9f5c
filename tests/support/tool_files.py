"""Files that other load generators wrote (tests/data/tools)."""

import csv
from pathlib import Path

from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"


def figures(name: str, named: str | None = None) -> ToolFigures:
    found, _ = read_figures(Source(DATA / name), named)
    return found


def rows(name: str) -> list[list[str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.reader(file))


def text_of(name: str) -> str:
    return (DATA / name).read_text()


def written(folder: Path, text: str | bytes, name: str = "file") -> Source:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Source(path)
