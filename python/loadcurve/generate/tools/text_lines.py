"""A text line by line, so that an error can name the line and what was read before it."""

import re

from loadcurve.generate.tools.source import Source, shown


class Lines:
    """The lines of a file that is read as a whole."""

    def __init__(self, source: Source) -> None:
        """Read it; raises as :meth:`Source.text`."""
        self.source = source
        self.lines = source.text().splitlines()

    def match(self, pattern: str, what: str, *, after: int = 0) -> tuple[int, re.Match[str]]:
        """Return the number of the first line, behind line ``after``, that matches; raises ``Unreadable``."""
        found = self.find(pattern, after=after)
        if found is None:
            last = self.lines[-1] if self.lines else ""
            raise self.source.unreadable(
                max(len(self.lines), 1), f"the end of the file behind {shown(last)}", what, self.read(after)
            )
        return found

    def find(self, pattern: str, *, after: int = 0) -> tuple[int, re.Match[str]] | None:
        """Return the number of the first line, behind line ``after``, that matches, from 1."""
        compiled = re.compile(pattern)
        for number, line in enumerate(self.lines[after:], start=after + 1):
            if found := compiled.match(line):
                return number, found
        return None

    def number(self, pattern: str, what: str, *, after: int = 0) -> float:
        """Return the number in the first group of the first line that matches; raises ``Unreadable``."""
        line, found = self.match(pattern, what, after=after)
        return self.value(line, found[1], what)

    def value(self, line: int, text: str, what: str) -> float:
        """Return a text of a line as a number; raises ``Unreadable``."""
        if not re.fullmatch(r"-?\d{1,18}(\.\d{1,18})?([eE][-+]?\d{1,2})?", text, re.ASCII):
            raise self.source.unreadable(line, shown(text), f"{what}, with a decimal point", self.read(line))
        return float(text)

    def read(self, line: int) -> str:
        """Say how many lines stand before one."""
        return f"{max(line - 1, 0):,} lines"
