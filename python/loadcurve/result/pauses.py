"""Pauses of the process that sends a load: what nobody answered in one says nothing of the server."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.result.load import LoadResult

PAUSED = "generator_paused"
"""The code of the reason for which a load with such a pause is suspect."""

PAUSE_MIN_S = 0.5
"""A shorter one is what a busy machine does to any process."""


@dataclass(frozen=True)
class Pause:
    """A stretch in which the process did not run, in seconds on the machine's monotonic clock."""

    start_s: float
    end_s: float


def marked_as_paused(result: LoadResult, pauses: Sequence[Pause]) -> LoadResult:
    """Return a result that is suspect if a pause reached as far as :data:`PAUSE_MIN_S` into its window."""
    start_s = result.window_start_monotonic_s
    end_s = start_s + result.duration_s
    longest_s = max((min(one.end_s, end_s) - max(one.start_s, start_s) for one in pauses), default=0.0)
    if longest_s < PAUSE_MIN_S:
        return result
    text = (
        f"the process that sends the load did not run for {longest_s:,.1f} s of the measured part: it was "
        "stopped, or had no CPU; what was not answered then is not the server's doing, so measure again"
    )
    verdict = result.verdict.with_reason(PAUSED, text, "suspect")
    return result.model_copy(update={"verdict": verdict})
