"""Tables of one line for each request, as texts with separators: read in blocks, by the columns' types.

A block is what bounds the memory that a file takes beside its figures. Where a block is not of the form, its
lines are looked at one by one, so that an error can name the line.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars

from loadcurve.generate.tools.blocks import LINE_BYTES_MAX, blocks, count_of
from loadcurve.generate.tools.source import Source, shown

WHOLE = re.compile(r"-?\d{1,19}")
NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?([eE][-+]?\d{1,2})?")
TEXT = re.compile(r".*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Column:
    """What stands in a column that is read."""

    kind: re.Pattern[str] = WHOLE
    words: str = "a whole number"

    @property
    def type(self) -> type[polars.DataType]:
        """What it is read as."""
        return {WHOLE: polars.Int64, NUMBER: polars.Float64}.get(self.kind, polars.String)


WHOLE_NUMBER = Column()
DECIMAL = Column(NUMBER, "a number with a decimal point")
ANY_TEXT = Column(TEXT, "a text")


@dataclass(frozen=True, slots=True)
class Table:
    """A form of tables."""

    what: str
    """Such as ``a line of hey's CSV``."""
    columns: tuple[str, ...]
    """All of them, in their order in the file."""
    used: Mapping[str, Column]
    has_header: bool = True
    separator: str = ","
    ends_lines: bool = True
    """Whether the tool ends the last line, so that one without its end is cut off."""


def header_of(source: Source, separator: str = ",") -> list[str]:
    """Return the names in the first line; raises ``Unreadable`` where it is no text."""
    line = source.head().split(b"\n", 1)[0]
    try:
        text = line.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        raise source.unreadable(1, "bytes that are not UTF-8 text", "the names of columns") from error
    try:
        return next(csv.reader([text], delimiter=separator), [])
    except csv.Error as error:
        raise source.unreadable(1, str(error), "the names of columns") from error


def require_each_once(source: Source, names: Sequence[str], tool: str) -> None:
    """Raise ``Unreadable`` where a name stands in the first line more than once."""
    if len(set(names)) < len(names):
        raise source.unreadable(1, "a column twice", f"each of {tool}'s columns once")


def tables(source: Source, form: Table) -> Iterator[polars.DataFrame]:
    """Yield the used columns of the lines, block by block; raises ``Unreadable``."""
    with source.opened() as file:
        first = 1
        if form.has_header:
            file.readline(LINE_BYTES_MAX)
            first = 2
        rows = 0
        for line, block in blocks(source, file, first, form.what, ends_lines=form.ends_lines):
            table = _read(source, form, line, block, rows)
            rows += len(table)
            yield table


def _read(source: Source, form: Table, line: int, block: bytes, rows_before: int) -> polars.DataFrame:
    if b"\r\n" in block[:LINE_BYTES_MAX]:
        block = block.replace(b"\r\n", b"\n")
    schema = {name: form.used[name].type if name in form.used else polars.String() for name in form.columns}
    try:
        table = polars.read_csv(
            block,
            has_header=False,
            schema=schema,
            columns=[place for place, name in enumerate(form.columns) if name in form.used],
            separator=form.separator,
            empty_string_is_null=False,
            raise_if_empty=False,
        )
    except (polars.exceptions.PolarsError, ValueError, OverflowError):
        table = None
    if table is None or not _is_whole(form, block, table):
        raise _problem(source, form, line, block, rows_before)
    return table


def _is_whole(form: Table, block: bytes, table: polars.DataFrame) -> bool:
    """Say whether each line has all of its columns, as far as that shows without looking at each."""
    if sum(table.null_count().row(0)):
        return False
    if b'"' in block:
        return True
    separators = count_of(form.separator, block)
    return len(table) == count_of("\n", block) and separators == len(table) * (len(form.columns) - 1)


def _problem(source: Source, form: Table, line: int, block: bytes, rows_before: int) -> Exception:
    """Return the error of the first line of a block that is not of the form."""
    text = block.decode(errors="replace")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=form.separator)
    number, row = 0, 0
    names = ",".join(form.columns)
    try:
        for row, fields in enumerate(reader):
            until_then = f"{rows_before + row:,} lines"
            if len(fields) != len(form.columns):
                return source.unreadable(
                    line + number,
                    f"{len(fields)} columns, {shown(form.separator.join(fields))}",
                    f"{form.what}, of {len(form.columns)} columns ({names})",
                    until_then,
                )
            for name, field in zip(form.columns, fields, strict=True):
                column = form.used.get(name)
                if column is not None and not column.kind.fullmatch(field):
                    return source.unreadable(
                        line + number, f"{name} {shown(field)}", f"{column.words}, in {form.what}", until_then
                    )
            number = reader.line_num
    except csv.Error as error:
        return source.unreadable(line + number, str(error), form.what, f"{rows_before + row:,} lines")
    return source.unreadable(line, "lines that cannot be read together", form.what, f"{rows_before:,} lines")
