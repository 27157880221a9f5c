"""Bounds of figures as people write them, such as ``"10ms"``, ``"5000/s"`` or ``"0.1 %"``."""

import re
from collections.abc import Mapping
from fractions import Fraction

from loadcurve.toml.quantities import BYTES_PER_UNIT, SECONDS_PER_UNIT

BoundUnits = Mapping[str, Fraction]
"""How many of a figure's unit each unit of its bound is."""

MS_PER_UNIT: BoundUnits = {unit: 1000 * seconds for unit, seconds in SECONDS_PER_UNIT.items()}
US_PER_UNIT: BoundUnits = {unit: 1000 * ms for unit, ms in MS_PER_UNIT.items()}
MIB_PER_UNIT: BoundUnits = {unit: Fraction(size, 1 << 20) for unit, size in BYTES_PER_UNIT.items()}
PER_S: BoundUnits = dict.fromkeys(("/s", "requests/s", "operations/s"), Fraction(1))
SHARE_PER_UNIT: BoundUnits = {"%": Fraction(1, 100)}

# Fifteen digits on each side are more than any bound needs, and keep every result finite.
_BOUND = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,15})?)\s*(?P<unit>%|[A-Za-z]*(?:/s)?)")


def bound_in(text: str, units: BoundUnits) -> float | None:
    """Return a bound in the unit of its figure, 0 or above; ``None`` where it has none of these units."""
    found = _BOUND.fullmatch(text.strip())
    if found is None or found["unit"] not in units:
        return None
    return float(Fraction(found["number"]) * units[found["unit"]])
