"""YCSB: operations in a closed loop or at a rate, on a table that it has loaded itself, counted in logs.

What names a user, a database or a table, or is secret, is in a file that only its owner can read, in a folder
that nobody else can enter: YCSB prints its command line, and its script splits that at spaces.
"""

import math
import re
import string
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from loadcurve.loads.values import SettingValue
from loadcurve.loads.workload import Draw, Workload
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.redaction import remember, remember_url
from loadcurve.tools.core_workload import asked_by, properties_of, table_name, write_private
from loadcurve.tools.driver import Binding, Bindings, DatabaseToolRequest, Output, Refused
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.mongodb_url import for_clients, in_database, mongodb_lacks_clear_text
from loadcurve.tools.postgresql_url import postgresql_lacks_clear_text, postgresql_url
from loadcurve.tools.ycsb.window import read_load

_PRIVATE = "private.properties"
_PLAIN = {*string.ascii_letters, *string.digits, *'-_.:/?=%"'}
"""Characters that are themselves in a file of properties, wherever they are in a value."""
_NAMESPACE = re.compile(r"[\w-]+", re.ASCII)
_TAKEN_FOR_NONE = "admin"
"""A database of this name in a URL of MongoDB is ignored by YCSB."""
_UNTIL_ITS_TIME = 2**31 - 1
"""Operations of a load of a duration: the most that it can count, as it takes 0 for no clients."""
_STARTING_S, _CLIENTS_PER_S = 3, 50
"""How long it may take to begin, of which a part is for its clients, who connect one after the other."""


def arguments(wanted: DatabaseToolRequest) -> Sequence[str]:
    """Return the words behind the program, and write beside them what is nobody else's to read."""
    load = wanted.load
    binding = BINDINGS[wanted.protocol]
    _write_properties(wanted, binding.place(wanted))
    properties = {
        "workload": "site.ycsb.workloads.CoreWorkload",
        "threadcount": load.threads,
        "recordcount": load.records,
        **_ends(load),
        **_measurement(load),
        **_workload(load.workload.with_records(load.records).numbers),
    }
    # Each second of its status is an interval of the logs, by which the window is cut.
    return [load.phase, binding.name, "-s", "-P", str(wanted.files / _PRIVATE), *asked_by(properties)]


def figures(wanted: DatabaseToolRequest, output: Output) -> ToolFigures:
    """Return what its logs say."""
    return read_load(output, wanted.load)


def _write_properties(wanted: DatabaseToolRequest, place: Mapping[str, str | int]) -> None:
    properties = {**place, "hdrhistogram.output.path": f"{wanted.files}/"}
    lines = (f"{name}={_escaped(str(value))}\n" for name, value in properties.items())
    write_private(wanted.files / _PRIVATE, "".join(lines))


def _postgresql(wanted: DatabaseToolRequest) -> Mapping[str, str]:
    place, load = postgresql_url(wanted.url), wanted.load
    remember(place.password)
    # Its driver takes the parts of a URL percent-encoded, and YCSB takes one with ";" for two.
    url = f"jdbc:postgresql://{place.host}:{place.port}/{quote(place.database, safe='')}?sslmode=disable"
    return {
        "db.driver": "org.postgresql.Driver",
        "db.url": url,
        "db.user": place.user,
        "db.passwd": place.password,
        "table": table_name(load.namespace, load.table),
    }


def _mongodb(wanted: DatabaseToolRequest) -> Mapping[str, str]:
    load = wanted.load
    if load.namespace == _TAKEN_FOR_NONE or not _NAMESPACE.fullmatch(load.namespace):
        known = f'letters, digits, "_" or "-", and not {_TAKEN_FOR_NONE}'
        raise Refused("namespace", f"ycsb has the namespace in a URL of MongoDB; expected {known}")
    remember_url(wanted.url)
    url = for_clients(in_database(wanted.url, load.namespace), load.threads)
    return {"mongodb.url": url, "table": load.table}


def _escaped(value: str) -> str:
    r"""Return a value as a file of Java's properties has it: whatever is special there as ``\uXXXX``."""
    units = value.encode("utf-16-be")
    codes = (int.from_bytes(units[place : place + 2], "big") for place in range(0, len(units), 2))
    return "".join(chr(code) if chr(code) in _PLAIN else f"\\u{code:04x}" for code in codes)


def _ends(load: DatabaseLoad) -> Mapping[str, int]:
    """Return how many operations there are, which it also reads where it only loads records, and its time."""
    if load.duration_s is None:
        return {"operationcount": load.requests_total or load.records}
    starting_s = _STARTING_S + math.ceil(load.threads / _CLIENTS_PER_S)
    return {
        "operationcount": _UNTIL_ITS_TIME,
        "maxexecutiontime": starting_s + math.ceil(load.warmup_s + load.duration_s),
    }


def _measurement(load: DatabaseLoad) -> Mapping[str, SettingValue]:
    rate = {"target": int(load.rate_rps)} if isinstance(load.rate_rps, float) else {}
    return {
        **rate,
        "measurementtype": "hdrhistogram",
        "measurement.interval": "both" if rate else "op",
        "hdrhistogram.fileoutput": True,
        "status.interval": 1,
        "reportlatencyforeacherror": True,
    }


def _workload(workload: Workload) -> Mapping[str, SettingValue]:
    """Return what YCSB knows of a workload beyond what every tool with its words does."""
    return {
        **properties_of(workload),
        "minfieldlength": workload.field_bytes_min,
        "minscanlength": workload.scan_records_min,
        **_distribution(workload.request_distribution),
    }


def _distribution(drawn: Draw) -> Mapping[str, SettingValue]:
    known = {
        "hotspotdatafraction": drawn.records,
        "hotspotopnfraction": drawn.operations,
        "exponential.percentile": drawn.percentile,
        "exponential.frac": drawn.fraction,
    }
    return {name: value for name, value in known.items() if value is not None}


BINDINGS: Bindings = {
    "postgresql": Binding("jdbc", _postgresql, postgresql_lacks_clear_text),
    "mongodb": Binding("mongodb", _mongodb, mongodb_lacks_clear_text),
}
