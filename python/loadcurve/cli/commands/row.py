"""The parameters of ``loadcurve load`` as rows, from which typer reads a command."""

import inspect
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Final, Literal

import typer

PANELS: Final = (None, "Arrivals and connections", "Requests", "Messages", "TLS", "Generator", "Databases")
"""The sections of the help in their order; the first is of the options that most loads need."""


@dataclass(frozen=True)
class Row:
    """One parameter."""

    name: str
    """In Python."""
    written: str
    """Its names on the command line, such as ``-c/--connections``."""
    type: Any
    """That of its value; an option that may be repeated has a list."""
    _: KW_ONLY
    help: str
    metavar: str | None = None
    panel: str | None = None
    place: int = 1000
    """Its order within its section."""
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    shows_default: bool = True
    work: Literal["http", "ycsb"] | None = None
    """The only work whose loads have it, of a row that says how a load is run."""
    is_of_engine: bool = False
    """Whether it says how our own engine runs a load, so that no other generator has it."""

    @property
    def parameter(self) -> inspect.Parameter:
        """As a parameter of a function that typer reads."""
        option = typer.Option(
            *self.written.split("/"),
            help=self.help,
            metavar=self.metavar,
            min=self.minimum,
            max=self.maximum,
            show_default=self.shows_default,
            rich_help_panel=self.panel,
        )
        kind = self.type | None if self.default is None else self.type
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=self.default,
            annotation=Annotated[kind, option],
        )


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows in the order of the help."""
    return sorted(rows, key=lambda row: (PANELS.index(row.panel), row.place))
