"""The errors that end a command; their text, printed on stderr, is for the person who typed it."""

import os
from typing import ClassVar

NO_MEMORY = "not enough memory on this machine, or within the limits of this process (ulimit -v)"


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
