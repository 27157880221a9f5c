"""Servers that do harm, in each phase of a run: everything ends in time, and says what was wrong.

For every behaviour and phase a row says how it ended, and by how much that was later than the timeout.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benches.hostile_behaviours import BODY, MANNERS, Manners, hostile_server
from benches.rig import machine, named_with
from loadcurve._engine import Database, DatabaseError, Load, workload
from loadcurve.errors import NothingMeasured
from loadcurve.generate.engine import ENGINE
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.tls import TlsTable
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import ONLY_OK, WebSite, verify_answers
from loadcurve.server.asked import Site
from loadcurve.server.catalog import load_catalog
from loadcurve.server.database import RunningDatabase
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, Overrides, ReadyQuestion
from loadcurve.server.running import find_running_server
from loadcurve.server.transport import CLEAR_TEXT, Transport

GRACE_S = 2.0
LOAD_S = 0.3
UPLOAD_BYTES = 8 << 20
FILE = "1k.txt"
CONTENT = {FILE: ContentRecord(bytes=len(BODY), sha256=sha256(BODY).hexdigest())}
CATALOG = load_catalog([])
NOTHING_WRONG = "nothing wrong"
DATABASES = ("mongodb", "postgresql")
TRANSPORTS = {"http": CLEAR_TEXT, "https": Transport("https", TlsTable(verify="none"))}

Phase = Callable[[str, int, float, Manners], str]
"""What is done to the server of a scheme on a port within a timeout, and how that ended, in words."""


def ready(scheme: str, port: int, timeout_s: float, _: Manners) -> str:
    """Ask once whether it is ready."""
    if scheme in TRANSPORTS:
        site = WebSite(
            "127.0.0.1", port, ReadyQuestion(f"/{FILE}", ONLY_OK), Path(), CONTENT, TRANSPORTS[scheme]
        )
        refusal = site.refusal(timeout_s)
    else:
        refusal = RunningDatabase(url_of(scheme, port)).refusal(timeout_s)
    return refusal or NOTHING_WRONG


def version(scheme: str, port: int, timeout_s: float, _: Manners) -> str:
    """Look for its version."""
    found = find_running_server(CATALOG["url"], {}, Overrides(url=url_of(scheme, port)), timeout_s)
    return found.reason if isinstance(found, MissingServer) else NOTHING_WRONG


def verify(scheme: str, port: int, timeout_s: float, _: Manners) -> str:
    """Compare what it answers with what it should."""
    if scheme in TRANSPORTS:
        address = f"127.0.0.1:{port}"
        verify_answers(Site(address, address, TRANSPORTS[scheme], timeout_s), [f"/{FILE}"], CONTENT)
    else:
        RunningDatabase(url_of(scheme, port)).verify([], timeout_s=timeout_s)
    return NOTHING_WRONG


def load(scheme: str, port: int, timeout_s: float, manners: Manners) -> str:
    """Put a short load on it."""
    errors = (
        web_load(scheme, port, timeout_s, manners)
        if scheme in TRANSPORTS
        else database_load(scheme, port, timeout_s)
    )
    return ", ".join(f"{count} {name}" for name, count in errors.items()) or NOTHING_WRONG


def teardown(scheme: str, port: int, timeout_s: float, _: Manners) -> str:
    """Remove the table of a run."""
    Database(json.dumps(database_target(scheme, port, timeout_s))).remove()
    return NOTHING_WRONG


WEB_PHASES: list[Phase] = [ready, version, verify, load]
DATABASE_PHASES: list[Phase] = [*WEB_PHASES, teardown]


def url_of(scheme: str, port: int) -> str:
    """Return where a server of this machine is."""
    return f"{scheme}://127.0.0.1:{port}" + ("" if scheme in TRANSPORTS else "/test")


def web_load(scheme: str, port: int, timeout_s: float, manners: Manners) -> dict[str, int]:
    """Return the errors of a closed loop of two connections."""
    with tempfile.NamedTemporaryFile() as body:
        options = {
            "model": "closed",
            "requests": [f"/{FILE}"],
            "connections": 2,
            "duration": f"{LOAD_S}s",
            "warmup": "0s",
            "timeout": f"{timeout_s}s",
        }
        if manners.is_sent_much:
            body.truncate(UPLOAD_BYTES)
            options |= {"method": "POST", "body": f"@{body.name}"}
        plan = HttpPlan(
            load=ClosedLoad.model_validate(options),
            address=f"127.0.0.1:{port}",
            authority=f"127.0.0.1:{port}",
            scheme=TRANSPORTS[scheme].scheme,
            host="127.0.0.1",
            verify="none",
            body_bytes={f"/{FILE}": len(BODY)},
            threads=1,
        )
        return dict(ENGINE.run(plan, lambda _: None).errors.nonzero())


def database_load(scheme: str, port: int, timeout_s: float) -> dict[str, int]:
    """Return the errors of a closed loop of two clients."""
    target = database_target(scheme, port, timeout_s)
    plan = {
        "model": {"closed": {"connections": 2}},
        "stop": {"duration_s": LOAD_S},
        "warmup_s": 0.0,
        "timeout_s": target.pop("timeout_s"),
        "threads": 1,
        "work": target | {"phase": "run", "batch": 1},
    }
    result = json.loads(Load.start(json.dumps({"ycsb": plan})).finish())
    return {name: count for name, count in result["errors"].items() if count}


def database_target(scheme: str, port: int, timeout_s: float) -> dict[str, object]:
    """Return a table of a database, as the engine reads it."""
    return {
        "url": url_of(scheme, port),
        "namespace": "loadcurve",
        "table": "usertable",
        "timeout_s": timeout_s,
        "workload": json.loads(workload("c", None, "", ["recordcount=10"]))["workload"],
    }


@dataclass(frozen=True)
class Row:
    """How one phase ended with one server."""

    behaviour: str
    scheme: str
    phase: str
    result: str
    over_s: float
    """Its time over what it was given."""
    is_named: bool
    """Whether it ended as one of the failures that a run records, or with nothing wrong."""

    @property
    def is_good(self) -> bool:
        """Whether it ended in time and as it should."""
        return self.is_named and self.over_s <= GRACE_S


def row_of(behaviour: str, scheme: str, phase: Phase, timeout_s: float) -> Row:
    """Start a server of this behaviour and put it through a phase."""
    manners = MANNERS[behaviour]
    given_s = timeout_s + (LOAD_S if phase is load else 0)
    is_named = True
    with hostile_server(manners, is_encrypted=scheme == "https") as port:
        began_s = time.monotonic()
        try:
            result = phase(scheme, port, timeout_s, manners)
        except (ServerFailure, DatabaseError, NothingMeasured) as failure:
            result = str(failure)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is a row of the table
            result, is_named = repr(error), False
        over_s = time.monotonic() - began_s - given_s
    shown = " ".join(result.replace(f":{port}", ":PORT").split())
    return Row(behaviour, scheme, phase.__name__, shown, over_s, is_named)


def main() -> None:
    """Print the table; end with 1 where a row is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout", type=float, default=1.0, metavar="SECONDS", help="of every phase")
    parser.add_argument("--at-once", type=int, default=8, metavar="N", help="how many servers at once")
    parser.add_argument("--only", default="", metavar="TEXT", help="behaviours with this text in their names")
    parser.add_argument("--schemes", nargs="+", default=[*TRANSPORTS, *DATABASES], metavar="SCHEME")
    arguments = parser.parse_args()
    cells = [
        (behaviour, scheme, phase, arguments.timeout)
        for behaviour in named_with(arguments.only, MANNERS)
        for scheme in arguments.schemes
        for phase in (WEB_PHASES if scheme in TRANSPORTS else DATABASE_PHASES)
    ]
    print(machine())
    with ThreadPoolExecutor(arguments.at_once) as pool:
        rows = [print_row(row) for row in pool.map(lambda cell: row_of(*cell), cells)]
    bad = [row for row in rows if not row.is_good]
    latest_s = max(row.over_s for row in rows)
    behaviours = len({row.behaviour for row in rows})
    print(f"\n{behaviours} behaviours, {len(rows)} rows, {len(bad)} not as they should be")
    print(f"at most {latest_s:.2f} s over the timeout, goal {GRACE_S:g} s")
    sys.exit(1 if bad else 0)


def print_row(row: Row) -> Row:
    """Print one row, and return it."""
    mark = "" if row.is_good else "WRONG "
    print(
        f"{mark}{row.behaviour:<42} {row.scheme:<10} {row.phase:<8} {row.over_s:>+6.2f} s  {row.result[:110]}"
    )
    return row


if __name__ == "__main__":
    main()
