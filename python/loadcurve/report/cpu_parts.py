"""Whose the time of CPUs was, in words."""

from collections.abc import Mapping, Sequence
from typing import Final

from loadcurve.result.cpu_time import PARTS, CpuTime
from loadcurve.result.machine import numbers_in_runs
from loadcurve.units import whole_percent

SHOWN_FROM: Final = 0.005
"""A part that rounds to 0 % is not named."""


def known(parts: Mapping[str, float | None]) -> dict[str, float]:
    """Return the parts that run on these CPUs."""
    return {name: share for name, share in parts.items() if share is not None}


def in_words(parts: Mapping[str, float | None]) -> str:
    """Return the parts in %, without those that round to nothing."""
    shown = ((name, share) for name, share in known(parts).items() if share >= SHOWN_FROM)
    return ", ".join(f"{name} {whole_percent(share)}" for name, share in shown)


def cpus_in_words(cpus: Sequence[int]) -> str:
    """Return which CPUs they are, as ``CPU 0`` or ``CPUs 0-3``."""
    return f"CPU {cpus[0]}" if len(cpus) == 1 else f"CPUs {numbers_in_runs(cpus)}"


def line_of_load(time: CpuTime) -> str:
    """Return whose the time was in one load."""
    parts = {name: getattr(time, name) for name in PARTS}
    return f"{cpus_in_words(time.cpus)}, %: {in_words(parts).replace(' %', '')}"
