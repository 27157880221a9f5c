"""Published figures beside those of a run: the same shape, never the same numbers."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcurve.report import text
from loadcurve.result.folder import Run
from loadcurve.stats.curves import estimate_over_trials
from loadcurve.stats.interval import Estimate
from loadcurve.stats.peak import Greatest, greatest
from loadcurve.stats.published import Agreement, agreement, measured_value
from loadcurve.stats.sweep import Slice, TrialCurves, slices, trial_curves
from loadcurve.study.published import Published, PublishedFigure, published_of


@dataclass(frozen=True, slots=True)
class Pair:
    """A published series, and what was measured of the server that it stands for."""

    series: str
    server: str | None
    """``None`` where no server of the run has measured anything along the figure's axis."""
    published: dict[float, float]
    measured: dict[float, Estimate]
    peak: Greatest | None
    """Where what was measured is greatest, of the places that the publication has."""

    @property
    def agreement(self) -> Agreement | None:
        """How the two shapes agree."""
        return agreement(self.published, {place: one.value for place, one in self.measured.items()})


@dataclass(frozen=True, slots=True)
class Matched:
    """A published figure beside one slice of the run's sweep."""

    figure: PublishedFigure
    part: Slice
    pairs: list[Pair]


def matched_figures(run: Run) -> list[Matched]:
    """Return the published figures that run along a key which this run has swept, for each slice of it."""
    published = published_of(run.run.study)
    if published is None:
        return []
    return [
        Matched(figure, part, [_pair(figure, name, published, curves) for name in figure.series])
        for part in slices(run.sweep_points)
        if part.key is not None
        for curves in [{curve.server: curve for curve in trial_curves(run, part)}]
        for figure in published.file.figures
        if figure.axis == part.key
    ]


def _pair(
    figure: PublishedFigure, series: str, published: Published, curves: Mapping[str, TrialCurves]
) -> Pair:
    given = dict(zip(map(float, figure.values), map(float, figure.series[series]), strict=True))
    server = published.server_of(series)
    curve = curves.get(server)
    if curve is None:
        return Pair(series, None, given, {}, None)
    trials = curve.figures(lambda trial: measured_value(figure.measure, trial))
    estimates = {
        load: estimate
        for load, column in zip(curve.loads, zip(*trials, strict=True), strict=False)
        if (estimate := estimate_over_trials(column)) is not None and estimate.value > 0
    }
    shared = [place for place, load in enumerate(curve.loads) if load in given]
    peak = greatest([curve.loads[j] for j in shared], [[row[j] for j in shared] for row in trials])
    return Pair(series, server if estimates else None, given, estimates, peak)


def pair_words(figure: PublishedFigure, pairs: Sequence[Pair]) -> list[str]:
    """Say of each pair where both are greatest, and how their ranks and shapes agree."""
    sentences = []
    for pair in pairs:
        found = pair.agreement
        if found is None or pair.peak is None:
            sentences.append(
                f"{pair.server}: too few of the published points were measured to compare a shape."
            )
            continue
        shared = {place: value for place, value in pair.published.items() if place in pair.measured}
        top = max(shared, key=shared.__getitem__)
        name = "" if pair.series == pair.server else f" (published as {pair.series})"
        key = figure.axis
        said = (
            f"{pair.server}{name}: of {found.n} shared points, the published curve is greatest at "
            f"{key} = {text.setting(top)} and the measured one at {_measured_top(pair.peak)}. "
        )
        if found.rank_correlation is not None:
            said += (
                f"Spearman's rank correlation of the two is {found.rank_correlation:.2f} (n = {found.n}). "
            )
        said += (
            "Each divided by its greatest value there, they are furthest apart at "
            f"{text.setting(found.gap_at)}, by {text.number(found.gap, 2)}."
        )
        sentences.append(said)
    return sentences


def _measured_top(peak: Greatest) -> str:
    """Return where a curve is greatest, with the other places that the trials do not rule out."""
    others = [text.setting(load) for load in peak.alike or () if load != peak.load]
    return text.setting(peak.load) + (f" (or {text.listing(others)}, by the trials)" if others else "")


def order_words(pairs: Sequence[Pair]) -> list[str]:
    """Say whether the servers come in the same order, by geometric means over the points that all share."""
    shared = {place for pair in pairs for place in pair.published}
    for pair in pairs:
        shared &= pair.published.keys() & pair.measured.keys()
    if len(pairs) < 2 or not shared:  # noqa: PLR2004 - one server has no order
        return []
    published = [_mean([pair.published[at] for at in shared]) for pair in pairs]
    measured = [_mean([pair.measured[at].value for at in shared]) for pair in pairs]
    couples = list(itertools.combinations(range(len(pairs)), 2))
    same = sum((published[a] - published[b]) * (measured[a] - measured[b]) > 0 for a, b in couples)
    orders = [
        ", ".join(names[place] for place in sorted(range(len(names)), key=means.__getitem__, reverse=True))
        for names, means in (
            ([pair.series for pair in pairs], published),
            ([str(pair.server) for pair in pairs], measured),
        )
    ]
    words = (
        f"Geometric means over {text.plural(len(shared), 'shared point')}, the greatest first: published "
        f"{orders[0]}; measured {orders[1]}. {same} of {text.plural(len(couples), 'pair')} "
        f"{'is' if same == 1 else 'are'} in the same order."
    )
    return [words]


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))
