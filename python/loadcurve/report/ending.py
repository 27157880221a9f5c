"""How many trials there were and why, in words."""

from collections.abc import Sequence

from loadcurve.analysis.analysis import Analysis
from loadcurve.report import text
from loadcurve.result.measures import MEASURES
from loadcurve.stats.stopping import UntilNarrow, WidePoint

MOST_NAMED = 3
"""Wide intervals are named up to this many."""


def trials_in_words(analysis: Analysis) -> list[str]:
    """Say why a run of as many trials as it needs has ended, and where there is no interval."""
    if analysis.is_search:
        return []
    ended = analysis.ending
    rule = ended.rule
    sentences = []
    if rule is not None and ended.reason in {"narrow", "at_most"}:
        why = "because" if ended.reason == "narrow" else "the most that the study allows;"
        sentences.append(
            f"It ended after {text.plural(ended.blocks, 'trial')} of each server, {why} "
            f"{wide_in_words(ended.wide, rule)}."
        )
    measured = [point for curve in analysis.curves for point in curve.points if point.usable]
    single = [point for point in measured if len(point.usable) == 1]
    if single and len(single) == len(measured):
        sentences.append("With one usable trial of each server there is no interval, and no ranking.")
    elif single:
        sentences.append(
            f"{text.plural(len(single), 'point')} of a server with one usable trial "
            f"{'has' if len(single) == 1 else 'have'} no interval."
        )
    return sentences


def wide_in_words(wide: Sequence[WidePoint], rule: UntilNarrow) -> str:
    """Say which intervals are wider than the study wants."""
    goal = f"± {text.percent(rule.share)}"
    if not wide:
        return f"every interval of the {MEASURES[rule.measure].title} is within {goal}"
    named = text.listing(
        f"{one.server} at {text.point(one.point)} "
        + ("(no interval)" if one.half_width is None else f"(± {text.percent(one.half_width)})")
        for one in wide[:MOST_NAMED]
    )
    more = f", and {len(wide) - MOST_NAMED:,} more" if len(wide) > MOST_NAMED else ""
    return f"the interval of the {MEASURES[rule.measure].title} is not within {goal} for {named}{more}"
