"""The noise of a run: how far the ratios of its blocks spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loadcurve.analysis.curves import Curve, at_point, usable_logs
from loadcurve.result.folder import Run
from loadcurve.result.measures import Measure
from loadcurve.result.records import IMPORTED_ENTRY, ServerRecord
from loadcurve.stats.noise import Spread, pooled, spread_within
from loadcurve.stats.paired import Logs


@dataclass(frozen=True, slots=True)
class RunNoise:
    """The noise of a run by one measure; the spread is ``None`` where there are too few blocks."""

    measure: str
    """Its column."""
    source: Literal["same server", "pairs"]
    """From entries of the study that are the same server, or from its pairs of different ones."""
    groups: tuple[tuple[str, ...], ...]
    """The servers whose ratios were taken, group by group."""
    spread: Spread | None


def same_servers(run: Run) -> tuple[tuple[str, ...], ...]:
    """Return the groups of entries that are one and the same server.

    Same are program, version, settings and limits, how the study starts them, and the load. Of a server
    whose results were imported none of that is known, so it is the same as no other.
    """
    groups: list[list[str]] = []
    for name, server in run.run.servers.items():
        if server.status != "found" or server.catalog_entry == IMPORTED_ENTRY:
            continue
        for group in groups:
            if _identity(run, name) == _identity(run, group[0]):
                group.append(name)
                break
        else:
            groups.append([name])
    return tuple(tuple(group) for group in groups if len(group) > 1)


_ELSEWHERE = frozenset({"use", "optional", "load", *ServerRecord.model_fields})
"""The keys of a server's table that its record or its load shows, or that do not decide what runs."""


def _identity(run: Run, name: str) -> tuple[object, ...]:
    """Return what makes a server itself, and its load; its rendered configuration does not, nor a title."""
    server = run.run.servers[name]
    record = server.model_dump(exclude={"title", "configuration", "install", "documentation"})
    elsewhere = _ELSEWHERE | server.settings.keys()
    table = run.run.study.get("servers", {}).get(name, {})
    asked = {key: value for key, value in table.items() if value and key not in elsewhere}
    return record, asked, run.load_of(name)


def noise_of(
    run: Run, found: Sequence[Curve], measure: Measure, scope: Literal["curve", "point"] = "curve"
) -> RunNoise:
    """Return the noise of a run: from the same server under several names, or else from all its pairs.

    Ratios between different servers spread at least as much as those of a server with itself, as far as one
    of the two is as steady as the other; without an A/A pair they are what there is. The spread is that of
    the ratios over the curve, or that at a point, pooled over the points.
    """
    same = same_servers(run)
    _, logs = usable_logs(found, measure)
    groups = same or _everyone(logs)
    if scope == "curve":
        spread = spread_within(groups, logs)
    else:
        points = found[0].points if found else []
        spread = pooled(spread_within(groups, at_point(logs, place)) for place in range(len(points)))
    return RunNoise(measure.column, "same server" if same else "pairs", groups, spread)


def noise_of_pairs(found: Sequence[Curve], measure: Measure) -> RunNoise:
    """Return the noise of all pairs of some servers, by their ratios over the curve."""
    _, logs = usable_logs(found, measure)
    groups = _everyone(logs)
    return RunNoise(measure.column, "pairs", groups, spread_within(groups, logs))


def _everyone(logs: Logs) -> tuple[tuple[str, ...], ...]:
    """Return the servers with any figure as one group, where they are several."""
    everyone = tuple(server for server, rows in logs.items() if np.isfinite(rows).any())
    return (everyone,) if len(everyone) > 1 else ()


def unknown_noise(measure: Measure) -> RunNoise:
    """Return the noise of a run where nothing is known of it."""
    return RunNoise(measure.column, "pairs", (), None)
