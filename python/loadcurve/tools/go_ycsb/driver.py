"""go-ycsb: operations in a closed loop, on a table that it has loaded itself; it writes a line for each.

What may be secret is in files that only their owner can read, in a folder that nobody else can enter. go-ycsb
prints its properties there, so a password of PostgreSQL is in a file of libpq's form.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.redaction import remember, remember_url
from loadcurve.tools.core_workload import asked_by, properties_of, table_name, write_private
from loadcurve.tools.driver import Binding, Bindings, DatabaseToolRequest, Output, Refused
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.go_ycsb.reader import read_load
from loadcurve.tools.mongodb_url import for_clients, mongodb_lacks_clear_text
from loadcurve.tools.postgresql_url import postgresql_lacks_clear_text, postgresql_url

_LOGIN, _PASSWORD = "login.properties", "password"
_OPERATIONS = "operations.csv"
_UNTIL_INTERRUPTED = 10**12
"""Operations of a load of a duration: more than there is time for."""
_NO_PLACE = "off"
"""Where its profiler is to listen: nowhere, as this is no address."""


def arguments(wanted: DatabaseToolRequest) -> Sequence[str]:
    """Return the words behind the program, and write beside them who logs in, and with which password."""
    binding = BINDINGS[wanted.protocol]
    properties = {
        **binding.place(wanted),
        **_measurement(wanted.files),
        **_load(wanted.load),
        **properties_of(wanted.load.workload.with_records(wanted.load.records).numbers),
    }
    return [wanted.load.phase, binding.name, "-P", str(wanted.files / _LOGIN), *asked_by(properties)]


def figures(wanted: DatabaseToolRequest, output: Output) -> ToolFigures:
    """Return what its lines say."""
    operations = output.required(_OPERATIONS)
    load = wanted.load
    return read_load(operations, load.warmup_s, load.duration_s, output.interrupted_unix_s)


def _postgresql(wanted: DatabaseToolRequest) -> Mapping[str, str | int]:
    """Write who logs in, and return where that is, and which table."""
    place, load = postgresql_url(wanted.url), wanted.load
    write_private(wanted.files / _LOGIN, f"pg.user={quote(place.user, safe='')}\n")
    if place.password:
        _write_password(place.password, wanted.files / _PASSWORD)
    return {
        "pg.host": place.host,
        "pg.port": place.port,
        # It puts the parts into a URL as they are.
        "pg.db": quote(place.database, safe=""),
        "pg.sslmode": "disable",
        "table": table_name(load.namespace, load.table),
    }


def _mongodb(wanted: DatabaseToolRequest) -> Mapping[str, str]:
    """Write the whole URL, as that may hold a password, and return which collection."""
    remember_url(wanted.url)
    write_private(wanted.files / _LOGIN, f"mongodb.url={for_clients(wanted.url, wanted.load.threads)}\n")
    return {"table": wanted.load.table}


def _measurement(files: Path) -> Mapping[str, str]:
    return {
        "measurementtype": "csv",
        "measurement.output_file": str(files / _OPERATIONS),
        "debug.pprof": _NO_PLACE,
    }


def _load(load: DatabaseLoad) -> Mapping[str, str | int]:
    ends = {} if load.phase == "load" else {"operationcount": load.requests_total or _UNTIL_INTERRUPTED}
    return {
        "workload": "core",
        "threadcount": load.threads,
        **ends,
        **_records(load),
        "warmuptime": int(load.warmup_s),
    }


def _records(load: DatabaseLoad) -> Mapping[str, int]:
    drawn = load.workload.numbers.request_distribution.name
    if load.phase == "load" or drawn != "zipfian":
        return {"recordcount": load.records}
    # Its Zipfian distribution includes the number behind the last record, which YCSB draws anew.
    return {"recordcount": load.records, "insertcount": load.records - 1}


def _write_password(password: str, file: Path) -> None:
    """Write a file of passwords as libpq has it."""
    remember(password)
    if "\n" in password or "\r" in password:
        raise Refused("generator", "go-ycsb takes no password of several lines")
    escaped = password.replace("\\", "\\\\").replace(":", "\\:")
    write_private(file, f"*:*:*:*:{escaped}\n")


BINDINGS: Bindings = {
    "postgresql": Binding("pg", _postgresql, postgresql_lacks_clear_text),
    "mongodb": Binding("mongodb", _mongodb, mongodb_lacks_clear_text),
}
