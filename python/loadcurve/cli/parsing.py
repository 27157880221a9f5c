"""Reading the command line without what only a subcommand that runs needs.

typer converts values with pydantic, whose import takes longer than all else that help, a refusal or a shell's
completion needs.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

ARGUMENTS, OPTIONS = "Arguments", "Options"
"""The sections of parameters for which no other one is named."""

if TYPE_CHECKING:
    _Base = TyperCommand
else:
    _Base = object


class _AsWritten:
    """Takes the place of typer's conversion of a value."""

    def coerce(self, value: object, **_: object) -> object:
        return value


class _Light(_Base):
    """Converts no flag, which is a bool already, and nothing at all while a shell completes the line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 -- typer's context is private
        for parameter in self.get_params(ctx):
            if ctx.resilient_parsing or getattr(parameter, "is_flag", False):
                parameter._runtime_param = _AsWritten()  # type: ignore[attr-defined]  # noqa: SLF001
        return list(super().parse_args(ctx, args))


class Command(_Light, TyperCommand):
    """A subcommand, whose help lists its options by section."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 -- typer's classes are private
        """Write arguments and options into the help."""
        for section, parameters in by_section(self.get_params(ctx)).items():
            with formatter.section(section):
                formatter.write_dl([parameter.get_help_record(ctx) for parameter in parameters])


def by_section(parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Return arguments and options by the section of the help that they belong to."""
    sections: dict[str, list[Any]] = {}
    for parameter in parameters:
        usual = ARGUMENTS if parameter.param_type_name == "argument" else OPTIONS
        sections.setdefault(parameter.rich_help_panel or usual, []).append(parameter)
    return sections


class CommandGroup(_Light, TyperGroup):
    """The command with its subcommands."""
