"""Tables of one line for each request, as texts with separators: read in blocks, by the columns' types.

A block is what bounds the memory that a file takes beside its figures. Where a block is not of the form, its
lines are looked at one by one, and those that are not are left out.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy
import polars

import loadcurve._engine as native
from loadcurve.tools.blocks import BLOCK_BYTES, LINE_BYTES_MAX, ahead, blocks, count_of, made_ahead
from loadcurve.tools.figures import Unreadable
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.packed import require_plain
from loadcurve.tools.source import Source, shown

_WHOLE_MAX = 2**63 - 1
_LINES_OF_A_ROW_MAX = 10_000
"""Of which all but one end within quotes."""
# Lines are bounded before, and the bodies of answers that vegeta writes are longer than the 128 KiB of csv.
csv.field_size_limit(LINE_BYTES_MAX + 2 * BLOCK_BYTES)
_SEPARATORS_MAX = 10_000
"""Of one line; a form has a few dozen."""
_THREADS = 2
"""Which read blocks while what was read before is counted: more would wait for that."""


@dataclass(frozen=True, slots=True)
class Column:
    """The content of a column that is read."""

    type: type[polars.DataType]
    """What it is read as."""
    pattern: re.Pattern[str]
    words: str
    may_lack: bool = False
    """Whether it may be empty, which is null."""

    def value_of(self, field: str) -> object:
        """Return what a field says; raises ``ValueError`` where that is not of the column's type."""
        if self.may_lack and not field:
            return None
        field.encode()  # Bytes that are not UTF-8 are surrogates, of which it makes an error.
        if not self.pattern.fullmatch(field):
            raise ValueError(field)
        if self.type is polars.Boolean:
            return field == "true"
        if self.type is polars.Int64:
            if abs(int(field)) > _WHOLE_MAX:
                raise ValueError(field)
            return int(field)
        return float(field) if self.type is polars.Float64 else field


WHOLE_NUMBER = Column(polars.Int64, re.compile(r"-?\d{1,19}", re.ASCII), "a whole number")
OPTIONAL_NUMBER = Column(WHOLE_NUMBER.type, WHOLE_NUMBER.pattern, WHOLE_NUMBER.words, may_lack=True)
DECIMAL = Column(
    polars.Float64,
    re.compile(r"-?\d{1,18}(\.\d{1,18})?([eE][-+]?\d{1,2})?", re.ASCII),
    "a number with a decimal point",
)
TRUE_OR_FALSE = Column(polars.Boolean, re.compile("true|false"), "true or false")
ANY_TEXT = Column(polars.String, re.compile(r".*", re.DOTALL), "a text")


_KINDS: Mapping[type[polars.DataType], str] = {
    polars.Int64: "w", polars.Float64: "d", polars.Boolean: "f", polars.String: "t",
}  # fmt: skip
"""The engine's letters for what is in a column."""
_STORED: Mapping[type[polars.DataType], str] = {
    polars.Int64: "i8", polars.Float64: "f8", polars.Boolean: "?",
}  # fmt: skip
"""What the engine's values are of those that stand for themselves, by numpy's names."""
_PLAIN_SEPARATORS = ",;\t|"


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
    is_of_one_load: bool = False
    """Whether its moments count from the start of its load, so that they fit no other one."""


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
    """Raise ``Unreadable`` where a name occurs in the first line more than once."""
    if len(set(names)) < len(names):
        raise source.unreadable(1, "a column twice", f"each of {tool}'s columns once")


def tables(source: Source, form: Table, left_out: LeftOut) -> Iterator[polars.DataFrame]:
    """Yield the used columns of the lines, block by block, without those that lack the form.

    Raises ``Unreadable`` where these are too many.
    """
    return ahead(_tables(source, form, left_out))


def _tables(source: Source, form: Table, left_out: LeftOut) -> Iterator[polars.DataFrame]:
    with source.opened() as file:
        first = 1
        if form.has_header:
            file.readline(LINE_BYTES_MAX)
            first = 2
        numbered = blocks(source, file, first, form.what, ends_lines=False)
        for lines, plain in made_ahead(partial(_plain, source, form), numbered, _THREADS):
            table = lines.read(left_out) if plain is None else plain
            left_out.rows += len(table)
            left_out.require_few(so_far=True)
            yield table


def _plain(
    source: Source, form: Table, numbered: tuple[int, bytes]
) -> tuple["_Lines", polars.DataFrame | None]:
    """Return lines with their rows, or ``None`` where the fastest way does not read them."""
    first, block = numbered
    if b"\r\n" in block[:LINE_BYTES_MAX]:
        block = block.replace(b"\r\n", b"\n")
    require_plain(source.name, first, block, form.what)
    lines = _Lines(source, form, first, block)
    return lines, lines.read_plain()


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of a table, from one of this number on."""

    source: Source
    form: Table
    first: int
    block: bytes

    def read(self, left_out: LeftOut) -> polars.DataFrame:
        """Return the rows by the ways that know more than the fastest."""
        if not self.block.endswith(b"\n"):
            return self._read_end(left_out)
        table = self._read_together()
        return self._read_one_by_one(left_out) if table is None else table

    def _read_end(self, left_out: LeftOut) -> polars.DataFrame:
        """Read a last line without its end, of whose last field the end may lack as well."""
        line = self.block.decode(errors="surrogateescape").rstrip("\r")
        row = self._row(self.first, line, left_out.rows)
        *_, last = self.form.columns
        if not isinstance(row, Unreadable) and last in self.form.used:
            if self.form.used[last].may_lack:
                row[last] = None
            else:
                row = self._problem(self.first, "the end of the file within a line", rows=left_out.rows)
        if isinstance(row, Unreadable):
            left_out.end(row)
            return self._table([])
        return self._table([row])

    def read_plain(self) -> polars.DataFrame | None:
        """Return the rows; ``None`` where a line is not as plain as the fastest way needs it."""
        used, names = self.form.used, self.form.columns
        if self.form.separator not in _PLAIN_SEPARATORS:
            return None
        kinds = "".join(_KINDS[used[name].type] if name in used else "-" for name in names)
        columns = native.table_columns(self.block, ord(self.form.separator), kinds)
        if columns is None:
            return None
        read = [name for name in names if name in used]
        return polars.DataFrame(
            [_series(name, used[name].type, *column) for name, column in zip(read, columns, strict=True)]
        )

    def _read_together(self) -> polars.DataFrame | None:
        """Return the rows; ``None`` where a line is none, or may be none."""
        used, names = self.form.used, self.form.columns
        if any(_has_too_many(self.form.separator, line) for line in self.block.split(b"\n")):
            return None
        try:
            table = polars.read_csv(
                self.block,
                has_header=False,
                schema={name: used[name].type if name in used else polars.String() for name in names},
                columns=[place for place, name in enumerate(names) if name in used],
                separator=self.form.separator,
                empty_string_is_null=False,
                raise_if_empty=False,
            )
        except (polars.exceptions.PolarsError, ValueError, OverflowError):
            return None
        return table if self._is_whole(table) else None

    def _is_whole(self, table: polars.DataFrame) -> bool:
        """Say whether each line has all of its columns, as far as that shows without looking at each."""
        required = [name for name, column in self.form.used.items() if not column.may_lack]
        if sum(table.select(required).null_count().row(0)):
            return False
        if b'"' in self.block:
            return True
        separators = count_of(self.form.separator, self.block)
        columns = len(self.form.columns)
        return len(table) == count_of("\n", self.block) and separators == len(table) * (columns - 1)

    def _read_one_by_one(self, left_out: LeftOut) -> polars.DataFrame:
        lines = self.block.decode(errors="surrogateescape").split("\n")[:-1]
        rows: list[Mapping[str, object]] = []
        place = 0
        while place < len(lines):
            length = _length(lines, place)
            text = "\n".join(lines[place : place + length])
            row = self._row(self.first + place, text, left_out.rows + len(rows))
            if not isinstance(row, Unreadable):
                rows.append(row)
                place += length
                continue
            # An empty line says nothing, and quotes that are closed in another line may not belong together.
            if lines[place]:
                left_out.line(row)
            place += 1
        return self._table(rows)

    def _row(self, number: int, line: str, rows: int) -> dict[str, object] | Unreadable:
        """Return the used fields of a line behind as many rows, or why it lacks the form."""
        try:
            fields = next(csv.reader(io.StringIO(line, newline=""), delimiter=self.form.separator), [])
        except csv.Error as error:
            return self._problem(number, str(error), rows=rows)
        if self.form.is_of_one_load and tuple(fields) == self.form.columns:
            expected = "the requests of one load; split the file into one per load"
            raise self._problem(number, "the names of the columns once more", expected, rows=rows)
        if len(fields) != len(self.form.columns):
            found = f"{len(fields)} columns, {shown(self.form.separator.join(fields))}"
            names = ",".join(self.form.columns)
            expected = f"{self.form.what}, of {len(self.form.columns)} columns ({names})"
            return self._problem(number, found, expected, rows=rows)
        row = {}
        for name, field in zip(self.form.columns, fields, strict=True):
            column = self.form.used.get(name)
            if column is None:
                continue
            try:
                row[name] = column.value_of(field)
            except ValueError:
                expected = f"{column.words}, in {self.form.what}"
                return self._problem(number, f"{name} {shown(field)}", expected, rows=rows)
        return row

    def _problem(self, number: int, found: str, expected: str = "", *, rows: int) -> Unreadable:
        read = f"{rows:,} lines"
        return self.source.unreadable(number, found, expected or self.form.what, read)

    def _table(self, rows: Sequence[Mapping[str, object]]) -> polars.DataFrame:
        types = {name: self.form.used[name].type for name in self.form.columns if name in self.form.used}
        return polars.DataFrame([*rows], schema=types, orient="row")


def _series(name: str, kind: type[polars.DataType], values: bytes, texts: Sequence[str]) -> polars.Series:
    """Return a column of the engine's values; of texts these are their places among those that differ."""
    if kind is polars.String:
        return polars.Series(name, texts, polars.String).gather(numpy.frombuffer(values, numpy.uint32))
    return polars.Series(name, numpy.frombuffer(values, _STORED[kind]), kind)


def _has_too_many(separator: str, line: bytes) -> bool:
    """Say whether polars would take long for the many columns that a line seems to have."""
    return len(line) > _SEPARATORS_MAX and line.count(separator.encode()) > _SEPARATORS_MAX


def _length(lines: Sequence[str], place: int) -> int:
    """Return how many lines the row at a place has: quotes may go on over some."""
    quotes = 0
    for length, line in enumerate(lines[place : place + _LINES_OF_A_ROW_MAX], start=1):
        quotes += line.count('"')
        if quotes % 2 == 0:
            return length
    return 1
