"""The arms of a study: what its curves are of."""

from dataclasses import dataclass

from loadcurve.load.kinds import LoadKind
from loadcurve.load.loads import Load, LoadTables, complete_type
from loadcurve.result.records import Point
from loadcurve.study.tables import StudyServer


@dataclass(frozen=True)
class Arm:
    """What one curve is of: a server, and the load that is put on it."""

    name: str
    """That of the server's table; records and everything that is made of them go by it."""
    server: StudyServer
    load: LoadTables

    @property
    def kind(self) -> LoadKind:
        """What kind of load it is."""
        return self.load.kind

    def load_at(self, point: Point) -> Load:
        """Return the load with the keys of ``point`` set."""
        return self.load.with_values(point, complete_type(self.load))

    def paths_to_verify(self, seed: int) -> list[str]:
        """Return the paths whose answers a trial verifies; of a long list, those that ``seed`` picks."""
        return self.load.paths_to_verify(seed)
