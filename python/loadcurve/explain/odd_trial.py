"""One trial that differs from its siblings at a point (a burp)."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from loadcurve import units
from loadcurve.explain.finding import Evidence, Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged
from loadcurve.explain.subject import Subject
from loadcurve.loads.kinds import LoadKind
from loadcurve.result.measures import is_usable
from loadcurve.result.records import PointRecord
from loadcurve.units import rounded

CODE = FindingCode(
    "odd_trial",
    title="One trial differs from the others",
    seen_where="studentised deleted residual of the logarithm, p ≤ 0.05 after Bonferroni's correction over "
    "all servers, trials, points and two measures; and a difference of 5 % in throughput, or a factor of 2 "
    "in p99",
    because="smaller differences do not change a mean",
)

LEAST_P = 0.0001
"""Below it a probability is not told from others: it rests on the shape of a distribution's far tail."""
SIGNIFICANCE = 0.05
"""The chance, for the whole study, that any of its trials is called odd by mistake."""
TRIALS_MIN = 3
"""Of two trials that differ, neither is the odd one."""
CLEARLY_MORE = 2.0
"""A counter explains an odd trial where it is this many times the siblings' most, and above its floor."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure by which trials are compared, and by which factor one must differ for anybody to care."""

    name: str
    unit: str
    practical_factor: float
    of: Callable[[PointRecord], float | None]


def _measures(load: LoadKind) -> tuple[Measure, ...]:
    return (
        # Below 5 % a trial does not change what a mean over trials says.
        Measure("throughput", load.per_second, 1.05, lambda record: record.load.rate_rps.answered),
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


def _at_baseline_s(record: PointRecord) -> float | None:
    credits_used = None if record.limit_use is None else record.limit_use.credits
    return credits_used.at_baseline_s if credits_used else None


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


def _counters(load: LoadKind) -> tuple[Counter, ...]:
    return (
        Counter("steal", "share", 0.01, _steal),
        Counter("overflows of listen queues", "", 1, lambda record: record.load.kernel.listen_overflows),
        Counter("segments retransmitted", "", 10, lambda record: record.load.kernel.retransmits),
        Counter("time throttled", "s", 0.05, _throttled_s),
        Counter("time without CPU credits, at the baseline", "s", 0.05, _at_baseline_s),
        Counter(f"failed {load.requests}", "", 10, lambda record: record.load.requests.failed),
        Counter("time waiting for a CPU", "share", 0.05, _cpu_wait),
        Counter("time waiting for disks", "share", 0.02, _disk_wait),
        Counter("lateness of the generator, p99", "ms", 1, _lateness),
        Counter("involuntary context switches of the server", "", 100, _taken_from_cpu),
    )


@dataclass(frozen=True, slots=True)
class Odd:
    """A trial that is not like its siblings at one point."""

    value: float
    siblings_mean: float
    """The geometric mean of the others."""
    p_value: float
    """After Bonferroni's correction for all servers, trials, points and measures."""
    siblings: list[PointRecord]

    @property
    def factor(self) -> float:
        """How many times the others' mean it is."""
        return self.value / self.siblings_mean


def find(subject: Subject) -> list[Finding]:
    """Find trials that differ from their siblings by more than these differ among each other."""
    usable = [[record for record in records if is_usable(record)] for records in subject.by_place()]
    found = []
    measures = _measures(subject.load)
    servers = sum(server.status == "found" for server in subject.run.servers.values())
    for measure in measures:
        by_trial: dict[int, list[Observation[Odd]]] = {}
        for observation in _odd(usable, measure, len(measures) * servers):
            by_trial.setdefault(observation.record.trial, []).append(observation)
        for observations in by_trial.values():
            found += merged(CODE, subject, observations, functools.partial(_explain, measure))
    return found


def _odd(
    usable: Sequence[Sequence[PointRecord]], measure: Measure, families: int
) -> Iterator[Observation[Odd]]:
    """Yield the trials that are odd by a measure, given the usable records of each place.

    ``families`` is by how many measures, of how many servers, trials are compared in the study.
    """
    places = [_Place(records, measure) for records in usable]
    enough = [place for place in places if len(place.logs) >= TRIALS_MIN]
    tested = sum(len(place.logs) for place in enough) * families
    for place in enough:
        for trial, log in place.logs.items():
            others = place.without(trial)
            mean = fmean(others)
            if abs(log - mean) < math.log(measure.practical_factor):
                continue
            usual = _usual_variance([other for other in enough if other is not place], trial)
            p_value = min(deleted_residual(log, others, usual)[1] * tested, 1.0)
            if p_value <= SIGNIFICANCE:
                siblings = [record for record in place.records if record.trial != trial]
                odd = Odd(math.exp(log), math.exp(mean), p_value, siblings)
                yield Observation(next(one for one in place.records if one.trial == trial), odd)


def variance(values: Sequence[float]) -> float:
    """Return the sample's variance; the standard library's is exact and a hundred times slower."""
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


class _Place:
    """The logarithms of a measure at one place of the sweep."""

    def __init__(self, records: Sequence[PointRecord], measure: Measure) -> None:
        self.records = [record for record in records if measure.of(record)]
        self.logs = {record.trial: math.log(measure.of(record) or 1.0) for record in self.records}
        self._variances: dict[int, float] = {}

    def without(self, trial: int) -> list[float]:
        """Return the logarithms of the other trials."""
        return [log for other, log in self.logs.items() if other != trial]

    def variance_without(self, trial: int) -> float:
        """Return the variance of the other trials, which is computed once."""
        if trial not in self._variances:
            self._variances[trial] = variance(self.without(trial))
        return self._variances[trial]


def _usual_variance(elsewhere: Sequence[_Place], trial: int) -> tuple[float, float] | None:
    """Return how much the other trials differ at other places, and with how many degrees of freedom.

    It is the median of the places' variances, so that a burp of another trial counts as little as anything,
    divided by the median of the distribution of a variance, about (1 - 2 / 9f)³ of its mean for f degrees of
    freedom (Wilson and Hilferty 1931). A median is worth about as much as half of the values would.
    """
    if not elsewhere:
        return None
    freedoms = [len(place.without(trial)) - 1 for place in elsewhere]
    usual = median(place.variance_without(trial) for place in elsewhere)
    return usual / (1 - 2 / (9 * median(freedoms))) ** 3, sum(freedoms) / 2


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


def _p(value: float) -> str:
    """Return a probability in words: what is computed as 0 is only small."""
    return f"p = {value:.2g}" if value >= LEAST_P else f"p < {LEAST_P:g}"


def _explain(measure: Measure, subject: Subject, seen: Sequence[Observation[Odd]]) -> Explanation:
    """Tell of one trial, by the point where it differs most."""
    most = max(seen, key=lambda one: abs(math.log(one.detail.factor)))
    record, odd = most.record, most.detail
    explained = _explained(subject.load, record, odd.siblings)
    names = ", ".join(both[0].name for both in explained)
    cause = (
        f"In this trial, counters of the machine differ from those of the other trials: {names}."
        if explained
        else "No kernel counter differs between this trial and the others. What may differ beside them: "
        f"{units.listing(_uncounted(subject, record))}."
    )
    siblings = [measure.of(sibling) for one in seen for sibling in one.detail.siblings]
    return Explanation(
        weight="distorts",
        certainty="likely",
        seen=f"Trial {record.trial} had a {measure.name} of {rounded(odd.value)} {measure.unit}, "
        f"{odd.factor:,.2f} times that of its {len(odd.siblings)} siblings, farther than these differ from "
        f"each other ({_p(odd.p_value)}).",
        evidence=[
            *ranged(f"{measure.name} of this trial", measure.unit, [one.detail.value for one in seen]),
            *ranged(f"{measure.name} of the others", measure.unit, siblings),
            *ranged("times that of the others", "", [one.detail.factor for one in seen]),
            *ranged("p, corrected for all trials and points", "", [one.detail.p_value for one in seen]),
            *(evidence for both in explained for evidence in both),
        ],
        cause=cause,
        advice="Do not exclude the trial: run the study with more trials, or with `until` in [trials], "
        "which adds trials until the interval is narrow. The interval then shows whether such trials are "
        "typical of this server.",
    )


def _uncounted(subject: Subject, record: PointRecord) -> Iterator[str]:
    """Yield what no counter shows and may be another one in a trial."""
    if not subject.lives_on(record):
        yield "this start of the server (its memory layout, its processes)"
    yield "the generator"
    yield "the frequency of the CPUs"
    if subject.host.get("virtual_machine"):
        yield "what other guests of this machine's host use, such as its caches"


def _explained(load: LoadKind, record: PointRecord, others: Sequence[PointRecord]) -> list[list[Evidence]]:
    """Return the counters that are clearly higher in this record than in any of the others."""
    found = []
    for counter in _counters(load):
        value = counter.of(record)
        usual = [known for other in others if (known := counter.of(other)) is not None]
        if value is None or not usual or value < counter.floor or value < CLEARLY_MORE * max(usual):
            continue
        found.append(
            [
                *ranged(counter.name, counter.unit, [value]),
                *ranged(f"{counter.name}, the others", counter.unit, usual),
            ]
        )
    return found


RULE = Rule(110, find, CODE)
