"""What several loads on one machine do to each other: each server beside the others over the same alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint
from loadcurve.analysis.ranking import RunRanking
from loadcurve.loads.values import Point
from loadcurve.result.measures import Measure, measures
from loadcurve.result.several import LoadOfSeveral, SeveralLoadsRecord
from loadcurve.stats.interval import Estimate
from loadcurve.stats.ranking import Ranking

COMPARED = ("throughput", "p50", "p99", "cpu_per_request_us")
"""The measures by which a server beside others is compared with the same alone."""
RESOURCES = (
    *("cpu_share", "run_delay_per_request_us", "memory_mean_mib", "disk_read_mib_per_s"),
    *("page_cache_mib", "page_cache_refault_mib_per_s"),
)
"""The measures of what the servers used of the machine, and of what was left for each."""


@dataclass(frozen=True, slots=True)
class Interference:
    """One measure of one server beside the others, over the same alone, paired by block."""

    measure: Measure
    point: Point | None
    """``None`` for the whole curve."""
    ratio: Estimate | None
    """``None`` where no block has both."""

    @property
    def shown(self) -> bool:
        """Whether the interval leaves 1 out."""
        ratio = self.ratio
        return (
            ratio is not None
            and ratio.low is not None
            and ratio.high is not None
            and not (ratio.low <= 1 <= ratio.high)
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """What a server used of one resource at one point, alone and beside the others."""

    measure: Measure
    alone: Estimate | None
    together: Estimate | None

    @property
    def is_known(self) -> bool:
        """Whether it was measured at all."""
        return self.alone is not None or self.together is not None


@dataclass(frozen=True, slots=True)
class PointTogether:
    """One point of one load: its server alone and beside the others."""

    point: Point
    alone: CurvePoint
    together: CurvePoint

    def taken(self, measure: Measure) -> Taken:
        """Return what the server used by a measure."""
        return Taken(measure, self.alone.estimate(measure), self.together.estimate(measure))


@dataclass(frozen=True, slots=True)
class LoadTogether:
    """One of several loads."""

    load: LoadOfSeveral
    analysis: Analysis
    over_curve: dict[str, Interference]
    """By the name of the measure."""
    at_points: dict[str, list[Interference]]
    points: list[PointTogether]

    def measure(self, name: str) -> Measure:
        """Return a measure in the words of the load."""
        return measures(self.analysis.load_kind)[name]

    @property
    def resources(self) -> list[Measure]:
        """The measures of :data:`RESOURCES` of which anything is known at any point."""
        found = map(self.measure, RESOURCES)
        return [one for one in found if any(at.taken(one).is_known for at in self.points)]


@dataclass(frozen=True, slots=True)
class Together:
    """Several loads on one machine, with what they do to each other."""

    record: SeveralLoadsRecord
    loads: list[LoadTogether]

    def others(self, load: LoadTogether) -> list[str]:
        """Return the servers beside that of a load."""
        return [one.load.server for one in self.loads if one is not load]


def together_by(record: SeveralLoadsRecord, analyses: Mapping[str, Analysis]) -> Together:
    """Compute what loads do to each other from the analyses of their runs, by name."""
    return Together(record, [_load(load, analyses[load.name]) for load in record.loads])


def _load(load: LoadOfSeveral, analysis: Analysis) -> LoadTogether:
    named = measures(analysis.load_kind)
    rankings = {name: analysis.ranking(named[name]) for name in COMPARED}
    curves = {curve.server: curve.points for curve in analysis.curves}
    pairs = zip(curves.get(load.server, []), curves.get(load.together, []), strict=False)
    return LoadTogether(
        load=load,
        analysis=analysis,
        over_curve={
            name: Interference(named[name], None, _ratio(ranking.over_curve, load))
            for name, ranking in rankings.items()
            if ranking is not None
        },
        at_points={
            name: list(_at_points(named[name], ranking, load))
            for name, ranking in rankings.items()
            if ranking is not None
        },
        points=[PointTogether(alone.point, alone, together) for alone, together in pairs],
    )


def _at_points(measure: Measure, ranking: RunRanking, load: LoadOfSeveral) -> Iterator[Interference]:
    for at in ranking.at_points:
        yield Interference(measure, at.point, _ratio(at.ranking, load))


def _ratio(ranking: Ranking, load: LoadOfSeveral) -> Estimate | None:
    """Return the ratio of the server beside the others to the same alone."""
    for pair in ranking.pairs:
        if (pair.first, pair.second) == (load.together, load.server):
            return pair.ratio
        if (pair.first, pair.second) == (load.server, load.together):
            return None if pair.ratio is None else pair.ratio.inverted
    return None
