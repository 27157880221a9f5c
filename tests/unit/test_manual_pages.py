"""The manual pages, as a terminal of 80 columns shows them."""

import os
import subprocess

import pytest
from docs.generate import ROOT
from docs.generate.command import Command, Parameter, read_command
from docs.generate.manual import FOLDER, manual_pages, page

PAGES = manual_pages(ROOT)
COLUMNS = 80

pytestmark = pytest.mark.needs("groff")


def shown(text: str) -> str:
    """What groff prints of a page; it must find nothing to warn of."""
    process = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", f"-rLL={COLUMNS}n"],
        input=text,
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
        check=True,
    )
    assert process.stderr == ""
    return process.stdout


@pytest.mark.parametrize("path", sorted(PAGES), ids=lambda path: path.stem)
def test_a_page_fits_the_terminal(path):
    assert [line for line in shown(PAGES[path]).splitlines() if len(line) > COLUMNS] == []


def test_every_subcommand_has_a_page_with_its_options():
    _, subcommands = read_command()
    for one in subcommands:
        lines = shown(PAGES[FOLDER / f"{one.name.replace(' ', '-')}.1"]).splitlines()
        assert [
            option.names
            for option in one.options
            if not any(f"{line} ".startswith(f"       {option.names} ") for line in lines)
        ] == []


def test_what_roff_would_take_for_a_request_is_shown_as_it_is():
    awkward = Parameter("-x, --one-two 'NAME: A\\B'", ".hidden and 'quoted' \\fBtext\\fP of a\u2026f")
    text = shown(
        page(Command("loadcurve x", "loadcurve x", "Do x.", "", (), {"Options": (awkward,)}), "", ())
    )
    assert f"       {awkward.names}\n              {awkward.about}\n" in text.replace("\u2019", "'")
