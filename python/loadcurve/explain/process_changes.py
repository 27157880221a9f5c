"""The server's processes or threads changed at a load, and how far the throughput moved with them."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadcurve.explain.finding import Evidence, Finding, FindingCode, estimated, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.measures import is_usable
from loadcurve.result.probe import CountRange
from loadcurve.result.records import PointRecord
from loadcurve.stats.interval import Estimate, exponential_ends, interval_of_logarithms
from loadcurve.units import rounded, setting

CODE = FindingCode(
    "processes_changed",
    title="The number of processes or threads changed",
    seen_where="one process more or fewer than at the point before, or 20 % of the threads and at least 2; "
    "not where their number follows the connections: one per connection at all points, give or take two "
    "and what is left of the point before, or, where the load closes connections, at most one per open or "
    "just closed connection",
    because="runtimes start and end single threads at any time; one per connection is caused by the load",
)

THREADS_MIN = 2
THREADS_SHARE = 0.2
"""Threads count as changed from two and a fifth of them on: runtimes start and end single ones."""
FOLLOWED_CONNECTIONS_MIN = 10
"""Whether processes follow the connections can be seen where these differ by this many."""
HELPERS_MAX = 2
"""This many more or fewer than one for each connection come and go beside them."""
REACH = (-2, -1, 1, 2)
"""The neighbours that a throughput is compared with."""
AROUND_MIN = 3
"""Fewer give no idea of how the curve bends."""
MOVED_SHARE = 0.02
"""Throughput counts as moved from 2 % on, where its interval excludes no change: less is nobody's concern."""


NOT_MOVED = " No bump or dip of the throughput is shown there."


@dataclass(frozen=True, slots=True)
class Change:
    """How processes and threads changed from the point before, or within the window."""

    processes: tuple[int, int]
    threads: tuple[int, int]

    @property
    def of_processes(self) -> bool:
        """Whether it was the processes that changed."""
        return self.processes[0] != self.processes[1]


@dataclass(frozen=True, slots=True)
class BesideNeighbours:
    """A throughput that can be compared with that of the points around it."""

    ratio: Estimate | None
    """To the nearest that they let expect; ``None`` where it lies within that."""


def find(subject: Subject) -> list[Finding]:
    """Find points at which processes or threads came or went, with the bump or dip there."""
    observations = [
        Observation(records[place], change)
        for records in subject.by_trial().values()
        if not _has_one_for_each_connection(records.values())
        for place in sorted(records)
        if (change := _change(records, place)) is not None
    ]
    return merged(CODE, subject, observations, _explain)


def _change(records: dict[int, PointRecord], place: int) -> Change | None:
    """Return what changed at a point, compared with the point before of the same trial."""
    processes, threads = _ranges(records[place])
    if processes is None or threads is None:
        return None
    before = _ranges(records[place - 1]) if place - 1 in records else (None, None)
    change = Change(_from_to(before[0], processes), _from_to(before[1], threads))
    first, last = change.threads
    threads_changed = abs(last - first) >= max(THREADS_MIN, THREADS_SHARE * first)
    return change if change.of_processes or threads_changed else None


def _has_one_for_each_connection(records: Collection[PointRecord]) -> bool:
    """Say whether the load alone determines how many processes, or else threads, a server has in a trial."""
    connections = [record.load.load.connections or 0 for record in records]
    closes = all(record.load.load.closes_connections for record in records)
    for counted in zip(*(_ranges(record) for record in records), strict=True):
        ranges = [count for count in counted if count is not None]
        if len(ranges) < len(connections):
            continue
        most = [count.max for count in ranges]
        if (
            _follow(connections, _without_leftovers(connections, ranges))
            or _end_with_connections(connections, ranges)
            or (closes and _come_and_go(connections, most))
        ):
            return True
    return False


def _without_leftovers(connections: Sequence[int], ranges: Sequence[CountRange]) -> list[int]:
    """Return the most at each point, but the least where more were there at first, from the point before."""
    counts = [ranges[0].max]
    for (opened, opened_now), (before, now) in zip(pairwise(connections), pairwise(ranges), strict=True):
        is_left = opened > opened_now and now.max <= before.max
        counts.append(now.min if is_left else now.max)
    return counts


def _end_with_connections(connections: Sequence[int], ranges: Sequence[CountRange]) -> bool:
    """Say whether there is one for each of always as many connections, and none once these are closed.

    A server with its own rules keeps some of what it has started.
    """
    begun, later = ranges[0], ranges[1:]
    return (
        len({*connections}) == 1
        and all(0 <= count.max - connections[0] <= HELPERS_MAX for count in (begun, *later))
        and any(count.min <= HELPERS_MAX for count in later)
    )


def _follow(connections: Sequence[int], counts: Sequence[int]) -> bool:
    """Say whether there is one for each connection; where these hardly differ, only exactly so."""
    others = [count - opened for count, opened in zip(counts, connections, strict=True)]
    if max(connections) - min(connections) >= FOLLOWED_CONNECTIONS_MIN:
        return max(others) - min(others) <= HELPERS_MAX
    return min(connections) < max(connections) and 0 <= min(others) == max(others) <= HELPERS_MAX


def _come_and_go(connections: Sequence[int], counts: Sequence[int]) -> bool:
    """Say whether there is one for each connection, of which at any moment some are just closed or opened."""
    at_most = all(
        count <= 2 * opened + HELPERS_MAX for count, opened in zip(counts, connections, strict=True)
    )
    most = max(connections)
    return at_most and most <= max(
        count for count, opened in zip(counts, connections, strict=True) if opened == most
    )


def _ranges(record: PointRecord) -> tuple[CountRange | None, CountRange | None]:
    server = record.probe.server
    return (server.processes, server.threads) if server else (None, None)


def _from_to(before: CountRange | None, now: CountRange) -> tuple[int, int]:
    """Return the count before, or the least of now, and the one of now that is farthest from it."""
    first = now.min if before is None else before.max
    return first, now.max if now.max - first >= first - now.min else now.min


def _explain(subject: Subject, seen: Sequence[Observation[Change]]) -> Explanation:
    places = sorted({subject.place(one.record) for one in seen})
    beside = [(place, found) for place in places if (found := throughput_beside_neighbours(subject, place))]
    biggest = max((one.detail for one in seen), key=_size)
    what, (first, last) = (
        ("processes", biggest.processes) if biggest.of_processes else ("threads", biggest.threads)
    )
    more = "started" if last > first else "ended"
    alone = len(subject.points) == 1
    effect, moved, shown = _effect(subject, beside, of_several=len(places) > 1)
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"The server's {what} went from {first:,} to {last:,} here.{effect}",
        # Where they change nearly everywhere, it is chance that one of these points lies off the curve.
        briefly=f"{moved}, where its {what} went from {first:,} to {last:,}"
        if moved and len(places) <= len(subject.points) / 2
        else None,
        evidence=[
            *ranged("processes before", "", [one.detail.processes[0] for one in seen]),
            *ranged("processes after", "", [one.detail.processes[1] for one in seen]),
            *ranged("threads before", "", [one.detail.threads[0] for one in seen]),
            *ranged("threads after", "", [one.detail.threads[1] for one in seen]),
            *shown,
        ],
        cause=f"The server {more} {what} by its own rules, which depend on the connections or "
        f"{subject.load.requests} in flight, so different numbers of them served "
        + ("parts of this load." if alone else "the points on both sides of this one."),
        advice="Set the initial, minimum and maximum number of processes and threads to the same value"
        + (
            ", or warm the load up for longer."
            if alone
            else ", or read this part of the curve as two separate curves."
        ),
    )


def _size(change: Change) -> tuple[bool, float]:
    first, last = change.processes if change.of_processes else change.threads
    return change.of_processes, abs(math.log(max(last, 1) / max(first, 1)))


def _effect(
    subject: Subject, beside: Sequence[tuple[int, BesideNeighbours]], *, of_several: bool
) -> tuple[str, str | None, list[Evidence]]:
    """Return whether the throughput moved, in a sentence, and where it did as a clause, with the evidence.

    Nothing where there are no points around.
    """
    if not beside:
        return "", None, []
    known = [(place, one.ratio) for place, one in beside if one.ratio is not None]
    if not known:
        return NOT_MOVED, None, []
    place, ratio = max(known, key=lambda one: abs(math.log(one[1].value)))
    key = subject.swept_key
    where = f"at {key} = {setting(subject.points[place][key])}" if key else "there"
    evidence = [estimated(f"throughput {where}, relative to its neighbours", "ratio", ratio)]
    excludes_no_change = ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high
    if abs(ratio.value - 1) < MOVED_SHARE or not excludes_no_change:
        return NOT_MOVED, None, evidence
    side = "above" if ratio.value > 1 else "below"
    by = f"{rounded(100 * abs(ratio.value - 1))} % {side}"
    lies = f"lies {by} what its neighbours let expect"
    return (
        f" The throughput {where} {lies}.",
        f"throughput{f' {where}' if of_several else ''} {lies}",
        evidence,
    )


def throughput_beside_neighbours(subject: Subject, place: int) -> BesideNeighbours | None:
    """Return the throughput at a point in parts of what its neighbours let expect, over trials.

    In logarithms of the swept value and of the throughput a curve bends downwards, however sharply where the
    server or the machine reaches a limit: up to there throughput grows with the load, and then no more. So at
    a point it is at least on the straight line between the two neighbours, and at most on the lines through
    the two before and through the two after it. Only what lies below the first, or above both others, is
    beside the curve. ``None`` at the ends of the sweep, with fewer than three points around, and where not
    exactly one key is swept.
    """
    key = subject.swept_key
    around = [place + step for step in REACH if 0 <= place + step < len(subject.points)]
    if key is None or len(around) < AROUND_MIN or not around[0] < place < around[-1]:
        return None
    swept = {other: subject.points[other][key] for other in (place, *around)}
    if min(swept.values()) <= 0 or len(set(swept.values())) < len(swept):
        return None
    at = {other: math.log(value) for other, value in swept.items()}
    trials = list(_logarithms_of_trials(subject, list(at)))
    if not trials:
        return None
    below = _beyond_line(trials, at, place, (place - 1, place + 1))
    lines = [(place - 2, place - 1), (place + 1, place + 2)]
    above = [_beyond_line(trials, at, place, pair) for pair in lines if set(pair) <= at.keys()]
    is_below = math.fsum(below) < 0
    is_above = len(above) == len(lines) and all(math.fsum(one) > 0 for one in above)
    if is_below == is_above:
        # Between the lines; or beside them on both sides, which says more of the neighbours.
        return BesideNeighbours(None)
    # Above both lines is above the one that it is less surely above.
    ratios = [found for one in ([below] if is_below else above) if (found := _ratio(one)) is not None]
    return BesideNeighbours(min(ratios, key=lambda one: one.low or 0.0)) if ratios else None


def _logarithms_of_trials(subject: Subject, places: Sequence[int]) -> Iterator[dict[int, float]]:
    """Yield the logarithms of the throughput at places, of each trial with a usable one at every place."""
    for records in subject.by_trial().values():
        rates = {
            place: records[place].load.rate_rps.answered
            for place in places
            if place in records and is_usable(records[place])
        }
        known = {place: math.log(rate) for place, rate in rates.items() if rate}
        if len(known) == len(places):
            yield known


def _beyond_line(
    trials: Sequence[Mapping[int, float]], at: Mapping[int, float], place: int, through: tuple[int, int]
) -> list[float]:
    """Return by how much each trial's logarithm at a place is greater than the line through two others."""
    one, other = through
    share = (at[place] - at[one]) / (at[other] - at[one])
    return [trial[place] - trial[one] - share * (trial[other] - trial[one]) for trial in trials]


def _ratio(logarithms: Sequence[float]) -> Estimate | None:
    """Return the ratio; ``None`` where the line reaches so far beyond the points that it is no number."""
    mean = math.fsum(logarithms) / len(logarithms)
    return None if exponential_ends(mean, 0.0)[0] is None else interval_of_logarithms(logarithms)


RULE = Rule(240, find, CODE)
