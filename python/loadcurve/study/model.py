"""The study: what is asked, of which servers, under which load, along which sweep, in how many trials."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.models import LoadTables, WrittenLoad
from loadcurve.loads.values import Point
from loadcurve.machines.table import HERE, RAY, MachineTable
from loadcurve.result.measure_names import PEAK, AnswerName
from loadcurve.study.arm import Arm, overridden_load
from loadcurve.study.claims import ClaimsFile, Limits, read_claims
from loadcurve.study.consistency import (
    continuation_inconsistencies,
    drop_inconsistencies,
    inconsistencies,
    limit_inconsistencies,
    load_machine_inconsistencies,
    machine_types_missing,
    named_load_machines,
    peak_inconsistencies,
    restarts_in_vain,
    sources_in_vain,
    undivided_connections,
    unknown_machines,
    warmup_inconsistencies,
)
from loadcurve.study.more_arms import with_all_arms
from loadcurve.study.program import Folder
from loadcurve.study.published import Published
from loadcurve.study.quick import (
    QuickTable,
    shortened_load,
    shortened_sweep,
    shortened_trials,
    values_at_kept,
)
from loadcurve.study.require import RequireTable, require_inconsistencies
from loadcurve.study.tables import Content, Host, ServerName, StudyServer, Sweep, Trials
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import own_problems
from loadcurve.toml.values import Text


def _as_arms(servers: object, info: ValidationInfo) -> object:
    """Name each server after its entry, and complete the load of those that override keys of the study's.

    Where the study's own load cannot be read, which is reported, theirs are left unread.
    """
    if not isinstance(servers, dict):
        return servers
    folder = Path(info.context["folder"] if info.context else "")
    return {
        name: {"use": name, **server, **_own_load(name, server, info.data.get("load"), folder)}
        if isinstance(server, dict)
        else server
        for name, server in servers.items()
    }


def _own_load(
    name: str, server: Mapping[str, object], load: LoadTables | None, folder: Path
) -> dict[str, LoadTables | None]:
    """Return the load of a server whose table has one, complete."""
    swept = server.get("sweep")
    without = list(swept) if isinstance(swept, dict) else []
    table = server.get("load", {} if without else None)
    if not isinstance(table, dict):
        return {}
    return {"load": None if load is None else overridden_load(name, load, table, folder, without)}


class Study(TomlTable):
    """A whole study. Its parts are consistent: every point of the sweep gives a complete load."""

    title: Text
    """What the report is called."""
    question: Text | None = None
    """What the study asks; the report shows it above the answer."""
    answer_by: AnswerName | None = None
    """The measure that answers the question, if no limits do, or the greatest throughput of each server along
    the sweep (`"peak"`). Without it, throughput answers where the load
    determines it, as in a closed loop, and otherwise the p99.
    """
    limits: Limits | None = None
    """Limits that answer the question: up to which load each server keeps them."""
    catalog: Folder | None = None
    """A folder of your own descriptions of servers, besides the packaged ones; `--catalog` adds others."""
    content: Content | None = None
    """What the servers serve.

    Databases have none, and servers that run already need none; then any answer with status 200 is correct.
    """
    load: WrittenLoad
    """The load of every server without a load table."""
    sweep: Sweep
    """What is swept: each key of the load with its values; several keys give every combination.

    ``server_machine`` with names of ``[machines]`` gives every server a curve on each of them, and a setting
    of servers with its values a curve for each value.
    """
    trials: Trials = Trials()
    """How often each server is measured."""
    host: Host = Host()
    """Which CPUs serve and which load."""
    machines: dict[ServerName, MachineTable] = Field(default_factory=dict)
    """Other machines, by name."""
    published: Published | None = None
    """Published figures of such servers, which the report compares with the measured ones."""
    servers: Annotated[
        dict[ServerName, StudyServer],
        Field(min_length=1),
        BeforeValidator(_as_arms),
        Expected("at least one table [servers.NAME]"),
    ]
    """The servers, by name."""
    claims: (
        Annotated[ClaimsFile, BeforeValidator(read_claims), Expected("the path of a file, in quotes")] | None
    ) = None
    """What the authors of a publication concluded, for the report to judge."""
    require: list[RequireTable] = Field(default_factory=list)
    """What is required of the servers, as tables `[[require]]`; a run that fails one ends with 3."""

    shortening: QuickTable | None = Field(None, alias="quick")
    """What ``--quick`` keeps, if its general rules leave too much."""

    def points(self) -> list[Point]:
        """Return every setting of the sweep: the product of its keys, the last key changing fastest."""
        return [
            dict(zip(self.sweep, values, strict=True)) for values in itertools.product(*self.sweep.values())
        ]

    @property
    def repeats(self) -> int:
        """How often a point is repeated in a trial because the machine was disturbed.

        Where points leave their records to those behind them, another attempt would be on another database,
        and where they follow each other without a pause, it would not follow on the point before it.
        """
        keeps_records = any(arm.load.keeps_records for arm in self.arms.values())
        return 0 if keeps_records or self.trials.continues else self.trials.repeat_disturbed

    @property
    def arms(self) -> dict[str, Arm]:
        """What the curves are of, by name, in the order of the file."""
        return {
            name: Arm(name, server, server.load or self.load, self.sweep)
            for name, server in self.servers.items()
        }

    @property
    def server_machine(self) -> tuple[str, MachineTable] | None:
        """The name and the table of the machine where servers run by default; ``None`` for this one."""
        return self._machine(self.host.server_machine)

    def server_machine_of(self, server: str) -> tuple[str, MachineTable] | None:
        """The same of one server, which may have another place than the others, or run already."""
        table = self.servers[server]
        return None if table.url else self._machine(table.server_machine or self.host.server_machine)

    def sending_machines_of(self, server: str) -> list[str] | None:
        """The names of the machines that share the load on one server; ``None`` where the run sends it."""
        return self.servers[server].load_machines or self.host.sending_machines

    def is_loaded_by_ray(self, server: str) -> bool:
        """Whether nodes of a Ray cluster send the load on one server."""
        return self.servers[server].load_machines is None and self.host.load_machines == RAY

    def _machine(self, name: str) -> tuple[str, MachineTable] | None:
        return None if name == HERE else (name, self.machines[name])

    @property
    def load_machines(self) -> dict[str, MachineTable]:
        """The tables of the machines that are named to send loads; this one has none."""
        named = [name for _, names in named_load_machines(self.host, self.servers) for name in names]
        return {name: self.machines[name] for name in named if name != HERE}

    @property
    def kind(self) -> LoadKind:
        """What kind of load every server is put under."""
        return self.load.kind

    def quick(self) -> Self:
        """Return the study shortened, for a first look.

        At most 3 trials, however wide their intervals, and 8 points, wherever throughput falls, a warm-up of
        at most 0.2 s and a duration of at most 0.4 s, swept or not. Of every key of the sweep at most equally
        many values stay, evenly chosen, the first and the last among them. A load that ends after a number of
        requests or connections keeps that number. The table ``[quick]`` has what is to stay besides: all
        values of the sweep that it names, and loads as long as it says.
        """
        kept = self.shortening or QuickTable()
        sweep = shortened_sweep(self.sweep, kept)
        servers = {
            name: server.model_copy(
                update={
                    "load": server.load and shortened_load(server.load, kept),
                    "sweep": server.sweep and values_at_kept(server.sweep, self.sweep, sweep),
                }
            )
            for name, server in self.servers.items()
            if kept.servers is None or name in kept.servers
        }
        trials = shortened_trials(self.trials)
        load = shortened_load(self.load, kept)
        shortened = {"load": load, "servers": servers, "sweep": sweep, "trials": trials}
        return self.model_copy(update=shortened)

    @model_validator(mode="before")
    @classmethod
    def _has_all_arms(cls, study: object) -> object:
        return with_all_arms(study)

    @model_validator(mode="after")
    def _parts_fit_together(self, info: ValidationInfo) -> Self:
        beside = info.context.get("beside", ()) if info.context else ()
        problems = list(inconsistencies(self.content, self.load, self.arms.values(), self.sweep, beside))
        problems += unknown_machines(self.host, self.servers, self.machines)
        problems += load_machine_inconsistencies(self.host, self.servers, self.trials, self.machines)
        if not beside:
            # Several loads have one [host], and each of them is a study with one of the servers.
            problems += machine_types_missing(self.host, self.servers)
            problems += restarts_in_vain(self.trials, self.servers)
        problems += drop_inconsistencies(self.trials, self.sweep)
        problems += warmup_inconsistencies(self.trials, self.arms.values())
        problems += continuation_inconsistencies(self.trials, self.arms.values())
        problems += limit_inconsistencies(self.limits, self.arms.values(), self.sweep)
        problems += require_inconsistencies(
            self.require, {name: arm.load.labels for name, arm in self.arms.items()}, self.sweep
        )
        if self.answer_by == PEAK:
            problems += peak_inconsistencies(self.arms.values(), self.sweep)
        if self.published is not None:
            problems += self.published.inconsistencies(list(self.servers))
        if self.shortening is not None:
            problems += self.shortening.inconsistencies(list(self.servers), self.sweep)
        if not problems:
            senders = {
                name: None if self.is_loaded_by_ray(name) else self.sending_machines_of(name)
                for name in self.servers
            }
            problems += sources_in_vain(senders, self.arms.values())
            counts = {name: len(self.sending_machines_of(name) or ()) for name in self.servers}
            problems += undivided_connections(counts, self.arms.values(), self.points())
        if problems:
            raise own_problems(problems)
        return self
