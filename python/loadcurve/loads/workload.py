"""What a load asks of a database: a core workload of YCSB, a file of properties, or a mix of one's own."""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from loadcurve._engine import workload
from loadcurve.errors import BadInput
from loadcurve.loads.values import PositiveCount, SettingValue
from loadcurve.record import Count as Number
from loadcurve.record import Record, Time
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected, alternatives, show
from loadcurve.toml.problems import Problem
from loadcurve.toml.quantities import SizeBytes
from loadcurve.toml.text_file import read_text

CORE_WORKLOADS = ("a", "b", "c", "d", "e", "f")

Weight = Annotated[float, Field(ge=0), Expected("a share of 0 or more; the shares count in proportion")]
ShareOfOne = Annotated[float, Field(ge=0, le=1), Expected("a share between 0 and 1")]
Count = Annotated[int, Field(ge=0), Expected("a whole number of 0 or more")]
Lengths = Literal["constant", "uniform", "zipfian"]


class MixTable(TomlTable):
    """How often each kind of operation comes."""

    read: Weight = 0.0
    """Reads of one record."""
    update: Weight = 0.0
    """Updates of one record."""
    insert: Weight = 0.0
    """Inserts of a new record."""
    scan: Weight = 0.0
    """Scans from one record on."""
    read_modify_write: Weight = 0.0
    """Reads of a record, each followed by its update."""
    delete: Weight = 0.0
    """Deletions of one record."""


class WorkloadTable(TomlTable):
    """A workload of one's own; what is ``None`` is as YCSB has it."""

    mix: MixTable
    """How often each kind of operation comes."""
    request_distribution: (
        Literal["uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"] | None
    ) = None
    """How the records of operations are chosen."""
    hotspot_records: ShareOfOne | None = None
    """The share of the records that is hot, with `hotspot`."""
    hotspot_operations: ShareOfOne | None = None
    """The share of the operations that goes to the hot records, with `hotspot`."""
    field_count: PositiveCount | None = None
    """Fields of a record."""
    field_bytes: Annotated[SizeBytes, Field(gt=0), Expected('a size above 0, such as "100B"')] | None = None
    """The length of a field, or its greatest length."""
    field_bytes_min: SizeBytes | None = None
    """The least length of a field."""
    field_bytes_distribution: Lengths | None = None
    """How lengths of fields are drawn."""
    field_prefix: str | None = None
    """What the names of fields begin with."""
    read_all_fields: bool | None = None
    """Whether reads ask for all fields, or for one."""
    write_all_fields: bool | None = None
    """Whether updates write all fields, or one."""
    scan_records_min: PositiveCount | None = None
    """The least number of records of a scan."""
    scan_records_max: PositiveCount | None = None
    """The greatest number of records of a scan."""
    scan_records_distribution: Literal["uniform", "zipfian"] | None = None
    """How lengths of scans are drawn."""
    insert_order: Literal["hashed", "ordered"] | None = None
    """Whether keys are hashes of record numbers, or the numbers themselves."""
    zero_padding: PositiveCount | None = None
    """Digits to which record numbers in keys are padded with zeros."""

    def properties(self) -> dict[str, SettingValue]:
        """Return the table under YCSB's names."""
        given = {_YCSB_NAMES[key]: value for key, value in self if key != "mix" and value is not None}
        mix = {f"{key.replace('_', '')}proportion": share for key, share in self.mix}
        return {**mix, **given}


_YCSB_NAMES = {
    "request_distribution": "requestdistribution",
    "hotspot_records": "hotspotdatafraction",
    "hotspot_operations": "hotspotopnfraction",
    "field_count": "fieldcount",
    "field_bytes": "fieldlength",
    "field_bytes_min": "minfieldlength",
    "field_bytes_distribution": "fieldlengthdistribution",
    "field_prefix": "fieldnameprefix",
    "read_all_fields": "readallfields",
    "write_all_fields": "writeallfields",
    "scan_records_min": "minscanlength",
    "scan_records_max": "maxscanlength",
    "scan_records_distribution": "scanlengthdistribution",
    "insert_order": "insertorder",
    "zero_padding": "zeropadding",
}

_RUN_NAMES = {"duration_max_s": "duration_s", "operations": "requests_total"}
"""The attributes of a load that the engine calls otherwise, where it reads properties."""


class Mix(Record):
    """How often each kind of operation comes; the shares count in proportion to their sum."""

    read: Time
    update: Time
    insert: Time
    scan: Time
    read_modify_write: Time
    delete: Time


class Draw(Record):
    """How numbers are drawn; what does not belong to the distribution is left out."""

    name: Literal["constant", "uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"]
    constant: float | None = None
    """How steep a Zipfian distribution is."""
    records: float | None = None
    """The share of the records that is hot."""
    operations: float | None = None
    """The share of the operations that goes to the hot records."""
    percentile: float | None = None
    """The share of the operations, in percent, that an exponential distribution sends to the newest part."""
    fraction: float | None = None
    """Which part of the records the newest part is."""


class Workload(Record):
    """A workload of YCSB in numbers: the mix of operations, the records, and how records are chosen."""

    mix: Mix
    records: Number
    insert_start: Number
    insert_count: Number | None
    field_count: Number
    field_bytes: Number
    field_bytes_min: Number
    field_bytes_distribution: Draw
    field_prefix: str
    read_all_fields: bool
    write_all_fields: bool
    request_distribution: Draw
    scan_records_min: Number
    scan_records_max: Number
    scan_records_distribution: Draw
    insert_order: Literal["hashed", "ordered"]
    zero_padding: Number
    verify_values: bool


@dataclass(frozen=True)
class ChosenWorkload:
    """A workload in numbers, and what its source says besides."""

    name: str | None
    """What results call it; ``None`` for a table of the study's own."""
    numbers: Workload
    said: Mapping[str, Any]
    """What its properties say of other attributes of a load: ``threads``, ``operations`` and the like."""

    @property
    def records_inserted(self) -> int:
        """How many records the load phase inserts."""
        if self.numbers.insert_count is not None:
            return self.numbers.insert_count
        return max(0, self.numbers.records - self.numbers.insert_start)

    def with_records(self, records: int) -> Self:
        """Return the workload on this number of records."""
        return replace(self, numbers=self.numbers.model_copy(update={"records": records}))

    def summary(self) -> object:
        """Return what a record of the study says of the workload."""
        return {"name": self.name, **self.numbers.model_dump(mode="json")}


class InvalidWorkload(Exception):  # noqa: N818 -- the name says what is wrong
    """A workload cannot be used: what is wrong with which key of the load."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Carry the problems, whose paths begin at the load."""
        super().__init__("\n".join(problem.text for problem in problems))
        self.problems = problems


def choose_workload(
    given: str | WorkloadTable,
    overrides: Mapping[str, SettingValue],
    folder: Path,
    *,
    records: int | None = None,
) -> ChosenWorkload:
    """Return the workload that a load names: one of YCSB's, a file of properties from ``folder``, or a table.

    ``overrides`` are properties under YCSB's names, which hold over the workload's. Where it has fewer
    records than it inserts from the first number on, it has ``records``, as many as the load says.

    Raises:
        InvalidWorkload: there is no such workload, or a property is unknown or cannot be used, or a key of a
            table says nothing.

    """
    if isinstance(given, WorkloadTable):
        table = given.properties()
        chosen = _chosen(
            None, {**table, **overrides}, of_table=table.keys() - overrides.keys(), records=records
        )
        _require_use(given, chosen.numbers)
        return chosen
    if given in CORE_WORKLOADS:
        return _chosen(given, overrides, core=given, records=records)
    file = folder / given
    if not file.exists() and "/" not in given and "." not in given:
        known = alternatives([show(name) for name in CORE_WORKLOADS])
        found = f"found {show(given)}; expected {known}, or the name of a file of YCSB properties"
        raise InvalidWorkload([Problem(("workload",), found)])
    try:
        text = read_text(file, "a file of YCSB properties")
    except BadInput as error:
        raise InvalidWorkload([Problem(("workload",), str(error))]) from None
    return _chosen(file.name, overrides, file=str(file), text=text, records=records)


def _require_use(table: WorkloadTable, numbers: Workload) -> None:
    """Raise ``InvalidWorkload`` where a table says something of a distribution that it does not have.

    Files of properties may: they often list all that there are.
    """
    of_hotspot = 'only used with request_distribution = "hotspot"; set it as well, or remove this key'
    unused: dict[str, str] = {}
    if numbers.request_distribution.name != "hotspot":
        unused = dict.fromkeys(("hotspot_records", "hotspot_operations"), of_hotspot)
    if numbers.field_bytes_distribution.name == "constant":
        unused["field_bytes_min"] = (
            'only used where lengths differ; set field_bytes_distribution to "uniform" or "zipfian" as '
            "well, or remove this key"
        )
    given = table.model_fields_set
    problems = [Problem(("workload", key), text) for key, text in unused.items() if key in given]
    if problems:
        raise InvalidWorkload(problems)


def _chosen(
    name: str | None,
    properties: Mapping[str, SettingValue],
    *,
    core: str | None = None,
    file: str = "",
    text: str | None = None,
    of_table: Set[str] = frozenset(),
    records: int | None = None,
) -> ChosenWorkload:
    given = {f"{key}={in_words(value)}": key for key, value in properties.items()}
    try:
        read = _read(core, text, file, list(given), records)
    except ValueError as error:
        lines = enumerate(str(error).splitlines())
        raise InvalidWorkload([_problem(number, line, given, of_table) for number, line in lines]) from None
    said = {_RUN_NAMES.get(key, key): value for key, value in read["run"].items() if value is not None}
    numbers = Workload.model_validate(read["workload"])
    return ChosenWorkload(name, numbers, {**said, "records": numbers.records})


def _read(core: str | None, text: str | None, file: str, given: list[str], records: int | None) -> Any:  # noqa: ANN401 -- JSON
    """Return what the engine reads; raises ``ValueError`` with a line for each problem."""
    try:
        return json.loads(workload(core, text, file, given))
    except ValueError:
        if records is None:
            raise
    # What is inserted may lie beyond the workload's own records, but within those of the load.
    return json.loads(workload(core, text, file, [*given, f"recordcount={records}"]))


def _problem(number: int, line: str, given: Mapping[str, str], of_table: Set[str]) -> Problem:
    """Find the key of the load that a line is about: a property that was given, or a line of the file.

    The properties ``of_table`` were given under our own names.
    """
    for words, key in given.items():
        text = line.removeprefix(f"-p {words}: ")
        if text != line:
            own = next((own for own, ycsb in _YCSB_NAMES.items() if ycsb == key and key in of_table), None)
            return Problem(("properties", key) if own is None else ("workload", own), text)
    return Problem(("workload", str(number)), line)


def in_words(value: SettingValue) -> str:
    """Return a value as properties and settings have it: truth in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)
