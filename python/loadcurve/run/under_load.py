"""What a trial does with a started server: verify it, and put one load after the other on it."""

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from loadcurve.generate.generator import Observe
from loadcurve.result.load import LoadResult
from loadcurve.result.records import Point


@dataclass(frozen=True)
class Measured:
    """What a point has brought: its load, and the loading of the records before it, where there was one."""

    load: LoadResult
    loading: LoadResult | None = None


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

    def measure(self, point: Point, seed: int, observe: Observe) -> Measured:
        """Put the load of one point on the server.

        Raises:
            LoadcurveError: the load could not be started, or the server failed.
            LoadInterrupted: by the person.

        """
