"""Other runs on the same machine: each of them makes the figures of the others doubtful."""

import time
from collections.abc import Iterable, Sequence

from loadcurve.result.outcomes import Caveat
from loadcurve.result.probe import ProbeRecord
from loadcurve.server.presence import Neighbour, neighbours

LOOK_INTERVAL_S = 1.0
NOT_ALONE = "not_alone"
"""The code of a caveat that concerns the machine, whichever server is measured."""


def disturbing(code: str, cause: str) -> Caveat:
    """Return the caveat of something by which both sides, or two runs, get into each other's way."""
    return Caveat.of(code, f"{cause}, so the two disturb each other: the figures are less reliable")


def not_alone(others: Iterable[Neighbour]) -> Caveat:
    """Return the caveat of figures that were measured beside these."""
    named = ", ".join(sorted({one.text for one in others}))
    return disturbing(NOT_ALONE, f"another run was in progress on this machine ({named})")


class OtherRuns:
    """Who else was seen to measure on this machine while a point was measured."""

    def __init__(self) -> None:
        """Look for the first time."""
        self._seen: list[Neighbour] = []
        self._next_s = 0.0
        self.look()

    def look(self) -> None:
        """Look again, unless that was done a moment ago."""
        if time.monotonic() >= self._next_s:
            self._seen += neighbours()
            self._next_s = time.monotonic() + LOOK_INTERVAL_S

    def marked(self, probe: ProbeRecord) -> ProbeRecord:
        """Look for the last time, and return the record of a point with the caveat, where it needs one."""
        self._next_s = 0.0
        self.look()
        caveats: Sequence[Caveat] = [not_alone(self._seen)] if self._seen else []
        return probe.model_copy(update={"caveats": [*probe.caveats, *caveats]})
