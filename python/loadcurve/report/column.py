"""A column of a table: named once, with what its cells are and how each form of the report draws them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, NamedTuple, TypedDict, TypeVar

from rich.text import Text

Item = TypeVar("Item")
SERVER_WIDTH = 16


class Layout(TypedDict, total=False):
    """How a column takes its room in the terminal, in the words of rich."""

    justify: Literal["left", "right"]
    no_wrap: bool
    overflow: Literal["fold", "ellipsis", "crop"]
    min_width: int
    max_width: int
    width: int


FIGURES: Layout = {"justify": "right", "no_wrap": True}
WRAPPED_FIGURES: Layout = {"justify": "right"}
WORDS: Layout = {"overflow": "fold"}
"""They break into lines."""
WRAPPED: Layout = {}
"""They wrap between words, and end in dots where one is too long."""
NAMES: Layout = {"no_wrap": True}
SERVERS: Layout = {"no_wrap": True, "overflow": "ellipsis", "max_width": SERVER_WIDTH}

Form = Literal["page", "markdown", "terminal"]
FORMS: Final[tuple[Form, ...]] = ("page", "markdown", "terminal")
PAGE: Final[tuple[Form, ...]] = ("page",)
MARKDOWN: Final[tuple[Form, ...]] = ("markdown",)
DOCUMENTS: Final[tuple[Form, ...]] = ("page", "markdown")

PageCell = Literal[
    "server",
    "row",
    "number",
    "figure",
    "estimate",
    "words",
    "prose",
    "code",
    "verdict",
    "trial",
    "trials",
    "parts",
]
"""How the page draws a cell; ``elements.html.jinja`` has the elements of each."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of a table: as read, as sorted, and its margin where it has one."""

    shown: str
    sort: float | None = None
    margin: str | None = None

    def __str__(self) -> str:
        """Return the figure with its margin in brackets."""
        return f"{self.shown} ({self.margin})" if self.margin else self.shown


class Column(NamedTuple, Generic[Item]):
    """A column by its heading, and how its cell is read from what a row is of."""

    heading: str
    """With its unit, as in ``p99, ms``."""
    cell: Callable[[Item], str | Text | Cell]
    layout: Layout = FIGURES
    """In the terminal."""
    on_page: PageCell = "number"
    forms: Sequence[Form] = FORMS
    """The forms that have this column."""


@dataclass(frozen=True, slots=True)
class Tabulated(Generic[Item]):
    """What the rows of a table are of, and its columns; it counts as nothing without rows."""

    columns: Sequence[Column[Item]]
    rows: Sequence[Item]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def on(self, form: Form) -> Sequence[Column[Item]]:
        """Return the columns that a form has."""
        return [one for one in self.columns if form in one.forms]


NO_TABLE: Final[Tabulated[Any]] = Tabulated((), ())


def words_of(shown: str | Text | Cell) -> str:
    """Return a cell as plain words, with the margin of a figure in brackets."""
    return shown.plain if isinstance(shown, Text) else str(shown)
