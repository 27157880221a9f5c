"""What a study would run and touch, and the person's agreement where it is not their own study."""

import sys
from collections.abc import Mapping
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput
from loadcurve.runs.own_runs import why_not_own
from loadcurve.study.effects import EffectKind, effects_of
from loadcurve.study.find import find_study
from loadcurve.toml.document import TomlDocument

TITLES: Mapping[EffectKind, str] = {
    "command": "runs",
    "host": "connects to",
    "file": "reads or writes",
    "variable": "uses the environment's variables",
}


def print_effects(file: Path, out: Console) -> None:
    """Print what a study runs and touches; raises BadInput where it cannot be read."""
    found = effects_of(TomlDocument.read(file).data)
    for kind, title in TITLES.items():
        of_kind = [one for one in found if one.kind == kind]
        if of_kind:
            out.print(Text(f"{title}:"))
        for one in of_kind:
            out.print(Text(f"  {one.name}  [{one.where}]"), soft_wrap=True)


def require_agreement(argument: str, *, is_given: bool, is_foreign: str | None = None) -> None:
    """Let a study of somebody else's run only where the person agrees, by an option or at the terminal.

    ``is_foreign`` says why it is one, where that is known without a look at the file.

    Raises ``BadInput``: there is no such study, or nobody agrees; what it would do was printed.
    """
    file = find_study(argument)
    why = is_foreign or why_not_own(file)
    if why is None or is_given:
        return
    talk = new_console(stderr=True)
    talk.print(Text(f"{file} may be of somebody else's making: {why}."), soft_wrap=True)
    print_effects(file, talk)
    if sys.stdin.isatty() and talk.is_terminal:
        if typer.confirm("Run it?", err=True):
            return
        raise BadInput("nothing was run")
    raise BadInput(
        f"{file}: {why}, and a study runs commands; nothing was run. Read what it does above, and repeat the "
        "command with --yes, or copy the study to a file of your own"
    )
