"""Why a server could not be measured."""

import textwrap
from typing import Literal

from loadcurve.errors import NothingMeasured
from loadcurve.redaction import hidden

FailureCode = Literal[
    "not_installed",
    "not_built",
    "engine_unavailable",
    "image_unavailable",
    "version_unknown",
    "config_rejected",
    "port_taken",
    "limits_unavailable",
    "not_prepared",
    "not_started",
    "not_ready",
    "died",
    "out_of_memory",
    "wrong_answer",
    "database_failed",
    "records_missing",
    "left_behind",
    "machine_lost",
]


class ServerFailure(NothingMeasured):
    """One server could not be started, verified or stopped. The run continues with the others.

    ``code`` is stable, the text is one sentence or more for a person, and ``log_tail`` holds the last lines
    of what the server itself said, empty where it said nothing. Neither has a secret that this run was given.
    """

    def __init__(self, code: FailureCode, text: str, log_tail: str = "") -> None:
        """Make a failure of a stable code, a text, and the end of the server's log."""
        self.code = code
        self.text = hidden(text)
        super().__init__(self.text)
        self.log_tail = hidden(log_tail)

    def __str__(self) -> str:
        """Return the text and, where the server said something, its own words below."""
        if not self.log_tail:
            return self.text
        return f"{self.text} Its output:\n{textwrap.indent(self.log_tail, '    ')}"
