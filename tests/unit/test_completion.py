"""Shells complete the command: the scripts for bash, zsh and fish, and what they ask for."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from support.sandbox import COMMAND_TIMEOUT_S

BIN = Path(sys.executable).parent

WORDS = {
    "bash": {"COMP_WORDS": "loadcurve re", "COMP_CWORD": "1"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "loadcurve re"},
    "fish": {"_TYPER_COMPLETE_ARGS": "loadcurve re", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


def asked(instruction: str, folder: Path, **variables: str) -> str:
    """What the command prints to a shell that asks it to complete."""
    return subprocess.run(
        [sys.executable, "-c", "from loadcurve.cli.main import app; app(prog_name='loadcurve')"],
        env=os.environ | variables | {"_LOADCURVE_COMPLETE": instruction},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    ).stdout


def offered(line: str, folder: Path) -> list[str]:
    """What bash is offered for the last word of a line, in this folder."""
    words = line.split(" ")
    variables = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    return asked("complete_bash", folder, **variables).split()


@pytest.mark.parametrize("shell", WORDS)
def test_a_shell_completes_subcommands(shell, tmp_path):
    assert f"_LOADCURVE_COMPLETE=complete_{shell}" in asked(f"source_{shell}", tmp_path)
    words = asked(f"complete_{shell}", tmp_path, **WORDS[shell])
    assert "report" in words
    assert "doctor" not in words


def test_a_study_is_a_bundled_one_or_a_file(tmp_path):
    (tmp_path / "quiet.toml").touch()
    (tmp_path / "quiet.txt").touch()
    assert offered("loadcurve run qu", tmp_path) == ["quickstart", "quiet.toml"]
    assert offered("loadcurve capacity qu", tmp_path) == ["quickstart", "quiet.toml"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/quiet.toml").touch()
    assert offered("loadcurve run mine/q", tmp_path) == ["mine/quiet.toml"]


@pytest.mark.parametrize("name", ["$(touch x)", "`x`", "a;b", "a b", "a&b", "q'", "a\nb", "\u202ea"])
def test_a_name_that_means_something_to_a_shell_is_not_offered(tmp_path, name):
    (tmp_path / "in" / name).mkdir(parents=True)
    (tmp_path / "in" / name / "run.json").touch()
    (tmp_path / "in" / f"{name}.toml").touch()
    (tmp_path / "in" / "größe-1.toml").touch()
    assert offered("loadcurve run in/", tmp_path) == ["in/größe-1.toml"]
    assert offered("loadcurve report in/", tmp_path) == []


def test_a_name_whose_first_character_means_something_to_a_shell_is_not_offered(tmp_path):
    for name in ("~root", "=sh", "-x"):
        (tmp_path / f"{name}.toml").touch()
    assert not {"~root.toml", "=sh.toml", "-x.toml"} & {*offered("loadcurve run ", tmp_path)}


def test_a_run_folder_is_one_where_runs_go_or_where_the_word_leads(tmp_path):
    for folder in ("loadcurve-runs/first", "elsewhere/second", "elsewhere/no-run"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "loadcurve-runs/first/run.json").touch()
    (tmp_path / "elsewhere/second/run.json").touch()
    assert offered("loadcurve report ", tmp_path) == ["loadcurve-runs/first"]
    assert offered("loadcurve open loadcurve-runs/", tmp_path) == ["loadcurve-runs/first"]
    assert offered("loadcurve compare loadcurve-runs/first elsewhere/", tmp_path) == ["elsewhere/second"]
    assert offered(f"loadcurve watch {tmp_path}/elsewhere/", tmp_path) == [f"{tmp_path}/elsewhere/second"]
    assert offered("loadcurve run --resume loadcurve-runs/f", tmp_path) == ["loadcurve-runs/first"]


def test_a_server_is_one_of_the_catalogue(tmp_path):
    of_nginx = ["nginx", "nginx-node-postgresql", "nginx-node-ws", "nginx-php", "nginx-php-postgresql"]
    assert offered("loadcurve servers ng", tmp_path) == of_nginx
    assert offered("loadcurve servers ch", tmp_path) == ["check", "cherokee"]
    assert offered("loadcurve servers check ch", tmp_path) == ["cherokee"]
    assert offered("loadcurve run quickstart --only ng", tmp_path) == of_nginx


@pytest.mark.needs("zsh")
def test_the_first_tab_in_zsh_completes(tmp_path):
    install = "loadcurve --install-completion; true"
    home = {**os.environ, "HOME": str(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "dumb"}
    subprocess.run(["zsh", "-c", install], env=home, capture_output=True, check=True)
    terminal, other_end = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-i"], env=home, stdin=other_end, stdout=other_end, stderr=other_end, start_new_session=True
    )
    drawn = b""
    try:
        os.write(terminal, b"loadcurve rep\t")
        while b"loadcurve report" not in drawn:
            assert select.select([terminal], [], [], COMMAND_TIMEOUT_S)[0], drawn
            drawn += os.read(terminal, 1 << 16)
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
        os.close(other_end)
