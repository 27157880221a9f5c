"""Quantities as people write them: durations, sizes and shares, such as ``"1.5s"``, ``"1KiB"``, ``"3 %"``."""

import re
from fractions import Fraction
from typing import Annotated

from annotated_types import Ge
from pydantic import BeforeValidator

from loadcurve.toml.expected import Expected

SECONDS_PER_UNIT = {
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1_000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3_600),
}
BYTES_PER_UNIT = {
    "B": 1,
    "kB": 1_000,
    "MB": 1_000_000,
    "GB": 1_000_000_000,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
BITS_PER_S_PER_UNIT = {"kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
"""By decimal thousands, as links have them."""

SHARE_IN_WORDS = 'a share in per cent, such as "3 %"'
DURATION_IN_WORDS = 'a duration such as "500ms", "1.5s" or "1m", or a number of seconds'
SIZE_IN_WORDS = 'a size such as "512B", "10kB" or "1KiB", or a whole number of bytes'
LINK_SPEED_IN_WORDS = 'the speed of a link in each second, such as "100Mbit" or "2.5Gbit"'

# Fifteen digits on each side are more than any duration or size needs, and keep every result finite.
_QUANTITY = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,15})?) ?(?P<unit>[A-Za-z]*|%)")


def _split(text: str) -> tuple[Fraction, str] | None:
    match = _QUANTITY.fullmatch(text.strip())
    return match and (Fraction(match["number"]), match["unit"])


def parse_duration_s(text: str) -> float:
    """Seconds of a duration with a unit (us, ms, s, m, h); a number without one is in seconds.

    The result is the float nearest to the exact value.

    Raises ``ValueError``: the text is not such a duration.
    """
    quantity = _split(text)
    if quantity is None or (quantity[1] or "s") not in SECONDS_PER_UNIT:
        raise ValueError(f'"{text}" is not {DURATION_IN_WORDS}')
    number, unit = quantity
    return float(number * SECONDS_PER_UNIT[unit or "s"])


def parse_size_bytes(text: str) -> int:
    """Bytes of a size with a unit (B, kB, MB, GB, KiB, MiB, GiB); a number without one is in bytes.

    Raises ``ValueError``: the text is not such a size, or not a whole number of bytes.
    """
    quantity = _split(text)
    if quantity is None or (quantity[1] or "B") not in BYTES_PER_UNIT:
        raise ValueError(f'"{text}" is not {SIZE_IN_WORDS}')
    number, unit = quantity
    size = number * BYTES_PER_UNIT[unit or "B"]
    if size.denominator != 1:
        raise ValueError(f'"{text}" is not a whole number of bytes')
    return int(size)


def parse_binary_size_bytes(text: str) -> int:
    """Bytes of a size as PostgreSQL reads its units: a kB, MB or GB of it is a KiB, MiB or GiB.

    Raises ``ValueError`` as :func:`parse_size_bytes`.
    """
    return parse_size_bytes(re.sub(r"[kK]B$", "KiB", re.sub(r"([MG])B$", r"\1iB", text.strip())))


def parse_share(text: str) -> float:
    """Return a share of one from a text in per cent: 0.03 of ``"3 %"``.

    Raises ``ValueError``: the text is not such a share.
    """
    quantity = _split(text)
    if quantity is None or quantity[1] != "%":
        raise ValueError(f'"{text}" is not {SHARE_IN_WORDS}')
    return float(quantity[0] / 100)


def parse_link_speed_bits_per_s(text: str) -> int:
    """Bits per second of a speed with a unit (kbit, Mbit, Gbit).

    Raises ``ValueError``: the text is not such a speed, or less than one bit per second.
    """
    quantity = _split(text)
    if quantity is None or quantity[1] not in BITS_PER_S_PER_UNIT:
        raise ValueError(f'"{text}" is not {LINK_SPEED_IN_WORDS}')
    number, unit = quantity
    speed_bits_per_s = int(number * BITS_PER_S_PER_UNIT[unit])
    if speed_bits_per_s < 1:
        raise ValueError(f'"{text}" is less than one bit per second')
    return speed_bits_per_s


def _seconds(value: object) -> object:
    return parse_duration_s(value) if isinstance(value, str) else value


def _share(value: object) -> object:
    return parse_share(value) if isinstance(value, str) else value


def _bytes(value: object) -> object:
    return parse_size_bytes(value) if isinstance(value, str) else value


def _bits_per_s(value: object) -> object:
    # A bare number could be of bits or of bytes, of thousands or of millions.
    return parse_link_speed_bits_per_s(value if isinstance(value, str) else str(value))


DurationS = Annotated[float, BeforeValidator(_seconds), Ge(0), Expected(DURATION_IN_WORDS)]
"""Seconds, read from a duration."""

SizeBytes = Annotated[int, BeforeValidator(_bytes), Ge(0), Expected(SIZE_IN_WORDS)]
"""Bytes, read from a size."""

Share = Annotated[float, BeforeValidator(_share), Ge(0), Expected(SHARE_IN_WORDS)]
"""A share of one, read from per cent."""

LinkSpeed = Annotated[int, BeforeValidator(_bits_per_s), Expected(LINK_SPEED_IN_WORDS)]
"""Bits per second, read from a speed with its unit."""
