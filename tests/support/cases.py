"""Tables of changes to a text in which nothing is wrong, and of what is reported of each."""

import re
from typing import Any

import pytest


def cases(table: str, **words: str) -> list[Any]:
    """The parameters ``change, problem`` of a table: a change on its line, and its problem indented below.

    A problem may go on over several lines. ``{name}`` stands for the text of that name among ``words``.
    """
    found: list[tuple[str, str]] = []
    for line in table.strip("\n").splitlines():
        if line.startswith("    "):
            change, problem = found[-1]
            found[-1] = (change, f"{problem} {line.strip()}".strip())
        else:
            found.append((line, ""))
    for name, text in words.items():
        found = [(change, problem.replace(f"{{{name}}}", text)) for change, problem in found]
    return [pytest.param(*one, id=one[0]) for one in found]


def changed(text: str, change: str) -> str:
    r"""The text after ``OLD -> NEW``, or with ``KEY = VALUE`` behind it; ``\n`` breaks a line in a change."""
    change = re.sub(r"\\([n\\])", lambda sign: "\n" if sign[1] == "n" else "\\", change)
    if " ->" not in change:
        return f"{text}{change}\n"
    old, new = (part.strip(" ") for part in change.split(" ->"))
    assert text.count(old) == 1, change
    return text.replace(old, new)
