"""A database under the load of another tool, and what the database itself has counted."""

import contextlib
import os
import subprocess
from collections.abc import Iterator

import psutil
from server_support import CATALOG, server_of

from loadcurve._engine import Database
from loadcurve.generate.generator import Progress
from loadcurve.loads.ycsb import DatabaseLoadTable
from loadcurve.result.load import LoadResult
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.database import DatabaseUnderLoad
from loadcurve.runs.plan import DatabasePlans
from loadcurve.server.here import Server
from support.databases import ferretdb_folder

RECORDS = 500
INSERTS_AND_UPDATES = {"mix": {"insert": 0.3, "update": 0.7}, "request_distribution": "uniform"}


@contextlib.contextmanager
def under_load(server: Server, generator: str, **changes: object) -> Iterator[DatabaseUnderLoad]:
    given = {
        "model": "ycsb", "workload": "a", "records": RECORDS, "threads": 4, "operations": 2000,
        "warmup": "0s", "generator": generator,
    } | changes  # fmt: skip
    load = DatabaseLoadTable.model_validate({key: value for key, value in given.items() if value is not None})
    plans = DatabasePlans(server.url, {}, [min(os.sched_getaffinity(0))])
    with DatabaseUnderLoad("postgresql", server, load, plans, CHOSEN) as database:
        yield database


def answer_of(server: Server, statement: str) -> list[int]:
    command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", statement, server.url]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [int(number) for number in printed.strip().split("|") if number]


def loaded_and_run(database: DatabaseUnderLoad) -> tuple[LoadResult, LoadResult]:
    loading = database.prepare({}, 0, lambda _: None)["loading"]
    return loading, CHOSEN.run(database.plan({}, 0), lambda _: None)


def answered(result: LoadResult) -> dict[str, int]:
    return {one.operation: one.answered for one in result.operations}


def require_inserted_documents(generator: str, **changes: object) -> None:
    """Load documents and ask for more by a tool; assert that FerretDB has as many as it says."""
    ferretdb_folder()
    changes |= {"records": 200, "operations": 400, "workload": INSERTS_AND_UPDATES}
    with server_of(CATALOG["ferretdb"], None) as server, under_load(server, generator, **changes) as database:
        loading, result = loaded_and_run(database)
        of = answered(result)
        assert answered(loading) == {"insert": 200}
        # An update that finds no document is a failure here.
        assert (result.requests.failed, sum(of.values())) == (0, 400)
        assert Database(database.plan({}, 0).target.to_json()).count() == 200 + of["insert"]


def updated_rows(server: Server) -> int:
    return answer_of(server, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'usertable'")[0]


class CommandLines:
    """The command lines of all processes that ran while a load was looked at."""

    def __init__(self) -> None:
        """Begin without any."""
        self.seen: list[str] = []

    def look(self, _: Progress) -> None:
        """Keep those of now."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                self.seen.append(" ".join(process.cmdline()))
