"""The console of a subcommand: a text of a run, whatever it holds, is shown and steers nothing."""

import os
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from loadcurve.steering import WITHOUT_STEERING

ROOM_FOR_PLAIN_SIGNS = 4
"""Lines leave this many columns free where signs such as ``±`` are written by two others."""

UNBROKEN_WIDTH = 10_000
"""No row of a list is as long."""


class _Console(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does; control is only what rich itself marks as such, for a live display."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(segment.text.translate(WITHOUT_STEERING), segment.style)


def new_console(*, stderr: bool = False, is_list: bool = False) -> Console:
    """Return a console on stdout, or on stderr, that gives numbers and paths no colours of their own.

    A list that is read by another program, and not by a person at a terminal, has each row on one line.
    """
    console = _Console(stderr=stderr, highlight=False)
    if is_list and not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = UNBROKEN_WIDTH
    if console.options.ascii_only:
        console.width -= ROOM_FOR_PLAIN_SIGNS
    return console
