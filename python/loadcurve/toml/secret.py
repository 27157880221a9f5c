"""Values that may be secret: written in the file, or taken from the environment or a file beside it."""

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, InstanceOf, ValidationInfo

from loadcurve.errors import BadInput, refusal
from loadcurve.files import read_given
from loadcurve.redaction import HIDDEN, remember
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import own_problem

SECRET_BYTES_MAX = 64 * 1024
GIVEN_IN_WORDS = 'a text in quotes, { env = "VARIABLE" } or { file = "PATH" }'


@dataclass(frozen=True)
class SecretText:
    """A text that may be a secret, and where it was taken from; nothing of it shows in ``repr``."""

    text: str = field(repr=False)
    source: Mapping[str, str] | None = None
    """As the file names it; ``None`` for a text that the file itself holds."""

    @property
    def recorded(self) -> str | dict[str, str]:
        """What a record has of it: where it came from."""
        return HIDDEN if self.source is None else dict(self.source)


def read_secret(value: object, info: ValidationInfo) -> SecretText:
    """Read a value as a file gives it; raises a problem of its place where it is none."""
    if isinstance(value, SecretText):
        return value
    if value == HIDDEN:
        raise own_problem(f"found {HIDDEN}, which a run folder has in place of a secret; expected the secret")
    if isinstance(value, str):
        return SecretText(value)
    # What was found is not repeated: it may be the secret.
    expected = f"expected {GIVEN_IN_WORDS}"
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise own_problem(expected)
    if {*value} not in ({"env"}, {"file"}, {"env", "prefix"}, {"file", "prefix"}):
        raise own_problem(f'{expected}, optionally with prefix = "Bearer "')
    try:
        if "env" in value:
            text = variable(value["env"])
        else:
            text = secret_in(Path(info.context["folder"] if info.context else "", value["file"]))
    except BadInput as error:
        raise own_problem(str(error)) from None
    return SecretText(value.get("prefix", "") + text, value)


Secret = Annotated[InstanceOf[SecretText], BeforeValidator(read_secret), Expected(GIVEN_IN_WORDS)]


def variable(name: str) -> str:
    """Return a secret from the environment; raises BadInput where there is no such variable."""
    text = os.environ.get(name)
    if text is None:
        raise BadInput(f"the environment has no variable {name}; set it before the start")
    remember(text)
    return text


def secret_in(file: Path) -> str:
    """Return what a file holds that nobody else may read, without the line break at its end.

    Raises ``BadInput``: it cannot be read, holds too much or several lines, or others may read it.
    """
    given = given_in(file)
    if given.open_to_others:
        raise BadInput(open_to_others(file))
    text = given.text.removesuffix("\n").removesuffix("\r")
    if "\n" in text:
        raise BadInput(f"{file} has several lines; expected only the secret")
    remember(text)
    return text


@dataclass(frozen=True)
class GivenFile:
    """What a file holds, and whether other users may read or write it."""

    text: str = field(repr=False)
    open_to_others: bool


def given_in(file: Path, bytes_max: int = SECRET_BYTES_MAX) -> GivenFile:
    """Read a text file of up to this size, or a pipe; raises BadInput where that cannot be done."""
    try:
        data, status = read_given(file, bytes_max)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise BadInput(f"{file} is larger than {bytes_max // 1024:,} KiB") from None
        raise BadInput(f"the file cannot be read: {refusal(error)}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not UTF-8 text") from None
    by_others = status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return GivenFile(text, stat.S_ISREG(status.st_mode) and by_others != 0)


def open_to_others(file: Path) -> str:
    """Say that other users may read or write a file that holds a secret, and what to do."""
    return f"{file} may be read or written by other users; run: chmod 600 {file}"
