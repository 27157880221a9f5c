"""What one load machine, and two, and more together reach against a server that does nothing."""

from typing import Annotated, Literal

from pydantic import Field

from loadcurve.record import Count, Many, Record
from loadcurve.result.verdict import Verdict


class MachinesCeilingPoint(Record):
    """What some machines reach together: medians over ``runs`` loads."""

    machines: Annotated[Many[str], Field(min_length=1)]
    runs: Count
    requests_per_s: Annotated[float, Field(gt=0)]
    lowest_requests_per_s: float
    highest_requests_per_s: float
    generator_cpu_share: float
    """How busy the threads of the busiest machine were; near 1 it is the limit."""
    verdict: Verdict
    """The verdict on the load of the median."""


class MachinesCeiling(Record):
    """The same load from more and more machines."""

    format: Literal["loadcurve-machines-ceiling/1"] = "loadcurve-machines-ceiling/1"
    measured_at: str
    server_machine: str
    connections: Count
    """Of all machines together."""
    body_bytes: Count
    points: Annotated[Many[MachinesCeilingPoint], Field(min_length=1)]
    """Those of fewer machines first."""

    @property
    def enough(self) -> MachinesCeilingPoint:
        """The fewest machines beyond which no others have reached more.

        More is what lies above by all of the loads, so that a difference within their spread is none.
        """
        best = self.points[0]
        for point in self.points[1:]:
            if point.lowest_requests_per_s > best.highest_requests_per_s:
                best = point
        return best
