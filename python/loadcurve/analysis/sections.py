"""Sections that are computed one by one, so that one that cannot be takes none of the others along."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from loadcurve.errors import LoadcurveError, clause

Found = TypeVar("Found")

are_faults_raised = False
"""Whether faults of ours pass through, as they do in our own tests."""


@dataclass(frozen=True, slots=True)
class NotComputed:
    """A section that a fault of Loadcurve's left out."""

    section: str
    """In words, such as ``the findings``."""
    reason: str

    @property
    def words(self) -> str:
        """The whole as a sentence."""
        return (
            f"Left out because of an error in Loadcurve: {self.section} ({clause(self.reason)}). What was "
            "measured is kept; please report the error."
        )


@dataclass(slots=True)
class Sections:
    """Computes sections, and keeps what could not be computed: all forms of one report in one list."""

    not_computed: list[NotComputed] = field(default_factory=list)

    def get(self, section: str, compute: Callable[[], Found], instead: Found) -> Found:
        """Return what ``compute`` does, or ``instead`` where it fails by a fault of ours.

        Raises ``LoadcurveError`` and ``MemoryError`` as ``compute`` does: the first is said in its own words,
        and without memory the others would fail, too.
        """
        try:
            return compute()
        except (LoadcurveError, MemoryError):
            raise
        except Exception as error:
            # Whatever it is, the other sections are worth more.
            if are_faults_raised:
                raise
            said = str(error)
            reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
            left_out = NotComputed(section, reason)
            if left_out not in self.not_computed:
                self.not_computed.append(left_out)
            return instead

    def several(self, section: str, compute: Callable[[], list[Found]]) -> list[Found]:
        """Return what ``compute`` does, or nothing where it fails, as :meth:`get`."""
        return self.get(section, compute, [])
