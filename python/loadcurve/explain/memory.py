"""Memory that grows with requests (a leak), with time, or with connections."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, log
from statistics import fmean, median

from loadcurve import units
from loadcurve.explain.finding import Evidence, Finding, FindingCode, estimated, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, finding, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord
from loadcurve.stats.interval import Estimate, mean_interval
from loadcurve.units import BYTES_PER_MIB

LEAK = FindingCode(
    "memory_grows_with_requests",
    title="Memory grew with the requests",
    seen_where="each quarter of a window of 4 s or more entirely above the one before, by at least 1 MiB and "
    "2 % in total, in every trial, including the last point; or the same of all shorter windows of a start, "
    "where each lies above the one before and together they are as long: likely",
    because="garbage collectors, caches and warm-ups level off, often after a second or two; with "
    "several processes, proportional memory is used",
)
TIMED = FindingCode(
    "memory_grows_with_time",
    title="Memory grew with time, not with the requests",
    seen_where="the same, where the most answered requests per second are at least twice the fewest, and the "
    "growth per second rose with less than the square root of that rate: likely",
    because="what is kept of each request grows in proportion to the rate, and what a timer keeps does not "
    "depend on it; the square root lies between the two",
)
CONNECTIONS = FindingCode(
    "memory_per_connection",
    title="Memory grows with the connections",
    seen_where="slope over the points, one per trial; interval above 0; growth of at least 4 MiB and 20 % "
    "along the sweep; with several processes, proportional memory; not where memory kept growing within the "
    "windows, at half of the points by a fifth or more of what it had grown since the point before; likely, "
    "and no figure for each connection, where a point lies off the line between the fewest and the most by a "
    "quarter of the growth",
    because="smaller growth does not matter for sizing; resident memory would count shared pages several "
    "times; connections are open from the start of a window, so what grows within it is kept for another "
    "reason",
)

LEAK_BYTES_MIN = BYTES_PER_MIB
LEAK_SHARE_MIN = 0.02
"""Growth within a window that counts: a mebibyte and 2 %. Allocators take as much in one step."""
LEAK_SAMPLES_MIN = 8
"""Fewer samples than two in each quarter of a window tell no growth that continues from a step."""
LEAK_LENGTH_MIN_S = 4.0
"""In a shorter window what levels off later looks the same: a warm-up may well take a second or two."""
GROWTH_BYTES_MIN = 4 * BYTES_PER_MIB
GROWTH_SHARE_MIN = 0.2
"""Growth along the sweep that counts: 4 MiB, and a fifth of the memory at the fewest connections."""
WITHIN_SHARE_MAX = 0.2
"""Of the growth from point to point, what came within the window although the connections were open."""
WITHIN_SAMPLES_MIN = 4
"""Samples of a window that has quarters."""
TIMED_SPREAD_MIN = 2.0
"""How far the rates of points must lie apart before growth with the requests and with time differ."""
TIMED_EXPONENT_MAX = 0.5
"""The growth per second is in proportion to the rate to this power: 1 for requests, 0 for time."""
OFF_LINE_SHARE_MAX = 0.25
"""Of the growth along the sweep: a point farther from the line through its ends than this is not on it."""
SETTINGS_MIN = 3
"""Different numbers of connections through which a line is drawn: two lie on any line."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How memory grew within a window."""

    bytes_per_s: float
    seconds: float
    start_bytes: float
    end_bytes: float
    answered_rps: float

    @property
    def grown_bytes(self) -> float:
        """By how much it grew."""
        return self.bytes_per_s * self.seconds

    @property
    def bytes_per_request(self) -> float:
        """By how much for each request answered."""
        return self.bytes_per_s / self.answered_rps


def find(subject: Subject) -> list[Finding]:
    """Find memory that grows with the requests answered, and memory that each connection takes.

    Along a sweep connections, requests and time grow together, so what a connection takes is not known where
    memory grows within the windows.
    """
    leaks = _leaks(subject)
    if leaks:
        return leaks
    return _per_connection(subject)


def _leaks(subject: Subject) -> list[Finding]:
    grown = {id(record): growth for record in subject.records if (growth := _growth(record)) is not None}
    # A leak continues with every start of the server and at every load: what grows in one trial is its own
    # affair, and what grows at the first points only may be a server that is still warming up.
    measured = [records for records in subject.by_place() if records]
    steady = [records for records in measured if all(_is_leak(grown.get(id(one))) for one in records)]
    records = [record for records in steady for record in records]
    if not steady or steady[-1] is not measured[-1]:
        by_trial = [[grown.get(id(one)) for one in trial] for trial in _in_order(subject)]
        if not all(map(_is_leak_together, by_trial)):
            return []
        records = subject.records
    observations = [Observation(record, grown[id(record)]) for record in records]
    if _is_timed([one.detail for one in observations]):
        return merged(TIMED, subject, observations, _explain_timed)
    return merged(LEAK, subject, observations, _explain_leak)


def _in_order(subject: Subject) -> list[list[PointRecord]]:
    """Return the records of each start of the server, in the order of measuring."""
    starts: dict[object, list[PointRecord]] = {}
    for record in subject.records:
        place = subject.place(record) if subject.run.starts_each_point else None
        starts.setdefault((record.trial, place), []).append(record)
    return list(starts.values())


def _growth(record: PointRecord) -> Growth | None:
    """Return how memory grew; ``None`` unless it grew through the whole window."""
    known, answered_rps = _memory_over_time(record), record.load.rate_rps.answered
    if len(known) < LEAK_SAMPLES_MIN or not answered_rps:
        return None
    quarter = len(known) // 4
    memory = [value for _, value in known]
    quarters = [
        memory[:quarter],
        memory[quarter : 2 * quarter],
        memory[2 * quarter : -quarter],
        memory[-quarter:],
    ]
    # Where a collector gives back, or a step is taken once, some quarter is not wholly above the last one.
    if any(min(later) <= max(earlier) for earlier, later in pairwise(quarters)):
        return None
    # The samples lie in the middle of their intervals: as many intervals as samples are seen.
    seconds = (known[-1][0] - known[0][0]) * len(known) / (len(known) - 1)
    return Growth(_slope(known), seconds, memory[0], memory[-1], answered_rps)


def _memory_over_time(record: PointRecord) -> list[tuple[float, float]]:
    """Return the samples of the server's memory in the window, by their seconds; empty where it has none."""
    series = record.probe.series
    if series is None:
        return []
    column = series.memory_bytes if _is_one_process(record) else series.proportional_memory_bytes
    if column is None:
        return []
    return [(t_s, memory) for t_s, memory in zip(series.t_s, column, strict=True) if memory is not None]


def _is_leak(growth: Growth | None) -> bool:
    """Say whether the growth within one window is a leak by itself: it is long, and the growth counts."""
    return growth is not None and _counts([growth])


def _is_leak_together(windows: Sequence[Growth | None]) -> bool:
    """Say the same of the windows of one start, in their order: all grow, and each is above the last one."""
    grown = [window for window in windows if window is not None]
    if len(grown) < len(windows) or any(b.start_bytes <= a.end_bytes for a, b in pairwise(grown)):
        return False
    return _counts(grown)


def _counts(windows: Sequence[Growth]) -> bool:
    grown = sum(window.grown_bytes for window in windows)
    # The moments of samples, and with them the seconds that these span, are off by some milliseconds.
    seconds = sum(window.seconds for window in windows) * 1.02
    least = max(LEAK_BYTES_MIN, LEAK_SHARE_MIN * windows[0].start_bytes)
    return seconds >= LEAK_LENGTH_MIN_S and grown >= least


def _is_timed(seen: Sequence[Growth]) -> bool:
    """Say whether memory grew by the second rather than by the request, where rates differ enough to tell."""
    rates = [one.answered_rps for one in seen]
    if max(rates) < TIMED_SPREAD_MIN * min(rates):
        return False
    logs = [(log(one.answered_rps), log(one.bytes_per_s)) for one in seen]
    return _slope(logs) < TIMED_EXPONENT_MAX


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least squares line through points (x, y) whose x are not all the same."""
    mean_x, mean_y = fmean(x for x, _ in points), fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def _explain_leak(subject: Subject, seen: Sequence[Observation[Growth]]) -> Explanation:
    load = subject.load
    rate = _over_trials(seen, lambda one: one.bytes_per_request)
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"The server's memory grew throughout the window, in every trial: about {rate.value:,.0f} bytes "
        f"per {load.request} answered.",
        evidence=[estimated(f"memory per {load.request}", "bytes", rate), *_growths(subject, seen)],
        cause=f"The server keeps data of each {load.request}: a leak, a cache or a log in memory, or "
        "garbage not yet collected.",
        advice="Measure for longer: a leak continues, a cache or a garbage collector levels off. Later "
        "points of this server were measured with more memory in use than earlier ones.",
    )


def _explain_timed(subject: Subject, seen: Sequence[Observation[Growth]]) -> Explanation:
    load = subject.load
    rate = _over_trials(seen, lambda one: one.bytes_per_s)
    rates = [one.detail.answered_rps for one in seen]
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"The server's memory grew throughout the window, in every trial: by about "
        f"{units.memory(rate.value)} per second, and by about as much at {units.rate(min(rates))} as at "
        f"{units.rate(max(rates))} {load.requests}/s.",
        evidence=[
            estimated("memory per second", "bytes", rate),
            *ranged(f"{load.requests} answered per second", "/s", rates),
            *_growths(subject, seen),
        ],
        cause=f"The server keeps data that does not come from the {load.requests}: of a timer, a task in the "
        "background or a log.",
        advice="Measure for longer, with a load and without one: such a leak continues in both. Later points "
        "of this server were measured with more memory in use than earlier ones.",
    )


def _over_trials(seen: Sequence[Observation[Growth]], figure: Callable[[Growth], float]) -> Estimate:
    """Return the mean of a figure over the windows of each trial, with its interval over trials."""
    by_trial: dict[int, list[float]] = {}
    for one in seen:
        by_trial.setdefault(one.record.trial, []).append(figure(one.detail))
    return mean_interval([fmean(values) for values in by_trial.values()])


def _growths(subject: Subject, seen: Sequence[Observation[Growth]]) -> list[Evidence]:
    windows = [one.detail for one in seen]
    return [
        *ranged("growth within a window", "MiB", [one.grown_bytes / BYTES_PER_MIB for one in windows]),
        *ranged(
            "memory at the start of the window", "MiB", [one.start_bytes / BYTES_PER_MIB for one in windows]
        ),
        *ranged(
            f"{subject.load.requests} in the window", "", [one.answered_rps * one.seconds for one in windows]
        ),
    ]


@dataclass(frozen=True, slots=True)
class AlongSweep:
    """The memory of one trial along the connections."""

    slope_bytes: float
    """For each connection."""
    fewest: tuple[float, float]
    """The fewest connections, and the bytes with them."""
    most: tuple[float, float]
    off_line_share: float
    """How far a point lies at most from the line between both, in parts of the growth between them."""

    @property
    def growth_bytes(self) -> float:
        """By how much it grows along the sweep, by its slope."""
        return self.slope_bytes * (self.most[0] - self.fewest[0])


def _per_connection(subject: Subject) -> list[Finding]:
    within = [share for records in _in_order(subject) for share in _shares_within(records)]
    if within and median(within) >= WITHIN_SHARE_MAX:
        return []
    trials, used = [], []
    for records in subject.by_trial().values():
        known = [
            (float(record.load.load.connections), memory, record)
            for record, memory in _memory(records.values())
            if record.load.load.connections is not None
        ]
        if len({number for number, _, _ in known}) >= SETTINGS_MIN:
            trials.append(_along_sweep([(number, memory) for number, memory, _ in known]))
            used += [record for _, _, record in known]
    if not trials:
        return []
    estimate = mean_interval([one.slope_bytes for one in trials])
    grown, first = fmean(one.growth_bytes for one in trials), fmean(one.fewest[1] for one in trials)
    if grown < max(GROWTH_BYTES_MIN, GROWTH_SHARE_MIN * first) or (
        estimate.low is not None and estimate.low <= 0
    ):
        return []
    # A trial whose first point has another process more says nothing of the others.
    is_line = median(one.off_line_share for one in trials) <= OFF_LINE_SHARE_MAX
    explanation = (
        _explain_each(subject, estimate, trials) if is_line else _explain_not_in_proportion(subject, trials)
    )
    return [finding(CONNECTIONS, subject, used, explanation)]


def _along_sweep(known: Sequence[tuple[float, float]]) -> AlongSweep:
    fewest, most = min(known), max(known)
    growth = most[1] - fewest[1]
    slope = growth / (most[0] - fewest[0])
    off_line = max(abs(memory - fewest[1] - slope * (number - fewest[0])) for number, memory in known)
    return AlongSweep(_slope(known), fewest, most, off_line / growth if growth > 0 else inf)


def _explain_each(subject: Subject, estimate: Estimate, trials: Sequence[AlongSweep]) -> Explanation:
    return Explanation(
        weight="explains",
        certainty="shown" if estimate.low is not None else "likely",
        seen=f"The server's memory grows with the connections: {units.memory(estimate.value)} per "
        "connection.",
        evidence=[estimated("memory per connection", "bytes", estimate), *_ends(trials)],
        cause="The server keeps buffers, a thread or a process for each open connection.",
        advice="Plan its memory by the number of open connections, not by the "
        f"{subject.load.requests} per second; smaller buffers or a shorter keep-alive timeout "
        "reduce it.",
    )


def _explain_not_in_proportion(subject: Subject, trials: Sequence[AlongSweep]) -> Explanation:
    """Say from how much to how much it grew: a figure for each connection would hold at no number of them."""
    first, last = median(one.fewest[1] for one in trials), median(one.most[1] for one in trials)
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"The server's memory grows with the connections, but not in proportion to them: from "
        f"{units.memory(first)} at {_connections(trials[0].fewest)} to {units.memory(last)} at "
        f"{_connections(trials[0].most)}.",
        evidence=_ends(trials),
        cause="The server keeps something for its connections, and more of it for some than for others: "
        "processes or threads that it starts several at a time, or a heap that the first points have not "
        f"filled, as more {subject.load.requests} under way do.",
        advice="Measure the memory at the number of connections that you plan for, after a longer warm-up.",
    )


def _connections(end: tuple[float, float]) -> str:
    return units.plural(int(end[0]), "connection")


def _ends(trials: Sequence[AlongSweep]) -> list[Evidence]:
    return [
        *ranged("growth along the sweep", "MiB", [one.growth_bytes / BYTES_PER_MIB for one in trials]),
        *ranged("memory at the fewest connections", "MiB", [one.fewest[1] / BYTES_PER_MIB for one in trials]),
    ]


def _shares_within(records: Sequence[PointRecord]) -> Iterator[float]:
    """Yield which share of the growth since the point before came within the window, for each point.

    The first quarter of a window is left out, in which the last connections may open.
    """
    windows = [[memory for _, memory in _memory_over_time(record)] for record in records]
    for before, window in pairwise([window for window in windows if len(window) >= WITHIN_SAMPLES_MIN]):
        grown = fmean(window) - fmean(before)
        if grown > 0:
            quarter = len(window) // 4
            within = fmean(window[-quarter:]) - fmean(window[quarter : 2 * quarter])
            yield 2 * within / grown


def _memory(records: Collection[PointRecord]) -> list[tuple[PointRecord, float]]:
    """Return the memory in each record of a trial, each page counted once."""
    servers = [(record, record.probe.server) for record in records if record.probe.server is not None]
    proportional = [(record, server.proportional_memory_bytes) for record, server in servers]
    resident = [(record, server.memory_mean_bytes) for record, server in servers]
    one_process = all(map(_is_one_process, records))
    is_complete = all(value is not None for _, value in proportional)
    chosen = resident if one_process and not is_complete else proportional
    return [(record, value) for record, value in chosen if value is not None]


def _is_one_process(record: PointRecord) -> bool:
    """Say whether the server's resident memory is its own.

    That of several processes counts what they share once for each: a database's buffers, and a program's
    pages after a fork, would grow with every process that touches them.
    """
    server = record.probe.server
    return server is not None and server.processes is not None and server.processes.max == 1


RULE = Rule(250, find, LEAK, TIMED, CONNECTIONS)
