"""Each server's curve in a line of the terminal."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from loadcurve.analysis.analysis import analyse
from loadcurve.report.sparkline import ASCII_LEVELS, BLOCKS, sparkline, sparklines
from loadcurve.result.folder import read_run
from support import synthetic_run as synthetic


def printed(folder: Path, encoding: str = "utf-8") -> list[str]:
    run = read_run(folder)
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    Console(file=file, width=80).print(*sparklines(analyse(run)))
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


def test_the_lowest_block_is_the_low_end_and_the_highest_the_high_end():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 0, 7, BLOCKS) == BLOCKS
    assert sparkline([7, None, 0], 0, 7, BLOCKS) == "█ ▁"


def test_values_that_are_all_the_same_are_a_flat_line():
    assert sparkline([3, 3], 3, 3, ASCII_LEVELS) == "__"


def test_servers_share_one_scale_so_that_their_lines_compare(tmp_path: Path):
    lines = {line.split()[0]: line.split() for line in printed(synthetic.write_run(tmp_path)) if line}
    nginx, apache, tiny = (lines[name] for name in ("nginx", "apache", "tiny"))
    # At 200 connections nginx answers 40,191 a second, the others 20,187 and 26,667: 1, 0.50 and 0.66 of it.
    assert [line[1][-1] for line in (nginx, apache, tiny)] == [BLOCKS[7], BLOCKS[4], BLOCKS[5]]
    assert nginx[2] == "40,191"
    # The p99 of nginx at one connection is the least of all, that of apache at 200 the greatest.
    assert (nginx[3][0], apache[3][-1]) == (BLOCKS[0], BLOCKS[7])
    assert nginx[4:] == ["0.603", "12.6"]


def test_an_output_without_blocks_gets_ascii(tmp_path: Path):
    lines = printed(synthetic.write_run(tmp_path), "ascii")
    [nginx] = [line for line in lines if line.startswith("nginx")]
    assert nginx.split()[1][-1] == ASCII_LEVELS[7]


@pytest.mark.parametrize("name", ["[red]x[/red]", "a-name-that-is-far-too-long-for-any-terminal-to-hold"])
def test_any_name_fits_80_columns_and_is_no_markup(tmp_path: Path, name: str):
    lines = printed(synthetic.write_renamed_run(tmp_path, "tiny", name))
    short = name if len(name) <= 16 else f"{name[:8]}…{name[-7:]}"
    assert any(line.startswith(f"{short} ") for line in lines)
    assert max(map(len, lines)) <= 80


def written_long(folder: Path, peak: float) -> Path:
    """Write a run of 50 points as the first of the usual one, but for one point that is as its last."""
    record = synthetic.run_record()
    loads = [float(load) for load in range(1, 51)]
    points = [
        one.model_copy(update={"point": {"connections": load}})
        for one in synthetic.trial_records(record)
        if one.kind == "point"
        for load in loads
        if one.point["connections"] == (200 if load == peak else 1)
    ]
    record = record.model_copy(update={"points": [{"connections": load} for load in loads]})
    return synthetic.write_run(folder, record, points)


def test_a_long_sweep_keeps_its_ends(tmp_path: Path):
    lines = printed(written_long(tmp_path, peak=50))
    assert "along connections, 1 to 50" in lines
    [nginx] = [line.split() for line in lines if line.startswith("nginx")]
    assert (len(nginx[1]), nginx[1][-1]) == (14, BLOCKS[7])


def test_the_greatest_of_a_long_sweep_is_named_though_its_point_is_not_drawn(tmp_path: Path):
    [nginx] = [line.split() for line in printed(written_long(tmp_path, peak=2)) if line.startswith("nginx")]
    assert len(set(nginx[1])) == 1
    assert (nginx[2], nginx[5]) == ("40,191", "12.6")


def test_two_points_are_no_curve(tmp_path: Path):
    assert sparklines(analyse(read_run(synthetic.write_points(tmp_path, 1, 2)))) == []
