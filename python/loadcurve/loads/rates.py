"""Rates as people write them: ``"1000"``, ``"6/min"``, ``"100-1k:30s"``, ``"500:10s, 1000:10s"``."""

import math
import re
from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, InstanceOf

from loadcurve.loads.limits import RATE_MAX, STRETCH_S_MAX
from loadcurve.record import Record, Time
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import own_problem
from loadcurve.toml.quantities import parse_duration_s

SPEED_MAX = 1e6
"""At which a recording of a week is over in less than a second."""

CONSTANT_RATE_IN_WORDS = "a rate above 0 and at most 10⁹ per second"
RATE_IN_WORDS = (
    f'{CONSTANT_RATE_IN_WORDS}, or a profile such as "100-1000:30s" (a ramp) or "500:10s, 1000:10s" (steps)'
)

_FACTORS = {"": 1, "k": 1_000, "M": 1_000_000}
_PERIODS_S = {"s": 1, "min": 60, "h": 3_600}
# A power of ten has no minus: "1-2" is a ramp.
_RATE = r"[0-9]{1,15}(?:\.[0-9]{1,15})?(?:e\+?[0-9]{1,2}|[kM])?(?:/(?:s|min|h))?"
_PARTS = re.compile(r"(?P<number>[0-9.]+(?:e\+?[0-9]+)?)(?P<factor>[kM]?)(?:/(?P<period>\w+))?")
_CONSTANT = re.compile(_RATE)
_STRETCH = re.compile(rf"(?P<start>{_RATE})(?: ?- ?(?P<end>{_RATE}))? ?: ?(?P<length>.+)")


class RateStretch(Record):
    """A stretch of time in which a rate is constant or changes evenly."""

    length_s: Time
    from_rps: Time
    to_rps: Time


Rate = float | list[RateStretch]
"""A rate per second: a constant one, or one that steps or ramps through stretches and stays at the last."""


def parse_rate(text: str) -> Rate:
    """Read a rate per second: a number, or stretches of time with commas between them.

    A number may be followed by ``k`` or ``M``, thousand or million, or be a power such as ``1e6``, and then
    by ``/min`` or ``/h`` where it is no rate per second. The result is the float nearest to the exact value.

    A stretch is ``RATE:DURATION``, in which the rate is constant, or ``FROM-TO:DURATION``, in which it
    changes evenly. The stretches follow each other; after the last one its end rate continues, which may be
    0.

    Raises:
        ValueError: the text is not such a rate, a rate is above 10⁹ per second or a stretch longer than
            10⁶ s, or all rates are 0.

    """
    if _CONSTANT.fullmatch(text.strip()):
        rate = _rate(text.strip())
        if rate == 0:
            raise ValueError(f'"{text}" is not {RATE_IN_WORDS}')
        return rate
    stretches = [_stretch(part.strip()) for part in text.split(",")]
    if all(one.from_rps == one.to_rps == 0 for one in stretches):
        raise ValueError(f'"{text}" is a rate of 0 throughout; expected a stretch with a rate above 0')
    return stretches


def silent_from_s(rate: object) -> float | None:
    """Return from when on, in seconds, nothing falls due at a rate; ``None`` if it never ends."""
    stretches = rate if isinstance(rate, list) else []
    if not stretches or not isinstance(stretches[-1], RateStretch) or stretches[-1].to_rps > 0:
        return None
    last = max(index for index, one in enumerate(stretches) if one.from_rps or one.to_rps)
    return math.fsum(one.length_s for one in stretches[: last + 1])


def _stretch(text: str) -> RateStretch:
    match = _STRETCH.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not {RATE_IN_WORDS}')
    length_s = parse_duration_s(match["length"])
    if not 0 < length_s <= STRETCH_S_MAX:
        raise ValueError(f'"{text}" lasts {length_s:g} s; expected above 0 and at most 1,000,000 s')
    return RateStretch(
        length_s=length_s, from_rps=_rate(match["start"]), to_rps=_rate(match["end"] or match["start"])
    )


def _rate(text: str) -> float:
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise ValueError(f'"{text}" is not {RATE_IN_WORDS}')
    factor = Fraction(_FACTORS[parts["factor"]], _PERIODS_S[parts["period"] or "s"])
    rate = float(Fraction(parts["number"]) * factor)
    if rate > RATE_MAX:
        raise ValueError(f"a rate of {text} cannot be scheduled; expected at most {RATE_MAX:,.0f} per second")
    return rate


def _read_text(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_rate(value)
    except ValueError as error:
        raise own_problem(str(error)) from error


RatePerSecond = Annotated[
    Annotated[float, Field(gt=0, le=RATE_MAX), Expected(CONSTANT_RATE_IN_WORDS)]
    | list[InstanceOf[RateStretch]],
    BeforeValidator(_read_text),
    Expected(RATE_IN_WORDS),
]
"""A rate that stays, or the stretches through which it changes."""

Arrivals = Literal["constant", "poisson"]
"""How what falls due at a rate is spread in time."""
OpenArrivals = Literal["constant", "poisson", "recorded"]
"""The same of requests, which may also fall due at the times at which they were recorded."""
RECORDED: Final = "recorded"
"""The arrivals of a replay."""
Speed = Annotated[
    float,
    Field(gt=0, le=SPEED_MAX),
    Expected(f"a factor above 0 and at most {SPEED_MAX:,.0f}; 2 is twice as fast as recorded"),
]
"""How many times as fast as recorded requests fall due."""
