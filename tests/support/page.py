"""What a test reads out of a page, as a browser finds it."""

import json
import re
from html.parser import HTMLParser
from itertools import accumulate
from typing import Any

HOSTILE = "</script><script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>"
"""Text that would run, were it not escaped."""


class Page(HTMLParser):
    """The elements of a page, the texts of its scripts, and the words outside of them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._words: list[str] = []
        self._open: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag if tag in ("script", "style") else None
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._open is None:
            self._words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self._words))

    @property
    def own_scripts(self) -> list[dict[str, str | None]]:
        """The attributes of the scripts that are not a figure's data."""
        return [attributes for attributes, _ in self.scripts if "data-chart" not in attributes]

    @property
    def charts(self) -> dict[str, dict[str, Any]]:
        """The specifications with their data as rows again."""
        charts = {
            str(attributes["data-chart"]): json.loads(text)
            for attributes, text in self.scripts
            if "data-chart" in attributes
        }
        for chart in charts.values():
            chart["datasets"] = {name: rows_of(table) for name, table in chart["datasets"].items()}
        return charts


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table stored as columns: a list, one value, runs of values, or places in their list."""

    def value(column: Any, row: int) -> Any:
        if isinstance(column, list):
            return column[row]
        if "times" in column:
            ends = accumulate(column["times"])
            return next(value for value, end in zip(column["of"], ends, strict=True) if row < end)
        return column["all"] if "all" in column else column["of"][column["at"][row]]

    return [
        {field: value(column, row) for field, column in table["columns"].items()}
        for row in range(table["rows"])
    ]
