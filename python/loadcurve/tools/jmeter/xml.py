"""The XML that JMeter writes for each sample (JTL), whose samples contain their parts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError, iterparse

import polars

from loadcurve.tools.blocks import BLOCK_BYTES
from loadcurve.tools.delimited import ANY_TEXT, OPTIONAL_NUMBER, TRUE_OR_FALSE, WHOLE_NUMBER
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.jmeter.figures import Read, figures_of_samples, sums_of_parts
from loadcurve.tools.jmeter.requests import requests_of
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.requests import together
from loadcurve.tools.source import Source, shown

_SAMPLES = ("httpSample", "sample")
_ATTRIBUTES = {
    "ts": ("timeStamp", WHOLE_NUMBER),
    "t": ("elapsed", WHOLE_NUMBER),
    "lb": ("label", ANY_TEXT),
    "rc": ("responseCode", ANY_TEXT),
    "rm": ("responseMessage", ANY_TEXT),
    "tn": ("threadName", ANY_TEXT),
    "s": ("success", TRUE_OR_FALSE),
    "na": ("allThreads", OPTIONAL_NUMBER),
    "lt": ("Latency", OPTIONAL_NUMBER),
    "ct": ("Connect", OPTIONAL_NUMBER),
    "it": ("IdleTime", OPTIONAL_NUMBER),
}
_TYPES = {name: column.type for name, column in _ATTRIBUTES.values()}
_ROWS = 100_000
_NO_CHARACTERS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_REFERENCE = re.compile(rb"&#(x[0-9A-Fa-f]{1,8}|[0-9]{1,10});")
_REFERENCE_BYTES_MAX = 16
_ENDED_EARLY = (3, 5)
"""Errors of the parser where a document ends before its root does, or within an element."""
_ROOT = b"<testResults"
_WHAT = "a sample of JMeter's XML (JTL), with its attributes ts, t, rc and s"

_Row = dict[str, object]


def is_xml(head: bytes) -> bool:
    """Say whether a file begins as a JTL in XML."""
    return _ROOT in head


def read_xml(source: Source) -> ToolFigures:
    """Return the figures of a JTL file in XML; raises ``Unreadable`` where it is no XML before its end."""
    if b"<!DOCTYPE" in source.head():
        # It is before the root, and JMeter writes none: entities could stand for any amount of text.
        raise source.unreadable(None, "a document type", _WHAT)
    reader = _Reader(LeftOut(source))
    with source.opened() as file:
        table = together(reader.requests(_Possible(file)))
    if reader.sums:
        reader.left_out.note(sums_of_parts(reader.sums))

    def samples(*, with_structure: bool) -> Read:  # noqa: ARG001
        return Read([] if table is None else [table], reader.left_out, reader.threads)

    return figures_of_samples(source, samples, has_threads=True)


class _Possible:
    """A file without the characters that XML cannot have: JMeter writes those of an answer with it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held = b""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, of which a reference is never cut in two; none at the end."""
        block = self._held + (read := self._file.read(size))
        self._held = b""
        begun = block.rfind(b"&", max(len(block) - _REFERENCE_BYTES_MAX, 0)) if read else -1
        if begun >= 0 and b";" not in block[begun:]:
            block, self._held = block[:begun], block[begun:]
        if not block and self._held:
            return self.read(size)
        block = _NO_CHARACTERS.sub(b"?", block)
        return _REFERENCE.sub(_possible, block) if b"&#" in block else block


def _count_of(text: bytes, file: BinaryIO) -> int:
    """Return how often a text occurs in a file, on however long a line."""
    count, rest = 0, b""
    while block := file.read(BLOCK_BYTES):
        block = rest + block
        count += block.count(text)
        # Part of one may be at the end, which is shorter than a whole one.
        rest = block[-(len(text) - 1) :]
    return count


def _possible(reference: re.Match[bytes]) -> bytes:
    """Return a reference to a character, or what stands for one that XML cannot have."""
    text = reference[1]
    number = int(text[1:], 16) if text[:1] == b"x" else int(text)
    is_one = number in {0x9, 0xA, 0xD} or 0x20 <= number < 0xD800 or 0xE000 <= number < 0xFFFE  # noqa: PLR2004
    return reference[0] if is_one or 0x10000 <= number <= 0x10FFFF else b"?"  # noqa: PLR2004


@dataclass
class _Reader:
    left_out: LeftOut
    threads: int = 0
    sums: int = 0
    """Samples whose parts are counted."""
    _rows: list[_Row] = field(default_factory=list)
    _begins: list[int] = field(default_factory=list)
    """Of the samples that have begun and not ended: how many rows there were before."""

    def requests(self, file: "_Possible") -> Iterator[polars.DataFrame]:
        """Yield the samples without parts, some at once."""
        root: Element | None = None
        is_over = False
        number = 0
        try:
            for event, element in self._events(file):
                root = element if root is None else root
                is_over = event == "end" and element is root
                # Tools that check JMeter's files against a schema put them into a namespace.
                if element.tag.rpartition("}")[2] not in _SAMPLES:
                    continue
                if event == "start":
                    self._begins.append(len(self._rows))
                    continue
                number += 1
                self._ended(element, number)
                if not self._begins:
                    root.clear()
                    if len(self._rows) >= _ROWS:
                        yield self._block()
        except ParseError as error:
            if is_over:
                self._require_one(error.position[0], number)
            else:
                self._broken(error, number)
        yield self._block()

    def _broken(self, error: ParseError, number: int) -> None:
        """Leave out the end of a document that is cut off; raises ``Unreadable`` where it is broken."""
        problem = self.left_out.source.unreadable(
            error.position[0], f"XML that ends or is broken ({error.msg})", _WHAT, f"{number:,} samples"
        )
        if error.code not in _ENDED_EARLY:
            raise problem from error
        del self._rows[self._begins[0] if self._begins else len(self._rows) :]
        self.left_out.end(problem)

    def _require_one(self, line: int, number: int) -> None:
        """Raise ``Unreadable`` where what follows the root, on this line, are the results of another load."""
        with self.left_out.source.opened() as file:
            roots = _count_of(_ROOT, file)
        if roots > 1:
            raise self.left_out.source.unreadable(
                line,
                "another document behind the first one",
                "the results of one load; split the file into one per load",
                f"{number:,} samples",
            )

    def _events(self, file: "_Possible") -> Iterator[tuple[str, Element]]:
        try:
            yield from iterparse(file, ("start", "end"))  # noqa: S314 -- without entities, see read_xml
        except (LookupError, ValueError) as error:
            found = f"XML in a coding that cannot be read ({shown(str(error))})"
            raise self.left_out.source.unreadable(1, found, _WHAT) from error

    def _block(self) -> polars.DataFrame:
        block = polars.DataFrame(self._rows, schema=_TYPES, orient="row")
        self._rows.clear()
        self.left_out.rows += len(block)
        self.left_out.require_few(so_far=True)
        return requests_of(block)

    def _ended(self, element: Element, number: int) -> None:
        """Add a sample without parts; of one with parts these have been added."""
        begin = self._begins.pop()
        row = self._row(element, number)
        parts = self._rows[begin:]
        if not parts:
            if row is not None:
                self._rows.append(row)
                self.threads = max(self.threads, int(str(row["allThreads"] or 0)))
            return
        self.sums += 1
        # What failed was the whole, so its last part was no right answer.
        if row is not None and not row["success"] and all(part["success"] for part in parts):
            parts[-1]["success"] = False

    def _row(self, element: Element, number: int) -> _Row | None:
        row: _Row = {}
        for attribute, (name, column) in _ATTRIBUTES.items():
            text = element.get(attribute, "")
            try:
                row[name] = column.value_of(text)
            except ValueError:
                found = f"{attribute} = {shown(text)} of sample {number:,}"
                self.left_out.line(
                    self.left_out.source.unreadable(None, found, f"{column.words}, in {_WHAT}")
                )
                return None
        return row
