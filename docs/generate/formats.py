"""The column of versions in the table of other tools' formats, of which people write the rest."""

import re
from itertools import groupby

from loadcurve.tools.formats import TESTED

_NAME = re.compile(r"`([\w-]+)`")


def with_versions(table: str) -> str:
    """Return a table whose last column has the versions that the formats of the first one are tested with."""
    title, line, *rows = table.strip().split("\n")
    head = [_with_last(title, "tested with"), line]
    return "\n".join((*head, *(_with_last(row, _versions(row)) for row in rows)))


def _with_last(row: str, cell: str) -> str:
    *others, _ = row.strip().strip("|").split(" | ")
    return f"| {' | '.join(one.strip() for one in others)} | {cell} |"


def _versions(row: str) -> str:
    """Return the versions that the formats of a row are tested with, each list once."""
    names = _NAME.findall(row.split(" | ", 1)[0])
    known = [(name, ", ".join(TESTED.get(name, ()))) for name in names]
    alike = [
        (versions, [name for name, _ in rows]) for versions, rows in groupby(known, key=lambda one: one[1])
    ]
    if len(alike) == 1:
        return alike[0][0] or "—"
    return "; ".join(f"{', '.join(f'`{name}`' for name in names)} {versions}" for versions, names in alike)
