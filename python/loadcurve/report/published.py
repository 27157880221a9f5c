"""Published figures beside those of a run: the same shape, never the same numbers."""

import itertools
import math
from collections.abc import Sequence

from loadcurve import units
from loadcurve.analysis.published import PublishedPair
from loadcurve.stats.peak import Greatest


def pair_words(key: str, pairs: Sequence[PublishedPair]) -> list[str]:
    """Say of each pair where along ``key`` both are greatest, and how their ranks and shapes agree."""
    sentences = []
    for pair in pairs:
        found = pair.agreement
        if found is None or pair.peak is None:
            sentences.append(
                f"{pair.server}: too few of the published points were measured to compare a shape."
            )
            continue
        shared = {place: value for place, value in pair.published.items() if place in pair.measured}
        top = max(shared, key=shared.__getitem__)
        name = "" if pair.series == pair.server else f" (published as {pair.series})"
        said = (
            f"{pair.server}{name}: of {found.n} shared points, the published curve is greatest at "
            f"{key} = {units.setting(top)} and the measured one at {_measured_top(pair.peak)}. "
        )
        if found.rank_correlation is not None:
            said += (
                f"Spearman's rank correlation of the two is {found.rank_correlation:.2f} (n = {found.n}). "
            )
        said += (
            "Each divided by its greatest value there, they are furthest apart at "
            f"{units.setting(found.gap_at)}, by {units.number(found.gap, 2)}."
        )
        sentences.append(said)
    return sentences


def _measured_top(peak: Greatest) -> str:
    """Return where a curve is greatest, with the other places that the trials do not rule out."""
    others = [units.setting(load) for load in peak.alike or () if load != peak.load]
    return units.setting(peak.load) + (f" (or {units.listing(others)}, by the trials)" if others else "")


def order_words(pairs: Sequence[PublishedPair]) -> list[str]:
    """Say whether the servers come in the same order, by geometric means over the points that all share."""
    shared = {place for pair in pairs for place in pair.published}
    for pair in pairs:
        shared &= pair.published.keys() & pair.measured.keys()
    if len(pairs) < 2 or not shared:  # noqa: PLR2004 - one server has no order
        return []
    published = [_mean([pair.published[at] for at in shared]) for pair in pairs]
    measured = [_mean([pair.measured[at].value for at in shared]) for pair in pairs]
    couples = list(itertools.combinations(range(len(pairs)), 2))
    same = sum((published[a] - published[b]) * (measured[a] - measured[b]) > 0 for a, b in couples)
    orders = [
        ", ".join(names[place] for place in sorted(range(len(names)), key=means.__getitem__, reverse=True))
        for names, means in (
            ([pair.series for pair in pairs], published),
            ([str(pair.server) for pair in pairs], measured),
        )
    ]
    words = (
        f"Geometric means over {units.plural(len(shared), 'shared point')}, the greatest first: published "
        f"{orders[0]}; measured {orders[1]}. {same} of {units.plural(len(couples), 'pair')} "
        f"{'is' if same == 1 else 'are'} in the same order."
    )
    return [words]


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))
