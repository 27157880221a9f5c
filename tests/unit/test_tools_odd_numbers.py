"""Files of other tools in which one number is none, or none that a load has: read, or refused."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from benches.mutated_imports import imported_as

from loadcurve.errors import BadInput
from loadcurve.imported.records import load_result
from loadcurve.result.outcomes import StatusClasses
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import FORMATS, format_of, read_figures
from loadcurve.tools.possible import impossible
from loadcurve.tools.source import Source

FILES = Path(__file__).parents[1] / "data" / "tools"
BYTES_MAX = 6_000
PLACES_MAX = 70
ODD = ["1.2.3", "9" * 400, "9" * 5_000, "1e999", "-1", "0", "."]


def smallest_of_each_format() -> Iterator[Path]:
    """Yield the smallest file of each format that has one small enough."""
    found: dict[str, Path] = {}
    for path in sorted(FILES.rglob("*"), key=lambda path: (path.stat().st_size, path)):
        if path.is_file() and path.stat().st_size <= BYTES_MAX:
            try:
                found.setdefault(format_of(Source(path), None).name, path)
            except BadInput:
                continue
    yield from found.values()


SMALL = list(smallest_of_each_format())


def test_most_formats_have_a_small_file():
    assert len(SMALL) > len(FORMATS) / 2


@pytest.mark.parametrize("path", SMALL, ids=lambda path: str(path.relative_to(FILES)))
def test_an_odd_number_at_any_place_is_read_or_refused(path: Path, tmp_path: Path):
    data, changed = path.read_bytes().decode("latin-1"), tmp_path / path.name
    form = format_of(Source(path), None).name
    places = [found.span() for found in re.finditer(r"\d+(\.\d+)?", data)]
    places = places[:: -(-len(places) // PLACES_MAX)]
    for number, (begin, end) in enumerate(places):
        # One of the odd numbers at each place, each at many places.
        changed.write_bytes((data[:begin] + ODD[number % len(ODD)] + data[end:]).encode("latin-1"))
        # Any other error than that of bad input fails the test.
        with suppress(BadInput):
            figures, _ = read_figures(Source(changed), form)
            load_result(imported_as(changed, form, figures))


@pytest.mark.parametrize("name", ["0xx", "6xx", "200", ""])
def test_answers_of_a_status_that_http_does_not_have_are_of_no_load(name: str):
    figures = ToolFigures(tool="x", version=None, basis="send", duration_s=1.0, answered=10, failed=0)
    assert impossible(replace(figures, status={name: 10})) == f"answers of a status {name!r}"
    for known in StatusClasses.classes:
        assert impossible(replace(figures, status={known: 10})) is None


WRAPS_MS = 2**64 // 10**6 + 1
"""In ns that is 2^64 and a little more, which 64 bits take for that little."""


def jtl(**last: int) -> str:
    """Ten samples of 1 ms, one each ms, of which the last one has other values."""
    usual = {"timeStamp": 1_700_000_000_000, "elapsed": 1, "Latency": 1, "Connect": 0}
    rows = [{**usual, "timeStamp": usual["timeStamp"] + number} for number in range(10)]
    rows[-1] |= last
    lines = [
        f"{one['timeStamp']},{one['elapsed']},200,true,{one['Latency']},{one['Connect']}" for one in rows
    ]
    return "\n".join(["timeStamp,elapsed,responseCode,success,Latency,Connect", *lines, ""])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *product(["timeStamp", "elapsed", "Latency"], [-1, WRAPS_MS, 2**63 // 10**6]),
        # Where it is not above 0, JMeter has opened no connection.
        *product(["Connect"], [WRAPS_MS, 2**63 // 10**6]),
    ],
)
def test_a_row_with_a_time_that_none_can_be_is_left_out_and_counted(column: str, value: int, tmp_path: Path):
    path = tmp_path / "a.jtl"
    path.write_text(jtl(**{column: value}))
    figures, _ = read_figures(Source(path), "jmeter-csv")
    assert (figures.answered, figures.duration_s) == (9, 0.009)
    assert [note.code for note in figures.notes if "were left out" in note.text] == ["rows_left_out"]
    assert figures.latency is not None
    assert figures.latency.distribution.max == 1.0
