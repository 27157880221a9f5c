"""When the page may be drawn anew: computing and drawing take a CPU that a load may need.

Everything that changes in a run folder changes between two loads. Then the next load warms up, or the next
server is started, and nothing is measured. Figures are made in that time if it is long enough, and else in
the next that is.
"""

from loadcurve.result.progress import RunProgress

DRAWING_S = 0.5
"""What a browser takes to draw the figures in sight."""
LONGEST_WAIT_S = 30.0
"""So old may figures become where a run is never quiet for long enough, as without warm-ups."""

LOOK_INTERVAL_S = 0.25
"""How often a folder is looked at, for a reader."""
LONGEST_LOOK_INTERVAL_S = 5.0
"""How often during a load, in which nothing changes but that a server or the run may die."""


def is_quiet(progress: RunProgress | None, now_unix_s: float, needed_s: float) -> bool:
    """Say whether nothing is measured now, nor in the next ``needed_s`` seconds as far as can be told."""
    if progress is None or progress.point is None:
        return True
    window_begins_s = progress.since_unix_s + (progress.warmup_s or 0.0)
    return now_unix_s + needed_s <= window_begins_s


def until_next_look_s(progress: RunProgress | None, now_unix_s: float) -> float:
    """Return how long nothing has to be looked at: in a load until its end, but for signs of life."""
    if is_quiet(progress, now_unix_s, needed_s=0.0) or progress is None or progress.duration_s is None:
        return LOOK_INTERVAL_S
    end_s = progress.since_unix_s + (progress.warmup_s or 0.0) + progress.duration_s
    return min(max(LOOK_INTERVAL_S, end_s - now_unix_s), LONGEST_LOOK_INTERVAL_S)
