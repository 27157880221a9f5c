"""What rises or falls from trial to trial of a soak: memory and files of a leak, and drifting figures."""

from collections.abc import Sequence

from loadcurve import units
from loadcurve.explain.finding import Evidence, Finding, FindingCode
from loadcurve.explain.observation import Explanation, Rule, finding
from loadcurve.explain.soak import HELD, ShownTrend, over_time, shown_trends
from loadcurve.explain.subject import Subject
from loadcurve.result.measures import point_key
from loadcurve.result.records import PointRecord

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
    seen_where=f"{SEEN}; throughput, p50, p99 or CPU per request by at least 5 % from start to end",
    because="smaller changes matter to nobody",
)


def find(subject: Subject) -> list[Finding]:
    """Find figures with a trend over the trials of a soak."""
    trends = shown_trends(over_time(subject))
    grown = [one for one in trends if one.figure.measure in HELD and one.trend.change > 0]
    drifted = [one for one in trends if one.figure.measure not in HELD]
    found = []
    if grown:
        found.append(finding(LEAK, subject, _records(subject, grown), _explain_growth(grown)))
    if drifted:
        explanation = _explain_drift(drifted, has_grown=bool(grown))
        found.append(finding(DRIFT, subject, _records(subject, drifted), explanation))
    return found


def _records(subject: Subject, trends: Sequence[ShownTrend]) -> list[PointRecord]:
    points = {point_key(one.figure.point) for one in trends}
    return [record for record in subject.records if point_key(record.point) in points]


def _explain_growth(trends: Sequence[ShownTrend]) -> Explanation:
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"{_sentence(trends)} while the server lived.",
        evidence=[_evidence(one) for one in trends],
        cause="The server keeps something of what it has served: a leak, a cache without a bound, a log in "
        "memory, or connections that it does not close.",
        advice="Let the soak last until it levels off, as a cache does, or the server is out of memory. "
        "Compare with a load of half the rate: what leaks by requests grows half as fast.",
    )


def _explain_drift(trends: Sequence[ShownTrend], *, has_grown: bool) -> Explanation:
    cause = (
        "The server grew at the same time, so it may be slower for what it holds."
        if has_grown
        else "The server, its data or the machine changed over the run: fragmentation, larger tables, "
        "another CPU frequency, or a neighbour on the host."
    )
    is_later = any(one.figure.is_of_last_start for one in trends)
    over = "since the last start of the server" if is_later else "over the run"
    return Explanation(
        weight="distorts",
        certainty="likely",
        seen=f"{_sentence(trends)} {over}.",
        evidence=[_evidence(one) for one in trends],
        cause=cause,
        advice="Read the figures against time, not their means. A second server in the same run, such as "
        "limit, shows which part of it is the machine's.",
    )


def _sentence(trends: Sequence[ShownTrend]) -> str:
    """Say of each measure how it changed, by the point at which it changed the most."""
    by_measure: dict[str, list[ShownTrend]] = {}
    for one in trends:
        by_measure.setdefault(one.figure.measure.name, []).append(one)
    said = [_changed(max(of_one, key=_share)) for of_one in by_measure.values()]
    text = units.listing(said)
    return text[0].upper() + text[1:]


def _share(one: ShownTrend) -> float:
    return abs(one.trend.relative_change or one.trend.change)


def _changed(one: ShownTrend) -> str:
    measure = one.figure.measure
    verb = "rose" if one.trend.change > 0 else "fell"
    unit = f" {measure.unit}" if measure.unit else ""
    return (
        f"{measure.title} {verb} from about {units.number(one.trend.start)} to "
        f"{units.number(one.trend.end)}{unit} at {_point(one)}"
    )


def _point(one: ShownTrend) -> str:
    settings = one.figure.point.items()
    return ", ".join(f"{key} = {units.setting(value)}" for key, value in settings) or "its load"


def _evidence(one: ShownTrend) -> Evidence:
    slope, measure = one.trend.slope_per_hour, one.figure.measure
    return Evidence(
        name=f"{measure.title} per hour at {_point(one)}",
        value=slope.value,
        unit=measure.unit,
        low=slope.low,
        high=slope.high,
        spread=None if slope.low is None else "interval",
    )


RULE = Rule(255, find, LEAK, DRIFT)
