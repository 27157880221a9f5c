"""Quantities with their units as people read them; :mod:`loadcurve.toml.quantities` reads what they write."""

from collections.abc import Iterable, Sequence
from typing import Final

ABSENT: Final = "—"
"""Shown where nothing was measured; never a zero."""

PLAIN_MIN, PLAIN_MAX = 1e-15, 1e15
"""Numbers in between are written without a power of ten."""

LEAST_SHARE = 1e-4
"""Smaller shares are not told apart."""

WHOLE_RATE_MIN = 10
"""Per second; a smaller rate is shown with its decimals."""

BYTES_PER_MIB: Final = 1 << 20
BITS_PER_MBIT: Final = 1_000_000

_NS_PER_MS, _NS_PER_US = 1e6, 1e3


def cut(words: str, characters_max: int) -> str:
    """Return a text of at most ``characters_max`` characters; one that is cut ends in dots, which count."""
    return words if len(words) <= characters_max else f"{words[: characters_max - 1]}…"


def plural(count: int, noun: str) -> str:
    """Return ``1 trial`` or ``3 trials``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listing(words: Iterable[str], joint: str = "and") -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``; ``joint`` is the last two's."""
    *others, last = words
    return f"{', '.join(others)} {joint} {last}" if others else last


def number(value: float | None, digits: int = 3) -> str:
    """Return ``value`` with ``digits`` significant digits, but never without its whole digits.

    A number that nobody counts the digits of any more, such as the end of an interval that
    bounds nothing, is written as ``3.4e+21``.
    """
    if value is None:
        return ABSENT
    if value == 0:
        return "0"
    if not PLAIN_MIN <= abs(value) < PLAIN_MAX:
        return f"{value:.{digits - 1}e}"
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    decimals = digits - 1 - int(f"{rounded:e}".partition("e")[2])
    return f"{rounded:,.{decimals}f}"


def rounded(value: float) -> str:
    """Return a figure for a sentence: as :func:`number`, without zeros behind its last digit."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def whole(value: float | None) -> str:
    """Return a number without decimals."""
    return ABSENT if value is None else f"{value:,.0f}"


def setting(value: float) -> str:
    """Return a swept number with all its digits and with separators."""
    return f"{int(value):,}" if value == int(value) else f"{value:,.10g}"


def typed(value: float) -> str:
    """Return a number as options and file names have it: no separators, no power of ten, to nine decimals."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


def rate(per_s: float | None) -> str:
    """Return a rate as a whole number, or with three digits where it is small: one of 0.25 is no 0."""
    return f"{per_s:,.0f}" if per_s is not None and per_s >= WHOLE_RATE_MIN else number(per_s)


def given_rate(per_s: float) -> str:
    """Return a rate that a person gave: with its decimals where it is small, and never as a power of ten."""
    return f"{per_s:,.0f}" if per_s >= 1000 else f"{per_s:g}"  # noqa: PLR2004 - more digits than readers need


def percent(share: float | None) -> str:
    """Return a share of one in per cent, such as ``3.4 %``; nothing is said below 0.01 %."""
    if share is None:
        return ABSENT
    return "less than 0.01 %" if 0 < share < LEAST_SHARE else f"{number(100 * share, 2)} %"


def whole_percent(share: float) -> str:
    """Return a share of one in whole per cent, such as ``75 %``, where smaller parts say nothing."""
    return f"{100 * share:.0f} %"


def in_percent(share: float, *, signed: bool = False) -> str:
    """Return a share of one in per cent with one decimal and without the unit, such as ``3.9``; never -0."""
    rounded = round(100 * share, 1) + 0.0
    return f"{rounded:+,.1f}" if signed else f"{rounded:,.1f}"


def percent_in_column(share: float) -> str:
    """Return a share of one in per cent with two decimals, so that shares below one another align."""
    return "" if not share else "< 0.01 %" if share < LEAST_SHARE else f"{100 * share:.2f} %"


def in_unit(value: float, unit: str) -> str:
    """Return a figure as its unit has it, without the unit: a ``share`` is a part of 1."""
    shown = value * 100 if unit == "share" else value
    return f"{int(shown):,}" if shown == int(shown) else number(shown)


def behind(unit: str) -> str:
    """Return what of a unit is behind its figures; of a ``ratio`` nothing."""
    return " %" if unit == "share" else f" {unit}" if unit not in {"", "ratio"} else ""


def milliseconds(time_ms: float | None) -> str:
    """Return a time for a column in ms, of four digits or so."""
    if time_ms is None:
        return ABSENT
    return f"{time_ms:,.3f}" if time_ms < 10 else f"{time_ms:,.1f}"  # noqa: PLR2004 - four digits or so


def time_step(step_ms: float) -> str:
    """Return the step between two times that can be told apart, in the unit that leaves it a whole number."""
    step_ns = round(step_ms * _NS_PER_MS)
    for unit, ns in (("ms", _NS_PER_MS), ("µs", _NS_PER_US)):
        if step_ns % ns == 0:
            return f"{step_ns / ns:,.0f} {unit}"
    return f"{step_ns:,} ns"


def clock(length_s: float) -> str:
    """Return a length as minutes and seconds, such as ``2:05``, from an hour on as ``1:02:05``."""
    minutes, seconds = divmod(round(length_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def length(length_s: float) -> str:
    """Return a length in s, or in ms below one second."""
    return f"{length_s:.1f} s" if length_s >= 1 else f"{length_s * 1e3:.0f} ms"


def size(size_bytes: int) -> str:
    """Return a number of bytes by decimal thousands, such as ``1.25 MB``."""
    return _in_units(size_bytes, 1000, ("B", "kB", "MB", "GB", "TB"))


def memory(size_bytes: float) -> str:
    """Return a number of bytes in KiB or MiB."""
    return _in_units(size_bytes / 1024, 1024, ("KiB", "MiB"))


def memory_limit(size_bytes: float) -> str:
    """Return a number of bytes in MiB or GiB."""
    return _in_units(size_bytes / BYTES_PER_MIB, 1024, ("MiB", "GiB"))


def _in_units(value: float, step: int, units: Sequence[str]) -> str:
    """Return a figure with the first of these units in which, as it is shown, it is below ``step``."""
    for unit in units[:-1]:
        shown = rounded(value)
        if float(shown.replace(",", "")) < step:
            return f"{shown} {unit}"
        value /= step
    return f"{rounded(value)} {units[-1]}"
