"""Rows of a file that no figure includes: lines that cannot be read, and rows that are no requests.

One line of ten million never costs the others, but a file of which more than :data:`SHARE_MAX` cannot be read
is of another kind than it seems.
"""

from loadcurve.result.outcomes import VerdictNote
from loadcurve.tools.figures import Unreadable
from loadcurve.tools.source import Source
from loadcurve.units import whole_percent

SHARE_MAX = 0.01
"""The greatest share of lines that may be left out because they cannot be read; one always may."""
_SHARE_MAX_SO_FAR = 0.1
"""Above this share of the lines until then, what follows is not looked at."""
_SHOWN = 3


class LeftOut:
    """What is left out of one file."""

    def __init__(self, source: Source, *, is_strict: bool = False) -> None:
        """Begin without any; of a strict file, such as one of a driven tool, nothing may be left out."""
        self.source = source
        self.is_strict = is_strict
        self.rows = 0
        """How many were read."""
        self.lines = 0
        """How many could not be read, without the end of the file within a line."""
        self._first: list[Unreadable] = []
        self._cut: Unreadable | None = None
        self._notes: list[str] = []

    def line(self, problem: Unreadable, count: int = 1) -> None:
        """Leave out a line, or some like it, for what would otherwise refuse the file."""
        if self.is_strict:
            raise problem
        self.lines += count
        if len(self._first) < _SHOWN:
            self._first.append(problem)

    def end(self, problem: Unreadable) -> None:
        """Leave out what is behind the last whole line."""
        if self.is_strict:
            raise problem
        self._cut = problem

    @property
    def count(self) -> int:
        """How many lines could not be read, with the end of the file within one."""
        return self.lines + (self._cut is not None)

    def note(self, text: str) -> None:
        """Say of rows that were read why they count for nothing."""
        self._notes.append(text)

    def require_few(self, *, so_far: bool = False) -> None:
        """Raise ``Unreadable`` where too many lines were left out."""
        share = _SHARE_MAX_SO_FAR if so_far else SHARE_MAX
        if self.lines <= max(1, share * (self.rows + self.lines)):
            return
        first = self._first[0]
        raise Unreadable(
            first.file,
            first.line,
            first.found,
            f"{first.expected}; {self.lines:,} of {self.rows + self.lines:,} lines are not like that, and at "
            f"most {whole_percent(SHARE_MAX)} are left out",
            first.read_until_then,
        )

    def nothing(self) -> Unreadable:
        """Return the error that there is no request: why the first line was not left out."""
        expected = "; ".join(["a line for each request", *self._notes])
        return next(iter(self._first), self._cut) or self.source.unreadable(None, "no request", expected)

    def notes(self) -> list[VerdictNote]:
        """Return what has to be known of the figures of the others."""
        texts = [*self._notes]
        if self.lines:
            shown = "; ".join(map(_said, self._first))
            more = "" if self.lines <= len(self._first) else f"; and {self.lines - len(self._first):,} more"
            texts.append(
                f"{self.lines:,} of {self.rows + self.lines:,} lines cannot be read and were left out: "
                f"{shown}{more}"
            )
        if self._cut is not None:
            texts.append(f"the end of the file was left out, as it is cut off: {_said(self._cut)}")
        return [VerdictNote.of("rows_left_out", text) for text in texts]


def _said(problem: Unreadable) -> str:
    place = "" if problem.line is None else f"line {problem.line:,} has "
    return f"{place}{problem.found}"
