"""A soak: a trial of each server at an interval, however long each takes, on servers that live throughout."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from loadcurve import units
from loadcurve.errors import BadInput
from loadcurve.runs.display import Display
from loadcurve.toml.quantities import parse_duration_s

EVERY_OPTION, FOR_OPTION = "--repeat-every", "--for"

LOOK_S = 1.0
"""A clock that is set, or a machine that slept, is noticed as soon."""


@dataclass(frozen=True)
class Soak:
    """A trial of each server at an interval, for a time, on servers that live throughout."""

    every_s: float
    for_s: float

    def words(self) -> list[str]:
        """Return the options of the command."""
        return [EVERY_OPTION, f"{units.typed(self.every_s)}s", FOR_OPTION, f"{units.typed(self.for_s)}s"]

    @classmethod
    def of_words(cls, given: Mapping[str, Sequence[str]]) -> Self | None:
        """Return what these options say, by option; ``None`` without them. Raises ``BadInput``."""
        words = [next(iter(given.get(name, ())), None) for name in (EVERY_OPTION, FOR_OPTION)]
        if words == [None, None]:
            return None
        if None in words:
            raise BadInput(f"{EVERY_OPTION} and {FOR_OPTION} belong together, such as 1h and 24h")
        try:
            every_s, for_s = (parse_duration_s(word or "") for word in words)
        except ValueError as error:
            raise BadInput(f"{EVERY_OPTION}, {FOR_OPTION}: {error}") from None
        if not 0 < every_s <= for_s:
            raise BadInput(
                f"{EVERY_OPTION} {words[0]}, {FOR_OPTION} {words[1]}: expected an interval above 0 that is "
                "not longer than the whole"
            )
        return cls(every_s, for_s)


@dataclass
class BlockSchedule:
    """Waits until the next block of a soak is due; without an interval one block follows the other."""

    every_s: float | None
    display: Display
    _began_s: float | None = None
    _blocks: int = 0
    _is_late: bool = False

    def wait(self) -> None:
        """Return when the next block is due, counted from the first one; at once where it is late.

        An interrupt ends the wait.
        """
        if self.every_s is None:
            return
        now_s = time.monotonic()
        if self._began_s is None:
            self._began_s = now_s
        due_s = self._began_s + self._blocks * self.every_s
        self._blocks += 1
        if due_s > now_s:
            self.display.waits(time.time() + due_s - now_s)
        elif due_s < now_s and not self._is_late:
            self._is_late = True
            self.display.note(
                f"a trial of each server takes longer than the interval of {units.clock(self.every_s)}, so "
                "that the next one begins at once"
            )
        while (left_s := due_s - time.monotonic()) > 0:
            time.sleep(min(left_s, LOOK_S))
