"""The servers of one start: mostly one, and several where a study puts several loads on a machine at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from loadcurve.generate.generator import Generator
from loadcurve.host.cpus import CpuDivision
from loadcurve.loads.values import Point
from loadcurve.loads.ycsb import DatabaseLoadTable
from loadcurve.result.load import LoadResult
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.records import PlannedTrial
from loadcurve.result.rig import Ceiling, marked_at_ceiling
from loadcurve.runs.database import DatabaseUnderLoad
from loadcurve.runs.plan import DatabasePlans
from loadcurve.runs.prepare import Found, Served
from loadcurve.runs.under_load import UnderLoad
from loadcurve.runs.web_server import WebServerUnderLoad
from loadcurve.server.found import MissingServer
from loadcurve.server.live import LiveServer
from loadcurve.study.arm import Arm
from loadcurve.study.model import Study


@dataclass(frozen=True)
class Member:
    """One server of a start, and the load that is put on it."""

    study: Study
    trial: PlannedTrial
    """Its trial, which names its arm."""
    found: Found | MissingServer
    served: Served | None
    cpus: CpuDivision
    ceiling: Ceiling | None = None
    """The rig's ceiling, where it is known."""

    own_points: Mapping[PointKey, Point] = field(default_factory=dict)
    """Its study's names for the points of the run, where they are other ones."""

    @property
    def arm(self) -> Arm:
        """What its curve is of."""
        return self.study.arms[self.trial.server]

    def under_load(self, server: LiveServer, generator: Generator) -> UnderLoad:
        """Return its started server as its kind is put under load."""
        arm = self.arm
        # A point has its own value of what is swept.
        load = arm.load_to_verify
        if isinstance(load, DatabaseLoadTable):
            plans = DatabasePlans(server.url, arm.server.driver, self.cpus.load)
            return DatabaseUnderLoad(arm.name, server, load, plans, generator)
        content = self.served.records if self.served else {}
        return WebServerUnderLoad(server, load, content, self.cpus.load)

    def marked(self, result: LoadResult) -> LoadResult:
        """Return the result of its load, marked where it comes near to the rig's ceiling."""
        return result if self.ceiling is None else marked_at_ceiling(result, self.ceiling)

    def own_point(self, point: Point) -> Point:
        """Return its study's name for a point of the run."""
        return self.own_points.get(point_key(point), point)
