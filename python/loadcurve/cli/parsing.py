"""Reading the command line without what only a subcommand that runs needs.

typer converts values with pydantic, whose import takes longer than all else that help, a refusal or a shell's
completion needs.
"""

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

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
    """A subcommand."""


class CommandGroup(_Light, TyperGroup):
    """The command with its subcommands."""
