"""stdout, where results go, and stderr, where the talk goes.

When stdout fails, the command ends with one sentence and not with a traceback; without stderr it continues.
"""

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from loadcurve.errors import BadInput, LoadcurveError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

EXIT_READER_GONE = 1
STDIN, STDERR = 0, 2

PLAIN = "loadcurve-plain"
"""The name of what stands in for a sign that the encoding of stdout or stderr does not have."""
PLAIN_SIGNS = {
    "—": "-",
    "\N{EN DASH}": "-",
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


class _Talk(io.FileIO):
    """The file behind stderr: that nothing can be reported is no reason to end the command."""

    def write(self, data: "ReadableBuffer", /) -> int:
        with suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what stands in for a sign that cannot be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    sign = error.object[error.start]
    if error.encoding == "ascii" and sign not in PLAIN_SIGNS:
        # A name stays what it is, so that a path that is printed leads to its file; every tool does so.
        return sign.encode("utf-8", "surrogateescape"), error.start + 1
    return PLAIN_SIGNS.get(sign, "?"), error.start + 1


def _encoding(stream: TextIO) -> str:
    """Return the encoding for a stream: ASCII where the person has asked for no other signs.

    With ``LC_ALL=C`` Python writes UTF-8, because a C locale is mostly one that nobody has chosen; but this
    variable is set by hand, for terminals and tools that know no other signs.
    """
    chosen = {"PYTHONUTF8", "PYTHONIOENCODING"} & os.environ.keys()
    return "ascii" if os.environ.get("LC_ALL") in {"C", "POSIX"} and not chosen else stream.encoding


@contextmanager
def results_on_stdout() -> Iterator[None]:
    """Let everything that is written to stdout leave the process before the end, or say why it does not.

    Raises:
        BadInput: there is no stdout.
        ResultsLost: what was written to it is lost.
        SystemExit: with the code 1, where its reader has gone away.

    """
    codecs.register_error(PLAIN, _plain)
    occupy_closed_streams()
    sys.stderr = _talk(sys.stderr)
    given = sys.stdout
    if given is None:
        raise BadInput(
            "stdout is closed, but the results are written to it; redirect it, for example to a file"
        )
    results = io.BufferedWriter(_Results(given.fileno(), "wb", closefd=False))
    errors = PLAIN if given.errors in {"strict", "surrogateescape"} else given.errors
    sys.stdout = io.TextIOWrapper(
        results, encoding=_encoding(given), errors=errors, line_buffering=bool(given.line_buffering)
    )
    try:
        yield
    finally:
        sys.stdout.flush()


@contextmanager
def one_object_on_stdout(*, is_asked: bool) -> Iterator[None]:
    """Let what a block prints go to stderr where stdout is to have one JSON object, which comes behind it."""
    with redirect_stdout(sys.stderr) if is_asked else nullcontext():
        yield


def occupy_closed_streams() -> None:
    """Let stdin and stderr lead nowhere where they are closed, here and in every process that is started.

    Otherwise the next file or connection that is opened would get their number, and what reads stdin or
    writes to stderr, in this process or a child, would reach it.
    """
    for number, access in ((STDIN, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, access)
            # The lowest free number is mostly this one already, and a copy onto itself changes nothing.
            os.dup2(nowhere, number)
            os.set_inheritable(number, True)  # noqa: FBT003 -- it takes no names
            if nowhere != number:
                os.close(nowhere)


def _talk(given: TextIO | None) -> TextIO:
    """Return what stands for stderr; one that is closed leads nowhere."""
    if given is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    talk = io.BufferedWriter(_Talk(given.fileno(), "wb", closefd=False))
    return io.TextIOWrapper(talk, encoding=_encoding(given), errors=PLAIN, line_buffering=True)
