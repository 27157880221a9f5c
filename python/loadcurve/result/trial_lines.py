"""The lines of ``trials.jsonl``: one record each, with its checksum. A damaged one costs no other."""

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from pydantic import ValidationError
from pydantic_core import from_json

from loadcurve.record import is_contradiction
from loadcurve.result.checksum import sealed, unsealed
from loadcurve.result.records import RunFormat, TrialLine, read_trial_record

LINE_BYTES_MAX = 4 * 2**20
"""Eight times the room that is reserved for a record (``folder.BYTES_PER_POINT``)."""
LINES_MAX = 100_000
OBJECTS_MAX = 20_000
"""More than a record has; each may be wrong in many ways, and each of these takes memory."""
PROBLEMS_MAX = 1_000
DAMAGED_MAX = 100
"""A file with more damaged lines than this is not a record file."""

_DAMAGED_LINE_END = re.compile(rb'(?<=,"sha256":"[0-9a-f]{64}"\})[^,](?=\{)')
"""Between two whole records: what is where a line feed was."""


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A line that holds no readable record."""

    number: int
    """From 1."""
    problem: str
    is_json: bool
    is_of_trial: bool
    """Whether the line still names a trial or a server, as all do but the place of a resumption."""
    said: str | None
    """Which record it was, as far as the line can still be read."""

    def __str__(self) -> str:
        """Say what is left out, in a sentence."""
        said = f" It reads as {self.said}." if self.said else ""
        return f"Line {self.number} of trials.jsonl {self.problem}: its record is ignored.{said}"


class UnknownRecordError(ValueError):
    """A whole line that is no record of this version; the argument is a message with the line's number."""


class TrialReader:
    """Reads lines in their order, some now and some later."""

    def __init__(self, written_as: RunFormat) -> None:
        """Read lines of a run in this format."""
        self._written_as: RunFormat = written_as
        self._has_checksums = False
        self._damaged = 0
        self._unknown: str | None = None

    def read(self, number: int, line: bytes) -> Iterator[TrialLine | DamagedLine]:
        """Yield the record of a line without its end; nothing of an empty one.

        Raises ``UnknownRecordError`` for a record of another version, ``OSError`` with too many damaged ones.
        """
        if not line.strip():
            return
        found = unsealed(line)
        if found.state != "intact" and (two := _damaged_line_end(line)):
            yield from self.read(number, line[: two.start()])
            yield from self.read(number, line[two.end() :])
            return
        if found.state == "changed":
            yield self._damaged_line(number, line, "does not match its checksum")
            return
        self._has_checksums |= found.state == "intact"
        if found.content.count(b"{") > OBJECTS_MAX:
            yield self._damaged_line(number, b"", f"has more than {OBJECTS_MAX:,} objects")
            return
        try:
            yield read_trial_record(found.content, self._written_as)
        except ValidationError as error:
            if is_contradiction(error):
                yield self._damaged_line(number, line, f"contradicts itself ({first_problem(error)})")
                return
            yield self._judged(number, line, first_problem(error), is_intact=found.state == "intact")

    def require_known(self) -> None:
        """Raise ``UnknownRecordError`` where a line is no record, and nothing shows that it was changed.

        A line without a checksum among such that have one has lost its own.
        """
        if self._unknown is not None and not self._has_checksums:
            raise UnknownRecordError(self._unknown)

    def _judged(self, number: int, line: bytes, problem: str, *, is_intact: bool) -> DamagedLine:
        message = f"line {number}, {problem}"
        if is_intact:
            raise UnknownRecordError(message)
        if "kind" in json_object(line):
            self._unknown = self._unknown or message
        return self._damaged_line(number, line, f"is not a record ({problem})")

    def _damaged_line(self, number: int, line: bytes, problem: str) -> DamagedLine:
        self._damaged += 1
        if self._damaged > DAMAGED_MAX:
            raise OSError(errno.EBADMSG, f"more than {DAMAGED_MAX:,} lines are not records")
        record = json_object(line)
        is_of_trial = b'"trial"' in line or b'"server"' in line
        return DamagedLine(number, problem, bool(record), is_of_trial, _said(record))


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines without their ends; the file stays before a last one that has no end.

    Raises ``OSError`` where a line is longer than any record, or there are more lines than any run has.
    """
    lines = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        lines += 1
        if lines > LINES_MAX:
            raise OSError(errno.EFBIG, f"it has more than {LINES_MAX:,} lines", str(file.name))
        if not line.endswith(b"\n"):
            if len(line) > LINE_BYTES_MAX:
                raise OSError(errno.EFBIG, f"a line is longer than {LINE_BYTES_MAX:,} bytes", str(file.name))
            file.seek(-len(line), os.SEEK_CUR)
            return
        yield line[:-1]


def trial_line(record: TrialLine) -> bytes:
    """Return the line of a record, with its checksum and its end."""
    return sealed(record.model_dump_json(by_alias=True)) + b"\n"


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return the object that a JSON text is; an empty one where it is none."""
    try:
        found = from_json(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def first_problem(error: ValidationError) -> str:
    """Say where the first problem lies and what it is, in one line."""
    if error.error_count() > PROBLEMS_MAX:
        return f"there are {error.error_count():,} problems"
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place}: {problem['msg']}" if place else problem["msg"]


def _damaged_line_end(line: bytes) -> re.Match[bytes] | None:
    """Find the end of a first record in a line, which ends with a checksum."""
    return _DAMAGED_LINE_END.search(line) if b',"sha256":"' in line else None


def _said(record: dict[str, Any]) -> str | None:
    """Say which record it seems to be."""
    server, trial, point = record.get("server"), record.get("trial"), record.get("point")
    if not isinstance(server, str) or not isinstance(trial, int) or not isinstance(point, dict):
        return None
    settings = ", ".join(f"{key} = {value}" for key, value in point.items())
    return f"{server}, trial {trial}, {settings}"[:200]
