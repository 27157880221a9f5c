"""Pauses of the platform in one trial: in a sentence, and where they are in its figure over time."""

from collections.abc import Iterator

from loadcurve.report import text
from loadcurve.report.charts.figure import Row
from loadcurve.result.pauses import Pauses
from loadcurve.result.records import PointRecord

MOST_DRAWN = 40
"""Of each side the longest this many are drawn."""


def pauses_in_words(record: PointRecord) -> str | None:
    """Say how long the CPUs of either side were paused, and how far that delays requests by itself.

    ``None`` where nothing was paused, and where pauses were not measured.
    """
    paused = [(side, found) for side, found in _sides(record) if found.count]
    if not paused:
        return None
    sides = "; ".join(f"those of the {side} {_one_side(found)}" for side, found in paused)
    side, worst = max(paused, key=lambda pair: pair[1].delay_ms.max or 0)
    p99 = worst.delay_ms.p99
    more = f", {text.number(p99)} ms or more for one in 100" if p99 else ""
    return (
        f"The platform paused CPUs during this load: {sides}. By themselves the pauses of the {side}'s CPUs "
        f"delay requests by up to {text.number(worst.delay_ms.max)} ms{more}."
    )


def pause_rows(record: PointRecord) -> list[Row]:
    """Return the longest pauses of both sides in order of time."""
    rows = [
        {
            "t_s": one.start_s,
            "end_s": round(one.end_s, 6),
            "length": f"{text.number(one.length_ms)} ms",
            "side": side,
        }
        for side, found in _sides(record)
        for one in sorted(found.listed, key=lambda pause: -pause.length_ms)[:MOST_DRAWN]
    ]
    return sorted(rows, key=lambda row: (row["t_s"], row["side"]))


def _sides(record: PointRecord) -> Iterator[tuple[str, Pauses]]:
    for side, found in (("load", record.load.generator.pauses), ("server", record.probe.pauses)):
        if found is not None:
            yield side, found


def _one_side(found: Pauses) -> str:
    longest = f"{text.number(found.longest_ms)} ms"
    if found.count == 1:
        return f"once, for {longest}"
    return f"{found.count:,} times, {text.number(found.paused_s * 1e3)} ms in all, the longest {longest}"
