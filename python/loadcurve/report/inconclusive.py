"""A run whose trials spread too far to compare anything, in sentences: why, and what would help."""

import math
from collections.abc import Iterator, Mapping

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.disturbance import Disturbance
from loadcurve.analysis.works import works
from loadcurve.result.measures import MEASURES, RANKED_BY, Measure
from loadcurve.stats.noise import VisibleDifference, visible_difference
from loadcurve.stats.power import TRIALS_MAX, trials_to_show

INCONCLUSIVE = 1.0
"""Trials that would not show a factor of two compare nothing."""
USEFUL = 0.25
"""A difference that is worth more trials."""
ENOUGH_TRIALS = 20
"""Where this number of trials would show a useful difference, trials are too few and the machine is fit."""
PLAIN_DIFFERENCE = 0.5
"""A larger difference is said as a factor: nobody thinks of three times as much as of 210 % more."""
DISTURBING_SHARE = 0.1
"""Of a CPU, or of the time: less spreads no trials so far."""


def inconclusive_words(analysis: Analysis, measure: Measure) -> list[str]:
    """Say why a run compares nothing, and what would help; empty for a run that compares anything."""
    found = analysis.ranking(measure)
    spread = {one.measure: one.spread for one in analysis.noise}.get(measure.column)
    if found is None or spread is None or _tells_anything(analysis):
        return []
    trials, servers = found.over_curve.blocks, len(found.over_curve.ranks)
    if trials < 2 or servers < 2:  # noqa: PLR2004 - one trial, or one server, compares nothing anywhere
        return []
    seen = visible_difference(spread, trials, servers).value
    if seen is not None and seen <= INCONCLUSIVE:
        return []
    enough = trials_to_show(math.log1p(USEFUL), spread.log_sd, servers)
    few = enough is not None and enough <= ENOUGH_TRIALS
    machine = list(_of_machine(analysis.disturbance))
    either = list(_of_machine_or_servers(analysis.disturbance))
    if few:
        reason = "The trials are too few to compare anything"
    elif machine:
        reason = "This machine was too disturbed to compare anything in this run"
    else:
        reason = "The trials differ too much to compare anything in this run"
    return [
        f"{reason}: {units.plural(trials, 'trial')} would show {_shown(seen)} in {measure.title}.",
        *_caused([*machine, *either], few=few),
        _help(enough, was_disturbed=bool(machine)),
    ]


def visible_words(analysis: Analysis) -> str | None:
    """Return the smallest difference that the run can see, in words; ``None`` where nothing is compared.

    Of several works it is the smallest of any.
    """
    measure = analysis.measure(analysis.ranked_by)
    parts = [one.analysis for one in works(analysis)] or [analysis]
    visible = [one for part in parts if (one := _visible(part, measure)) is not None]
    if not visible:
        return None
    seen = min((one.value for one in visible if one.value is not None), default=None)
    if seen is None:
        return f"No difference in {measure.title}, however large, can be detected in this run."
    if seen > PLAIN_DIFFERENCE:
        least = difference_words(seen)
        return (
            f"Servers that differ by less than {least} in {measure.title} may not be told apart in this run."
        )
    return f"Differences below {units.percent(seen)} in {measure.title} may not be detected in this run."


def _visible(analysis: Analysis, measure: Measure) -> VisibleDifference | None:
    """Return what is detected with a probability of 80 %; ``None`` where nothing is compared."""
    found = analysis.ranking(measure)
    spread = {one.measure: one.spread for one in analysis.noise}.get(measure.column)
    if found is None or spread is None:
        return None
    trials, servers = found.over_curve.blocks, len(found.over_curve.ranks)
    if trials < 2 or servers < 2:  # noqa: PLR2004 - one trial, or one server, compares nothing anywhere
        return None
    return visible_difference(spread, trials, servers)


def _tells_anything(analysis: Analysis) -> bool:
    """Say whether any two servers are told apart, over the curve or at any point."""
    columns = {MEASURES[name].column for name in RANKED_BY}
    rankings = (
        ranking
        for one in analysis.rankings
        if one.measure in columns
        for ranking in (one.over_curve, *(at.ranking for at in one.at_points))
    )
    return any(pair.told_apart for ranking in rankings for pair in ranking.pairs)


def _shown(seen: float | None) -> str:
    if seen is None:
        return "no difference, however large,"
    return f"no difference below {difference_words(seen)}"


def difference_words(share: float) -> str:
    """Return a difference between two servers as people say it: ``8 %``, or ``a factor of 3.1``."""
    return units.percent(share) if share <= PLAIN_DIFFERENCE else f"a factor of {units.number(1 + share, 2)}"


def _of_machine(found: Disturbance) -> Iterator[str]:
    """Yield what disturbed the run that no server causes by itself."""
    shares = {
        "the host withheld up to {} of a CPU (steal)": found.steal_share,
        "the CPU limit throttled the server in up to {} of its periods": found.throttled_share,
    }
    yield from _disturbing(shares)
    if found.paused_points:
        of_all = units.plural(found.points, "point")
        yield f"the process that sends the load was paused at {found.paused_points:,} of {of_all}"


def _of_machine_or_servers(found: Disturbance) -> Iterator[str]:
    """Yield the waits that other work causes, and servers with more processes than CPUs as well."""
    shares = {
        "processes waited for a CPU during up to {} of a load": found.cpu_pressure_share,
        "processes waited for memory during up to {} of a load": found.memory_pressure_share,
        "processes waited for disks during up to {} of a load": found.disk_pressure_share,
    }
    found_shares = list(_disturbing(shares))
    if found_shares:
        yield from found_shares[:-1]
        yield f"{found_shares[-1]}, which other work or the servers themselves can cause"


def _disturbing(shares: Mapping[str, float | None]) -> Iterator[str]:
    for words, share in shares.items():
        if share is not None and share >= DISTURBING_SHARE:
            yield words.format(units.percent(share))


def _caused(causes: list[str], *, few: bool) -> list[str]:
    if causes:
        return [f"The records show: {units.listing(causes)}."]
    return [] if few else ["The records show no steal, pressure, throttling or pause that explains it."]


def _help(enough: int | None, *, was_disturbed: bool) -> str:
    trials = (
        f"not even {TRIALS_MAX} trials would show {units.percent(USEFUL)} at this spread"
        if enough is None
        else f"{enough} trials would show {units.percent(USEFUL)} at this spread"
    )
    if was_disturbed:
        elsewhere = "when `loadcurve doctor` finds the machine quiet, or on another one, with longer loads"
        return f"What helps: measure again {elsewhere}; {trials}."
    if enough is None:
        return (
            f"What helps: longer loads, and a warm-up in which the servers reach their final state; {trials}."
        )
    return f"What helps: {trials}, or longer loads."
