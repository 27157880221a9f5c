"""The plan of one load on a database, as the engine reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.result.load import Rate, Workload
from loadcurve.run.plan import EngineModel, EngineStop
from loadcurve.study.database_load import DatabaseLoad
from loadcurve.study.tables import SettingValue
from loadcurve.study.workload import in_words

Phase = Literal["load", "run"]


class EngineTarget(EngineModel):
    """Which table of which database, and how it is asked."""

    url: str
    namespace: str
    table: str
    settings: dict[str, str]
    timeout_s: float
    workload: Workload

    def to_json(self) -> str:
        """Return the target as the engine reads it."""
        return self.model_dump_json(exclude_none=True)


class EngineDatabasePlan(EngineTarget):
    """Everything that decides what is asked of a database, when, and until when."""

    workload_name: str | None = None
    phase: Phase
    threads: int
    """Clients, each with one operation under way."""
    batch: int = 1
    rate_rps: Rate | None = None
    arrivals: Literal["constant", "poisson"] | None = None
    stop: EngineStop
    warmup_s: float = 0.0
    seed: int = 0
    generator_threads: int
    cpus: tuple[int, ...] = ()

    @property
    def target(self) -> EngineTarget:
        """What the plan is carried out on."""
        fields = EngineTarget.model_fields
        return EngineTarget(**{name: value for name, value in self if name in fields})


def records_inserted(workload: Workload) -> int:
    """Return how many records the load phase inserts."""
    if workload.insert_count is not None:
        return workload.insert_count
    return max(0, workload.records - workload.insert_start)


@dataclass(frozen=True)
class DatabasePlans:
    """Makes the plans of a study's loads on one database."""

    url: str
    settings: Mapping[str, SettingValue]
    cpus: Sequence[int]

    def run_phase(self, load: DatabaseLoad, seed: int) -> EngineDatabasePlan:
        """Return the plan of the operations of ``load``; ``seed`` repeats what is drawn at random."""
        on_schedule = load.rate_rps is not None
        stop = EngineStop(duration_s=load.duration_s, requests_total=load.operations)
        changes = {
            "rate_rps": load.rate_rps,
            "arrivals": load.arrivals if on_schedule else None,
            "stop": stop,
            "warmup_s": load.warmup_s,
        }
        return self._plan(load, "run", seed).model_copy(update=changes)

    def load_phase(self, load: DatabaseLoad, seed: int) -> EngineDatabasePlan:
        """Return the plan by which the records of ``load`` are inserted, as fast as its clients can.

        Where the load phase is what is measured, it keeps to the load's rate.
        """
        plan = self._plan(load, "load", seed)
        if load.phase == "run" or load.rate_rps is None:
            return plan
        return plan.model_copy(update={"rate_rps": load.rate_rps, "arrivals": load.arrivals})

    def _plan(self, load: DatabaseLoad, phase: Phase, seed: int) -> EngineDatabasePlan:
        workload = load.workload.numbers.model_copy(update={"records": load.records})
        return EngineDatabasePlan(
            url=self.url,
            namespace=load.namespace,
            table=load.table,
            settings={name: in_words(value) for name, value in self.settings.items()},
            timeout_s=load.timeout_s,
            workload=workload,
            workload_name=load.workload.name,
            phase=phase,
            threads=load.threads,
            batch=load.batch if phase == "load" else 1,
            stop=EngineStop(requests_total=records_inserted(workload)),
            seed=seed,
            generator_threads=load.generator_threads or min(len(self.cpus), load.threads),
            cpus=tuple(self.cpus),
        )
