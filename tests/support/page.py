"""What a test reads out of the page of a report."""

from itertools import accumulate
from typing import Any


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
