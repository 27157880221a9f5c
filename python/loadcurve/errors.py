"""The errors that end a command; their text, printed on stderr, is for the person who typed it."""

import os
from typing import ClassVar

NO_MEMORY = "not enough memory on this machine, or within the limits of this process (ulimit -v)"

ENDS_OF_SENTENCES = (".", "!", "?", "\N{HORIZONTAL ELLIPSIS}")


class LoadcurveError(Exception):
    """The command cannot go on, and the fault is ours unless a subclass says otherwise."""

    exit_code: ClassVar[int] = 1


class BadInput(LoadcurveError):  # noqa: N818 -- the name says whose error it is
    """What the person gave cannot be used: a file, an option or a name."""

    exit_code = 2


class NothingMeasured(LoadcurveError):  # noqa: N818 -- as above
    """The input was good, and yet nothing could be measured."""

    exit_code = 4


def refusal(error: OSError) -> str:
    """Return what the system said, behind the file that it is about, where it names one."""
    said = os.strerror(error.errno) if error.errno else str(error)
    return said if error.filename is None else f"{error.filename}: {said}"


def sentence(said: str) -> str:
    """Return what another says as a sentence, behind which ours may follow: with one full stop at its end."""
    said = said.rstrip()
    return said if said.endswith(ENDS_OF_SENTENCES) else f"{said}."


def clause(said: str) -> str:
    """Return what another says as a part of our sentence: without a full stop at its end."""
    said = said.rstrip()
    return said if said.endswith("..") else said.removesuffix(".")
