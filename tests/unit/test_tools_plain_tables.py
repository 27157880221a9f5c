"""Tables of plain lines, which the engine reads: as polars reads them, which shares no code with it."""

from pathlib import Path
from random import Random

import polars
import pytest

from loadcurve.tools.delimited import ANY_TEXT, DECIMAL, TRUE_OR_FALSE, WHOLE_NUMBER, Table, _Lines
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.source import Source

FORM = Table(
    what="a line",
    columns=("whole", "unused", "decimal", "flag", "text"),
    used={"whole": WHOLE_NUMBER, "decimal": DECIMAL, "flag": TRUE_OR_FALSE, "text": ANY_TEXT},
)


def lines_of(block: bytes, form: Table = FORM) -> _Lines:
    return _Lines(Source(Path("a.csv")), form, 1, block)


def plain_line(drawn: Random) -> str:
    whole = drawn.choice([0, 7, -3, 10**17, drawn.randint(-(10**18) + 1, 10**18 - 1)])
    decimal = drawn.choice(["0", "-1", "0.1", "12.3456", "-0.000001", f"{drawn.random():.15f}"])
    text = drawn.choice(
        ["", '""', "OK", '"a,b"', '"a""b"', '"""a, ""b"""', "é", f"name {drawn.randint(0, 50)}"]
    )
    return f"{whole},{drawn.choice(['', 'x', '1'])},{decimal},{drawn.choice(['true', 'false'])},{text}"


def block_of(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.parametrize("seed", range(20))
def test_plain_lines_are_read_as_polars_reads_them(seed: int):
    drawn = Random(seed)
    block = block_of([plain_line(drawn) for _ in range(200)])
    found = lines_of(block).read_plain()
    assert found is not None
    expected = lines_of(block)._read_together()
    assert expected is not None
    assert found.schema == expected.schema
    assert found.equals(expected, null_equal=False)


@pytest.mark.parametrize(
    "line",
    ["1,,1,true", "1,,1,true,a,b", "1,,1e3,true,a", ",,1,true,a", '1,,1,true,a"b', '1,,1,true,"a""b', ""],
)
def test_a_line_that_is_not_plain_leaves_the_block_to_the_careful_way(line: str):
    drawn = Random(1)
    lines = [plain_line(drawn) for _ in range(200)]
    assert lines_of(block_of([*lines, line, *lines])).read_plain() is None


def test_lines_around_one_that_is_none_are_read_alike(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_bytes(block_of([f"{number},,0.5,true,a" for number in range(200)] + ["x,,0.5,true,a"]))
    left_out = LeftOut(Source(path))
    found = _Lines(Source(path), FORM, 1, path.read_bytes()).read(left_out)
    assert found["whole"].to_list() == list(range(200))
    assert found["flag"].dtype == polars.Boolean
    assert left_out.lines == 1


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_part_fields_as_the_comma_does(separator: str):
    form = Table(what="a line", columns=FORM.columns, used=FORM.used, separator=separator)
    block = separator.join(["1", "2,3", "0.5", "false", "a,b"]).encode() + b"\n"
    found = lines_of(block, form).read_plain()
    assert found is not None
    assert found.rows() == [(1, 0.5, False, "a,b")]
