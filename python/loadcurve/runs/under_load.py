"""What a trial does with a started server: verify it, and put one load after the other on it."""

from types import TracebackType
from typing import Protocol, Self

from loadcurve.generate.generator import Observe, Plan
from loadcurve.loads.values import Point
from loadcurve.result.load import LoadResult
from loadcurve.result.records import Loads
from loadcurve.study.tables import Trials


class UnderLoad(Protocol):
    """A started server under the loads of a trial; leaving it removes what they have made."""

    def __enter__(self) -> Self:
        """Begin the trial."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the trial."""

    def verify(self, seed: int) -> None:
        """Verify the server before it is measured; raises ServerFailure where it is not as it should be."""

    def prepare(self, point: Point, seed: int, observe: Observe) -> Loads:
        """Bring about what the load of one point needs; return what was measured meanwhile, by name.

        Raises:
            LoadcurveError: a load could not be started, or the server failed.
            LoadInterrupted: by the person.

        """

    def warmup(self, trials: Trials, seed: int) -> Plan | None:
        """Return the plan of the load before the first point of a start; ``None`` where there is none."""

    def plan(self, point: Point, seed: int) -> Plan:
        """Return the plan of the load that the figures of one point are of."""

    def checked(self, point: Point, result: LoadResult) -> LoadResult:
        """Return the result of that load, marked where the server does not hold what it should.

        Raises:
            ServerFailure: the server failed.

        """
