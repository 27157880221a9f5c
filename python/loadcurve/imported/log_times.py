"""The times of an access log, as servers write them in brackets, or nginx as ``$msec`` after the line."""

import re
from datetime import datetime
from functools import lru_cache
from typing import Final

from loadcurve.imported.access_log import Logged
from loadcurve.tools.source import shown

_WHAT = (
    "a time in brackets, such as 24/Nov/2026:16:35:20 +0000, with or without decimals of the second, or in "
    "ISO 8601, or as seconds since 1970"
)
_MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_COMMON = re.compile(
    r"(?P<day>\d\d)/(?P<month>[A-Z][a-z]{2})/(?P<year>\d{4}):(?P<clock>\d\d:\d\d:\d\d)"
    r"(?:\.(?P<decimals>\d{1,9}))? (?P<zone>[+-]\d{4})"
)
_ISO = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)T(?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<decimals>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)"
)
_SINCE_1970 = re.compile(r"(?P<seconds>\d{9,11})(?:\.(?P<decimals>\d{1,9}))?")
_BEHIND = re.compile(rb'(?<![^\s"=:])(\d{9,11})\.(\d{3})(?![^\s",;])')
"""What nginx calls ``$msec``: seconds since 1970 with three decimals."""
_BEHIND_DECIMALS: Final = 3
_DECIMALS_MAX: Final = 9
NS_PER_S: Final = 10**_DECIMALS_MAX
_MOMENTS_NS: Final = range(9 * 10**18)
"""From 1970 to 2255: what 64 bits hold."""


class UnknownTime(Exception):  # noqa: N818 - a log is read without the line
    """A time that cannot be read, or has another form than those before; says what was found and expected."""

    def __init__(self, request: Logged, expected: str) -> None:
        """Make it of a request."""
        super().__init__(
            f"found the time {shown(request.time.decode(errors='replace'))}; expected {expected}"
        )


class LogTimes:
    """Reads the times of a log, all of which have the same form."""

    def __init__(self) -> None:
        """Begin without a form."""
        self._decimals: int | None = None
        """Of the first request's time."""
        self._is_behind = False
        """Whether the times are those after the lines."""

    @property
    def step_ns(self) -> int:
        """What all times are multiples of."""
        return int(10 ** (_DECIMALS_MAX - (self._decimals or 0)))

    def moment_ns(self, request: Logged) -> int:
        """Return when a request was logged, in ns since 1970.

        Raises ``UnknownTime``: it has no known form, or another form than those of the earlier requests.
        """
        try:
            moment_ns, decimals = _read(request.time)
        except (ValueError, OverflowError):
            raise UnknownTime(request, _WHAT) from None
        if self._decimals is None:
            self._is_behind = decimals == 0 and _read_behind(request.rest, moment_ns) is not None
            self._decimals = _BEHIND_DECIMALS if self._is_behind else decimals
        if self._is_behind:
            behind_ns = _read_behind(request.rest, moment_ns)
            if behind_ns is None:
                what = "the same time in milliseconds after the line ($msec), as in the earlier requests"
                raise UnknownTime(request, what)
            return behind_ns
        if decimals != self._decimals:
            raise UnknownTime(request, f"a time with {self._decimals} decimals, as in the earlier requests")
        return moment_ns


@lru_cache(maxsize=64)
def _read(time: bytes) -> tuple[int, int]:
    """Return a time in ns since 1970, and its number of decimals.

    Many requests have the same time, so the last results are kept. Raises ``ValueError`` for an unknown
    form of a time.
    """
    text = time.decode("ascii")
    if found := _COMMON.fullmatch(text):
        month = 1 + _MONTHS.index(found["month"])
        seconds = _seconds(f"{found['year']}-{month:02}-{found['day']}", found)
    elif found := _ISO.fullmatch(text):
        seconds = _seconds(found["date"], found)
    elif found := _SINCE_1970.fullmatch(text):
        seconds = int(found["seconds"])
    else:
        raise ValueError(text)
    decimals = found["decimals"] or ""
    moment_ns = seconds * NS_PER_S + int(decimals.ljust(_DECIMALS_MAX, "0"))
    if moment_ns not in _MOMENTS_NS:
        raise ValueError(text)
    return moment_ns, len(decimals)


def _seconds(date: str, found: re.Match[str]) -> int:
    """Return whole seconds since 1970; raises ``ValueError`` for a time that does not exist."""
    return int(datetime.fromisoformat(f"{date}T{found['clock']}{found['zone']}").timestamp())


def _read_behind(rest: bytes, moment_ns: int) -> int | None:
    """Return the time in ms after a line that is within its second; anything else is not taken for a time."""
    for seconds, decimals in _BEHIND.findall(rest):
        behind_ns = (1_000 * int(seconds) + int(decimals)) * (NS_PER_S // 1_000)
        if 0 <= behind_ns - moment_ns < NS_PER_S:
            return behind_ns
    return None
