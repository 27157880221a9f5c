"""A ranking as a sentence, which the answer and the section of rankings share."""

from collections.abc import Sequence
from typing import Final

from loadcurve import units
from loadcurve.report import text
from loadcurve.report.leader import uncompared
from loadcurve.report.shown import Shown
from loadcurve.result.measures import Measure
from loadcurve.stats.ranking import Ranking, Tier

MOST_GROUPS: Final = 4
"""Groups of one tier that overlap are listed up to this many."""


def in_words(ranking: Ranking, measure: Measure, shown: Shown | None = None) -> str:
    """Return a ranking as a sentence: who cannot be told apart, and by how much the others differ.

    ``shown`` are the figures that the page shows with the sentence.
    """
    if len(ranking.ranks) < 2:  # noqa: PLR2004 - a comparison has two sides
        alone = "".join(rank.server for rank in ranking.ranks)
        return f"only {alone} has usable points, so there is nothing to compare"
    if not ranking.decides:
        return (
            "one trial of each server has no interval, so they cannot be ranked"
            if ranking.blocks == 1
            else "no two servers have two usable blocks in common, so they cannot be ranked"
        )
    parts: list[str] = []
    for tier, following in zip(ranking.tiers, [*ranking.tiers[1:], None], strict=True):
        within = [group for group in ranking.groups if len(group) > 1 and set(group) <= set(tier.servers)]
        if within:
            parts.append(_alike(within) if len(within) <= MOST_GROUPS else _overlap(ranking, tier))
        if following is not None:
            common = shown.in_common(tier.servers, following.servers, tier.to_next) if shown else ""
            parts.append(f"{_lead(tier, following, measure, of_many=bool(within))}{common}")
    return "; ".join([*parts, *uncompared(ranking)])


def places_words(best: int, worst: int) -> str:
    """Return places of a ranking, such as ``1`` or ``2 to 4``."""
    return str(best) if best == worst else f"{best} to {worst}"


def _alike(groups: Sequence[Sequence[str]]) -> str:
    first, *others = map(units.listing, groups)
    return ", nor can ".join([f"{first} cannot be told apart", *others])


def _overlap(ranking: Ranking, tier: Tier) -> str:
    """Say which places cannot be ruled out for each server of a tier, where a list of groups is a puzzle."""
    in_tier = [one for one in ranking.ranks if one.server in tier.servers]
    places = [f"{one.server} {places_words(one.best, one.worst)}" for one in in_tier]
    return f"places that cannot be ruled out, in {len(ranking.ranks)}: {', '.join(places)}"


def _lead(tier: Tier, following: Tier, measure: Measure, *, of_many: bool) -> str:
    """Say by how much a tier is ahead of the next one."""
    if not of_many:
        subject = f"{tier.servers[0]} has"
    else:
        subject = "both have" if len(tier.servers) == 2 else "together they have"  # noqa: PLR2004
    if tier.to_next is None:
        return f"{subject} a better {measure.title} than {units.listing(following.servers)}"
    times = text.ratio(tier.to_next)
    # The leader's own ratio, which an answer has, is another one.
    subject = "their geometric mean is" if of_many else subject
    return f"{subject} {times} times the {measure.title} of {units.listing(following.servers)}"
