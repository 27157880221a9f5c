"""What tools that are asked in YCSB's words share: properties, the table's name, and private files."""

import os
from collections.abc import Mapping
from pathlib import Path

from loadcurve.loads.values import SettingValue
from loadcurve.loads.workload import Workload, in_words


def properties_of(workload: Workload) -> Mapping[str, SettingValue]:
    """Return a workload under YCSB's names, as every such tool reads them."""
    mix = workload.mix
    return {
        "readproportion": mix.read,
        "updateproportion": mix.update,
        "insertproportion": mix.insert,
        "scanproportion": mix.scan,
        "readmodifywriteproportion": mix.read_modify_write,
        "requestdistribution": workload.request_distribution.name,
        "fieldcount": workload.field_count,
        "fieldlength": workload.field_bytes,
        "fieldlengthdistribution": workload.field_bytes_distribution.name,
        "maxscanlength": workload.scan_records_max,
        "scanlengthdistribution": workload.scan_records_distribution.name,
        "readallfields": workload.read_all_fields,
        "writeallfields": workload.write_all_fields,
        "insertorder": workload.insert_order,
        "zeropadding": workload.zero_padding,
    }


def asked_by(properties: Mapping[str, SettingValue]) -> list[str]:
    """Return the words of a command line that give these properties."""
    return [word for name, value in properties.items() for word in ("-p", f"{name}={in_words(value)}")]


def table_name(namespace: str, table: str) -> str:
    """Return the name of a table of PostgreSQL as statements have it, into which it is put as it is."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in (namespace, table))


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read, as it may hold who logs in, and with which password."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        opened.write(text)
