"""Reading the command line without what only a subcommand that runs needs.

typer converts values with pydantic, whose import takes longer than all else that help, a refusal or a shell's
completion needs.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException

from loadcurve.cli.foreign_options import instead_of
from loadcurve.errors import BadInput

ARGUMENTS, OPTIONS = "Arguments", "Options"
"""The sections of parameters for which no other one is named."""

if TYPE_CHECKING:
    _Base = TyperCommand
    _Parameter = TyperOption
else:
    _Base = _Parameter = object


def _is_plain_path(parameter: Any) -> bool:  # noqa: ANN401 -- typer's classes are private
    """Say whether a parameter is one path, and whatever that leads to is the subcommand's concern."""
    kind = parameter.type_descriptor
    if kind.annotation is not Path or parameter.nargs != 1 or parameter.multiple:
        return False
    info = kind.parameter_info
    asks = info.exists or info.writable or info.resolve_path or info.allow_dash or info.path_type
    return info.parser is None and info.file_okay and info.dir_okay and not asks


class _LightParameter(_Parameter):
    """Converts no flag, which is a bool already, no path, and nothing while a shell completes the line."""

    def process_value(self, ctx: Any, value: Any) -> Any:  # noqa: ANN401 -- as above
        """Return the value for the subcommand; typer says why a path cannot be read."""
        if _is_plain_path(self) and value is not None:
            value = Path(value)
        is_converted = ctx.resilient_parsing or getattr(self, "is_flag", False)
        if not is_converted and not (_is_plain_path(self) and _may_be_read(value)):
            return super().process_value(ctx, value)
        if self.required and self.value_is_missing(value):
            raise typer.BadParameter("", ctx=ctx, param=self)
        return value if self.callback is None else self.callback(ctx, self, value)


def _may_be_read(path: Path | None) -> bool:
    return path is None or not path.exists() or os.access(path, os.R_OK)


class _LightOption(_LightParameter, TyperOption):
    pass


class _LightArgument(_LightParameter, TyperArgument):
    pass


def _light(parameter: Any) -> Any:  # noqa: ANN401 -- as above
    """Return a parameter like one that typer has made, which converts what it has to."""
    kind: Any = _LightArgument if isinstance(parameter, TyperArgument) else _LightOption
    made = object.__new__(kind)
    vars(made).update(vars(parameter))
    return made


class _Light(_Base):
    """A command whose parameters convert what they have to."""

    def __init__(self, *args: Any, params: Iterable[Any] | None = None, **named: Any) -> None:  # noqa: ANN401 -- as above
        super().__init__(*args, params=[_light(one) for one in params or ()], **named)
        self._light_help: Any = None

    def get_help_option(self, ctx: Any) -> Any:  # noqa: ANN401 -- as above
        """Return the option that shows the help, each time the same one."""
        if self._light_help is None and (option := super().get_help_option(ctx)) is not None:
            self._light_help = _light(option)
        return self._light_help

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 -- as above
        """Return the parts of the line of usage: `RUN...` for what is required, `[RUN]` for what is not."""
        pieces = super().collect_usage_pieces(ctx)
        return [
            re.sub(r"^\{(.*)\}", r"\1", piece).replace("......", "...").replace("…...", "…")
            for piece in pieces
        ]


class Command(_Light, TyperCommand):
    """A subcommand, whose help lists its options by section."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 -- typer's classes are private
        """Write arguments and options into the help."""
        for section, parameters in by_section(self.get_params(ctx)).items():
            with formatter.section(section):
                formatter.write_dl([help_record(parameter, ctx) for parameter in parameters])


def help_record(parameter: Any, ctx: Any) -> tuple[str, str]:  # noqa: ANN401 -- as above
    """Return how a person writes an argument or an option, and what it is for."""
    names, about = parameter.get_help_record(ctx)
    if parameter.param_type_name == "argument":
        # A name such as RUN says more than the type of its value.
        names = names.partition(" <")[0] if names.endswith(">") else names
    return names, about


def by_section(parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Return arguments and options by the section of the help that they belong to."""
    sections: dict[str, list[Any]] = {}
    for parameter in parameters:
        usual = ARGUMENTS if parameter.param_type_name == "argument" else OPTIONS
        sections.setdefault(parameter.rich_help_panel or usual, []).append(parameter)
    return sections


class CommandGroup(_Light, TyperGroup):
    """The command with its subcommands; without one it shows its help.

    What cannot be used on the command line is reported as all bad input is.
    """

    def make_context(self, *args: Any, **named: Any) -> Any:  # noqa: ANN401 -- as above
        """Read the words before the subcommand."""
        with _as_bad_input():
            return super().make_context(*args, **named)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 -- as above
        """Show the help where there are no words at all."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            ctx.exit(BadInput.exit_code)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 -- as above
        """Run the subcommand."""
        with _as_bad_input():
            return super().invoke(ctx)


@contextmanager
def _as_bad_input() -> Iterator[None]:
    try:
        yield
    except TyperException as error:
        raise BadInput(_in_words(error)) from None


_PLAIN_WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"Input should be a valid integer.*", "expected a whole number"),
    (r"Input should be a valid number.*", "expected a number"),
    (r"Input should be greater than or equal to (.+)", r"expected at least \1"),
    (r"Input should be less than or equal to (.+)", r"expected at most \1"),
    (r"Value error, (.*)\.", r"\1"),
    (r"Option '(.+)' requires an argument\.", r"\1: the value is missing"),
    (r"Got unexpected extra argument.*\((.+)\)", r"found \1 after the last argument; expected options"),
    (r"No such command '(.+?)'\.", r"there is no command \1."),
    (r"\. Did you mean (.+)\?|\.$", lambda found: f" (did you mean {found[1]}?)" if found[1] else ""),
)
"""What typer and pydantic say of a value, and what messages here say instead."""


def _in_words(error: Any) -> str:  # noqa: ANN401 -- as above
    """Return what is wrong with a command line: where, what was expected, and what lists the options."""
    text, context = _fault(error), getattr(error, "ctx", None)
    return text if context is None else f"{text}; see {context.command_path} --help"


def _fault(error: Any) -> str:  # noqa: ANN401 -- as above
    if hasattr(error, "possibilities"):
        known = instead_of(_command(error), error.option_name)
        if known is not None:
            return f"there is no option {error.option_name} (here it is {known})"
        meant = f" (did you mean {' or '.join(sorted(error.possibilities))}?)" if error.possibilities else ""
        return f"there is no option {error.option_name}{meant}"
    message = str(error.message or "missing")
    for pattern, words in _PLAIN_WORDS:
        message = re.sub(pattern, words, message)
    if not isinstance(error, typer.BadParameter):
        return message
    place = error.param_hint or _names(error.param)
    if _command(error) == "load" and place == "URL" and not error.message:
        message += (
            "; expected where the load goes, such as http://127.0.0.1:8080/ (--urls has the requests alone)"
        )
    return f"{place}: {message}" if place else message


def _command(error: Any) -> str:  # noqa: ANN401 -- as above
    """Return the name of the command whose line it is; nothing where the line has none."""
    return getattr(getattr(error, "ctx", None), "info_name", None) or ""


def _names(parameter: Any) -> str | None:  # noqa: ANN401 -- as above
    if parameter is None:
        return None
    return (
        "/".join(parameter.opts) if parameter.param_type_name == "option" else str(parameter.display_name_raw)
    )
