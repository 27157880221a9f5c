"""A file of another tool: opened as what a stranger may have made, and bounded before it is believed."""

import io
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from loadcurve.errors import BadInput
from loadcurve.files import open_regular
from loadcurve.redaction import hidden_start
from loadcurve.tools.figures import Unreadable
from loadcurve.tools.packed import GZIP, MAGIC_BYTES, packer_of, unpacked
from loadcurve.tools.pasted import NOTHING, Around, another_behind, without_rest

TEXT_BYTES_MAX = 64 * 2**20
"""Of what is read as a whole; files with a line for each request are read in blocks and have no limit."""
UTF16_BYTES_MAX = 64 * 2**20
"""Of a text that Windows PowerShell wrote by ``>``, which is read as a whole."""
SHORT_BYTES_MAX = 8 * 2**20
HEAD_BYTES = 64 * 2**10
"""By which a format is recognised."""
SHOWN_CHARACTERS_MAX = 60
WHOLE_MAX = 10**18
"""The greatest whole number that is read from a document: of nanoseconds these are thirty years."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file."""

    path: Path
    title: str | None = None
    """What messages call it instead of its path."""
    around: Around = NOTHING
    """What is taken off, because its tool did not write it."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.title or str(self.path)

    @contextmanager
    def as_it_is(self) -> Iterator[BinaryIO]:
        """Open it; raises ``BadInput`` where it is a link or no file, or cannot be read."""
        try:
            with open_regular(self.path) as file:
                yield file
        except OSError as error:
            raise _refused(self.path, error) from error

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open it, unpacked where gzip has packed it, as UTF-8 without a byte-order mark where it has one.

        Raises as :meth:`as_it_is`, and ``Unreadable`` where it is packed otherwise, or cannot be unpacked.
        """
        with self.as_it_is() as file:
            packer = packer_of(file.read(MAGIC_BYTES))
            file.seek(0)
            if packer is not None and packer != GZIP:
                raise self.unreadable(
                    None, f"a file that is compressed by {packer}", f"one that is not, or by {GZIP}"
                )
            plain = _without_mark(self.name, file if packer is None else unpacked(self.name, file))
            yield self.around.taken_off(plain)

    def text(self) -> str:
        """Return the whole file; raises ``BadInput`` as :meth:`opened`, and ``Unreadable`` for no text."""
        with self.opened() as file:
            data = file.read(TEXT_BYTES_MAX + 1)
        if len(data) > TEXT_BYTES_MAX:
            raise BadInput(f"{self.name} cannot be read: it has more than {TEXT_BYTES_MAX:,} bytes.")
        return as_text(self.name, data)

    def is_short(self) -> bool:
        """Say whether what it holds can be read as a whole where it was copied; raises as :meth:`opened`."""
        with self.opened() as file:
            return len(file.read(SHORT_BYTES_MAX + 1)) <= SHORT_BYTES_MAX

    def head(self) -> bytes:
        """Return its start; raises as :meth:`opened`."""
        with self.opened() as file:
            return file.read(HEAD_BYTES)

    def unreadable(
        self, line: int | None, found: str, expected: str, read_until_then: str | None = None
    ) -> Unreadable:
        """Return the error that a line, from 1, is not what was expected."""
        if line is not None:
            line += self.around.lines_before
        return Unreadable(self.name, line, found, expected, read_until_then)


def _refused(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be read: {error.strerror or error}.")


def as_text(name: str, data: bytes) -> str:
    """Return bytes as text, without a byte-order mark."""
    if not data.strip():
        raise Unreadable(name, None, "nothing: the file is empty", "the output of a load generator")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(name, line, "bytes that are not UTF-8 text", "text") from error


def shown(text: str, characters_max: int = SHOWN_CHARACTERS_MAX) -> str:
    """Return a text of a file as messages quote it: on one line, not too long, and without secrets."""
    return repr(hidden_start(text, characters_max))


class Json(BaseModel):
    """A part of a JSON document; what is not declared may be there, and numbers are finite.

    Whole numbers are at most :data:`WHOLE_MAX`: computing with longer ones may end beyond all floats.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False, strict=True)

    @model_validator(mode="after")
    def _has_computable_numbers(self) -> Self:
        for name, value in self.__dict__.items():
            for one in value.values() if isinstance(value, dict) else (value,):
                if isinstance(one, int) and abs(one) > WHOLE_MAX:
                    raise ValueError(f"{name} has a whole number of more than {WHOLE_MAX:.0e}")
        return self


Document = TypeVar("Document", bound=BaseModel)


def json_of(
    source: Source, model: type[Document], what: str, begin: str = "", today: Callable[[str], str] = str
) -> Document:
    """Return a file as the JSON document that ``what`` names; raises ``Unreadable``.

    ``begin`` is a pattern of how the document begins where a tool may print other lines in front of it.
    ``today`` translates one of an older format.
    """
    text = without_rest(source.text())
    found_begin = re.search(begin, text)
    text = text[found_begin.start() if found_begin else 0 :]
    try:
        return model.model_validate_json(today(text))
    except ValidationError as error:
        problem: Any = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, problem["loc"]))
        if problem["type"] == "json_invalid" and another_behind(text):
            expected = f"{what} once; split the file into one per load"
            raise source.unreadable(None, "another document behind the first one", expected) from error
        if problem["type"] == "json_invalid":
            raise source.unreadable(None, f"incomplete or invalid JSON ({problem['msg']})", what) from error
        value = shown(str(problem["input"])) if not isinstance(problem["input"], dict | list) else "that"
        found = f"{place} = {value} ({problem['msg']})" if place else f"{value} ({problem['msg']})"
        raise source.unreadable(None, found, what) from error


def _without_mark(name: str, file: BinaryIO) -> BinaryIO:
    """Return a file that is at its start as UTF-8 without a mark.

    UTF-16, which ``>`` writes in Windows PowerShell, is read as a whole. Raises ``Unreadable`` where that is
    too long or broken.
    """
    begin = cast("io.BufferedReader", file).peek(len(BOM_UTF8))
    if begin.startswith(BOM_UTF8):
        file.read(len(BOM_UTF8))
        return file
    if not begin.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return file
    data = file.read(UTF16_BYTES_MAX + 1)
    if len(data) > UTF16_BYTES_MAX:
        raise Unreadable(name, None, f"UTF-16 text of more than {UTF16_BYTES_MAX:,} bytes", "UTF-8 text")
    try:
        return io.BytesIO(data.decode("utf-16").encode())
    except UnicodeError as error:
        raise Unreadable(name, None, "UTF-16 text that is broken or cut off", "UTF-8 text") from error
