"""Finding figures in the text that a tool prints for people, by the words beside them."""

import re
from collections.abc import Callable
from typing import TypeVar

from loadcurve.generate.tools.figures import Unreadable

T = TypeVar("T")


class Lines:
    """The text of a tool, asked for one figure after the other; a decimal comma is none of its figures."""

    def __init__(self, text: str, file: str) -> None:
        """Take the text, and what errors call the file that it is of."""
        self._text, self._file = text, file

    def groups(self, pattern: str, expected: str) -> tuple[str, ...]:
        """Return what the groups of a pattern match; raises ``Unreadable``, which says what was expected."""
        found = self.optional(pattern)
        if found is None:
            *_, last = ["", *filter(None, map(str.strip, self._text.splitlines()))]
            place = f'no such line, and "{last[:200]}" at the end' if last else "nothing"
            raise Unreadable(self._file, None, place, expected)
        return found

    def optional(self, pattern: str) -> tuple[str, ...] | None:
        """Return what the groups match; ``None`` where there is no such line."""
        found = re.search(pattern, self._text, re.MULTILINE)
        return None if found is None else tuple(group or "" for group in found.groups())

    def number(self, pattern: str, expected: str, kind: Callable[[str], T]) -> T:
        """Return the figure that the only group matches; raises ``Unreadable``."""
        (text,) = self.groups(pattern, expected)
        try:
            return kind(text)
        except ValueError as error:
            line = self._text[: self._text.find(text)].count("\n") + 1
            raise Unreadable(self._file, line, f'"{text}"', expected) from error

    def count(self, label: str) -> int:
        """Return the whole number behind a label and a colon; raises ``Unreadable``."""
        expected = f'a line "{label}:" with a whole number'
        return self.number(rf"^\s*{re.escape(label)}:\s+(\S+)", expected, int)

    def count_or_none(self, label: str) -> int:
        """Return the same, and 0 where there is no such line: it is printed only if there is something."""
        return self.count(label) if self.optional(rf"^\s*({re.escape(label)}):") else 0
