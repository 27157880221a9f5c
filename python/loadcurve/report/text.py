"""Estimates, settings and points as people read them."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from loadcurve.analysis.connections import Range
from loadcurve.analysis.curves import VERDICTS, VerdictStatus
from loadcurve.loads.models import DURATION_KEYS, SHOWN
from loadcurve.loads.option import Shown
from loadcurve.loads.values import Point
from loadcurve.stats.interval import Estimate
from loadcurve.units import ABSENT, number, percent, setting

Item = TypeVar("Item")

MOST_EVEN = 0.2
"""Up to this share of a value, its interval is given as if both ends were equally far."""

MOST_PERCENT = 10
"""An interval that reaches farther than this many times its value is given as a factor."""

MOST_FACTOR = 1_000
"""An interval that reaches farther than this factor bounds nothing, so that its own factor says nothing."""

MOST_DIGITS = 9
"""An end of a ratio that is closer to 1 is shown as 1."""

_ONE = {"connections": "connection", "threads": "thread"}


def estimate(value: Estimate | None) -> str:
    """Return an estimate as ``value (low to high)``, without the second part where it is not known."""
    if value is None:
        return ABSENT
    ends = interval(value)
    return number(value.value) if ends is None else f"{number(value.value)} ({ends})"


def number_of(value: Estimate | None) -> str:
    """Return an estimate's number without its interval."""
    return number(value.value if value else None)


def ratio(value: Estimate | None) -> str:
    """Return the estimate of a ratio as :func:`estimate`; an end that is not 1 does not look like it."""
    if value is None or value.low is None or value.high is None:
        return estimate(value)
    return f"{number(value.value)} ({_beside_one(value.low)} to {_beside_one(value.high)})"


def _beside_one(end: float) -> str:
    """Return an end with as many digits as it takes to see on which side of 1 it lies."""
    shown = (number(end, digits) for digits in range(3, MOST_DIGITS + 1))
    return next((said for said in shown if end == 1 or float(said.replace(",", "")) != 1), number(end))


def interval(value: Estimate | None) -> str | None:
    """Return ``low to high``, or ``None`` where there is no interval."""
    if value is None or value.low is None or value.high is None:
        return None
    return f"{number(value.low)} to {number(value.high)}"


def unbroken(words: str) -> str:
    """Return our words so that no line ends between a figure and its per cent sign, or before its error."""
    space = "\N{NO-BREAK SPACE}"
    return words.replace(" %", f"{space}%").replace(" ± ", f"{space}±{space}")


def short_estimate(value: Estimate | None) -> str:
    """Return an estimate as ``value ± 3.4 %``: so far lies the farther end of the interval.

    Of a wide interval both ends are given, as in ``4,200 (-33 to +49 %)``: on a scale of ratios the upper one
    lies much farther away. One beyond ten times the value, or a tenth, is a factor: ``4,200 (factor of 15)``.
    """
    if value is None:
        return ABSENT
    reach = value.relative_half_width
    if reach is None or value.low is None or value.high is None:
        return number(value.value)
    if reach <= MOST_EVEN:
        return f"{number(value.value)} ± {percent(reach)}"
    factor = max(value.high / value.value, value.value / value.low if value.low > 0 else math.inf)
    if MOST_FACTOR < factor < math.inf:
        return f"{number(value.value)} (factor above {MOST_FACTOR:,})"
    if MOST_PERCENT < factor < math.inf:
        return f"{number(value.value)} (factor of {number(factor, 2)})"
    below, above = (number(100 * abs(end / value.value - 1), 2) for end in (value.low, value.high))
    return f"{number(value.value)} (-{below} to +{above} %)"


def estimate_by_ends(value: Estimate | None) -> str:
    """Return an estimate as ``value ± 3.4 %``, and a wide one by its ends: ``8,854 (2,833 to 27,300)``.

    People plan with the ends of a capacity's interval, so that they need not work them out.
    """
    if value is None or value.relative_half_width is None or value.relative_half_width <= MOST_EVEN:
        return short_estimate(value)
    low, high = value.low or 0.0, value.high or math.inf
    factor = max(high / value.value, value.value / low if low > 0 else math.inf)
    return short_estimate(value) if MOST_FACTOR < factor < math.inf else estimate(value)


def _words(key: str) -> str:
    """Return a key in words; that of another load, such as ``web.connections``, begins with its name."""
    return key.replace("_", " ").replace(".", " ")


def key_title(key: str) -> str:
    """Return the title of a swept key, with its unit where it has one."""
    shown = SHOWN.get(key, Shown())
    unit = shown.unit or ("s" if key in DURATION_KEYS else None)
    title = shown.title or _words(key)
    return title if unit is None else f"{title} ({unit})"


def keys_title(keys: Sequence[str]) -> str:
    """Return a heading for :func:`point_values` that breaks between words, with the unit of durations."""
    titles = [f"{_words(key)}{' (s)' if key in DURATION_KEYS else ''}" for key in keys]
    return ",\n".join(titles) or "point"


def shortened(names: Iterable[str], width: int) -> dict[str, str]:
    """Return names of at most ``width`` characters that differ as the names do, for a column of a table.

    Long names of arms lose the words that all have. Others lose their middle, or a part nearer to an end
    where names would be alike otherwise; what is alike even then gets a number.
    """
    every = list(dict.fromkeys(names))
    if max(map(len, every), default=0) <= width:
        return {name: name for name in every}
    if arms := _without_common_words(every, width):
        return arms
    middle = (width - 1) // 2
    for tail in sorted(range(width), key=lambda tail: abs(tail - middle)):
        short = {name: _cut(name, width, tail) for name in every}
        if len(set(short.values())) == len(every):
            return short
    return {
        name: name if len(name) <= width else f"{name[: width - 2 - len(str(number))]}…~{number}"
        for number, name in enumerate(every, start=1)
    }


def _without_common_words(names: Sequence[str], width: int) -> dict[str, str] | None:
    """Return names such as ``nginx…on…b`` of arms of as many words; ``None`` where these are too long."""
    words = [name.split("-") for name in names]
    if len({len(one) for one in words}) > 1:
        return None
    is_common = [len(set(at)) == 1 for at in zip(*words, strict=True)]
    ends = ["".join(_kept(one, is_common)) for one in words]
    room = width - max(map(len, ends))
    if room < 0 or all(is_common):
        return None
    begin = "-".join(words[0][: is_common.index(False)])[:room].rstrip("-")
    return {name: f"{begin}{end}" for name, end in zip(names, ends, strict=True)}


def _kept(words: Sequence[str], is_common: Sequence[bool]) -> Iterator[str]:
    """Yield the words that not all have, with dots in the place of those between and before them."""
    for left_out, run in itertools.groupby(zip(is_common, words, strict=True), key=lambda one: one[0]):
        yield "…" if left_out else "-".join(word for _, word in run)


def _cut(name: str, width: int, tail: int) -> str:
    """Return a name of at most ``width`` characters, with its last ``tail`` ones."""
    return name if len(name) <= width else f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"


def axis_title(key: str | None) -> str:
    """Return what runs along the axis of a figure; without a key, that is the servers."""
    return key_title(key) if key else "server"


def load(key: str, value: float) -> str:
    """Return a load with its unit, such as ``100 connections`` or ``5,000 per second``."""
    unit = load_unit(key)
    return f"{setting(value)} {_ONE.get(unit, unit) if value == 1 else unit}"


def load_unit(key: str) -> str:
    """Return what a load along ``key`` is counted in."""
    return SHOWN.get(key, Shown()).unit or key_title(key)


def point(settings: Point | None) -> str:
    """Return a point as ``connections = 50``."""
    if settings is None:
        return "before the first point"
    return ", ".join(f"{key} = {setting(value)}" for key, value in settings.items()) or "the only point"


def at_point(settings: Point | None) -> str:
    """Return where something happened: ``at connections = 50``, or before any point."""
    return point(settings) if settings is None else f"at {point(settings)}"


def point_values(settings: Point, keys: Sequence[str]) -> str:
    """Return the values of a point as ``50, 2``, in the order of the keys that a heading names."""
    return ", ".join(setting(settings[key]) if key in settings else ABSENT for key in keys) or ABSENT


def verdict(verdicts: Sequence[VerdictStatus]) -> tuple[str, VerdictStatus | None]:
    """Return the worst verdict of a point's trials in words, and the one in whose style they are shown.

    Where some trials are invalid the figures are of the others, so that their number is said.
    """
    invalid = verdicts.count("invalid")
    if 0 < invalid < len(verdicts):
        return f"{invalid} of {len(verdicts)} invalid", "suspect"
    worst = max(verdicts, key=VERDICTS.index, default=None)
    return worst or "not measured", worst


def moment(iso: str) -> str:
    """Return a moment as ``2026-03-14 09:26 UTC``; what is none in ISO 8601 stays as it is."""
    try:
        known = datetime.fromisoformat(iso).astimezone(UTC)
    except ValueError:
        return iso
    return f"{known:%Y-%m-%d %H:%M} UTC"


def counted(titles: Iterable[str], known: Iterable[str]) -> str:
    """Return how often each known title is there, such as ``1 failed, 2 held``."""
    counts = Counter(titles)
    return ", ".join(f"{counts[title]} {title}" for title in dict.fromkeys(known) if counts[title])


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most ``most`` items, two or more: the first, the last and some evenly between them."""
    if len(items) <= most:
        return list(items)
    step = (len(items) - 1) / (most - 1)
    return [items[round(place * step)] for place in range(most)]


def flattened(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested facts as pairs of a readable name and a value; an unknown value is said to be so."""
    for key, value in facts.items():
        name = f"{prefix}{key.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from flattened(value, f"{name} · ")
        elif value is None:
            yield name, "not known"
        elif isinstance(value, list):
            yield name, ", ".join(_plain(item) for item in value)
        else:
            yield name, _plain(value)


def _plain(value: Any) -> str:  # noqa: ANN401 - any value that JSON has
    """Return a value as a settings file would have it, long whole numbers with separators."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10_000:  # noqa: PLR2004
        return f"{value:,}"
    return str(value)


def range_in_words(found: Range | None, words: Callable[[float], str] = number) -> str:
    """Return "2", or "2 to 5" where they differ; what a page has for what is absent where there is none."""
    if found is None:
        return ABSENT
    least, greatest = words(found.least), words(found.greatest)
    return least if least == greatest else f"{least} to {greatest}"
