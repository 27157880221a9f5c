"""Which server is ahead by a measure, and by how much, in one sentence."""

from collections.abc import Sequence

from loadcurve import units
from loadcurve.report import text
from loadcurve.report.shown import Shown
from loadcurve.result.measures import Measure
from loadcurve.stats.interval import Estimate
from loadcurve.stats.ranking import Pair, Ranking

FRACTION_BELOW = 0.1
"""A smaller ratio has too many zeros to read easily: it is written as a fraction."""
MOST_NAMED = 4
"""A sentence names at most this many servers one by one."""


def leader_words(ranking: Ranking, measure: Measure, shown: Shown | None = None) -> str:
    """Say who is ahead, who cannot be told apart from it, and its ratio to the next and to the last server.

    ``ranking`` has two servers or more, and decides; ``shown`` are the figures of the page.
    """
    leader = ranking.leader
    if leader is None:
        return "; ".join([f"each server is beaten by another one in {measure.title}", *uncompared(ranking)])
    compared = [pair for pair in ranking.pairs_of(leader) if pair.p_value is not None]
    alike = [pair.second for pair in compared if not pair.told_apart]
    behind = [pair for pair in compared if pair.told_apart]
    ahead = shown.always_ahead_of(leader) if shown else []
    ends = {"lower": ("lower", "lowest"), "higher": ("higher", "highest")}
    of_two, of_many = ends[measure.better or "higher"]
    best = f"the {of_many if len(ranking.ranks) > 2 else of_two} {measure.title}"  # noqa: PLR2004
    if ranking.has_uncompared:
        best += " of those that can be compared"
    # With few blocks or a wide spread, a server's difference from the leader may not be shown although that
    # of a server ranked before it is.
    places = {rank.server: place for place, rank in enumerate(ranking.ranks)}
    in_order = all(places[one] < places[pair.second] for one in [leader, *alike] for pair in behind)
    together = in_order and any({leader, *alike} <= set(group) for group in ranking.groups)
    if ahead:
        have = "have the better figures" if len(ahead) > 1 else "has the better figure"
        said = f"{leader} is not shown to be beaten in {measure.title}, although {_named(ahead)} {have}"
        said += f"; it has {_lead(behind, ranking, shown)}" if behind else ""
    elif not alike:
        said = f"{leader} has {best}{_lead(behind, ranking, shown, ', ')}"
    elif together and behind:
        said = f"{_named([leader, *alike])} have {best} and cannot be told apart; {leader} has "
        said += _lead(behind, ranking, shown)
    elif together:
        said = f"{_named([leader, *alike])} cannot be told apart in {measure.title}"
    else:
        said = f"{leader} has {best}, but cannot be told apart from {_named(alike)}"
        said += (
            f"; it has {_lead(behind, ranking, shown)}"
            if behind
            else _other_difference(ranking, measure, shown)
        )
    return "; ".join([said, *uncompared(ranking)])


def uncompared(ranking: Ranking) -> list[str]:
    """Name the pairs of servers that no two blocks have in common; empty where there are none."""
    pairs = [f"{pair.first} and {pair.second}" for pair in ranking.pairs if pair.p_value is None]
    return [f"without two usable blocks in common: {', '.join(first_named(pairs))}"] if pairs else []


def first_named(words: Sequence[str]) -> list[str]:
    """Return the first of many, and how many more there are."""
    more = [f"{len(words) - MOST_NAMED:,} more"] if len(words) > MOST_NAMED else []
    return [*words[:MOST_NAMED], *more]


def _named(servers: Sequence[str]) -> str:
    return units.listing(first_named(servers))


def _lead(behind: Sequence[Pair], ranking: Ranking, shown: Shown | None, before: str = "") -> str:
    """Give the leader's ratio to the first and to the last of the servers that are told apart from it."""
    if not behind:
        return ""
    ratios = [f"{_times(pair.ratio)} that of {pair.second}{_common(shown, pair)}" for pair in behind]
    if len(ratios) > 1:
        is_last = len(ratios) > 2 and behind[-1].second == ranking.ranks[-1].server  # noqa: PLR2004
        last = f", the last of {len(ranking.ranks)}" if is_last else ""
        ratios = [ratios[0], f"{ratios[-1]}{last}"]
    return f"{before}{units.listing(ratios)}"


def _times(ratio: Estimate | None) -> str:
    """Return ``0.53 (0.30 to 0.95) times``, or ``1/1,890 (1/3,390 to 1/1,050) of`` of a small ratio."""
    if ratio is None:
        return "an out-of-range multiple of"
    if not 0 < ratio.value < FRACTION_BELOW:
        return f"{text.ratio(ratio)} times"
    if ratio.low is None or ratio.high is None or ratio.low <= 0:
        return f"{_fraction(ratio.value)} of"
    return f"{_fraction(ratio.value)} ({_fraction(ratio.low)} to {_fraction(ratio.high)}) of"


def _fraction(ratio: float) -> str:
    return f"1/{units.number(1 / ratio)}" if ratio < 1 else units.number(ratio)


def _common(shown: Shown | None, pair: Pair) -> str:
    return shown.in_common([pair.first], [pair.second], pair.ratio) if shown else ""


def _other_difference(ranking: Ranking, measure: Measure, shown: Shown | None) -> str:
    """Name the difference between the outermost servers that are told apart, where the leader has none."""
    apart = [pair for pair in ranking.pairs if pair.told_apart]
    if not apart:
        return ""
    widest = [pair for pair in apart if pair.first == apart[0].first][-1]
    common = _common(shown, widest)
    return f"; {widest.first} has {_times(widest.ratio)} the {measure.title} of {widest.second}{common}"
