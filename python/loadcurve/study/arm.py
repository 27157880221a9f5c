"""The arms of a study: what its curves are of."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.models import Load, LoadTables
from loadcurve.loads.values import Point
from loadcurve.study.tables import StudyServer, Sweep, own_keys
from loadcurve.toml.expected import show
from loadcurve.toml.problems import KeyPath, Problem, own_problems, problems_of


@dataclass(frozen=True)
class Arm:
    """What one curve is of: a server, and the load that is put on it."""

    name: str
    """That of the server's table; records and everything that is made of them go by it."""
    server: StudyServer
    load: LoadTables
    """The study's, or that of the server's own table, which overrides keys of the study's."""
    sweep: Sweep
    """The study's."""

    @property
    def kind(self) -> LoadKind:
        """What kind of load it is."""
        return self.load.kind

    @property
    def place_of_load(self) -> KeyPath:
        """Where the file has the arm's own table of the load."""
        return ("servers", self.name, "load")

    @property
    def place_of_sweep(self) -> KeyPath:
        """Where the file has the arm's own values along the sweep."""
        return ("servers", self.name, "sweep")

    def place(self, key: str) -> KeyPath:
        """Return where the file has a key of the load."""
        return (*(self.place_of_load if key in self.load.overriding else ("load",)), key)

    def load_at(self, point: Point) -> Load:
        """Return the load at a point of the study's sweep."""
        return self.load.with_values(self.values_at(point), self.load.complete)

    def values_at(self, point: Point) -> Point:
        """Return what the swept keys of its load are for this arm at a point of the study's sweep."""
        own = self.server.sweep
        if own is None:
            return {key: value for key, value in point.items() if "." not in key}
        ((key, values),) = self.sweep.items()
        place = values.index(point[key])
        return {**point, **{name: column[place] for name, column in own.items()}}

    @property
    def own_sweep(self) -> Sweep:
        """Return the values of each key of its load that is swept for this arm."""
        return own_keys({**self.sweep, **(self.server.sweep or {})})

    @property
    def load_to_verify(self) -> LoadTables:
        """Its load as it asks once: that messages go to subscribers is known also where these are swept."""
        swept = self.own_sweep.get("subscribers")
        return self.load.model_copy(update={"subscribers": swept[0]}) if swept else self.load

    def paths_to_verify(self, seed: int) -> list[str]:
        """Return the paths whose answers a trial verifies; of a long list, those that ``seed`` picks."""
        return self.load.paths_to_verify(seed)


def overridden_load(
    name: str, load: LoadTables, table: Mapping[str, object], folder: Path, swept: Collection[str] = ()
) -> LoadTables:
    """Return the study's load with the keys of a server's own table, and without those that it sweeps.

    Raises:
        ValidationError: the keys do not give a load of the study's model; with paths from ``servers``.

    """
    model = table.get("model", load.model)
    if model != load.model:
        text = f"found {show(model)}; expected {show(load.model)}: all servers have the model of [load]"
        raise own_problems([Problem((name, "load", "model"), text)])
    try:
        return load.overridden(table, folder, swept)
    except ValidationError as error:
        problems = problems_of(error, type(load))
        raise own_problems([Problem((name, "load", *one.path), one.text) for one in problems]) from None
