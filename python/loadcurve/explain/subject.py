"""What findings look at: one server of a run, with all that was measured of it."""

from dataclasses import dataclass, field
from typing import Any

from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.records import RUNNING_SERVER, PointRecord, RunRecord, ServerRecord


@dataclass(frozen=True, slots=True)
class Subject:
    """One server of a run and its points, invalid ones included: these want an explanation most."""

    run: RunRecord
    name: str
    server: ServerRecord
    records: list[PointRecord]
    """In the order of measuring."""
    points: list[Point]
    """The points of the sweep, in its order; of a search those that it chose, by rising load."""
    places: dict[PointKey, int] = field(repr=False)
    """The place of each point in the sweep."""
    http_versions: frozenset[str] = frozenset()
    """Those of all loads of the run, on whatever server."""
    has_cold_http3: bool = False
    """Whether a load of the run over HTTP/3, on whatever server, opened connections within a window."""

    def place(self, record: PointRecord) -> int:
        """Return the place of a record's point in the sweep."""
        return self.places[point_key(record.point)]

    @property
    def load(self) -> LoadKind:
        """The kind of load that it was put under."""
        return self.records[0].load.load.kind

    @property
    def swept_key(self) -> str | None:
        """The key of the sweep, where it has exactly one."""
        keys = {key for point in self.points for key in point}
        return keys.pop() if len(keys) == 1 else None

    @property
    def is_local(self) -> bool:
        """Whether the run saw its machine's counters: it started the server, or saw its processes."""
        if self.server.catalog_entry != RUNNING_SERVER:
            return True
        return any(record.probe.tcp is not None for record in self.records)

    def lives_on(self, record: PointRecord) -> bool:
        """Whether the server lives from trial to trial: it is started once, or ran before the run."""
        return record.server_started_at is not None or self.server.catalog_entry == RUNNING_SERVER

    def by_place(self) -> list[list[PointRecord]]:
        """Return the records of every point of the sweep, in the sweep's order."""
        found: list[list[PointRecord]] = [[] for _ in self.points]
        for record in self.records:
            found[self.place(record)].append(record)
        return found

    def by_trial(self) -> dict[int, dict[int, PointRecord]]:
        """Return the records of every trial by their point's place in the sweep."""
        found: dict[int, dict[int, PointRecord]] = {}
        for record in self.records:
            found.setdefault(record.trial, {})[self.place(record)] = record
        return found

    def number_setting(self, name: str) -> int | None:
        """Return a setting of the server that is a number; ``None`` where it has none of this name."""
        value = self.server.settings.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def host(self) -> dict[str, Any]:
        """What is known of the machine on which the server ran."""
        return self.run.host_of(self.server)

    def sysctl(self, name: str) -> int | None:
        """Return a setting of the server's kernel that is a number; ``None`` where it was not recorded."""
        sysctls = self.host.get("sysctls")
        value = sysctls.get(name) if isinstance(sysctls, dict) else None
        return int(value) if isinstance(value, str) and value.isdigit() else None

    @property
    def cpus(self) -> list[int]:
        """The CPUs that the server was bound to; empty where the run did not record them."""
        return self.run.server_cpus[self.name]

    @property
    def load_cpus(self) -> list[int]:
        """The CPUs of the load; empty where the run did not record them."""
        return _numbers(self.run.host.get("load_cpus"))

    @property
    def cpus_available(self) -> float | None:
        """How many CPUs the server could use: those of its limit, or else those it was bound to."""
        limits = self.server.limits
        if limits is not None and limits.cpus is not None:
            return limits.cpus
        return float(len(self.cpus)) if self.cpus and self.is_local else None


def subjects(run: Run) -> list[Subject]:
    """Return every server of which at least one planned point was measured, in the order of the study."""
    points = run.sweep_points
    places = {point_key(point): place for place, point in enumerate(points)}
    by_server: dict[str, list[PointRecord]] = {}
    versions = frozenset(record.load.load.http for record in run.points if record.load.load.http)
    is_cold = any(record.load.http3 is not None and _connects(record) for record in run.points)
    for record in run.points:
        if point_key(record.point) in places:
            by_server.setdefault(record.server, []).append(record)
    return [
        Subject(run.run, name, server, by_server[name], points, places, versions, is_cold)
        for name, server in run.run.servers.items()
        if name in by_server
    ]


def _connects(record: PointRecord) -> bool:
    """Whether a connection was opened within the window, as far as known."""
    measured = None if record.load.tls is None else record.load.tls.measured
    if measured is None:
        return True
    return measured.full_ms.known_count + measured.resumed_ms.known_count > 0


def points_at(subject: Subject, places: set[int]) -> list[Point]:
    """Return the points at some places of the sweep, in its order."""
    return [subject.points[place] for place in sorted(places)]


def _numbers(value: object) -> list[int]:
    return [item for item in value if isinstance(item, int)] if isinstance(value, list | tuple) else []
