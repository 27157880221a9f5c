"""What a test reads out of the page of a report."""

from typing import Any


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table stored as columns: each a list, one value, or places in a list of values."""

    def value(column: Any, row: int) -> Any:
        if isinstance(column, list):
            return column[row]
        return column["all"] if "all" in column else column["of"][column["at"][row]]

    return [
        {field: value(column, row) for field, column in table["columns"].items()}
        for row in range(table["rows"])
    ]
