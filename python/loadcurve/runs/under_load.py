"""What a trial does with a started server: verify it, and put one load after the other on it."""

from types import TracebackType
from typing import Protocol, Self

from loadcurve.generate.generator import Observe
from loadcurve.loads.values import Point
from loadcurve.result.records import Measurements


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

    def measure(self, point: Point, seed: int, observe: Observe) -> Measurements:
        """Put the load of one point on the server, and return what was measured by name, as records have it.

        Raises:
            LoadcurveError: the load could not be started, or the server failed.
            LoadInterrupted: by the person.

        """
