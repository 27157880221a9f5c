"""Ratios between servers: where a question asks what something costs, or trials are too few to rank by."""

import re
from collections.abc import Sequence

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.report import text
from loadcurve.report.leader import MOST_NAMED
from loadcurve.result.measures import MEASURES, Measure
from loadcurve.stats.ranking import Pair, Ranking

_ASKS_FOR_COST = re.compile(r"\b(costs?|overhead|price|penalty)\b", re.IGNORECASE)
"""Words of a question that is answered by ratios: what does the proxy cost?"""
PROCESSOR = "cpu_per_request_us"
"""The name of the measure of what a request costs its server."""


def cost_words(analysis: Analysis, ranking: Ranking, measure: Measure, where: str) -> list[str]:
    """Return each server's ratio to the best one, where the study's question asks what something costs.

    It is that of ``measure``, unless there are only two servers, whose ratio the answer has already, and that
    of the CPU time of a request. ``where`` begins a sentence, such as ``Over the curve,``.
    """
    if not _ASKS_FOR_COST.search(analysis.run.question or ""):
        return []
    base = ranking.ranks[0].server
    said = []
    if len(ranking.ranks) > 2:  # noqa: PLR2004 -- the ratio of two is in the answer
        said += _sentence(where, measure.title, ranking.pairs_of(base), base)
    processor = MEASURES[PROCESSOR]
    ranked = analysis.ranking(processor)
    if ranked is not None and measure.name != PROCESSOR:
        said += _sentence(where, processor.title, ranked.over_curve.pairs_of(base), base)
    return said


def one_trial_words(analysis: Analysis, ranking: Ranking, measure: Measure) -> list[str]:
    """Return the ratios of a ranking that decides nothing, because no two servers have two blocks in common.

    They have no interval, so that nothing follows from them for another trial, which the sentence says. Where
    a server has further trials, its figures in tables are not those of the ratio, which it says, too.
    """
    if ranking.decides or not ranking.ranks:
        return []
    base = ranking.ranks[0].server
    has_others = any(len(at.trials) > 1 for curve in analysis.curves for at in curve.points)
    once = f"In the one trial that each shares with {base}" if has_others else "Measured once"
    said = _sentence(f"{once}, without an interval,", measure.title, ranking.pairs_of(base), base)
    return [f"{one.removesuffix('.')}; another trial may give other ratios." for one in said]


def _sentence(begin: str, title: str, pairs: Sequence[Pair], base: str) -> list[str]:
    """Return one sentence with the ratios of the others to ``base``, nothing where none is known."""
    others = [pair.seen_from(pair.second) for pair in pairs]
    ratios = [f"{other.first} {text.ratio(other.ratio)}" for other in others if other.ratio is not None]
    if not ratios:
        return []
    named = units.listing(ratios[:MOST_NAMED])
    more = f"; {len(ratios) - MOST_NAMED:,} more are in the report's data" if len(ratios) > MOST_NAMED else ""
    return [f"{begin} in multiples of the {title} of {base}: {named}{more}."]
