"""The rankings of a run: over the curve, at each point, and what is in neither."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadcurve.analysis.curves import Curve, at_point, usable_logs
from loadcurve.loads.rates import RECORDED
from loadcurve.loads.values import Point
from loadcurve.result.measures import THROUGHPUT, Measure
from loadcurve.stats.paired import Logs
from loadcurve.stats.ranking import Ranking, rank


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A server's figures that no ranking uses: at one point, in these blocks."""

    server: str
    point: Point
    invalid: tuple[int, ...]
    """Blocks in which the verdict is invalid."""
    absent: tuple[int, ...]
    """Blocks in which the measure was not measured, by failure for instance."""


@dataclass(frozen=True, slots=True)
class PointRanking:
    """The ranking at one point."""

    point: Point
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class RunRanking:
    """The rankings of a run by one measure: over the curve, at each point, and what is in neither."""

    measure: str
    """Its column."""
    over_curve: Ranking
    at_points: tuple[PointRanking, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def compared_points(self) -> list[Point]:
        """The points at which two servers or more have usable figures, on which the whole ranking rests."""
        return [one.point for one in self.at_points if len(one.ranking.ranks) > 1]


RATE_KEPT_WITHIN = 0.01
"""A server that answers so much less than the rate that was asked for has kept it, as verdicts have it."""


def asks_rate(load: Mapping[str, Any], points: Iterable[Point]) -> bool:
    """Say whether a load asks for a rate, which throughput is then wherever a server keeps it."""
    is_given = load.get("rate_rps") is not None or load.get("arrivals") == RECORDED
    return is_given or any("rate" in point for point in points)


def least_told_apart(measure: str, *, at_rates: bool) -> float:
    """Return how far the ratio of two servers is from 1 at least, where they are told apart by a measure."""
    return RATE_KEPT_WITHIN if at_rates and measure == THROUGHPUT.column else 0.0


def rank_run(found: Sequence[Curve], measure: Measure, *, at_rates: bool = False) -> RunRanking:
    """Rank the servers of a run over the curve and at each point; invalid points enter neither.

    Over the curve the unit is the block: the mean of the log ratios at the points that are usable for both
    servers in it. ``at_rates`` says that the load asks for rates.

    Raises ``ValueError`` for a measure of which neither higher nor lower is better.
    """
    if measure.better is None:
        raise ValueError(f"servers cannot be ranked by {measure.title}: neither higher nor lower is better")
    blocks, logs = usable_logs(found, measure)
    points = found[0].points if found else []
    least = least_told_apart(measure.column, at_rates=at_rates)
    return RunRanking(
        measure=measure.column,
        over_curve=rank(logs, measure.better, least=least),
        at_points=tuple(
            PointRanking(at.point, rank(at_point(logs, place), measure.better, least=least))
            for place, at in enumerate(points)
        ),
        left_out=tuple(_left_out(found, blocks, logs)),
    )


def unranked(measure: Measure) -> RunRanking:
    """Return the ranking of no servers."""
    return RunRanking(measure.column, Ranking((), (), (), (), 0), (), ())


def _left_out(found: Sequence[Curve], blocks: Sequence[int], logs: Logs) -> list[LeftOut]:
    """List what is in no ranking, of the blocks in which anything was measured.

    A point that lies beyond the end of a curve is not left out: it was not to be measured.
    """
    left_out = []
    for curve in found:
        for place, at in enumerate(curve.points):
            absent = np.isnan(logs[curve.server][:, place])
            if not absent.any():
                continue
            bad = {
                block for block, verdict in zip(at.blocks, at.verdicts, strict=True) if verdict == "invalid"
            }
            missing = [
                block
                for block, is_absent in zip(blocks, absent, strict=True)
                if is_absent and block not in at.ended_before
            ]
            if not missing:
                continue
            left_out.append(
                LeftOut(
                    curve.server,
                    at.point,
                    invalid=tuple(block for block in missing if block in bad),
                    absent=tuple(block for block in missing if block not in bad),
                )
            )
    return left_out
