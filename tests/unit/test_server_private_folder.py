"""The configuration of a start: what the server reads, and what is recorded of it."""

import pytest

from loadcurve.server.catalog import load_catalog
from loadcurve.server.private_folder import PlaceholderPort, begin_and_end, write_private_folder
from loadcurve.server.settings import choose_settings, fit_to_cpus

CATALOG = load_catalog()
CONFIGURED = [entry.name for entry in CATALOG if entry.description.config]


def written(tmp_path, name, port):
    """Write the configuration of a server for a start on a port; returns the files read, and as recorded."""
    entry = CATALOG[name]
    described = entry.description
    folder = tmp_path / f"start-{port}"
    settings = fit_to_cpus(described.settings, choose_settings(name, described.settings, {}), cpu_count=2)
    names = {
        **dict.fromkeys(described.template_names, "/same"),
        **settings,
        "address": "127.0.0.1",
        "port": port,
        "private": str(folder),
        "scratch": str(folder / "scratch"),
        "content": f"{tmp_path}/content-{port}",
        "user": None,
        "group": None,
    }
    recorded = write_private_folder(folder, entry, names)
    return {file: (folder / file).read_text() for file in recorded}, recorded


@pytest.mark.parametrize("name", CONFIGURED)
def test_starts_on_other_ports_and_in_other_folders_have_the_same_configuration_recorded(name, tmp_path):
    (first, recorded), (_, again) = written(tmp_path, name, 18001), written(tmp_path, name, 18002)
    assert recorded == again
    for text in recorded.values():
        assert str(tmp_path) not in text
        assert "18001" not in text
    # Filled in, the placeholders give what the server has read.
    for file, text in recorded.items():
        filled = text.replace("{port}", "18001").replace("{folder}", f"{tmp_path}/start-18001")
        assert filled.replace("{content}", f"{tmp_path}/content-18001") == first[file]


def test_what_a_template_computes_with_a_port_is_a_number():
    port = PlaceholderPort(18001)
    assert (str(port), f"{port}", port + 1, int(port)) == ("{port}", "{port}", 18002, 18001)


def test_a_short_complaint_is_shown_as_it_is():
    said = "unknown directive\nin nginx.conf:3"
    assert begin_and_end(said, 4) == said


def test_of_a_long_one_the_middle_is_left_out_and_counted():
    said = "\n".join(f"line {number}" for number in range(1, 101))
    # Five lines: two, the count of 100 - 2 - 2, and two.
    assert begin_and_end(said, 5) == "line 1\nline 2\n… 96 more lines …\nline 99\nline 100"
