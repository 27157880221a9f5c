"""What go-ycsb wrote is read as it says it itself."""

import re
from pathlib import Path

import pytest

from loadcurve.tools.figures import Unreadable
from loadcurve.tools.formats import read_figures
from support.tool_files import figures, rows, text_of, written


@pytest.mark.parametrize("name", ["go-ycsb.txt", "go-ycsb.json"])
def test_a_summary_of_go_ycsb_is_its_line_of_all_operations(name: str):
    found = figures(name)
    took = re.search(r"takes (\S+)ms", text_of(name))[1]
    assert (found.answered, found.failed) == (3000, 0)
    assert found.duration_s == pytest.approx(float(took) / 1e3, abs=1e-6)
    assert sum(one.answered for one in found.operations) == 3000


def test_the_csv_of_go_ycsb_has_each_operation():
    operations = [row[0] for row in rows("go-ycsb.csv")[1:]]
    found = figures("go-ycsb.csv")
    assert found.answered == sum(1 for one in operations if one != "TOTAL")
    assert {one.operation: one.answered for one in found.operations} == {
        name.lower(): operations.count(name) for name in set(operations) - {"TOTAL"}
    }


def test_a_read_modify_write_of_go_ycsb_is_counted_by_its_parts_as_in_its_summary():
    operations = [row[0] for row in rows("go-ycsb-rmw.csv")[1:]]
    found = figures("go-ycsb-rmw.csv")
    assert (
        found.answered == operations.count("TOTAL") == operations.count("READ") + operations.count("UPDATE")
    )
    of = {one.operation: one.answered for one in found.operations}
    assert of["read_modify_write"] == operations.count("READ_MODIFY_WRITE") == operations.count("UPDATE")


def test_a_csv_of_go_ycsb_without_its_last_lines_is_refused(tmp_path: Path):
    text = text_of("go-ycsb.csv").splitlines(keepends=True)
    with pytest.raises(Unreadable, match=r"500 lines of all operations together .* cut off"):
        # Its lines are in blocks by operation, in any order.
        read_figures(written(tmp_path, "".join(line for line in text if "UPDATE" not in line)), None)


def test_a_summary_of_go_ycsb_of_2020_has_no_line_of_all_operations():
    found = figures("go-ycsb-2020-made.txt")
    assert (found.answered, found.failed, found.duration_s, found.latency) == (10_000, 0, 12.5, None)
    read, update = found.operations
    assert (read.answered, read.latency_ms.mean, read.latency_ms.p99, read.latency_ms.p99_9) == (
        9_000,
        0.9,
        5.0,
        12.0,
    )
    assert (update.answered, update.latency_ms.mean, update.latency_ms.p99) == (1_000, 2.1, 9.0)
    assert (read.latency_ms.max, update.latency_ms.max, read.latency_ms.p50) == (30.0, 41.0, None)


def test_a_last_summary_of_go_ycsb_has_the_operations_of_those_before(tmp_path: Path):
    text = text_of("go-ycsb-2020-made.txt")
    lines = text.splitlines(keepends=True)
    whole = written(tmp_path, "".join([*lines[1:], *lines]))
    assert read_figures(whole, None)[0].answered == 10_000
    with pytest.raises(Unreadable, match="last summary, with UPDATE"):
        read_figures(written(tmp_path, "".join([*lines[1:], *lines[:2]])), None)


def test_the_properties_that_go_ycsb_prints_say_its_load():
    assert figures("go-ycsb.txt").asked.threads == 4
