"""What a list of runs says of one of them, of the standard library alone.

A list whose summaries are kept is there before the libraries that check and compute them could be imported.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from loadcurve.result.summary import RunSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSummary:
    """A run in a few lines; what is computed of it is ``None`` where nobody has computed it."""

    started_at: str
    title: str
    question: str | None
    answer: str | None = None
    complete: bool | None = None
    servers: tuple[str, ...] | None = None
    trials: int | None = None
    points: Mapping[str, int] | None = None
    """Measured points, by their verdict."""
    findings: int | None = None

    @classmethod
    def of(cls, summary: "RunSummary") -> Self:
        """Return the same as a run folder has."""
        return cls(**summary.model_dump())

    @classmethod
    def from_plain(cls, found: Mapping[str, Any]) -> Self:
        """Return what :meth:`plain` has written.

        Raises ``KeyError`` and ``TypeError`` for anything else, as far as that shows by the names.
        """
        values = {name: found[name] for name in _names()}
        servers = values.pop("servers")
        return cls(**values, servers=None if servers is None else tuple(servers))

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


@cache
def _names() -> tuple[str, ...]:
    """Return the names of the fields, which a list of a thousand runs asks for as often."""
    return tuple(field.name for field in fields(ListedSummary))
