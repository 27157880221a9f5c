"""What the file of another tool leaves out, in words; no figure is made up in its place."""

from loadcurve.tools.figures import ToolFigures

_OF_LATENCY = {
    "complete": None,
    "sampled": "latencies beyond its sample",
    "percentiles": "latencies between its percentiles",
    "summary": "percentiles of latency",
}


def lacking(figures: ToolFigures) -> list[str]:
    """Return what the file of a load does not have, each in a few words."""
    found = list(figures.not_measured)
    if figures.latency is None and not figures.operations and figures.answered and not found:
        found.append("latencies of answers")
    if figures.latency is not None and (words := _OF_LATENCY[figures.latency.completeness]):
        found.append(words)
    if figures.failed is None:
        found.append("failed requests")
    if figures.status is None:
        found.append("right answers" if figures.ok is None else "classes of statuses")
    return found
