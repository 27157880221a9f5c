"""The shape of a curve in words: peak, knee, scalability, capacity, and which to take where."""

import math
from collections.abc import Sequence

from loadcurve import units
from loadcurve.analysis.shape import Shape, SliceShapes
from loadcurve.loads.kinds import LoadKind
from loadcurve.report import text
from loadcurve.report.column import Column
from loadcurve.report.leader import first_named
from loadcurve.report.section import Grid
from loadcurve.result.measures import THROUGHPUT, measures
from loadcurve.stats.capacity import Capacity, TrialCapacity, Unjudged, UnjudgedFor
from loadcurve.stats.leaders import Leader, Leaders
from loadcurve.stats.peak import Greatest
from loadcurve.stats.price import MILLION, Cost, Offer, scaled
from loadcurve.stats.slo import Limit
from loadcurve.stats.usl import Misfit, NoFit, ScalabilityFit

MOST_LOADS = 4
"""More loads than this are named by their number and ends."""

FAR_BEYOND = 100
"""A peak this many times the largest measured load says nothing but that throughput does not fall."""


def limited(limit: Limit, value: float | None) -> str:
    """Return what was measured of a limited measure, such as ``p99 2.31 ms`` or ``errors 0.1 %``."""
    if value is None:
        return f"{limit.name} {units.ABSENT}"
    if limit.is_on_time:
        return f"{limit.name} {units.number(value)} ms"
    return f"{limit.name} {units.number(100 * value)} %"


def conclusions(load: LoadKind, found: SliceShapes) -> list[str]:
    """Return what follows from the curves: capacities, how servers scale, and which to take where."""
    capacities = [f"{one.server} {said}" for one in found.shapes if (said := _capacity(load, found, one))]
    fits = [f"{one.server}: {said}" for one in found.shapes if (said := _scalability(found, one))]
    return [*capacities, *fits, *common_conclusions(load, found)]


def of_each_server(load: LoadKind, found: SliceShapes) -> dict[str, str]:
    """Return by server what its curve shows: peak, knee, capacity, and how it scales, in sentences."""
    key = found.part.key or ""
    said: dict[str, str] = {}
    for one in found.shapes:
        capacity = _capacity(load, found, one)
        sentences = [
            peak_words(load, key, one.peak) if one.peak else "",
            knee_words(key, one.knee) if one.knee else "",
            f"it {capacity}" if capacity else "",
            _scalability(found, one),
        ]
        if any(sentences):
            said[one.server] = " ".join(f"{words[:1].upper()}{words[1:]}" for words in sentences if words)
    return said


def _capacity(load: LoadKind, found: SliceShapes, one: Shape) -> str:
    """Say up to which load a server keeps the limits, and where that could not be judged; nothing without."""
    if found.objective is None:
        return ""
    limits, key = found.objective.text, found.part.key or ""
    if one.capacity:
        return capacity_words(load, key, one.capacity, limits, one.unjudged)
    unjudged = unjudged_words(key, one.unjudged)
    return f"has no capacity that could be judged by {limits}. {unjudged}" if unjudged else ""


def unjudged_words(key: str, found: Unjudged | None) -> str:
    """Say at which loads limits could not be judged, why, and what would do; nothing without any."""
    if found is None:
        return ""
    said = [_unjudged_for(key, one) for one in found.reasons]
    if len(said) == 1:
        return f"They cannot be judged {said[0]}."
    return f"At {len(found.loads)} loads they cannot be judged: {'; '.join(said)}."


def _unjudged_for(key: str, one: UnjudgedFor) -> str:
    """Say at which loads and why, as ``at 1 and 8 connections: p99 requires 368 answers, and 200 came``."""
    named = _named(key, one.loads)
    at_lowest = (
        f" at {units.setting(one.loads[0])}" if len(one.loads) > 1 and one.enough_s is not None else ""
    )
    enough = enough_words(one.enough_s)
    return f"at {named}: {one.why}{at_lowest}{f' ({enough})' if enough else ''}"


def _named(key: str, loads: Sequence[float]) -> str:
    return _loads(key, loads) if len(loads) <= MOST_LOADS else _some_loads(key, loads)


def _some_loads(key: str, loads: Sequence[float]) -> str:
    """Return many loads by their number and ends: there may be others in between."""
    return f"{len(loads)} loads from {units.setting(loads[0])} to {text.load(key, loads[-1])}"


def enough_words(enough_s: float | None) -> str:
    """Say which duration would do; nothing where that is not known."""
    if enough_s is None:
        return ""
    # Rounded up, so that what is said is enough.
    digits = 1 if enough_s < 10 else 0  # noqa: PLR2004 -- two digits or so
    return f"a duration of {math.ceil(enough_s * 10**digits) / 10**digits:,.{digits}f} s or more would do"


def _scalability(found: SliceShapes, one: Shape) -> str:
    """Say how a server scales; nothing where the law was not fitted."""
    if not isinstance(one.scalability, ScalabilityFit):
        return ""
    key, largest = found.part.key or "", found.part.values[-1]
    return scalability_words(one.scalability, largest, key, measured=one.peak)


def common_conclusions(load: LoadKind, found: SliceShapes) -> list[str]:
    """Return what follows from all curves together: which to take where, and what could not be fitted."""
    key, limits = found.part.key or "", found.objective.text if found.objective else ""
    said = []
    if found.cheapest:
        said.append(cheapest_words(key, found.cheapest, limits))
    if found.leaders and found.leaders.ranges:
        named = measures(load).get(found.leading_measure)
        by = named.title if named else found.leading_measure
        words = leaders_words(load, key, found.leaders, by)
        # A single leader comes first in its sentence, and keeps its name.
        first = words[:1] if len(found.leaders.ranges) == 1 else words[:1].upper()
        said.append(f"Without regard to price, {words}" if found.cheapest else f"{first}{words[1:]}")
    unfitted: dict[str, list[str]] = {}
    for one in found.shapes:
        if isinstance(one.scalability, NoFit):
            unfitted.setdefault(one.scalability.reason, []).append(one.server)
    said += [
        f"The universal scalability law does not apply to {units.listing(servers)}: {reason}."
        for reason, servers in unfitted.items()
    ]
    return said


def figures(load: LoadKind, found: SliceShapes) -> Grid:
    """Return each server's peak and knee, and its capacity where there are limits."""
    along = (found.part.key or "").replace("_", " ")
    columns: list[Column[Shape]] = [Column("server", lambda shape: shape.server)]
    if any(one.peak for one in found.shapes):
        columns += [
            Column(
                f"peak {load.per_second}",
                lambda shape: text.short_estimate(shape.peak.value if shape.peak else None),
            ),
            Column(f"at {along}", lambda shape: _place(shape.peak, found.part.values)),
            Column("knee at", lambda shape: _place(shape.knee, found.part.values)),
        ]
    if found.objective:
        columns.append(
            Column(
                "capacity",
                lambda shape: capacity_figure(shape.capacity) if shape.capacity else units.ABSENT,
            )
        )
    return Grid.of(found.shapes, columns)


def costs(load: LoadKind, found: SliceShapes) -> Grid | None:
    """Return what requests cost on each server with a price; ``None`` where no server has one."""
    columns: list[Column[tuple[str, Cost]]] = [
        Column("server", lambda row: row[0]),
        Column("$/hour", lambda row: f"{row[1].usd_per_hour:.4g}"),
        Column(
            f"million {load.requests}/$",
            lambda row: text.short_estimate(scaled(row[1].requests_per_usd, 1 / MILLION)),
        ),
        Column(
            f"$/million {load.requests}", lambda row: text.short_estimate(row[1].usd_per_million_requests)
        ),
    ]
    priced = [(shape.server, shape.cost) for shape in found.shapes if shape.cost]
    return Grid.of(priced, columns) if priced else None


def _place(found: Greatest | None, sweep: Sequence[float]) -> str:
    """Return a load with those that cannot be told apart from it, such as ``100 (50 to 200)``.

    Where those are no stretch of the sweep, they are named: ``100 (or 25, 200)``.
    """
    if found is None:
        return units.ABSENT
    alike = [load for load in found.alike or () if load != found.load]
    if not alike:
        return f"{units.setting(found.load)}{', not reached' if found.place == 'last' else ''}"
    ends = (min(*alike, found.load), max(*alike, found.load))
    if any(ends[0] <= load <= ends[1] and load not in {*alike, found.load} for load in sweep):
        return f"{units.setting(found.load)} (or {', '.join(map(units.setting, sorted(alike)))})"
    return f"{units.setting(found.load)} ({units.setting(ends[0])} to {units.setting(ends[1])})"


def peak_words(load: LoadKind, key: str, peak: Greatest) -> str:
    """Say where throughput is greatest, which loads are no different, and whether the peak was reached."""
    at = f"throughput is greatest at {text.load(key, peak.load)}"
    rate = f"{text.short_estimate(peak.value)} {load.per_second}"
    others = [load for load in peak.alike or () if load != peak.load]
    # So it is another one than that of the point alone.
    allows = ", which the interval allows for" if peak.value.low is not None else ""
    alike = f"; {_loads(key, others)} cannot be told apart from it{allows}" if others else ""
    if peak.place == "last":
        last = "the highest load compared" if peak.not_compared else "the highest usable load"
        said = f"the peak was not reached: {at}, {last}, with {rate}{alike}"
    else:
        said = f"{at}, with {rate}{alike}"
    return f"{said}{_not_compared(key, peak)}."


def _not_compared(key: str, found: Greatest) -> str:
    """Name the loads that a greatest figure was not chosen from although they have one."""
    if not found.not_compared:
        return ""
    return f" (not compared: {_loads(key, found.not_compared)}, without a usable figure in most trials)"


BEYOND = "latency grows by a greater factor than throughput, which may still rise"
"""Throughput divided by latency is greatest at the knee, not throughput."""


def knee_words(key: str, knee: Greatest) -> str:
    """Say up to which load throughput grows more than latency."""
    others = [load for load in knee.alike or () if load != knee.load]
    alike = f" ({_loads(key, others)} cannot be told apart from it)" if others else ""
    at = f"{text.load(key, knee.load)}{alike}"
    if knee.place == "last":
        said = f"the knee was not reached: up to {at} throughput grows by a greater factor than latency"
    elif knee.place == "first":
        said = f"the knee is at {at} or below: with more load {BEYOND}"
    else:
        said = f"the knee is at {at}: above it {BEYOND}"
    return f"{said}{_not_compared(key, knee)}."


def scalability_words(
    fit: ScalabilityFit, largest: float, key: str, *, measured: Greatest | None = None
) -> str:
    """Say what the universal scalability law says of contention and coherency.

    ``key`` is what the curve goes along: connections, or the threads of a load on a database; ``measured`` is
    the peak beside which the sentence is shown.
    """
    doubled = _doubling(fit, largest, key)
    low, high = fit.sigma.low, fit.sigma.high
    # An interval may reach beyond all of the work, which nothing can be.
    span = (
        "" if low is None or high is None else f" ({units.percent(low)} to {units.percent(min(high, 1.0))})"
    )
    serial = f"{units.percent(fit.sigma.value)} of the work is serial{span}"
    return (
        f"by the universal scalability law, {serial}; {_coherency(fit, largest, key, measured)}; {doubled}. "
        f"{_misfit(fit.misfit, key)}"
    )


def _misfit(misfit: Misfit, key: str) -> str:
    """Say how far the curve is from the law, and what that means where it is more than chance."""
    share = f"{units.percent(abs(misfit.share))} of its greatest throughput"
    if misfit.cause in ("small", "chance"):
        by = f"by {share}" if share.startswith("less") else f"by at most {share}"
        return f"The curve differs from the law {by}."
    meaning = (
        "a single trial does not show whether that is chance"
        if misfit.cause == "unknown"
        else "that is more than the difference between trials explains, so the figures have no intervals"
    )
    side = "above" if misfit.share > 0 else "below"
    return f"The curve is {share} {side} the law at {text.load(key, misfit.load)}: {meaning}."


def _coherency(fit: ScalabilityFit, largest: float, key: str, measured: Greatest | None) -> str:
    peak = fit.peak_load
    rises, falls = (measured is not None and measured.place != end for end in ("first", "last"))
    if fit.sigma.value >= 1 or (peak is not None and peak.value <= 1):
        return (
            f"the law has its peak at {text.load(key, 1)}"
            if rises
            else (f"more than {text.load(key, 1)} does not increase throughput")
        )
    is_far = peak is None or peak.value > FAR_BEYOND * largest
    if peak is None or is_far or (fit.kappa.low is not None and fit.kappa.low <= 0):
        at_most = f": more {key} do not reduce throughput"
        # A load that the peak was not compared with may have had more throughput.
        is_compared = measured is None or not measured.not_compared
        return f"no coherency cost is visible{at_most if is_far and not falls and is_compared else ''}"
    span = "" if peak.low is None or peak.high is None else f" ({peak.low:,.0f} to {peak.high:,.0f})"
    where = f"N ≈ {peak.value:,.0f}{span}"
    beyond = ", which is beyond the sweep," if peak.value > largest else ""
    return f"adding {key} beyond {where}{beyond} costs throughput"


def _doubling(fit: ScalabilityFit, largest: float, key: str) -> str:
    gains = [fit.throughput_rps(2 * n) / fit.throughput_rps(n) for n in (1.0, largest / 2)]
    first, last = (f"{gain:.2f}" for gain in gains)
    return f"doubling the {key} from 1 multiplies throughput by {first}, from {largest / 2:,.0f} by {last}"


def capacity_words(
    load: LoadKind, key: str, found: Capacity, objective_text: str, unjudged: Unjudged | None = None
) -> str:
    """Say up to which load the limits hold, or that the sweep does not reach so far."""
    trials = found.trials
    loads = [trial.load for trial in trials]
    # A figure with its interval reads ill before "per second".
    unit = load.per_second if key == "rate" else text.load_unit(key)
    if found.bound == "at_least":
        least = text.load(key, min(loads))
        said = f"keeps {objective_text} at every load that could be judged: its capacity is at least {least}"
    elif found.bound == "below":
        never = never_words(found, objective_text, is_unjudged=unjudged is not None)
        said = f"{never}: its capacity is below {text.load(key, min(loads))}"
    elif found.bound == "between":
        said = f"keeps {objective_text} up to a load {capacity_figure(found)} {unit}"
        said += _between_reserve(found)
    elif found.load is not None:
        one = "" if found.load.n > 1 else " (one trial, so no interval)"
        said = f"keeps {objective_text} up to {capacity_figure(found)} {unit}{one}"
    else:
        figure = f"{capacity_figure(found)} {unit}"
        said = f"keeps {objective_text} up to a load that differs between trials: {figure}"
    rate = found.throughput_rps
    if rate is not None and key != "rate":
        said += f", where it answers {text.estimate_by_ends(rate)} {load.per_second}"
    again = sorted({trial.holds_again_at for trial in trials if trial.holds_again_at is not None})
    if again:
        times = sum(trial.holds_again_at is not None for trial in trials)
        said += (
            f"; in {times} of {units.plural(len(trials), 'trial')} the limits fail and hold again higher up, "
            f"from {text.load(key, again[0])}"
        )
    return " ".join(filter(None, (f"{said}.", late_words(key, found), unjudged_words(key, unjudged))))


def late_words(key: str, found: Capacity) -> str:
    """Say at which loads limits held in spite of a late generator, on which a capacity rests."""
    if not found.late_loads:
        return ""
    return (
        f"At {_named(key, found.late_loads)} the generator was late: that can only have added to the "
        "latencies, and the limits held in spite of it."
    )


def capacity_figure(found: Capacity) -> str:
    """Return a capacity as a figure: with its interval, or with the bounds that the trials give."""
    if found.load is not None:
        return text.estimate_by_ends(found.load)
    if found.bound == "between":
        low, high = found.bracket.low, found.bracket.high
        return f"between {_end(low)} and {_end(high)}"
    if found.bound == "at_least":
        return f"at least {units.setting(min(trial.load for trial in found.trials))}"
    if found.bound == "below":
        # What failed in one trial is not kept, even where another one measured higher loads alone.
        return f"below {units.setting(min(trial.load for trial in found.trials))}"
    return ", ".join(_bound_of_trial(trial) for trial in sorted(found.trials, key=_by_load))


def _between_reserve(found: Capacity) -> str:
    """Say why a capacity is no figure: in how many trials the loads around it could not be judged."""
    count, open_trials = len(found.trials), sum(trial.bound == "between" for trial in found.trials)
    where = "" if count == 1 else f" in {open_trials} of {count} trials"
    return f": the highest that held and the lowest that failed; loads in between could not be judged{where}"


def _bound_of_trial(trial: TrialCapacity) -> str:
    if trial.bound == "exact":
        return units.number(trial.load)
    if trial.bound == "between" and trial.fails_at is not None:
        return f"{units.setting(trial.load)} to {units.setting(trial.fails_at)}"
    return f"{'below' if trial.bound == 'below' else 'at least'} {units.setting(trial.load)}"


def capacity_briefly(found: Capacity) -> str:
    """Say up to which load limits hold that were named before, such as ``keeps them up to 84.8 ± 5.0 %``."""
    if found.bound == "between":
        return f"keeps them up to a load {capacity_figure(found)}"
    if found.load is None and found.bound != "at_least":
        return f"keeps them up to a load that differs between trials ({capacity_figure(found)})"
    return f"keeps them up to {capacity_figure(found)}"


def load_of(is_unjudged: bool) -> str:  # noqa: FBT001 -- the only thing that it depends on
    """Return which loads are all of them, where limits could not be judged at each that was measured."""
    return "load that could be judged" if is_unjudged else "measured load"


def never_words(found: Capacity, limits: str, *, are_many: bool = False, is_unjudged: bool = False) -> str:
    """Say of a server, or of several, that limits fail at the lowest load already."""
    if holds_again(found):
        return f"{'do' if are_many else 'does'} not keep {limits} from the lowest load on"
    return f"{'meet' if are_many else 'meets'} {limits} at no {load_of(is_unjudged)}"


def holds_again(found: Capacity) -> bool:
    """Say whether limits that had failed hold at a higher load in any trial."""
    return any(trial.holds_again_at is not None for trial in found.trials)


def cheapest_words(key: str, offers: Sequence[Offer], objective_text: str) -> str:
    """Say which server keeps the limits for the least money in each range of load."""
    loads = [text.load(key, float(f"{offer.up_to:.3g}")) for offer in offers]
    takers = [f"{offer.server} ({offer.usd_per_hour:.4g} $/h)" for offer in offers]
    said = f"Up to {loads[0]} {takers[0]} keeps {objective_text} at the lowest price"
    for load, taker in zip(loads[1:], takers[1:], strict=True):
        said += f"; above, {taker} up to {load}"
    last = offers[-1]
    end = "the highest measured load" if last.is_end_of_sweep else "and none beyond that"
    return f"{said}, {end}."


def leaders_words(load: LoadKind, key: str, found: Leaders, measure: str) -> str:
    """Say which server is the fastest in each range of load, as far as figures and trials show it."""
    could = " that could be compared" if found.not_compared else ""
    if len(found.ranges) == 1:
        [leader] = found.ranges
        where = f"at {'any' if leader.ahead else 'every'} load{could}"
        return f"{_leads(load, leader, measure)} {where}{_reserve(key, leader)}."
    ranges = [
        f"{'then ' if place else ''}up to {text.load(key, leader.loads[-1])} "
        f"{_leads(load, leader, measure)}{_reserve(key, leader)}"
        for place, leader in enumerate(found.ranges)
    ]
    beyond = [f"nothing is compared at {_loads(key, found.not_compared)}"] if could else []
    return f"{'; '.join([*ranges, *beyond])}."


def _leads(load: LoadKind, leader: Leader, measure: str) -> str:
    """Say that a server has the best figures, or else that no other is shown to beat it."""
    if leader.ahead:
        return f"{leader.server} is not shown to be beaten in {measure}"
    if measure == THROUGHPUT.name:
        return f"{leader.server} answers the most {load.requests}"
    return f"{leader.server} has the lowest {measure}"


def _reserve(key: str, leader: Leader) -> str:
    """Name who is ahead of a leader and where, or else who cannot be told apart from it."""
    if leader.ahead:
        ahead = [f"{server} at {_loads(key, loads)}" for server, loads in leader.ahead.items()]
        return f" (ahead of it, by no more than chance explains: {', '.join(ahead)})"
    alike = [
        f"{server} throughout" if loads == leader.loads else f"{server} at {_loads(key, loads)}"
        for server, loads in leader.alike.items()
    ]
    return f" (not told apart from it: {', '.join(first_named(alike))})" if alike else ""


def _end(load: float | None) -> str:
    return units.ABSENT if load is None else units.setting(load)


def _by_load(trial: TrialCapacity) -> float:
    return trial.load


def _loads(key: str, loads: Sequence[float]) -> str:
    *others, last = loads
    return units.listing([*map(units.setting, others), text.load(key, last)])
