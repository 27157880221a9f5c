"""Whether a tool puts a load on a database exactly as it is asked for; if not, why not."""

from collections.abc import Iterator, Mapping

from loadcurve.loads.values import SettingValue
from loadcurve.loads.workload import Draw, Workload
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.protocol import DatabaseProtocol, ProtocolName
from loadcurve.tools.catalog import Tool
from loadcurve.tools.driver import Refused
from loadcurve.tools.exact import only_defaults
from loadcurve.tools.table import DatabaseAbilities, WorkloadPart
from loadcurve.units import setting

PLAIN_SETTINGS: Mapping[str, SettingValue] = {"layout": "columns"}
"""The settings of drivers, as every tool has them."""
_ZIPFIAN = 0.99
"""YCSB's constant."""
_KEYS: Mapping[WorkloadPart, str] = {"verified_values": "verify_values"}
"""The keys of the load that have a part of the workload."""
_PAUSE_S_MAX = 2.0
"""Between two operations of a client: YCSB draws when each begins from a number of 31 bits of ns."""
_EXPANDED = "${"
"""What a tool that reads properties would replace."""


def require_exact_on_database(
    tool: Tool,
    load: DatabaseLoad,
    protocol: ProtocolName | None,
    settings: Mapping[str, SettingValue],
    url: str | None = None,
) -> None:
    """Raise ``Refused`` with the first reason why a tool cannot put a load on a database as it is.

    ``settings`` are those of the driver; the ``url`` is one of the study, where it has one.
    """
    can = tool.table.databases
    if can is None:
        raise Refused("generator", f"{tool.name} puts loads only on web servers")
    bindings = tool.bindings
    driven = next((one for one in bindings if one == protocol), None)
    if protocol is not None and driven is None:
        known = " and ".join(bindings)
        raise Refused("generator", f"{tool.name} is only driven on {known}, and not on {protocol}")
    for key, reason in _refusals(can, load, driven, settings):
        raise Refused(key, f"{tool.name} {reason}")
    expected = None if url is None or driven is None else bindings[driven].lacking_for_clear_text(url)
    if expected is not None:
        text = f"{tool.name} is only driven over connections in clear text; expected {expected} in the URL"
        raise Refused("generator", text)


def _refusals(
    can: DatabaseAbilities,
    load: DatabaseLoad,
    protocol: DatabaseProtocol | None,
    settings: Mapping[str, SettingValue],
) -> Iterator[tuple[str, str]]:
    for key, _ in only_defaults(load):
        yield key, f"is only driven with the default of {key}; remove it"
    other = next((name for name, value in settings.items() if PLAIN_SETTINGS.get(name) != value), None)
    if other is not None:
        yield "generator", f"does not know the driver's setting {other}; remove it"
    yield from _schedule(can, load)
    if can.expands_names:
        for key in ("namespace", "table"):
            if _EXPANDED in getattr(load, key):
                yield key, f"would replace what follows {_EXPANDED}; expected another name"
    namespace = None if protocol is None else can.namespaces.get(protocol)
    if namespace is not None and load.namespace != namespace:
        yield "namespace", f'has all its tables in "{namespace}"; expected namespace = "{namespace}"'
    not_asked = can.not_asked | ({} if protocol is None else can.not_asked_of.get(protocol, {}))
    yield from _workload(can, not_asked, load.workload.with_records(load.records).numbers)
    if can.inserts_by_count and load.duration_s is not None and _grows_by_zipfian(load.workload.numbers):
        yield "duration", "has to know how many records it will insert (zipfian); expected operations"
    if load.reload == "trial" and load.workload.numbers.mix.insert:
        yield "reload", 'inserts the same records again at the next point; expected "point"'


def _schedule(can: DatabaseAbilities, load: DatabaseLoad) -> Iterator[tuple[str, str]]:
    yield from _rate(can, load)
    yield from _ends(can, load)
    for key, count in {"records": load.records, "operations": load.requests_total}.items():
        if count is not None and count < load.threads:
            yield (
                key,
                f"gives each client an equal share; expected {load.threads} or more, as many as threads",
            )
        if count is not None and can.count_max is not None and count > can.count_max:
            yield key, f"counts only so far; expected {can.count_max} or less"


def _rate(can: DatabaseAbilities, load: DatabaseLoad) -> Iterator[tuple[str, str]]:
    if load.rate_rps is None:
        return
    if not can.rate:
        yield "rate", "has a pace for each client, and no schedule; it is only driven in a closed loop"
    elif isinstance(load.rate_rps, list):
        yield "rate", "keeps to one rate; expected a number of operations per second"
    elif load.rate_rps % 1:
        yield "rate", f"takes whole operations per second; found {setting(load.rate_rps)}"
    elif load.threads / load.rate_rps > _PAUSE_S_MAX:
        yield "rate", "has at most 2 s between two operations of a client; expected fewer threads"


def _ends(can: DatabaseAbilities, load: DatabaseLoad) -> Iterator[tuple[str, str]]:
    if load.warmup_s % 1:
        yield "warmup", f"takes whole seconds; found {load.warmup_s:g} s"
    if load.duration_s is None:
        if load.warmup_s and not can.counts_after_warmup:
            text = "counts its operations from its start; expected a duration, or no warm-up (0s)"
            yield "warmup", text
    elif can.interrupted_after is None and not can.whole_seconds:
        yield "duration", "ends after a number of operations, and not after a duration; expected operations"
    elif can.whole_seconds and load.duration_s % 1:
        yield "duration", f"takes whole seconds; found {load.duration_s:g} s"


def _parts(workload: Workload) -> Mapping[WorkloadPart, bool]:
    """Say which parts a workload has."""
    mix = workload.mix
    fields, scans = workload.field_bytes_distribution, workload.scan_records_distribution
    return {
        "read": mix.read > 0,
        "update": mix.update > 0,
        "insert": mix.insert > 0,
        "scan": mix.scan > 0,
        "read_modify_write": mix.read_modify_write > 0,
        "delete": mix.delete > 0,
        "one_field": not workload.read_all_fields and mix.read + mix.scan + mix.read_modify_write > 0,
        "several_lengths": fields.name != "constant"
        or workload.scan_records_min != 1
        or scans.name != "uniform",
        "growing_zipfian": _grows_by_zipfian(workload) and mix.read + mix.update > 0,
        "verified_values": workload.verify_values,
    }


def _workload(
    can: DatabaseAbilities, not_asked: Mapping[WorkloadPart, str], workload: Workload
) -> Iterator[tuple[str, str]]:
    parts = _parts(workload)
    for part, reason in not_asked.items():
        if parts[part]:
            yield _KEYS.get(part, "workload"), reason
    if workload.insert_start or workload.insert_count is not None:
        yield "workload", "is only driven with all records (insertstart, insertcount)"
    if workload.field_prefix != "field":
        yield "workload", 'is only driven with fields called "field" and their number; remove the prefix'
    for draw in (workload.field_bytes_distribution, workload.scan_records_distribution):
        yield from _zipfian(draw)
    yield from _requests(can, workload)


def _grows_by_zipfian(workload: Workload) -> bool:
    return workload.request_distribution.name == "zipfian" and workload.mix.insert > 0


def _requests(can: DatabaseAbilities, workload: Workload) -> Iterator[tuple[str, str]]:
    drawn = workload.request_distribution
    if drawn.name not in can.request_distributions:
        known = ", ".join(can.request_distributions)
        yield "workload", f"is driven with the request distributions {known}, and not with {drawn.name}"
    yield from _zipfian(drawn)


def _zipfian(drawn: Draw) -> Iterator[tuple[str, str]]:
    if drawn.name == "zipfian" and drawn.constant not in (None, _ZIPFIAN):
        yield "workload", f"has the constant {_ZIPFIAN} of a Zipfian distribution; found {drawn.constant}"
