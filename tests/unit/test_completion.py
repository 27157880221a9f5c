"""Shells complete the command: the scripts for bash, zsh and fish, and what they ask for."""

import os
import subprocess
import sys

import pytest

WORDS = {
    "bash": {"COMP_WORDS": "loadcurve re", "COMP_CWORD": "1"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "loadcurve re"},
    "fish": {"_TYPER_COMPLETE_ARGS": "loadcurve re", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


def asked(instruction: str, **variables: str) -> str:
    """What the command prints to a shell that asks it to complete."""
    return subprocess.run(
        [sys.executable, "-c", "from loadcurve.cli.main import app; app(prog_name='loadcurve')"],
        env=os.environ | variables | {"_LOADCURVE_COMPLETE": instruction},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.mark.parametrize("shell", WORDS)
def test_a_shell_completes_subcommands(shell):
    assert f"_LOADCURVE_COMPLETE=complete_{shell}" in asked(f"source_{shell}")
    offered = asked(f"complete_{shell}", **WORDS[shell])
    assert "report" in offered
    assert "doctor" not in offered
