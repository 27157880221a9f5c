"""Memory that grows with requests (a leak) or with connections."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from loadcurve import units
from loadcurve.explain.finding import Finding, FindingCode, estimated, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, finding, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord
from loadcurve.stats.interval import mean_interval
from loadcurve.units import BYTES_PER_MIB

LEAK = FindingCode(
    "memory_grows_with_requests",
    title="Memory grew with the requests",
    seen_where="each quarter of a window of 4 s or more entirely above the one before, by at least 1 MiB and "
    "2 % in total, in every trial, including the last point: likely",
    because="garbage collectors, caches and warm-ups level off, often after a second or two; with "
    "several processes, proportional memory is used",
)
CONNECTIONS = FindingCode(
    "memory_per_connection",
    title="Memory grows with the connections",
    seen_where="slope over the points, one per trial; interval above 0; growth of at least 4 MiB and 20 % "
    "along the sweep; with several processes, proportional memory",
    because="smaller growth does not matter for sizing; resident memory would count shared pages several "
    "times",
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
SETTINGS_MIN = 3
"""Different numbers of connections through which a line is drawn: two lie on any line."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How memory grew within a window."""

    bytes_per_request: float
    grown_bytes: float
    start_bytes: float
    requests: float


def find(subject: Subject) -> list[Finding]:
    """Find memory that grows with the requests answered, and memory that each connection takes.

    Along a sweep connections and requests grow together, so where the server leaks, and is not started afresh
    for each point, what a connection takes cannot be explanation.
    """
    leaks = _leaks(subject)
    if leaks:
        return leaks
    return _per_connection(subject)


def _leaks(subject: Subject) -> list[Finding]:
    grown = {id(record): growth for record in subject.records if (growth := _growth(record)) is not None}
    measured = [records for records in subject.by_place() if records]
    # A leak continues with every start of the server and at every load: what grows in one trial is its own
    # affair, and what grows at the first points only may be a server that is still warming up.
    steady = [records for records in measured if all(id(record) in grown for record in records)]
    if not steady or steady[-1] is not measured[-1]:
        return []
    observations = [Observation(record, grown[id(record)]) for records in steady for record in records]
    return merged(LEAK, subject, observations, _explain_leak)


def _growth(record: PointRecord) -> Growth | None:
    """Return how memory grew; ``None`` unless it grew through the whole window, and enough to count."""
    series, answered_rps = record.probe.series, record.load.rate_rps.answered
    if series is None or not answered_rps:
        return None
    column = series.memory_bytes if _is_one_process(record) else series.proportional_memory_bytes
    if column is None:
        return None
    known = [(t_s, memory) for t_s, memory in zip(series.t_s, column, strict=True) if memory is not None]
    if len(known) < LEAK_SAMPLES_MIN or known[-1][0] - known[0][0] < LEAK_LENGTH_MIN_S:
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
    slope = _slope(known)
    seconds = known[-1][0] - known[0][0]
    grown = slope * seconds
    if grown < max(LEAK_BYTES_MIN, LEAK_SHARE_MIN * memory[0]):
        return None
    return Growth(slope / answered_rps, grown, memory[0], answered_rps * seconds)


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least squares line through points (x, y) whose x are not all the same."""
    mean_x, mean_y = fmean(x for x, _ in points), fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def _explain_leak(subject: Subject, seen: Sequence[Observation[Growth]]) -> Explanation:
    load = subject.load
    by_trial: dict[int, list[float]] = {}
    for one in seen:
        by_trial.setdefault(one.record.trial, []).append(one.detail.bytes_per_request)
    rate = mean_interval([fmean(values) for values in by_trial.values()])
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"The server's memory grew throughout the window, in every trial: about {rate.value:,.0f} bytes "
        f"per {load.request} answered.",
        evidence=[
            estimated(f"memory per {load.request}", "bytes", rate),
            *ranged(
                "growth within a window", "MiB", [one.detail.grown_bytes / BYTES_PER_MIB for one in seen]
            ),
            *ranged(
                "memory at the start of the window",
                "MiB",
                [one.detail.start_bytes / BYTES_PER_MIB for one in seen],
            ),
            *ranged(f"{load.requests} in the window", "", [one.detail.requests for one in seen]),
        ],
        cause=f"The server keeps data of each {load.request}: a leak, a cache or a log in memory, or "
        "garbage not yet collected.",
        advice="Measure for longer: a leak continues, a cache or a garbage collector levels off. Later "
        "points of this server were measured with more memory in use than earlier ones.",
    )


def _per_connection(subject: Subject) -> list[Finding]:
    slopes, growths, firsts, used = [], [], [], []
    for records in subject.by_trial().values():
        known = [
            (float(record.load.load.connections), memory, record)
            for record, memory in _memory(records.values())
            if record.load.load.connections is not None
        ]
        connections = {number for number, _, _ in known}
        if len(connections) < SETTINGS_MIN:
            continue
        slope = _slope([(number, memory) for number, memory, _ in known])
        slopes.append(slope)
        growths.append(slope * (max(connections) - min(connections)))
        firsts.append(min(known, key=lambda one: one[0])[1])
        used += [record for _, _, record in known]
    if not slopes:
        return []
    estimate = mean_interval(slopes)
    grown, first = fmean(growths), fmean(firsts)
    if grown < max(GROWTH_BYTES_MIN, GROWTH_SHARE_MIN * first) or (
        estimate.low is not None and estimate.low <= 0
    ):
        return []
    evidence = [
        estimated("memory per connection", "bytes", estimate),
        *ranged("growth along the sweep", "MiB", [growth / BYTES_PER_MIB for growth in growths]),
        *ranged("memory at the fewest connections", "MiB", [value / BYTES_PER_MIB for value in firsts]),
    ]
    return [
        finding(
            CONNECTIONS,
            subject,
            used,
            Explanation(
                weight="explains",
                certainty="shown" if estimate.low is not None else "likely",
                seen=f"The server's memory grows with the connections: {units.memory(estimate.value)} per "
                "connection.",
                evidence=evidence,
                cause="The server keeps buffers, a thread or a process for each open connection.",
                advice="Plan its memory by the number of open connections, not by the "
                f"{subject.load.requests} per second; smaller buffers or a shorter keep-alive timeout "
                "reduce it.",
            ),
        )
    ]


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


RULE = Rule(250, find, LEAK, CONNECTIONS)
