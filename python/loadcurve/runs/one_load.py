"""One load as a run: its folder has the records that a study of one server, one trial and one point has."""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from loadcurve.generate.generator import Plan
from loadcurve.host.cpus import CpuDivision
from loadcurve.host.facts import host_facts
from loadcurve.loads.models import TABLES
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.sent import FILE_MARK
from loadcurve.loads.table import attributes
from loadcurve.loads.values import Point
from loadcurve.redaction import hosts_of, study_without_secrets, without_password, without_passwords_in
from loadcurve.result.folder import RunFolder
from loadcurve.result.load import LoadResult
from loadcurve.result.machine import judged, numbers_in_runs
from loadcurve.result.records import (
    FORMAT,
    MEASURED,
    SINGLE_LOAD,
    PlannedTrial,
    PointRecord,
    RunRecord,
    ServerRecord,
)
from loadcurve.runs.other_runs import OtherRuns, disturbing
from loadcurve.runs.running_servers import utc_now
from loadcurve.server.after_load import seen_during
from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import load_catalog
from loadcurve.server.listeners import Place
from loadcurve.server.members import SeenProcesses, processes_of
from loadcurve.server.running import RunningServer
from loadcurve.study.model import Study
from loadcurve.study.tables import Host
from loadcurve.version import VERSION

if TYPE_CHECKING:
    from loadcurve.server.live import LiveProbe

SERVER: Final = "server"
"""What the server of a single load is called, so that two loads can be compared."""
ENTRY: Final = "url"
TRIAL: Final = PlannedTrial(trial=0, block=0, server=SERVER)
_AXES: Final[Mapping[str, Sequence[str]]] = {
    "closed": ("connections",),
    "open": ("rate", "connections"),
    "sessions": ("connection_rate", "calls", "timeout"),
    "ycsb": ("rate", "threads"),
}
"""Along which key of the load its one point lies: the first that is a number."""


@dataclass(frozen=True)
class OneLoad:
    """A load that a command has asked for."""

    url: str
    """Of the server, perhaps with a password."""
    table: Mapping[str, object]
    """The load as the file of a study has it."""
    plan: Plan

    @property
    def point(self) -> Point:
        """Its one point."""
        model = self.plan.load.model
        names = attributes(TABLES[model])
        values = {key: getattr(self.plan.load, names[key]) for key in _AXES[model]}
        return next(
            {key: float(value) if isinstance(value, float) else value}
            for key, value in values.items()
            if isinstance(value, int | float)
        )

    @property
    def server_url(self) -> str:
        """The URL without the path of a request."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}" if isinstance(self.plan, HttpPlan) else self.url

    @property
    def _place(self) -> str:
        """The URL without secrets; with the path where there is one alone, but not what is asked of it."""
        match self.table.get("requests"):
            case [str(only)] if isinstance(self.plan, HttpPlan):
                return f"{without_password(self.server_url)}{only.partition('?')[0]}"
            case _:
                return without_password(self.server_url)

    def study_text(self) -> str:
        """Return the study of this load, without secrets."""
        return study_without_secrets(self._as_toml())

    def study(self) -> dict[str, Any]:
        """Return the study with every default filled in, without secrets."""
        data = tomllib.loads(self._as_toml())
        study = Study.model_validate(data, context={"folder": Path.cwd()})
        return without_passwords_in(study.model_dump(mode="json"))  # type: ignore[no-any-return]

    def _as_toml(self) -> str:
        point = self.point
        load = {key: _kept(key, value) for key, value in self.table.items() if key not in point}
        tables: dict[str, Mapping[str, object]] = {
            "load": load,
            "sweep": {key: [value] for key, value in point.items()},
            "trials": {"count": 1},
            "host": {"load_cpus": [*self.plan.cpus]} if self.plan.cpus else {},
            f"servers.{SERVER}": {"use": ENTRY, "url": self.server_url},
        }
        lines = [
            "# A single load, as the study that does the same; what may be secret is left out.",
            f"title = {_toml(f'One load on {self._place}')}",
        ]
        for name, table in tables.items():
            if table:
                lines += ["", f"[{name}]", *(f"{_key(key)} = {_toml(value)}" for key, value in table.items())]
        lines.append('# version = "1.2"  # of the server, where none of its answers names it')
        return "\n".join(lines) + "\n"


def _kept(key: str, value: object) -> object:
    """Return a value with the path of the file that it names, which counts from another folder later."""
    if isinstance(value, Path):
        return str(value.absolute())
    if key == "requests" and isinstance(value, str):
        return str(Path(value).absolute())
    if key == "body" and isinstance(value, str) and value.startswith(FILE_MARK):
        return f"{FILE_MARK}{Path(value.removeprefix(FILE_MARK)).absolute()}"
    return {name: _kept(name, one) for name, one in value.items()} if isinstance(value, dict) else value


def _key(text: str) -> str:
    """Return a key as TOML has it."""
    return text if text.replace("_", "").replace("-", "").isalnum() and text.isascii() else _toml(text)


def _toml(value: object) -> str:
    """Return a value as TOML has it, on one line."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class OneLoadRun:
    """The folder of one load, and the probe of its server, as a context manager."""

    def __init__(self, load: OneLoad, folder: Path) -> None:
        """Look for the server's processes; nothing is written yet."""
        self._load = load
        self._path = folder
        self._found = _running(load)
        self._server = AttachedServer(self._found, None)
        self._stack = ExitStack()
        self._folder: RunFolder | None = None
        self._probe: LiveProbe | None = None
        self._beside = OtherRuns()
        self._started_at = utc_now()

    def __enter__(self) -> Self:
        """Make the folder, and start the probe; raises ``BadInput`` where the folder cannot be written."""
        record = _run_record(self._load, self._found, self._cpus)
        folder = RunFolder.create(self._path, record, self._load.study_text())
        self._folder = self._stack.enter_context(folder)
        with ExitStack() as on_failure:
            on_failure.push(self._stack)
            probe = self._server.probe(self._cpus.probe, Host().probe_interval_s)
            self._probe = self._stack.enter_context(probe)
            on_failure.pop_all()
        self._started_at = utc_now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the probe; write no more."""
        self._stack.close()

    @property
    def path(self) -> Path:
        """The folder."""
        return self._path

    @property
    def observers(self) -> Sequence[int]:
        """The CPUs for what follows the load and is no part of it."""
        return self._cpus.observers

    def look(self) -> None:
        """Look whether another run is under way, now and then."""
        self._beside.look()

    def add(self, result: LoadResult) -> LoadResult:
        """Record the result of the load; return it with what the server's machine gives as reasons for doubt.

        Raises ``LoadcurveError``: the record cannot be written.
        """
        assert self._folder is not None and self._probe is not None, "entered"  # noqa: S101, PT018
        seen = self._beside.marked(seen_during(result, self._probe))
        shared = self._cpus.overlap
        if shared:
            # What sends the load runs there too, and has the time of both.
            text = (
                f"the server may use CPU {numbers_in_runs(shared)} of the load, unless --cpus binds the "
                "load, and taskset the server, to others"
            )
            caveats = [*seen.caveats, disturbing("cpus_shared", text)]
            seen = seen.model_copy(update={"cpu_time": None, "caveats": caveats})
        measured = judged(result, seen, self._cpus.server)
        self._folder.append(
            PointRecord(
                kind="point",
                **TRIAL.model_dump(),
                point=self._load.point,
                started_at=self._started_at,
                measurements={MEASURED: measured},
                probe=seen,
                limit_use=None,
            )
        )
        return measured

    @property
    def _cpus(self) -> CpuDivision:
        """The CPUs of both sides, as far as they are known."""
        usable = sorted(os.sched_getaffinity(0))
        load = tuple(sorted(self._load.plan.cpus)) or tuple(usable)
        seen = self._found.processes
        server = tuple(sorted(seen.cpus)) if isinstance(seen, SeenProcesses) else ()
        spare = tuple(cpu for cpu in usable if cpu not in load and cpu not in server)
        return CpuDivision(server, load, spare)


def _running(load: OneLoad) -> RunningServer:
    """Return the server as one that runs already; its version is not asked for."""
    plan, url = load.plan, load.server_url
    if isinstance(plan, HttpPlan):
        address, authority = plan.address, plan.authority
        way = plan.load.way
        place = None if way.has_no_port else Place.of_web_server(address, is_over_quic=way.is_over_quic)
    else:
        address = authority = hosts_of(url)
        place = Place.of_database(url)
    return RunningServer(
        load_catalog([])[ENTRY],
        url,
        address,
        authority,
        "",
        {},
        plan.protocol,
        place=place,
        processes=processes_of((), place),
    )


def _run_record(load: OneLoad, found: RunningServer, cpus: CpuDivision) -> RunRecord:
    sides = {"load_cpus": [*cpus.load]} | ({"server_cpus": [*cpus.server]} if cpus.server else {})
    description = found.entry.description
    return RunRecord(
        format=FORMAT,
        loadcurve_version=VERSION,
        started_at=utc_now(),
        seed=load.plan.seed,
        options=[],
        study_name=SINGLE_LOAD,
        study=load.study(),
        order=[TRIAL],
        points=[load.point],
        host={**host_facts(), **sides},
        ceiling=None,
        servers={
            SERVER: ServerRecord(
                title=without_password(load.server_url),
                catalog_entry=ENTRY,
                status="found",
                version=None,
                binary=None if found.binary is None else str(found.binary),
                settings={"url": without_password(load.server_url)},
                configuration={},
                install=None,
                documentation=description.documentation,
                limits=None,
                machine=None,
            )
        },
        content={},
    )
