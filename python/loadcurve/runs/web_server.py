"""A web server under load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from loadcurve.generate.generator import Observe
from loadcurve.loads.http import HttpLoadTables, at_rate
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.values import Point
from loadcurve.result.load import LoadResult
from loadcurve.result.records import ContentRecord, Loads
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.alt_svc import Announcement
from loadcurve.server.live import LiveServer
from loadcurve.study.tables import Trials


@dataclass(frozen=True)
class WebServerUnderLoad:
    """One started web server; it keeps nothing of a load but where the server announces HTTP/3."""

    server: LiveServer
    load: HttpLoadTables
    """The study's."""
    content: Mapping[str, ContentRecord]
    cpus: Sequence[int]
    announcement: Announcement = field(default_factory=Announcement)
    """Where it says that it speaks HTTP/3, for loads by `Alt-Svc`."""

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    def verify(self, seed: int) -> None:
        """Ask for every path once, or for some of a long list."""
        self.server.verify(self.load.paths_to_verify(seed), self.load)

    def prepare(self, point: Point, seed: int, observe: Observe) -> Loads:  # noqa: ARG002
        """Do nothing."""
        return {}

    def warmup(self, trials: Trials, seed: int) -> HttpPlan | None:
        """Return the plan of requests at a rate before the first point; ``None`` where there are none."""
        if trials.warmup is None:
            return None
        # Its connection is one of those of the first point where that follows at once.
        pipeline = self.load.pipeline if trials.continues else 1
        rated = at_rate(self.load, trials.warmup.rate_rps, trials.warmup.duration_s, pipeline=pipeline)
        return replace(self, load=rated).plan({}, seed)

    def plan(self, point: Point, seed: int) -> HttpPlan:
        """Return the plan of the load of one point; one by `Alt-Svc` goes where the server says."""
        load = self.load.with_values(point, self.load.complete)
        server = self.server
        return self.announcement.followed_by(
            plan_at_point(
                load,
                server.address,
                self.content,
                self.cpus,
                seed,
                authority=server.authority,
                transport=server.transport,
            )
        )

    def checked(self, point: Point, result: LoadResult) -> LoadResult:  # noqa: ARG002
        """Return the result: its answers were checked as they came."""
        return result
