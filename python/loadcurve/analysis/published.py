"""Published figures beside what a run has measured: the same shape, never the same numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadcurve.analysis.sweep import TrialCurves, slices, trial_curves
from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import PUBLISHED_MEASURES
from loadcurve.stats.agreement import Agreement, agreement
from loadcurve.stats.interval import Estimate, estimate_over_trials
from loadcurve.stats.peak import Greatest, greatest
from loadcurve.study.published import Published, PublishedFigure, published_of


@dataclass(frozen=True, slots=True)
class PublishedPair:
    """A published series and what was measured of the server it stands for, by the place on the axis."""

    series: str
    server: str | None
    """``None`` where no server of the run has measured anything along the figure's axis."""
    published: dict[float, float]
    measured: dict[float, Estimate]
    peak: Greatest | None
    """Where what was measured is greatest, of the places that the publication has."""
    agreement: Agreement | None
    """How the two shapes agree."""


@dataclass(frozen=True, slots=True)
class PublishedMatch:
    """A published figure beside one slice of the run's sweep."""

    title: str
    axis: str
    measure: str
    """Its name."""
    unit: str
    """The publication's."""
    fixed: Point
    pairs: list[PublishedPair]


def published_matches(run: Run) -> list[PublishedMatch]:
    """Return the published figures that run along a key which this run has swept, for each slice of it."""
    published = published_of(run.run.study)
    if published is None:
        return []
    return [
        PublishedMatch(
            title=figure.title,
            axis=figure.axis,
            measure=figure.measure,
            unit=figure.unit,
            fixed=part.fixed,
            pairs=[_pair(figure, name, published, curves) for name in figure.series],
        )
        for part in slices(run.sweep_points)
        if part.key is not None
        for curves in [{curve.server: curve for curve in trial_curves(run, part)}]
        for figure in published.file.figures
        if figure.axis == part.key
    ]


def _pair(
    figure: PublishedFigure, series: str, published: Published, curves: Mapping[str, TrialCurves]
) -> PublishedPair:
    given = dict(zip(map(float, figure.values), map(float, figure.series[series]), strict=True))
    server = published.server_of(series)
    curve = curves.get(server)
    if curve is None:
        return PublishedPair(series, None, given, {}, None, None)
    trials = curve.figures(PUBLISHED_MEASURES[figure.measure].value)
    estimates = {
        load: estimate
        for load, column in zip(curve.loads, zip(*trials, strict=True), strict=False)
        if (estimate := estimate_over_trials(column)) is not None and estimate.value > 0
    }
    shared = [place for place, load in enumerate(curve.loads) if load in given]
    peak = greatest([curve.loads[j] for j in shared], [[row[j] for j in shared] for row in trials])
    agrees = agreement(given, {place: one.value for place, one in estimates.items()})
    return PublishedPair(series, server if estimates else None, given, estimates, peak, agrees)
