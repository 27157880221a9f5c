"""What rises or falls from trial to trial of a soak: memory and files of a leak, and drifting figures."""

from collections.abc import Sequence

from loadcurve import units
from loadcurve.explain.finding import Evidence, Finding, FindingCode
from loadcurve.explain.observation import Explanation, Rule, finding
from loadcurve.explain.soak import HELD, OverTime, over_time
from loadcurve.explain.subject import Subject
from loadcurve.result.measures import point_key
from loadcurve.result.records import PointRecord

SECONDS_PER_HOUR = 3600
SEEN = (
    "trials at an interval; Mann and Kendall's test with the variance of dependent values, p ≤ 0.01 after "
    "Holm's correction over a server's points and measures"
)
LEAK = FindingCode(
    "grows_over_time",
    title="The server grew from trial to trial",
    seen_where=f"{SEEN}; memory by at least 2 % and 1 MiB, or open files and sockets by at least 8, of one "
    "start",
    because="less is what allocators and pools do",
)
DRIFT = FindingCode(
    "drifts_over_time",
    title="The figures drifted from trial to trial",
    seen_where=f"{SEEN}; throughput, p50, p99 or CPU per request by at least 5 % from begin to end",
    because="smaller changes matter to nobody",
)
RISES, FALLS = "rose", "fell"


def find(subject: Subject) -> list[Finding]:
    """Find figures with a trend over the trials of a soak."""
    figures = [one for one in over_time(subject) if one.is_trend and one.trend is not None]
    grown = [one for one in figures if one.measure in HELD and one.trend is not None and one.trend.change > 0]
    drifted = [one for one in figures if one.measure not in HELD]
    found = []
    if grown:
        found.append(finding(LEAK, subject, _records(subject, grown), _explain_growth(grown)))
    if drifted:
        explanation = _explain_drift(drifted, has_grown=bool(grown))
        found.append(finding(DRIFT, subject, _records(subject, drifted), explanation))
    return found


def _records(subject: Subject, figures: Sequence[OverTime]) -> list[PointRecord]:
    points = {point_key(one.point) for one in figures}
    return [record for record in subject.records if point_key(record.point) in points]


def _explain_growth(figures: Sequence[OverTime]) -> Explanation:
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"{_sentence(figures)} while the server lived.",
        evidence=[_evidence(one) for one in figures],
        cause="The server keeps something of what it has served: a leak, a cache without a bound, a log in "
        "memory, or connections that it does not close.",
        advice="Let the soak last until it levels off, as a cache does, or the server is out of memory. "
        "Compare with a load of half the rate: what leaks by requests grows half as fast.",
    )


def _explain_drift(figures: Sequence[OverTime], *, has_grown: bool) -> Explanation:
    cause = (
        "The server grew at the same time, so it may be slower for what it holds."
        if has_grown
        else "The server, its data or the machine changed over the run: fragmentation, larger tables, "
        "another CPU frequency, or a neighbour on the host."
    )
    return Explanation(
        weight="distorts",
        certainty="likely",
        seen=f"{_sentence(figures)} over the run.",
        evidence=[_evidence(one) for one in figures],
        cause=cause,
        advice="Read the figures against time, not their means. A second server in the same run, such as "
        "limit, tells the machine's drift from the server's.",
    )


def _sentence(figures: Sequence[OverTime]) -> str:
    """Say of each measure how it changed, by the point at which it changed the most."""
    by_measure: dict[str, OverTime] = {}
    for one in figures:
        known = by_measure.get(one.measure.name)
        if known is None or _share(one) > _share(known):
            by_measure[one.measure.name] = one
    said = [_changed(one) for one in by_measure.values()]
    text = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return text[0].upper() + text[1:]


def _share(one: OverTime) -> float:
    return 0.0 if one.trend is None else abs(one.trend.relative_change or one.trend.change)


def _changed(one: OverTime) -> str:
    if one.trend is None:
        raise ValueError("a figure without a trend has not changed")
    verb = RISES if one.trend.change > 0 else FALLS
    unit = f" {one.measure.unit}" if one.measure.unit else ""
    end = one.trend.start + one.trend.change
    return (
        f"{one.measure.title} {verb} from about {units.number(one.trend.start)} to "
        f"{units.number(end)}{unit} at {_point(one)}"
    )


def _point(one: OverTime) -> str:
    return ", ".join(f"{key} = {units.setting(value)}" for key, value in one.point.items()) or "its load"


def _evidence(one: OverTime) -> Evidence:
    if one.trend is None:
        raise ValueError("a figure without a trend is no evidence")
    slope = one.trend.slope_per_s
    low, high = (None if end is None else end * SECONDS_PER_HOUR for end in (slope.low, slope.high))
    return Evidence(
        name=f"{one.measure.title} per hour at {_point(one)}",
        value=slope.value * SECONDS_PER_HOUR,
        unit=one.measure.unit,
        low=low,
        high=high,
        spread=None if low is None else "interval",
    )


RULE = Rule(255, find, LEAK, DRIFT)
