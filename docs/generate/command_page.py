"""The reference page of the command."""

from collections.abc import Iterable
from pathlib import Path

from docs.generate.command import EXIT_CODES, Command, Parameter, read_command
from docs.generate.markdown import table

PAGE = Path("docs") / "reference" / "command.md"
STREAMS = (
    "Results go to stdout, messages to stderr. Each subcommand has a manual page: `man loadcurve-run`.\n"
)


def command_page() -> str:
    """Return the page: a heading for each subcommand."""
    command, subcommands = read_command()
    return "\n".join(
        [
            "# The command\n",
            f"{command.summary}\n",
            STREAMS,
            table(
                ("subcommand", "what it does"),
                ((f"[`{one.name}`](#{one.name.replace(' ', '-')})", one.summary) for one in subcommands),
            ),
            table(("option", "what it does"), _rows(command.options)),
            *map(_section, subcommands),
            "## Exit codes\n",
            table(("code", "meaning"), ((f"`{code}`", words) for code, words in EXIT_CODES.items())),
        ]
    )


def _section(command: Command) -> str:
    tables = [
        table((kind, "what it does"), _rows(parameters))
        for kind, parameters in (("argument", command.arguments), ("option", command.options))
        if parameters
    ]
    texts = [command.summary, command.details]
    paragraphs = [f"{text}\n" for text in texts if text]
    return "\n".join([f"## {command.name}\n", f"```text\n{command.usage}\n```\n", *paragraphs, *tables])


def _rows(parameters: Iterable[Parameter]) -> Iterable[tuple[str, str]]:
    return ((f"`{one.names}`", one.about) for one in parameters)
