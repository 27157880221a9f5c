"""The curves until now: the same figures as on the report, but for what only a whole run can tell."""

from collections.abc import Iterator
from typing import Any

from loadcurve.analysis.curves import curves
from loadcurve.report.appearance import appearances
from loadcurve.report.charts.figure import Figure
from loadcurve.report.columns import with_columns
from loadcurve.report.figures import Part, curve_parts
from loadcurve.result.folder import Run


def figures(run: Run) -> list[dict[str, Any]]:
    """Return the figures of what is measured, as JSON data, in the order of the page.

    Findings and capacities are not marked in them: they are told at the end.
    """
    found = curve_parts(run, curves(run), appearances(run.run.servers))
    return [one for place, part in enumerate(found, start=1) for one in _of_part(place, part)]


def _of_part(place: int, part: Part) -> Iterator[dict[str, Any]]:
    def shown(section: str, number: int, title: str, figure: Figure) -> dict[str, Any]:
        return {
            "id": f"{section}-{place}-{number}",
            "section": section,
            "title": f"{title}, {part.heading}" if part.heading else title,
            "alternative": figure.alternative,
            "specification": with_columns(figure.specification),
        }

    yield shown("throughput", 1, "Requests answered per second", part.throughput)
    for number, (title, figure) in enumerate(part.latency.items(), start=1):
        yield shown("latency", number, f"{title}, ms", figure)
    if part.errors is not None:
        yield shown("errors", 1, "Requests without a right answer, % of those due", part.errors)
    for number, (title, figure) in enumerate(part.resources.items(), start=1):
        yield shown("resources", number, title[:1].upper() + title[1:], figure)
