"""A text line by line, so that an error can name the line and what was read before it.

What is asked for has to be there exactly once: a text that is cut off lacks a line, and the outputs of two
loads in one file have it twice. Of neither is anything read.
"""

import re
from decimal import Decimal

from loadcurve.tools.printed import Printed
from loadcurve.tools.source import Source, shown
from loadcurve.tools.terminal import CLEAR, restored, without_colours

Found = tuple[int, re.Match[str]]
"""The number of a line, from 1, and what it matches."""


class Lines:
    """The lines of a file that is read as a whole."""

    def __init__(self, source: Source, shown_again: str | None = None) -> None:
        """Read it; raises as :meth:`Source.text`.

        ``shown_again`` is how a text begins that its tool may show again and again, clearing the terminal in
        between: then the last one counts, and lines keep their numbers.
        """
        self.source = source
        text = source.text()
        if shown_again is not None and CLEAR in text:
            begin = max(text.rfind(shown_again), 0)
            text = "\n" * text.count("\n", 0, begin) + text[begin:]
        text = restored(without_colours(text))
        lines = [line.rstrip() for line in text.splitlines()]
        # What is quoted is indented as a whole; the first line of some tools is not, and those below are.
        indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
        self.lines = [line[indent:] for line in lines]
        self._ends_line = text[-1:] in {"\n", "\r"}

    def once(self, pattern: str, what: str) -> Found:
        """Return the only line that matches; raises ``Unreadable`` where there is none, or another one."""
        found = self.optional(pattern, what)
        if found is None:
            raise self.cut_off(what)
        return found

    def optional(self, pattern: str, what: str) -> Found | None:
        """Return the only line that matches, ``None`` without any; raises ``Unreadable`` where two do."""
        compiled = re.compile(pattern, re.ASCII)
        matches = ((number, compiled.match(line)) for number, line in enumerate(self.lines, start=1))
        found = ((number, match) for number, match in matches if match)
        first, second = next(found, None), next(found, None)
        if second is not None and first is not None:
            raise self.source.unreadable(
                second[0],
                f"{shown(self.lines[second[0] - 1].strip())} once more, after that of line {first[0]}",
                f"{what} once, in the output of one load; split the file into one per load",
                self.read(second[0]),
            )
        return first

    def all_of(self, pattern: str) -> list[Found]:
        """Return all lines that match."""
        compiled = re.compile(pattern, re.ASCII)
        return [
            (number, match)
            for number, line in enumerate(self.lines, start=1)
            if (match := compiled.match(line))
        ]

    def number(self, pattern: str, what: str) -> float:
        """Return the number in the first group of the only line that matches; raises ``Unreadable``."""
        line, found = self.once(pattern, what)
        return self.value(line, found[1], what)

    def count(self, label: str) -> int:
        """Return the whole number behind a label and a colon; raises ``Unreadable``."""
        count = self.count_or_none(label)
        if count is None:
            raise self.cut_off(_counted(label))
        return count

    def count_or_none(self, label: str) -> int | None:
        """Return the same; ``None`` where there is no such line."""
        found = self.optional(rf"\s*{re.escape(label)}:\s+(.*)$", _counted(label))
        if found is None:
            return None
        line, match = found
        if not re.fullmatch(r"\d{1,18}", match[1], re.ASCII):
            raise self.source.unreadable(line, shown(match[1]), _counted(label), self.read(line))
        return int(match[1])

    def value(self, line: int, text: str, what: str) -> float:
        """Return a text of a line as a number; raises ``Unreadable``."""
        if not re.fullmatch(r"-?\d{1,18}(\.\d{1,18})?([eE][-+]?\d{1,2})?", text, re.ASCII):
            raise self.source.unreadable(line, shown(text), f"{what}, with a decimal point", self.read(line))
        return float(text)

    def printed(self, line: int, text: str, what: str, unit: float | Decimal = 1) -> Printed:
        """Return the same as it is printed, in a unit that is ``unit`` of the result's."""
        self.value(line, text, what)
        return Printed.of(text, unit)

    def require_line_end(self, what: str, last: int | None = None) -> None:
        """Raise ``Unreadable`` where the last line has no end, so that it may be cut off.

        ``last`` is the number of the tool's last line: what is behind it shows that it is whole.
        """
        if not self._ends_line and last in {None, len(self.lines)}:
            raise self.cut_off(f"the end of the line, {what}")

    def cut_off(self, what: str) -> Exception:
        """Return the error that a text has come to its end without what was expected."""
        *_, last = ["", *filter(None, map(str.strip, self.lines))]
        return self.source.unreadable(
            max(len(self.lines), 1),
            f"the end of the file after {shown(last)}",
            f"{what}: it is truncated, or its tool ended halfway",
            f"{len(self.lines):,} lines",
        )

    def read(self, line: int) -> str:
        """Say how many lines precede one."""
        return f"{max(line - 1, 0):,} lines"


def _counted(label: str) -> str:
    return f'a line "{label}:" with a whole number'
