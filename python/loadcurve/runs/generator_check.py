"""One load of a tool against a server that keeps an account of it: whether both have counted the same.

A web server writes its requests into a log; a database holds the records that were inserted.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from loadcurve._engine import Database
from loadcurve.host.cpus import divide_cpus
from loadcurve.loads.http import ClosedLoad, HttpLoad, OpenLoad, SessionsLoad
from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.loads.ycsb import DatabaseLoadTable
from loadcurve.protocol import HTTP1_1, DatabaseProtocol
from loadcurve.result.load import LoadResult
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.database import DatabaseUnderLoad
from loadcurve.runs.plan import DatabasePlans, plan_at_point
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import make_content
from loadcurve.server.description import PRIVATE_FOLDER
from loadcurve.server.found import MissingServer, find_server
from loadcurve.server.here import Server
from loadcurve.server.temporary import READ_BY_ALL_MODE, temporary_folder
from loadcurve.tools.catalog import Tool
from loadcurve.tools.table import Abilities

FILE = "1k.txt"
_BYTES = 1024
_COUNTING = "nginx"
_FASTEST = "limit"
_RECORDS, _OPERATIONS = 1000, 2000
_INSERTED = "insert"
_LOG_REST_S, _LOG_TIMEOUT_S = 0.1, 5.0
"""A log that has not grown for the first is complete; it is waited for at most for the second."""


@dataclass(frozen=True)
class CheckedGenerator:
    """What one load of a tool gave."""

    server: str
    result: LoadResult
    logged: int | None
    """How many requests the server has written into its access log; ``None`` where it has none.

    Those of the load, without the one that verified the server before; of a database, the new records.
    """

    @property
    def is_database(self) -> bool:
        """Whether records were counted, and not lines of a log."""
        return self.result.load.kind is DATABASE

    @property
    def counted(self) -> int:
        """What the tool has counted of it: the requests that were answered, or the inserts."""
        if not self.is_database:
            return self.result.requests.answered
        return sum(one.answered for one in self.result.operations if one.operation == _INSERTED)

    @property
    def unaccounted(self) -> int | None:
        """How many more requests the server has answered than the tool has counted."""
        return None if self.logged is None else self.logged - self.counted


def check_generator(tool: Tool) -> CheckedGenerator:
    """Put a short load on ``nginx`` with its access log, where it is installed, or else on ``limit``.

    A tool for databases puts it on the first database of the catalogue that speaks its first protocol.

    Raises:
        BadInput: the tool is not installed.
        NothingMeasured: it did not start, or its output cannot be read.
        ServerFailure: the server did not start.

    """
    tool.require_installed()
    if tool.bindings and not tool.sends(WEB):
        return _check_on_database(tool, next(iter(tool.bindings)))
    name, found = _COUNTING, find_server(load_catalog()[_COUNTING], {"access_log": True})
    if isinstance(found, MissingServer):
        name, found = _FASTEST, find_server(load_catalog()[_FASTEST], {})
    if isinstance(found, MissingServer):
        raise found.failure()
    cpus = divide_cpus(None, None)
    with temporary_folder("content", READ_BY_ALL_MODE) as folder:
        content = make_content(folder, {FILE: _BYTES}, seed=0)
        with Server(found, folder, content, cpus.server) as server:
            server.verify([f"/{FILE}"])
            log = server.marks.folder / PRIVATE_FOLDER / "access.log" if name == _COUNTING else None
            before = None if log is None else lines_at_rest(log)
            plan = plan_at_point(short_load(tool), server.address, content, cpus.load, seed=0)
            result = CHOSEN.run(plan, lambda _: None)
            after = None if log is None else lines_at_rest(log)
    logged = None if after is None or before is None else after - before
    return CheckedGenerator(name, result, logged)


def _check_on_database(tool: Tool, protocol: DatabaseProtocol) -> CheckedGenerator:
    entry = next(one for one in load_catalog() if one.description.protocol == protocol)
    found = find_server(entry, {})
    if isinstance(found, MissingServer):
        raise found.failure()
    given = {
        "model": "ycsb",
        "workload": {"mix": {"read": 0.5, _INSERTED: 0.5}, "request_distribution": "latest"},
        "records": _RECORDS,
        "operations": _OPERATIONS,
        "threads": 4,
        "warmup": "0s",
        "generator": tool.name,
    }
    cpus = divide_cpus(None, None)
    with Server(found, None, {}, cpus.server) as server:
        server.verify()
        plans = DatabasePlans(server.url, {}, cpus.load)
        load = DatabaseLoadTable.model_validate(given)
        with DatabaseUnderLoad(entry.name, server, load, plans, CHOSEN) as database:
            database.prepare({}, 0, lambda _: None)
            plan = database.plan({}, 0)
            result = CHOSEN.run(plan, lambda _: None)
            held = Database(plan.target.to_json()).count()
    return CheckedGenerator(entry.name, result, held - _RECORDS)


def short_load(tool: Tool) -> HttpLoad:
    """Return a short load that a tool can send."""
    can = tool.table.can or Abilities(models=["closed"], http=[HTTP1_1], ends=["duration"], calls="kept")
    common = {
        "requests": [f"/{FILE}"],
        "http": can.usual_http,
        "warmup_s": 0.0,
        "timeout_s": 5.0,
        "generator": tool.name,
        "verify": "content",
    }
    if "closed" in can.models:
        given = {"model": "closed", "connections": 10, "duration_s": 1.0, **common}
        return ClosedLoad.model_validate(given, by_alias=False, by_name=True)
    if "open" in can.models:
        given = {"model": "open", "connections": 10, "rate_rps": 500.0, "duration_s": 1.0, **common}
        return OpenLoad.model_validate(given, by_alias=False, by_name=True)
    given = {
        "model": "sessions", "connection_rate_cps": 200.0, "connections_total": 200, "calls": 5, **common
    }  # fmt: skip
    return SessionsLoad.model_validate(given, by_alias=False, by_name=True)


def lines_at_rest(log: Path) -> int:
    """Return the number of lines of a log that has stopped growing.

    A server writes a line after it has sent the answer, so the client can be ahead of the log.
    """
    deadline_s = time.monotonic() + _LOG_TIMEOUT_S
    lines = _lines(log)
    while time.monotonic() < deadline_s:
        time.sleep(_LOG_REST_S)
        before, lines = lines, _lines(log)
        if lines == before:
            break
    return lines


def _lines(log: Path) -> int:
    return log.read_bytes().count(os.linesep.encode()) if log.exists() else 0
