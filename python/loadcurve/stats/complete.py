"""Trials along loads without a gap, so that loads are compared within trials."""

from collections.abc import Sequence

Rows = list[list[float | None]]
"""A row for each trial and a column for each load; ``None`` where nothing usable was measured."""


def complete_rows(
    loads: Sequence[float], trials: Sequence[Sequence[float | None]]
) -> tuple[list[float], list[list[float]]]:
    """Return the loads and the trials that together leave no gap, so that loads are compared within trials.

    A load that most trials lack is left out first, such as one at which the server failed; then each trial
    that lacks any other. A figure that is not above 0 counts as lacking.
    """
    present = [[value is not None and value > 0 for value in row] for row in trials]
    kept = [j for j in range(len(loads)) if 2 * sum(row[j] for row in present) > len(trials)]
    rows = [
        [value for j in kept if (value := row[j]) is not None]
        for row, has in zip(trials, present, strict=True)
        if all(has[j] for j in kept)
    ]
    return [loads[j] for j in kept], rows if kept else []
