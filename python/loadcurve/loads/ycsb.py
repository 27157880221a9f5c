"""The load on databases: its keys, as the file gives them and at one point of the sweep."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from loadcurve.loads.kinds import DATABASE, LoadKind
from loadcurve.loads.option import ASKED, RATE_SHOWN, CommandLine, Planned
from loadcurve.loads.rates import Arrivals, RatePerSecond
from loadcurve.loads.table import LoadTable, Swept, attributes
from loadcurve.loads.tls import TlsTable
from loadcurve.loads.values import ENGINE_NAME, Batch, PositiveCount, SettingValue
from loadcurve.loads.workload import ChosenWorkload, InvalidWorkload, WorkloadTable, choose_workload
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import Problem, own_problems
from loadcurve.toml.values import Text

DEFAULT_NAMESPACE = "loadcurve"
DEFAULT_TABLE = "usertable"


def _table_unless_named(value: object, table: ValidatorFunctionWrapHandler) -> object:
    return value if isinstance(value, str | ChosenWorkload) else table(value)


def _summary(workload: ChosenWorkload) -> object:
    return workload.summary()


if TYPE_CHECKING:
    WorkloadChoice = ChosenWorkload
else:
    # To pydantic this is no union: it would report what is wrong in the table once for each member.
    WorkloadChoice = Annotated[
        WorkloadTable,
        WrapValidator(_table_unless_named),
        PlainSerializer(_summary),
        Expected('one of the workloads "a" to "f", a file of YCSB properties, or in a study a table'),
    ]


class DatabaseLoadTable(LoadTable):
    """A workload of YCSB as the file gives it: what is swept is still ``None``."""

    kind: ClassVar[LoadKind] = DATABASE
    counted_end: ClassVar[str] = "operations"
    tls: ClassVar[TlsTable] = TlsTable()
    """Its URL says how it is encrypted."""

    model: Literal["ycsb"]
    workload: Annotated[
        WorkloadChoice,
        CommandLine(
            "--workload",
            help="A YCSB core workload, a to f, or a properties file.",
            metavar="a…f|FILE",
            panel="Databases",
            place=10,
        ),
        Planned("translated"),
        ASKED,
    ]
    """The workload: a core workload of YCSB, a file of properties, or your own mix."""
    properties: Annotated[
        dict[str, SettingValue],
        CommandLine(
            "-p/--property",
            help="A YCSB property; repeatable.",
            metavar="NAME=VALUE",
            panel="Databases",
            place=20,
            form="pairs",
        ),
        Planned("translated"),
        ASKED,
    ] = Field(default_factory=dict)
    """What differs from the workload, under YCSB's own names."""
    phase: Annotated[
        Literal["run", "load"],
        CommandLine(
            "--phase",
            help="Insert the records (load), or run operations on them (run).",
            panel="Databases",
            place=30,
        ),
        ASKED,
    ] = "run"
    """Which part is measured: the operations, or the insertion of the records."""
    records: Annotated[
        PositiveCount | None,
        CommandLine(
            "--records", help="Number of records in the table.", metavar="N", panel="Databases", place=40
        ),
        Planned("translated"),
        ASKED,
    ] = None
    """Records of the table; as many as the workload says unless it is given."""
    requests_total: Annotated[PositiveCount | None, Planned("stop"), ASKED] = Field(None, alias="operations")
    """Ends the load after this many operations, instead of `duration`."""
    threads: Annotated[PositiveCount | None, Planned("translated"), ASKED] = None
    """Clients, each with one operation under way, as YCSB's threads."""
    rate_rps: Annotated[RatePerSecond | None, RATE_SHOWN, Planned("schedule"), ASKED] = Field(
        None, alias="rate"
    )
    """Operations per second over all clients; a closed loop unless it is given."""
    arrivals: Annotated[Arrivals, Planned("schedule")] = "constant"
    """How arrivals are spread in time."""
    batch: Annotated[
        Batch,
        CommandLine(
            "--batch", help="Records inserted by each request.", metavar="N", panel="Databases", place=50
        ),
    ] = 1
    """Records that one request inserts while they are loaded."""
    verify_values: Annotated[
        bool,
        CommandLine(
            "--verify-values", help="Compare the values read with those written.", panel="Databases", place=90
        ),
        Planned("translated"),
        ASKED,
    ] = False
    """Compares every value that is read with the one that was written."""
    reload: Annotated[Literal["point", "trial"], Planned("translated"), ASKED] = "point"
    """Whether every point begins with freshly loaded records, or only every start of the server.

    Inserts make the table grow and updates scatter it, so points on old records would depend on their order.
    """
    namespace: Annotated[
        Text,
        CommandLine(
            "--namespace",
            help="The database or schema that contains the table.",
            metavar="NAME",
            panel="Databases",
            place=60,
        ),
        ASKED,
    ] = DEFAULT_NAMESPACE
    """What holds the table: a database of MongoDB, a schema of PostgreSQL."""
    table: Annotated[
        Text,
        CommandLine(
            "--table",
            help="The table or collection.",
            usual=DEFAULT_TABLE,
            metavar="NAME",
            panel="Databases",
            place=70,
            default=None,
        ),
        ASKED,
    ] = DEFAULT_TABLE
    """The table or collection."""
    generator_threads: Annotated[PositiveCount | None, Planned("translated"), ASKED] = None
    """Threads of the generator that the clients share; one for each load CPU unless it is given."""
    generator: Annotated[Text, Planned("translated"), ASKED] = ENGINE_NAME
    """What sends the load and loads its records: our own engine, or another tool by its name in
    `loadcurve generators`.
    """

    @property
    def labels(self) -> list[str]:
        """What its kinds of operations are called."""
        if self.phase == "load":
            return ["insert"]
        return [kind.replace("_", "-") for kind, share in self.workload.numbers.mix if share > 0]

    @property
    def sending_threads(self) -> int | None:
        """How many of the generator's threads send it; ``None`` where it does not say."""
        return self.generator_threads

    @property
    def keeps_records(self) -> bool:
        """Whether the points of a trial leave records to later ones."""
        return self.reload == "trial"

    def unsaid(self, key: str) -> int | float | None:
        """Return what the workload's file says of a key that the study is silent about."""
        return self.workload.said.get(attributes(type(self))[key])

    @model_validator(mode="wrap")
    @classmethod
    def _with_workload(
        cls, data: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        load = handler(data)
        if isinstance(load.workload, ChosenWorkload):
            return load
        folder = Path(info.context["folder"] if info.context else "")
        try:
            chosen = choose_workload(load.workload, load.overrides, folder, records=load.records)
        except InvalidWorkload as error:
            raise own_problems(list(error.problems)) from None
        return load.model_copy(update={"workload": chosen})

    @property
    def complete(self) -> "type[DatabaseLoad]":
        """Its type at one point."""
        return DatabaseLoad

    def problems_of_content(self, files: Collection[str] | None) -> Iterator[Problem]:  # noqa: ARG002
        """Refuse any: a database holds the records of its workload."""
        yield Problem(("content",), "databases have no content, only the workload's records; remove it")

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from self._phases(at)
        yield from self._records_too_few(at)
        yield from self._idle_generator_threads(at)
        yield from self._reloads(at)
        if self.arrivals != "constant" and not at.values("rate"):
            text = "only used with a rate, at which operations fall due; set rate as well, or remove it"
            yield Problem(at.place("arrivals"), text)

    def _phases(self, at: Swept) -> Iterator[Problem]:
        """Check that the run phase ends in one way, and that the load phase is left to its records."""
        ends = [key for key in (self.counted_end, "duration") if at.gives(key) or key in at.sweep]
        if self.phase == "run":
            if len(ends) > 1 or not any(at.values(key) for key in (self.counted_end, "duration")):
                yield from self._endings(at)
            return
        for key in ends:
            text = "not used by the load phase, which ends when all records are inserted; remove it"
            yield Problem(at.place(key), text)
        if at.values("warmup") != [0] and (at.gives("warmup") or "warmup" in at.sweep):
            text = "not used by the load phase, which inserts each record once; remove it"
            yield Problem(at.place("warmup"), text)

    def _records_too_few(self, at: Swept) -> Iterator[Problem]:
        """Check that the records of every point include those that the load phase inserts."""
        numbers = self.workload.numbers
        needed = numbers.insert_start + (numbers.insert_count or 1)
        least = min(at.values("records"), default=needed)
        if least < needed and (numbers.insert_start or numbers.insert_count):
            why = "because of the workload's insertstart or insertcount"
            text = f"found {least}; expected {needed} or more, {why}"
            yield Problem(at.place("records"), text)

    def _idle_generator_threads(self, at: Swept) -> Iterator[Problem]:
        """Check that every thread of the generator has a client at every point."""
        own, clients = at.values("generator_threads"), at.values("threads")
        if own and clients and max(own) > min(clients):
            text = f"found {max(own)}; expected no more than the threads; the lowest point has {min(clients)}"
            yield Problem(at.place("generator_threads"), text)

    def _reloads(self, at: Swept) -> Iterator[Problem]:
        """Check that records which stay for a whole trial are the same at all its points."""
        if self.reload == "point":
            return
        if self.phase == "load":
            text = 'found "trial", but the load phase requires an empty table at every point; remove it'
            yield Problem(("load", "reload"), text)
        mix = self.workload.numbers.mix
        if self.phase == "run" and (mix.insert or mix.delete):
            text = (
                'found "trial", but each point would insert or delete the same records as the one before it; '
                'expected "point"'
            )
            yield Problem(("load", "reload"), text)
        yield from (
            Problem(
                ("sweep", key),
                'cannot be combined with reload = "trial"; expected "point", because each point requires '
                "new records",
            )
            for key in ("records", "batch")
            if key in at.sweep
        )

    @property
    def overrides(self) -> dict[str, SettingValue]:
        """Under YCSB's names, what the study says of the workload besides its name."""
        verified = {"dataintegrity": True} if self.verify_values else {}
        return {**self.properties, **verified}


class DatabaseLoad(DatabaseLoadTable):
    """A workload of YCSB at one point.

    In the run phase exactly one of ``duration_s`` and ``requests_total`` is set; the load phase has neither
    and ends with its records.
    """

    records: PositiveCount
    threads: PositiveCount

    @property
    def connections_at_once(self) -> int:
        """How many clients there are, each with a connection."""
        return self.threads

    @model_validator(mode="before")
    @classmethod
    def _as_the_workload_says(cls, data: object) -> object:
        """Take from the workload what the study is silent about."""
        if not isinstance(data, dict) or not isinstance(workload := data.get("workload"), ChosenWorkload):
            return data
        is_run = data["phase"] == "run"
        has_end = data["requests_total"] is not None or data["duration_s"] is not None
        ends = [] if has_end or not is_run else [name for name in _ENDS if name in workload.said]
        silent = [name for name in ("records", "threads", "rate_rps", *ends[:1]) if data[name] is None]
        said = {name: workload.said[name] for name in silent if name in workload.said}
        return {**data, **said} if is_run else {**data, **said, "warmup_s": 0.0}

    @property
    def expected_s(self) -> None:
        """Nobody knows before: its records are loaded first, or are what it loads."""
        return

    def loading(self) -> Self:
        """Return the load that inserts the records, as fast as its clients can.

        Where the load phase is what is measured, it keeps to the load's rate.
        """
        changes: dict[str, object] = {
            "phase": "load",
            "requests_total": self.workload.with_records(self.records).records_inserted,
            "duration_s": None,
            "warmup_s": 0.0,
        }
        if self.phase == "run":
            changes["rate_rps"] = None
        return self.model_copy(update=changes)

    def asking(self) -> Self:
        """Return the load of the run phase, in which nothing is inserted in batches."""
        return self.model_copy(update={"batch": 1})


_ENDS = ("requests_total", "duration_s")
"""What ends the run phase; the first that a file gives holds, as the other is only the longest time there."""
