"""The manual pages: one of the command, and one of each subcommand, as man(7) has them."""

from collections.abc import Iterable
from pathlib import Path

from docs.generate.command import EXIT_CODES, Command, Parameter, examples, read_command

from loadcurve.cli.parsing import OPTIONS

FOLDER = Path("packaging") / "wheel" / "data" / "share" / "man" / "man1"
"""Lies in the folder whose data maturin puts into the wheel, for ``PREFIX/share/man/man1``."""
_RAGGED = ".nh\n.ad l\n"
"""No word is divided, and no line is stretched, since names and commands would be hard to read."""
ENVIRONMENT = (Parameter("NO_COLOR", "If set, nothing is printed in colour."),)


def manual_pages(root: Path) -> dict[Path, str]:
    """Return the text of each page."""
    command, subcommands = read_command()
    shown = examples(root)
    names = [_file_name(one) for one in (command, *subcommands)]
    pages = {_file_name(command): page(command, _parameters("COMMANDS", _listed(subcommands)), names)}
    for one in subcommands:
        pages[_file_name(one)] = page(one, _examples(shown.get(one.name, ())), names)
    return {FOLDER / f"{name}.1": text for name, text in pages.items()}


def _listed(subcommands: Iterable[Command]) -> list[Parameter]:
    return [Parameter(one.name.rpartition(" ")[2], one.summary) for one in subcommands]


def _file_name(command: Command) -> str:
    return command.name.replace(" ", "-")


def page(command: Command, own_section: str, names: Iterable[str]) -> str:
    """Return the page of a command, which refers to those of the others."""
    name = _file_name(command)
    others = ", ".join(rf"\fB{_literal(other)}\fP(1)" for other in names if other != name)
    codes = [Parameter(str(code), words) for code, words in EXIT_CODES.items()]
    usage = command.usage.removeprefix(command.name).strip()
    return "".join(
        [
            f'.TH "{_literal(name.upper())}" 1 "" "Loadcurve" "Loadcurve Manual"\n{_RAGGED}',
            f".SH NAME\n{_literal(name)} \\- {_text(command.summary.rstrip('.'))}\n",
            f".SH SYNOPSIS\n\\fB{_literal(command.name)}\\fP {_literal(usage)}\n",
            f".SH DESCRIPTION\n{_text(command.summary)}\n",
            f".PP\n{_text(command.details)}\n" if command.details else "",
            _parameters("ARGUMENTS", command.arguments),
            *(_options(section, options) for section, options in command.sections.items()),
            own_section,
            _parameters("EXIT STATUS", codes),
            _parameters("ENVIRONMENT", ENVIRONMENT),
            f".SH SEE ALSO\n{others}\n",
        ]
    )


def _options(section: str, options: Iterable[Parameter]) -> str:
    if section == OPTIONS:
        return _parameters(OPTIONS.upper(), options)
    return f".SS {_text(section)}\n{_items(options)}"


def _parameters(heading: str, parameters: Iterable[Parameter]) -> str:
    items = _items(parameters)
    return f".SH {heading}\n{items}" if items else ""


def _items(parameters: Iterable[Parameter]) -> str:
    return "".join(f".TP\n\\fB{_literal(one.names)}\\fP\n{_text(one.about)}\n" for one in parameters)


def _examples(shown: Iterable[tuple[str, str]]) -> str:
    items = "".join(
        f".TP\n{_text(about[0].upper() + about[1:])}:\n\\fB{_literal(command)}\\fP\n"
        for command, about in shown
    )
    return f".SH EXAMPLES\n{items}" if items else ""


def _text(text: str) -> str:
    """Return a text in which roff finds no requests and no characters that a terminal may lack."""
    escaped = text.replace("\\", r"\e").replace("\n", " ")
    escaped = "".join(one if one.isascii() else rf"\[u{ord(one):04X}]" for one in escaped)
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _literal(text: str) -> str:
    """Return what a person types: its hyphens are never broken, nor made typographic."""
    return _text(text).replace("-", r"\-").replace("'", r"\(aq")
