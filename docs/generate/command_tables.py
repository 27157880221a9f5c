"""The tables of the command: its subcommands with their arguments and options, and its exit codes."""

from collections.abc import Iterable

from docs.generate.command import EXIT_CODES, Command, Parameter, read_command
from docs.generate.markdown import Tables, table

from loadcurve.cli.parsing import OPTIONS


def _listed() -> str:
    _, subcommands = read_command()
    rows = ((f"[`{one.name}`](#{one.name.replace(' ', '-')})", one.summary) for one in subcommands)
    return table(("subcommand", "what it does"), rows)


def _options() -> str:
    command, _ = read_command()
    return _option_tables(command)


def _sections() -> str:
    _, subcommands = read_command()
    return "\n".join(map(_section, subcommands))


def _section(command: Command) -> str:
    paragraphs = [f"{text}\n" for text in (command.summary, command.details) if text]
    arguments = [_parameters("argument", command.arguments)] if command.arguments else []
    options = _option_tables(command)
    head = [f"## {command.name}\n", f"```text\n{command.usage}\n```\n"]
    return "\n".join([*head, *paragraphs, *arguments, options])


def _option_tables(command: Command) -> str:
    """Return a table for each section, whose name heads its options."""
    titles = {OPTIONS: "option"}
    sections = command.sections.items()
    return "\n".join(
        _parameters(titles.get(section, section.lower()), options) for section, options in sections
    )


def _parameters(kind: str, parameters: Iterable[Parameter]) -> str:
    return table((kind, "what it does"), ((f"`{one.names}`", one.about) for one in parameters))


def _exit_codes() -> str:
    return table(("code", "meaning"), ((f"`{code}`", words) for code, words in EXIT_CODES.items()))


COMMAND_TABLES: Tables = {
    "subcommands": _listed,
    "options": _options,
    "options-of-subcommands": _sections,
    "exit-codes": _exit_codes,
}
