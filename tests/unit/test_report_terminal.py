"""The summary in the terminal."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from loadcurve.report.terminal import summary_table
from loadcurve.result.folder import read_run
from support import synthetic_run as synthetic


def printed(folder: Path) -> list[str]:
    output = io.StringIO()
    Console(file=output, width=80).print(summary_table(read_run(folder)))
    return output.getvalue().splitlines()


def test_each_server_has_at_most_six_points_with_the_first_and_the_last(tmp_path: Path):
    header, *lines = printed(synthetic.write_run(tmp_path))
    assert header.split()[:2] == ["server", "connections"]
    nginx = lines[: [line.startswith("apache") for line in lines].index(True)]
    assert len(nginx) == 6
    assert nginx[0].split() == ["nginx", "1", "4,200", "±", "209", "0.215", "0.603", "valid"]
    assert nginx[-1].split()[:2] == ["200", "40,191"]


def test_a_missing_server_is_said_to_be_missing(tmp_path: Path):
    assert printed(synthetic.write_run(tmp_path))[-1].split() == ["absent", "—", "—", "—", "—", "missing"]


def test_a_server_that_was_not_reached_is_not_shown_as_zero(tmp_path: Path):
    lines = printed(synthetic.write_run(tmp_path, records=[]))
    assert lines[1].split() == ["nginx", "—", "—", "—", "—", "not", "measured"]


@pytest.mark.parametrize("name", ["[red]x[/red]", "a-name-that-is-far-too-long-for-any-terminal-to-hold"])
def test_any_name_fits_80_columns_and_is_no_markup(tmp_path: Path, name: str):
    record = synthetic.run_record()
    servers = {name if old == "tiny" else old: server for old, server in record.servers.items()}
    records = [
        one.model_copy(update={"server": name}) if one.server == "tiny" else one
        for one in synthetic.trial_records(record)
    ]
    lines = printed(synthetic.write_run(tmp_path, record.model_copy(update={"servers": servers}), records))
    assert len(lines) == 1 + 3 * 6 + 1
    assert any(line.startswith(name[:15]) for line in lines)
    assert max(map(len, lines)) <= 80
