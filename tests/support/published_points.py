"""Points of a published run."""

from loadcurve.result.publication import PublishedPoint, PublishedRun


def at(run: PublishedRun, server: str, connections: float) -> PublishedPoint:
    """One server at one point."""
    (found,) = [
        one for one in run.points if (one.server, one.point) == (server, {"connections": connections})
    ]
    return found
