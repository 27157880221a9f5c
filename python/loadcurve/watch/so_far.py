"""What the verdict on a load would be if it ended now, as far as its seconds tell.

The thresholds are those of the verdict at the end, which sees much more: docs/methodology/verdicts.md.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from loadcurve import units
from loadcurve.loads.values import Point
from loadcurve.watch.live import LiveSecond

INVALID_ERROR_SHARE: Final = 0.01
KEPT_RATE_SHARE: Final = 0.99
RATE_KEY: Final = "rate"


class SoFar(NamedTuple):
    """A verdict on what a load has shown until now."""

    status: Literal["valid", "suspect", "invalid"]
    text: str
    """Why, as a sentence."""


def verdict_so_far(seconds: Sequence[LiveSecond], point: Point | None) -> SoFar | None:
    """Return the verdict on a load under way at a point; ``None`` where nothing is known of it yet."""
    if not seconds or (answered := seconds[-1].answered) is None:
        return None
    last = seconds[-1]
    ended = answered + last.failed
    if not answered:
        text = "no answer yet" if not last.failed else f"all of {units.plural(last.failed, 'request')} failed"
        return SoFar("invalid", f"{text.capitalize()}.")
    if last.failed:
        share = last.failed / ended
        status: Literal["suspect", "invalid"] = "invalid" if share > INVALID_ERROR_SHARE else "suspect"
        return SoFar(status, f"{last.failed:,} of {ended:,} requests failed ({units.percent(share)}).")
    asked_rps = None if point is None else point.get(RATE_KEY)
    reached_rps = answered / last.at_s if last.at_s else None
    if asked_rps and reached_rps is not None and reached_rps < KEPT_RATE_SHARE * asked_rps:
        return SoFar(
            "suspect",
            f"{units.rate(reached_rps)} answers per second of {units.rate(asked_rps)} that fall due.",
        )
    return SoFar("valid", "Nothing speaks against it yet; at the end it is judged by more.")
