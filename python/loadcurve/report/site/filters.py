"""Filters of the site: one of several values is chosen, and the style hides all that have another one.

Without a script, so that they work where none may run. Values are numbered on each page: what is written in
the style and in attributes is numbers alone, whatever a published file says.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from loadcurve.result.publication import PublishedMachine

OFFERED_MAX = 30
"""A choice among more values than these is not offered: a search finds them."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice of one of several values."""

    name: str
    """Of the attribute, behind ``data-``."""
    title: str
    values: tuple[str, ...]

    @property
    def is_offered(self) -> bool:
        """Whether there is anything to choose."""
        return 1 < len(self.values) <= OFFERED_MAX

    def tags(self, *values: str | None) -> str:
        """Return the numbers of the values of an entry, for its attribute; one without any has none."""
        return " ".join(str(place) for place, one in enumerate(self.values, start=1) if one in values)

    @property
    def style(self) -> Markup:
        """Return the rules that hide what has another value than the chosen one."""
        return Markup("").join(
            Markup(
                'body:has(#{0}-{1}:checked) [data-{0}]:not([data-{0}~="{1}"]) {{ display: none; }}\n'
            ).format(self.name, place)
            for place, _ in enumerate(self.values, start=1)
        )


def filter_of(name: str, title: str, values: Iterable[str | None]) -> Filter:
    """Return a choice among values, in the order of their letters."""
    return Filter(name, title, tuple(sorted({one for one in values if one}, key=str.casefold)))


def platform_of(machine: PublishedMachine) -> str | None:
    """Return the platform of a machine, such as ``x86_64, Debian GNU/Linux 12 (bookworm)``."""
    return ", ".join(one for one in (machine.architecture, machine.operating_system) if one) or None
