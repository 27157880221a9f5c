"""Times as programs in Go print them: ``1m2.5s``, ``81.96ms``, ``2s``, without zeros at the end."""

import re
from decimal import Decimal

from loadcurve.tools.printed import Printed

_UNITS_MS = {
    "ns": Decimal("0.000001"), "µs": Decimal("0.001"), "μs": Decimal("0.001"), "us": Decimal("0.001"),
    "ms": Decimal(1), "s": Decimal(1000), "m": Decimal(60_000), "h": Decimal(3_600_000),
}  # fmt: skip
_PART = r"(\d{1,12}(?:\.\d{1,9})?)(ns|µs|μs|us|ms|s|m|h)"
GO_TIME = r"(?:\d{1,12}(?:\.\d{1,9})?(?:ns|µs|μs|us|ms|s|m|h)){1,3}"
"""A pattern of such a time, without a group."""


def milliseconds(text: str, decimals: int) -> Printed:
    """Return a time that matches :data:`GO_TIME`, with the decimals that its last unit may have."""
    parts = [(Decimal(number), _UNITS_MS[unit]) for number, unit in re.findall(_PART, text)]
    step = parts[-1][1].scaleb(-decimals)
    return Printed(float(sum(number * unit for number, unit in parts)), float(step))


def units_of(text: str) -> int:
    """Return in how many units a time is printed: two in ``1m2.5s``."""
    return len(re.findall(_PART, text))
