"""stdout, where results go: when it fails, the command ends with one sentence and not with a traceback."""

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from loadcurve.errors import BadInput, LoadcurveError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

EXIT_READER_GONE = 1

PLAIN = "loadcurve-plain"
"""The name of what stands in for a sign that stdout's encoding does not have."""
PLAIN_SIGNS = {
    "—": "-",
    "±": "+-",
    "●": "*",
    "·": "-",
    "→": "->",
    "µ": "u",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "…": "~",
}


class ResultsLost(LoadcurveError):  # noqa: N818 -- the name says what has happened
    """The results could not be written."""


class _Results(io.FileIO):
    """The file behind stdout; after a failure it takes everything and keeps nothing, to fail only once."""

    _failed = False

    def write(self, data: "ReadableBuffer", /) -> int:
        if self._failed:
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except BrokenPipeError:
            # The reader, `head` for instance, has seen enough: that is no fault to speak of.
            self._failed = True
            raise SystemExit(EXIT_READER_GONE) from None
        except OSError as error:
            self._failed = True
            reason = os.strerror(error.errno or 0)
            raise ResultsLost(f"the results could not be written to stdout: {reason}") from error


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Return what stands in for signs that cannot be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(PLAIN_SIGNS.get(sign, "?") for sign in signs), error.end


@contextmanager
def results_on_stdout() -> Iterator[None]:
    """Let everything that is written to stdout leave the process before the end, or say why it does not.

    Raises:
        BadInput: there is no stdout.
        ResultsLost: what was written to it is lost.
        SystemExit: with the code 1, where its reader has gone away.

    """
    given = sys.stdout
    if given is None:
        raise BadInput("stdout is closed, and the results go there; give it a place, such as a file")
    results = io.BufferedWriter(_Results(given.fileno(), "wb", closefd=False))
    codecs.register_error(PLAIN, _plain)
    errors = PLAIN if given.errors == "strict" else given.errors
    sys.stdout = io.TextIOWrapper(
        results, encoding=given.encoding, errors=errors, line_buffering=bool(given.line_buffering)
    )
    try:
        yield
    finally:
        sys.stdout.flush()
