"""Whether a tool puts a load on a database exactly as it is asked for; if not, why not."""

from collections.abc import Iterator, Mapping

from loadcurve.generate.tools.catalog import Tool
from loadcurve.generate.tools.driver import Refused
from loadcurve.generate.tools.exact import default_of, key_of
from loadcurve.generate.tools.mongodb_url import is_clear_text
from loadcurve.generate.tools.postgresql_url import postgresql_url
from loadcurve.generate.tools.table import DatabaseAbilities, OperationName
from loadcurve.loads.values import SettingValue
from loadcurve.loads.workload import Workload
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.protocol import ProtocolName

DECIDED = {
    "model", "workload", "phase", "records", "requests_total", "duration_s", "warmup_s", "threads",
    "rate_rps", "reload", "namespace", "table", "verify_values",
}  # fmt: skip
"""What tools are asked for, as far as their abilities reach."""
WITHOUT_EFFECT = {"properties", "generator", "generator_threads"}
"""What changes nothing else: properties are part of the workload, and threads are given to the tool."""
PLAIN_SETTINGS: Mapping[str, SettingValue] = {"layout": "columns"}
"""The settings of drivers, as every tool has them."""
_ZIPFIAN = 0.99
"""YCSB's constant."""
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
    if protocol is not None and protocol not in can.protocols:
        known = " and ".join(can.protocols)
        raise Refused("generator", f"{tool.name} is only driven on {known}, and not on {protocol}")
    for key, reason in _refusals(can, load, protocol, settings):
        raise Refused(key, f"{tool.name} {reason}")
    expected = None if url is None else _encryption(protocol, url)
    if expected is not None:
        text = f"{tool.name} is only driven over connections in clear text; expected {expected} in the URL"
        raise Refused("generator", text)


def _encryption(protocol: ProtocolName | None, url: str) -> str | None:
    """Return what is expected in the URL of a database for clear text; ``None`` where it is there."""
    if protocol == "mongodb":
        return None if is_clear_text(url) else "mongodb:// without tls"
    return None if postgresql_url(url).says_clear_text else "sslmode=disable"


def _refusals(
    can: DatabaseAbilities,
    load: DatabaseLoad,
    protocol: ProtocolName | None,
    settings: Mapping[str, SettingValue],
) -> Iterator[tuple[str, str]]:
    for attribute in type(load).model_fields:
        is_decided = attribute in DECIDED or attribute in WITHOUT_EFFECT
        if not is_decided and getattr(load, attribute) != default_of(load, attribute):
            key = key_of(load, attribute)
            yield key, f"is only driven with the default of {key}; remove it"
    other = next((name for name, value in settings.items() if PLAIN_SETTINGS.get(name) != value), None)
    if other is not None:
        yield "generator", f"does not know the driver's setting {other}; remove it"
    yield from _schedule(can, load)
    for key in ("namespace", "table"):
        if _EXPANDED in getattr(load, key):
            yield key, f"would replace what follows {_EXPANDED}; expected another name"
    namespace = None if protocol is None else can.namespaces.get(protocol)
    if namespace is not None and load.namespace != namespace:
        yield "namespace", f'has all its tables in "{namespace}"; expected namespace = "{namespace}"'
    not_asked = can.not_asked | ({} if protocol is None else can.not_asked_of.get(protocol, {}))
    yield from _workload(can, not_asked, load.workload.with_records(load.records).numbers)
    if load.reload == "trial" and load.workload.numbers.mix.insert:
        yield "reload", 'inserts the same records again at the next point; expected "point"'


def _schedule(can: DatabaseAbilities, load: DatabaseLoad) -> Iterator[tuple[str, str]]:
    if load.rate_rps is not None:
        yield "rate", "has a pace for each client, and no schedule; it is only driven in a closed loop"
    if load.duration_s is not None and can.interrupted_after != "duration":
        yield "duration", "ends after a number of operations, and not after a duration; expected operations"
    if load.warmup_s % 1:
        yield "warmup", f"takes whole seconds; found {load.warmup_s:g} s"
    for key, count in {"records": load.records, "operations": load.requests_total}.items():
        if count is not None and count < load.threads:
            yield (
                key,
                f"gives each client an equal share; expected {load.threads} or more, as many as threads",
            )


def _workload(
    can: DatabaseAbilities, not_asked: Mapping[OperationName, str], workload: Workload
) -> Iterator[tuple[str, str]]:
    for operation, reason in not_asked.items():
        if getattr(workload.mix, operation):
            yield "workload", reason
    if workload.verify_values:
        yield "verify_values", "ends at the first wrong value, and does not count them; remove it"
    if workload.insert_start or workload.insert_count is not None:
        yield "workload", "is only driven with all records (insertstart, insertcount)"
    if workload.field_prefix != "field":
        yield "workload", 'calls its fields "field" and their number; remove the prefix'
    if workload.field_bytes_distribution.name != "constant":
        yield "workload", "is only driven with fields of one length"
    if workload.scan_records_min != 1 or workload.scan_records_distribution.name != "uniform":
        yield "workload", "is only driven with scans of 1 record to the greatest number, all equally often"
    yield from _requests(can, workload)


def _requests(can: DatabaseAbilities, workload: Workload) -> Iterator[tuple[str, str]]:
    drawn, mix = workload.request_distribution, workload.mix
    if drawn.name not in can.request_distributions:
        known = ", ".join(can.request_distributions)
        yield "workload", f"is driven with the request distributions {known}, and not with {drawn.name}"
    if drawn.name != "zipfian":
        return
    if drawn.constant not in (None, _ZIPFIAN):
        yield "workload", f"has the constant {_ZIPFIAN} of a Zipfian distribution; found {drawn.constant}"
    if mix.insert and (mix.read or mix.update):
        text = (
            "would also ask for records that are not inserted yet (zipfian); expected another distribution, "
            'such as "latest"'
        )
        yield "workload", text
