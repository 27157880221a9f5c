"""Numbers as a text prints them, each cut off or rounded at its last digit.

Two of them may say one thing: a rate says how long a known number of requests took. The one with more digits
says it better, and where no number behind them fits both, the text contradicts itself.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

_OF_COMPUTING = 1e-6


@dataclass(frozen=True, slots=True)
class Printed:
    """A number of a text, in any unit."""

    value: float
    step: float
    """By less than this the number behind it may be smaller or greater."""

    @classmethod
    def of(cls, text: str, unit: float | Decimal = 1) -> Self:
        """Return a number as it is printed, in a unit that is ``unit`` of the unit of the result."""
        number, one = Decimal(text), Decimal(unit)
        exponent = number.as_tuple().exponent
        step = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
        return cls(float(number * one), float(step * one))

    @classmethod
    def exact(cls, value: float) -> Self:
        """Return a number of a document, which has all of its digits but for what computing took."""
        return cls(value, abs(value) * _OF_COMPUTING)

    @property
    def uncertainty(self) -> float:
        """The step, in parts of the number."""
        return self.step / abs(self.value) if self.value else float("inf")


@dataclass(frozen=True, slots=True)
class Window:
    """How long a load took."""

    duration_s: float
    contradiction: str | None = None
    """What does not fit together; ``None`` where the text agrees with itself."""


def window_of(count: int, rate: Printed, time_s: Printed, *, counted: str = "requests") -> Window:
    """Return how long ``count`` requests took, by their rate per second and their time, as a text has both.

    The rate counts where the two contradict each other: it is what a reader of the text takes from it.
    """
    if not count or rate.value <= 0:
        return Window(time_s.value)
    by_rate_s = count / rate.value
    contradiction = contradiction_of(count, rate, time_s, counted=counted)
    if contradiction is None and time_s.uncertainty < rate.uncertainty:
        return Window(time_s.value)
    return Window(by_rate_s, contradiction)


def contradiction_of(count: int, rate: Printed, time_s: Printed, *, counted: str = "requests") -> str | None:
    """Return what does not fit together of a number of requests, their time, and their rate per second."""
    if time_s.value <= 0:
        return None
    least = (rate.value - rate.step) * (time_s.value - time_s.step)
    most = (rate.value + rate.step) * (time_s.value + time_s.step)
    if least <= count <= most:
        return None
    found = f"{count:,} {counted} in {time_s.value:g} s are {count / time_s.value:,.1f}/s"
    return f"{found}, and it says {rate.value:,.10g}/s"


UNITS_MS = {
    "ns": Decimal("0.000001"), "µs": Decimal("0.001"), "μs": Decimal("0.001"), "us": Decimal("0.001"),
    "ms": Decimal(1), "s": Decimal(1000), "m": Decimal(60_000), "h": Decimal(3_600_000),
}  # fmt: skip
"""By the ways in which a unit is written: Unicode has two characters for µ."""
UNIT = "ns|µs|μs|us|ms|s|m|h"
_PART = rf"(\d{{1,12}}(?:\.\d{{1,9}})?)({UNIT})"
GO_TIME = rf"(?:\d{{1,12}}(?:\.\d{{1,9}})?(?:{UNIT})){{1,3}}"
"""A pattern of such a time, without a group."""


def milliseconds(text: str, decimals: int) -> Printed:
    """Return a time that matches :data:`GO_TIME`, with the decimals that its last unit may have."""
    parts = [(Decimal(number), UNITS_MS[unit]) for number, unit in re.findall(_PART, text)]
    step = parts[-1][1].scaleb(-decimals)
    return Printed(float(sum(number * unit for number, unit in parts)), float(step))


def units_of(text: str) -> int:
    """Return in how many units a time is printed: two in ``1m2.5s``."""
    return len(re.findall(_PART, text))
