"""The rig's ceiling: the most that this generator reaches here, against a server that does nothing."""

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from loadcurve.loads.values import Count, Many, Record, Time
from loadcurve.result.load import LoadResult
from loadcurve.result.verdict import Verdict

NEAR_CEILING = 0.9
"""A rate of at least this share of the ceiling says more of the rig than of the server."""


class Rig(Record):
    """What a ceiling depends on: another rig has another one."""

    cpu_model: str | None
    kernel: str
    loadcurve_version: str
    server_cpus: tuple[int, ...]
    load_cpus: tuple[int, ...]
    io: str


class CeilingPoint(Record):
    """The ceiling of a closed loop of so many connections: medians over ``runs`` loads."""

    connections: Annotated[int, Field(gt=0)]
    runs: Count
    requests_per_s: Annotated[float, Field(gt=0)]
    lowest_requests_per_s: float
    highest_requests_per_s: float
    p50_ms: Time
    p99_ms: Time | None
    generator_cpu_share: float
    """How busy the generator's threads were; near 1 the ceiling is the generator's alone."""
    verdict: Verdict
    """The verdict on the load of the median."""


class Ceiling(Record):
    """What one rig reaches, by connections in rising order."""

    format: Literal["loadcurve-ceiling/1"] = "loadcurve-ceiling/1"
    measured_at: str
    body_bytes: Count
    """The length of the answers' bodies; longer answers have a lower ceiling."""
    rig: Rig
    host: dict[str, Any]
    """What the machine was like then, as in ``run.json``."""
    points: Annotated[Many[CeilingPoint], Field(min_length=1)]

    def requests_per_s_at(self, connections: int) -> float:
        """Return the ceiling at a number of connections: straight lines between the measured numbers.

        Below the first and above the last of these it is taken as level.
        """
        if connections <= self.points[0].connections:
            return self.points[0].requests_per_s
        for left, right in pairwise(self.points):
            if connections <= right.connections:
                share = (connections - left.connections) / (right.connections - left.connections)
                return left.requests_per_s + share * (right.requests_per_s - left.requests_per_s)
        return self.points[-1].requests_per_s


def marked_at_ceiling(result: LoadResult, ceiling: Ceiling) -> LoadResult:
    """Return a result that is suspect if its rate is within a tenth of the rig's ceiling, or above it.

    Pipelined loads and those on databases are left as they are: they have another ceiling, which is not
    measured.
    """
    answered_rps, plan = result.rate_rps.answered, result.load
    if answered_rps is None or not plan.has_ceiling:
        return result
    ceiling_rps = ceiling.requests_per_s_at(plan.connections)
    if answered_rps < NEAR_CEILING * ceiling_rps:
        return result
    text = (
        f"{answered_rps:,.0f} requests per second are {answered_rps / ceiling_rps:.0%} of the "
        f"{ceiling_rps:,.0f} that this rig reaches with {plan.connections:,} connections against a server "
        "that does nothing: the rig, not the server, is the limit"
    )
    verdict = result.verdict.with_reason("rig_ceiling", text, "suspect")
    return result.model_copy(update={"verdict": verdict})
