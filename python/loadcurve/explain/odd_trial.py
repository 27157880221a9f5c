"""One trial that differs from its siblings at a point (a burp)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, variance

from loadcurve.explain.finding import Evidence, Finding, ranged
from loadcurve.explain.sighting import Told, finding
from loadcurve.explain.subject import Subject, is_usable
from loadcurve.result.records import PointRecord

CODE = "odd_trial"

SIGNIFICANCE = 0.05
"""The chance, for each server, that any of its trials is called odd by mistake."""
TRIALS_MIN = 3
"""Of two trials that differ, neither is the odd one."""
CLEARLY_MORE = 2.0
"""A counter explains an odd trial where it is this many times the most of the siblings, and more than its
floor."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure by which trials are compared, and by which factor one must differ for anybody to care."""

    name: str
    unit: str
    practical_factor: float
    of: Callable[[PointRecord], float | None]


MEASURES = (
    # Below 5 % a trial does not change what a mean over trials says.
    Measure("throughput", "requests/s", 1.05, lambda record: record.load.rate_rps.answered),
    # The tail of equal trials easily differs by half.
    Measure("latency p99", "ms", 2.0, lambda record: record.load.latency_ms.p99),
)


@dataclass(frozen=True, slots=True)
class Counter:
    """What may explain an odd trial, and from which value on it is worth naming."""

    name: str
    unit: str
    floor: float
    of: Callable[[PointRecord], float | None]


def _steal(record: PointRecord) -> float | None:
    return max((cpu.steal_share for cpu in record.probe.cpus or []), default=None)


def _throttled_s(record: PointRecord) -> float | None:
    return record.probe.throttling.throttled_s if record.probe.throttling else None


def _cpu_wait(record: PointRecord) -> float | None:
    return record.probe.pressure.cpu_some_share if record.probe.pressure else None


def _disk_wait(record: PointRecord) -> float | None:
    return record.probe.pressure.io_some_share if record.probe.pressure else None


def _lateness(record: PointRecord) -> float | None:
    lateness = record.load.generator.lateness_ms
    return lateness.p99 if lateness else None


def _taken_from_cpu(record: PointRecord) -> float | None:
    server = record.probe.server
    return server.context_switches.involuntary if server and server.context_switches else None


COUNTERS = (
    Counter("steal", "share", 0.01, _steal),
    Counter("overflows of listen queues", "", 1, lambda record: record.load.kernel.listen_overflows),
    Counter("segments sent again", "", 10, lambda record: record.load.kernel.retransmits),
    Counter("time throttled", "s", 0.05, _throttled_s),
    Counter("failed requests", "", 10, lambda record: record.load.requests.failed),
    Counter("wait for a CPU", "share", 0.05, _cpu_wait),
    Counter("wait for disks", "share", 0.02, _disk_wait),
    Counter("lateness of the generator, p99", "ms", 1, _lateness),
    Counter("involuntary context switches of the server", "", 100, _taken_from_cpu),
)


@dataclass(frozen=True, slots=True)
class Odd:
    """A trial that is not like its siblings."""

    measure: Measure
    value: float
    siblings: float
    """The geometric mean of the others."""
    residual: float
    p_value: float
    """After Bonferroni's correction for all trials, points and measures of the server."""


def find(subject: Subject) -> list[Finding]:
    """Find trials that differ from their siblings by more than these differ among each other."""
    by_place = [[record for record in records if is_usable(record)] for records in subject.by_place()]
    return [
        finding(CODE, subject, [record], _tell(record, odd, by_place[subject.place(record)]))
        for measure in MEASURES
        for record, odd in _odd(by_place, measure)
    ]


def _odd(by_place: Sequence[Sequence[PointRecord]], measure: Measure) -> list[tuple[PointRecord, Odd]]:
    groups = [_logs(records, measure) for records in by_place]
    tested = sum(len(group) for group in groups if len(group) >= TRIALS_MIN) * len(MEASURES)
    found = []
    for place, group in enumerate(groups):
        if len(group) < TRIALS_MIN:
            continue
        elsewhere = [other for other_place, other in enumerate(groups) if other_place != place]
        usual = _usual_variance([[log for _, log in other] for other in elsewhere])
        for index, (record, log) in enumerate(group):
            others = [other for other_index, (_, other) in enumerate(group) if other_index != index]
            difference = log - fmean(others)
            if abs(difference) < math.log(measure.practical_factor):
                continue
            residual, p_value = deleted_residual(log, others, usual)
            if p_value * tested <= SIGNIFICANCE:
                odd = Odd(
                    measure, math.exp(log), math.exp(fmean(others)), residual, min(p_value * tested, 1.0)
                )
                found.append((record, odd))
    return found


def _logs(records: Sequence[PointRecord], measure: Measure) -> list[tuple[PointRecord, float]]:
    return [(record, math.log(value)) for record in records if (value := measure.of(record))]


def _usual_variance(groups: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Return how much trials differ at the other points, and with how many degrees of freedom that is known.

    It is the median of the points' variances, so that points with a burp of their own count as little as
    others, divided by the median of the distribution of a variance, about (1 - 2 / 9f)³ of its mean for f
    degrees of freedom (Wilson and Hilferty 1931). A median tells about as much as half of the values would.
    """
    known = [(variance(group), len(group) - 1) for group in groups if len(group) >= TRIALS_MIN]
    if not known:
        return None
    freedom = median(freedom for _, freedom in known)
    usual = median(value for value, _ in known) / (1 - 2 / (9 * freedom)) ** 3
    return usual, sum(freedom for _, freedom in known) / 2


def deleted_residual(
    value: float, others: Sequence[float], usual: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the studentised deleted residual of a value and its two-sided p: t = (x - m) / (s √(1 + 1/k)).

    ``m`` and ``s`` are the mean and the deviation of the ``k`` others, so the value itself cannot hide in
    them (Cook and Weisberg, *Residuals and Influence in Regression*, 1982, section 2.2). Two or three others
    tell little of ``s``: where ``usual``, a variance with its degrees of freedom, is known from elsewhere,
    the larger of the two is taken.
    """
    from scipy.special import stdtr  # noqa: PLC0415 - scipy must not slow the start of the command

    k = len(others)
    spread, freedom = variance(others), k - 1.0
    if usual is not None:
        spread, freedom = max(spread, usual[0]), freedom + usual[1]
    difference = value - fmean(others)
    if spread == 0:
        return math.copysign(math.inf, difference), 0.0
    residual = difference / math.sqrt(spread * (1 + 1 / k))
    return residual, 2 * float(stdtr(freedom, -abs(residual)))


def _tell(record: PointRecord, odd: Odd, siblings: Sequence[PointRecord]) -> Told:
    measure, others = odd.measure, [one for one in siblings if one is not record]
    explained = _explained(record, others)
    names = [evidence[0].name for evidence in explained]
    more = f"{odd.value / odd.siblings:,.2f} times"
    cause = (
        f"In this trial the machine tells of something that the others do not have: {', '.join(names)}."
        if names
        else "No counter of the kernel differs between this trial and the others, so it was a thing of this "
        "start of the server (its memory, its processes), or of the generator."
    )
    return Told(
        weight="distorts",
        certainty="likely",
        seen=f"Trial {record.trial} had a {measure.name} of {odd.value:,.4g} {measure.unit}, {more} that of "
        f"its {len(others)} siblings, further off than these differ among each other (p = "
        f"{odd.p_value:.2g}).",
        evidence=[
            *ranged(f"{measure.name} of this trial", measure.unit, [odd.value]),
            *ranged(f"{measure.name} of the others", measure.unit, [measure.of(one) for one in others]),
            *ranged("p, corrected for all trials and points", "", [odd.p_value]),
            *(evidence for both in explained for evidence in both),
        ],
        cause=cause,
        advice="Do not leave the trial out for being odd: run the study with more trials, and the interval "
        "will tell whether such trials belong to this server.",
    )


def _explained(record: PointRecord, others: Sequence[PointRecord]) -> list[list[Evidence]]:
    """Return the counters that are clearly higher in this record than in any of the others."""
    found = []
    for counter in COUNTERS:
        value = counter.of(record)
        usual = [told for other in others if (told := counter.of(other)) is not None]
        if value is None or not usual or value < counter.floor or value < CLEARLY_MORE * max(usual):
            continue
        found.append(
            [
                *ranged(counter.name, counter.unit, [value]),
                *ranged(f"{counter.name}, the others", counter.unit, usual),
            ]
        )
    return found
