"""The plans of a study's loads on a database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcurve.loads.plan import DatabasePlan
from loadcurve.loads.values import SettingValue
from loadcurve.loads.workload import in_words
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.protocol import protocol_of_url
from loadcurve.redaction import without_password


@dataclass(frozen=True)
class DatabasePlans:
    """Makes the plans of a study's loads on one database."""

    url: str
    settings: Mapping[str, SettingValue]
    cpus: Sequence[int]

    def run_phase(self, load: DatabaseLoad, seed: int) -> DatabasePlan:
        """Return the plan of the operations of ``load``; ``seed`` repeats what is drawn at random."""
        return self._plan(load.asking(), seed)

    def load_phase(self, load: DatabaseLoad, seed: int) -> DatabasePlan:
        """Return the plan by which the records of ``load`` are inserted."""
        return self._plan(load.loading(), seed)

    def _plan(self, load: DatabaseLoad, seed: int) -> DatabasePlan:
        return DatabasePlan(
            load=load,
            url=self.url,
            settings={name: in_words(value) for name, value in self.settings.items()},
            address=without_password(self.url),
            database=str(protocol_of_url(self.url)),
            threads=load.generator_threads or min(max(1, len(self.cpus)), load.threads),
            cpus=tuple(self.cpus),
            seed=seed,
        )
