"""A web server under load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from loadcurve.generate.generator import Generator, Observe
from loadcurve.loads.http import HttpLoadTables
from loadcurve.loads.values import Point
from loadcurve.result.records import MEASURED, ContentRecord, Measurements
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.live import LiveServer


@dataclass(frozen=True)
class WebServerUnderLoad:
    """One started web server; it keeps nothing of a load."""

    server: LiveServer
    load: HttpLoadTables
    """The study's."""
    content: Mapping[str, ContentRecord]
    cpus: Sequence[int]
    generator: Generator

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    def verify(self, seed: int) -> None:
        """Ask for every path once, or for some of a long list."""
        self.server.verify(self.load.paths_to_verify(seed))

    def measure(self, point: Point, seed: int, observe: Observe) -> Measurements:
        """Put the load of one point on the server."""
        load = self.load.with_values(point, self.load.complete)
        address, authority = self.server.address, self.server.authority
        plan = plan_at_point(load, address, self.content, self.cpus, seed, authority=authority)
        return {MEASURED: self.generator.run(plan, observe)}
