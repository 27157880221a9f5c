"""Completion in shells: the options that install it, and the names that it offers.

A shell starts the command at each Tab, so that what is imported here is light.
"""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import shellingham
import typer
from typer.completion import completion_init, get_completion_script, install  # type: ignore[attr-defined]

from loadcurve.result.run_files import RUN_FILE, RUNS_FOLDER
from loadcurve.server.packaged import PACKAGED_CATALOG, names_in
from loadcurve.study.bundled import bundled_studies, bundled_suites

SHELLS = ("bash", "zsh", "fish")
FIRST_TAB_OF_ZSH = """
# zsh reads this file at the first Tab, which would complete nothing otherwise.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _loadcurve_completion "$@"
fi
"""
CHECK = "check"
VARIABLE = "_LOADCURVE_COMPLETE"

# typer does so itself only with its built-in options.
completion_init()
if VARIABLE in os.environ:
    # typer would look for rich's markup in the helps, which hold none. Its import takes longer than all else.
    sys.modules["rich"] = None  # type: ignore[assignment]


def _shell() -> str:
    """Return the shell that has started the command."""
    try:
        name: str = shellingham.detect_shell()[0]
    except shellingham.ShellDetectionFailure:
        name = "no shell"
    if name not in SHELLS:
        raise typer.BadParameter(f"found {name}; expected to be started by one of {', '.join(SHELLS)}")
    return name


def _install(asked: bool) -> None:  # noqa: FBT001 -- typer hands it over so
    if not asked:
        return
    shell, file = install(_shell())
    if shell == "zsh":
        with file.open("a", encoding="utf-8") as script:
            script.write(FIRST_TAB_OF_ZSH)
    typer.echo(
        f"The completion for {shell} is in {file}; it works in the next {shell} that you start.", err=True
    )
    raise typer.Exit


def _show(asked: bool) -> None:  # noqa: FBT001 -- typer hands it over so
    if not asked:
        return
    shell = _shell()
    script = get_completion_script(prog_name="loadcurve", complete_var=VARIABLE, shell=shell)
    typer.echo(script + (FIRST_TAB_OF_ZSH if shell == "zsh" else ""))
    raise typer.Exit


InstallOption = Annotated[
    bool,
    typer.Option(
        "--install-completion", callback=_install, is_eager=True, help="Install completion for this shell."
    ),
]
ShowOption = Annotated[
    bool,
    typer.Option(
        "--show-completion", callback=_show, is_eager=True, help="Print what --install-completion installs."
    ),
]


def studies(incomplete: str) -> list[str]:
    """Return the bundled studies and the study files that a word may become."""
    return _beginning_with(incomplete, [*bundled_studies(), *_paths(incomplete, "*.toml")])


def studies_and_suites(incomplete: str) -> list[str]:
    """Return the bundled suites besides what :func:`studies` returns."""
    return [*_beginning_with(incomplete, bundled_suites()), *studies(incomplete)]


def run_folders(incomplete: str) -> list[str]:
    """Return the run folders that a word may become: under ``loadcurve-runs``, or where the word leads."""
    files = [*RUNS_FOLDER.glob(f"*/{RUN_FILE}"), *map(Path, _paths(incomplete, f"*/{RUN_FILE}"))]
    return _beginning_with(incomplete, {str(file.parent) for file in files})


def servers(incomplete: str) -> list[str]:
    """Return the servers of the packaged catalogue that a word may become."""
    return _beginning_with(incomplete, names_in(PACKAGED_CATALOG))


def servers_or_check(incomplete: str) -> list[str]:
    """Return what may follow ``loadcurve servers``."""
    return _beginning_with(incomplete, [CHECK, "install", "remove", *names_in(PACKAGED_CATALOG)])


_SAFE = re.compile(r"[\w@%+:,./][\w@%+=:,./-]*")
"""What a shell takes as it is: it puts the names that it is offered into the line unquoted."""


def _paths(incomplete: str, pattern: str) -> list[str]:
    """Return the paths, written as the word begins, that match a pattern in the folder of the word."""
    folder, slash, _ = incomplete.rpartition("/")
    found = Path(f"{folder}{slash}" or ".").glob(pattern)
    return [f"{folder}{slash}{path.relative_to(f'{folder}{slash}')}" for path in found]


def _beginning_with(incomplete: str, words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if word.startswith(incomplete) and _SAFE.fullmatch(word))
