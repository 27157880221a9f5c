"""What is done with a file that was copied from a terminal, a page or a log, and why some are refused."""

from collections.abc import Callable

Change = Callable[[bytes], bytes]
"""Leaves of a file what its tool wrote, each line in its place; raises :class:`NotOneError`."""


class NotOneError(Exception):
    """A copy out of which the output of one load cannot be taken."""

    def __init__(self, line: int, found: str, expected: str) -> None:
        """Make it of a line, from 1, of what was found there, and of what was expected."""
        self.line, self.found, self.expected = line, found, expected
        super().__init__(f"line {line}: found {found}; expected {expected}")
