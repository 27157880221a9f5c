"""The command as ``--help`` describes it: its subcommands, with their arguments, options and examples."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from loadcurve.cli.main import app
from loadcurve.cli.parsing import ARGUMENTS, by_section, help_record
from loadcurve.errors import BadInput, LoadcurveError, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID, EXIT_UNDECIDED

NAME = "loadcurve"
GUIDE = Path("docs") / "guides" / "commands.md"
"""Has the examples: what each does, and on the next line the command."""

EXIT_CODES = {
    EXIT_DONE: "Done.",
    LoadcurveError.exit_code: "A fault of Loadcurve.",
    BadInput.exit_code: "Bad input.",
    EXIT_INVALID: (
        "Measured, but invalid, beyond a limit that was asked for, or nothing usable of a planned server; "
        "of doctor: unfit to measure."
    ),
    NothingMeasured.exit_code: "Nothing could be measured.",
    EXIT_UNDECIDED: "With --strict: the trials neither show nor rule out what was asked.",
    EXIT_INTERRUPTED: "Interrupted; what was measured is kept.",
}

_EXAMPLE = re.compile(rf"^# (?P<about>.+)\n(?P<command>{NAME} (?P<subcommand>[a-z]+).*)$", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """An argument or an option."""

    names: str
    """As a person writes it, such as ``-c, --connections N``."""
    about: str
    """What it is for, with its default and its limits, in whole sentences."""


@dataclass(frozen=True)
class Command:
    """A subcommand, or the command itself."""

    name: str
    usage: str
    summary: str
    """One sentence."""
    details: str
    """What its help says besides; empty where that is all."""
    arguments: tuple[Parameter, ...]
    sections: Mapping[str, tuple[Parameter, ...]]
    """The options by section of the help."""

    @property
    def options(self) -> tuple[Parameter, ...]:
        """All options."""
        return tuple(itertools.chain.from_iterable(self.sections.values()))


def read_command() -> tuple[Command, tuple[Command, ...]]:
    """Return the command, and its subcommands in the order of ``--help``."""
    group = typer.main.get_command(app)
    context = typer.Context(group, info_name=NAME, **group.context_settings)
    subcommands = (
        _command(one, typer.Context(one, info_name=name, parent=context))
        for name, one in group.commands.items()  # type: ignore[attr-defined]
    )
    return _command(group, context), tuple(subcommands)


def _command(command: Any, context: typer.Context) -> Command:  # noqa: ANN401 -- typer's own class is private
    summary, _, details = (command.help or "").partition("\n\n")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    sections = {
        section: tuple(_parameter(one, context) for one in parameters)
        for section, parameters in by_section(command.get_params(context)).items()
    }
    return Command(
        name=context.command_path,
        usage=usage,
        summary=summary,
        details=details,
        arguments=sections.pop(ARGUMENTS, ()),
        sections=sections,
    )


def _parameter(one: Any, context: typer.Context) -> Parameter:  # noqa: ANN401 -- as above
    names, about = help_record(one, context)
    return Parameter(names, _sentences(about))


def _sentences(about: str) -> str:
    """Return a help text with what typer adds in brackets as sentences."""
    text, _, added = about.rpartition("[") if about.endswith("]") else (about, "", "")
    return " ".join([text.strip(), *_added(added.rstrip("]"))]).strip()


_BOUNDS = re.compile(r"([\d.]+)<=x<=([\d.]+)")


def _added(brackets: str) -> Iterator[str]:
    for item in filter(None, brackets.split("; ")):
        if item.startswith("default: "):
            yield f"Default: {item.removeprefix('default: ')}."
        elif item.startswith("x>="):
            yield f"At least {item.removeprefix('x>=')}."
        elif bounds := _BOUNDS.fullmatch(item):
            yield f"From {bounds[1]} to {bounds[2]}."
        elif item == "required":
            yield "Required."
        else:
            raise ValueError(f"found [{item}] in a help text; expected a default or a limit")


def examples(root: Path) -> dict[str, list[tuple[str, str]]]:
    """Return by subcommand each example of the guide, with what it does."""
    found: dict[str, list[tuple[str, str]]] = {}
    for example in _EXAMPLE.finditer((root / GUIDE).read_text(encoding="utf-8")):
        found.setdefault(f"{NAME} {example['subcommand']}", []).append((example["command"], example["about"]))
    return found
