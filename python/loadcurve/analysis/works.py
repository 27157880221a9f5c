"""The works of a run: what its loads ask for. Servers are ranked among those that do the same."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from loadcurve.analysis.analysis import Analysis, ServerFacts
from loadcurve.analysis.curves import Curve
from loadcurve.analysis.noise import noise_of_pairs
from loadcurve.analysis.ranking import asks_rate, rank_run
from loadcurve.analysis.shape import SliceShapes, ranked_at_peaks
from loadcurve.result.measures import MEASURES

OPTIONS: Final = ("workload", "requests", "weights", "method", "body")
"""The options of a load that say what is asked for, rather than how."""


@dataclass(frozen=True, slots=True)
class Work:
    """The servers of a run that were asked for the same, ranked among themselves."""

    options: dict[str, Any]
    """What they were asked for, by the options of the load in which the works differ."""
    analysis: Analysis
    """The run's, of these servers alone."""


def works(analysis: Analysis) -> list[Work]:
    """Return each work of a run whose servers do several and are alike within each; else nothing.

    That is so where one server has an arm for each work. Servers that are asked for different things without
    that, such as the same page by other paths, are compared as they are; so are the loads on one server.
    """
    servers = {curve.server: analysis.run.servers[curve.server] for curve in analysis.curves}
    given = {name: _work_of(analysis, server) for name, server in servers.items()}
    found: dict[str, list[str]] = {}
    for name, options in given.items():
        found.setdefault(_key(options), []).append(name)
    if len(found) < 2 or max(map(len, found.values())) < 2:  # noqa: PLR2004 -- nothing is to be divided
        return []
    subjects = {name: _key([server.title, server.facts]) for name, server in servers.items()}
    by_work = [{subjects[name] for name in names} for names in found.values()]
    if not any(one & other for place, one in enumerate(by_work) for other in by_work[:place]):
        return []
    differing = [key for key in OPTIONS if len({_key(options.get(key)) for options in given.values()}) > 1]
    return [
        Work({key: given[names[0]].get(key) for key in differing}, _of_servers(analysis, names))
        for names in found.values()
    ]


def without_comparisons(analysis: Analysis) -> Analysis:
    """Return an analysis of several works without what compares all of its servers along a load."""
    parts = [replace(part, cheapest=[], leaders=None, by_peak=None) for part in analysis.shapes]
    return replace(analysis, shapes=parts)


def _work_of(analysis: Analysis, server: ServerFacts) -> dict[str, Any]:
    common = analysis.run.conditions["load"]
    return {key: server.load.get(key, common.get(key)) for key in OPTIONS}


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _of_servers(analysis: Analysis, names: Sequence[str]) -> Analysis:
    curves = [curve for curve in analysis.curves if curve.server in names]
    columns = {measure.column: measure for measure in MEASURES.values()}
    at_rates = asks_rate(analysis.run.conditions["load"], analysis.points)
    return replace(
        analysis,
        curves=curves,
        rankings=[rank_run(curves, columns[one.measure], at_rates=at_rates) for one in analysis.rankings],
        shapes=[_shapes_of(part, curves, at_rates=at_rates) for part in analysis.shapes],
        noise=[
            noise_of_pairs(curves, columns[one.measure]) if one.source == "pairs" else one
            for one in analysis.noise
        ],
    )


def _shapes_of(part: SliceShapes, curves: Sequence[Curve], *, at_rates: bool) -> SliceShapes:
    names = {curve.server for curve in curves}
    shapes = [shape for shape in part.shapes if shape.server in names]
    by_peak = part.by_peak and ranked_at_peaks(curves, part.part, shapes, at_rates=at_rates)
    return replace(part, shapes=shapes, cheapest=[], leaders=None, by_peak=by_peak)
