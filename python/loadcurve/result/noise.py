"""The rig's noise: how far the ratios of one server to itself spread here."""

from typing import Annotated, Any, Literal

from pydantic import Field

from loadcurve.record import Count, Many, Record
from loadcurve.result.ceiling import Rig


class NoiseSpread(Record):
    """The spread of one measure's ratios between trials of the same block."""

    log_ratio_sd: Annotated[float, Field(ge=0)]
    """The standard deviation of the ratios' natural logarithms."""
    degrees_of_freedom: Annotated[int, Field(gt=0)]


class Noise(Record):
    """An A/A study of one rig: the same server under two names."""

    format: Literal["loadcurve-noise/1"] = "loadcurve-noise/1"
    measured_at: str
    rig: Rig
    host: dict[str, Any]
    """What the machine was like then, as in ``run.json``."""
    server: str
    server_version: str | None
    trials: Count
    """Trials under each of the two names."""
    duration_s: Annotated[float, Field(gt=0)]
    """How long each load was measured."""
    connections: Annotated[Many[int], Field(min_length=1)]
    """The points, over which a spread is pooled."""
    spreads: dict[str, NoiseSpread]
    """By the name of the measure."""
