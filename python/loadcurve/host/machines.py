"""Machine types that people rent, as data: their price, and the size by which another machine can be one."""

import datetime
import functools
import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from loadcurve.errors import BadInput
from loadcurve.host.cgroups import Limits
from loadcurve.host.credits import CREDIT_CPU_S, Burst
from loadcurve.toml.expected import nearest
from loadcurve.toml.quantities import SizeBytes

MACHINE_PERIOD_US = 10_000
"""The period in which a machine type has its share of CPUs: hypervisors take turns in milliseconds, and a
smaller machine is slower, but does not stop for most of 100 ms, the kernel's default."""


class MachineCredits(BaseModel):
    """The CPU credits of a burstable machine type, as they are published."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    baseline_share: Annotated[float, Field(gt=0, lt=1)]
    """Of each of its vCPUs."""
    per_hour: Annotated[float, Field(gt=0)]
    """What it earns."""
    max_earned: Annotated[float, Field(gt=0)]
    """The most of what it earned that it accrues."""
    at_launch: Annotated[float, Field(ge=0)]
    """What it has at each start, beyond that."""
    unlimited_by_default: bool = False
    """Whether it continues at full speed, at a surcharge, unless its mode is changed to standard."""

    def burst(
        self,
        cpus_per_vcpu: float = 1.0,
        credits_at_start: float | None = None,
        baseline_share: float | None = None,
        *,
        restarted: bool = True,
    ) -> Burst:
        """Return the credits in standard mode; with others at the start, or another baseline, if given."""
        scale = 1.0 if baseline_share is None else baseline_share / self.baseline_share
        return Burst(
            credits=self.at_launch if credits_at_start is None else credits_at_start,
            baseline_cpus=self.per_hour / 60 * scale * cpus_per_vcpu,
            max_earned=self.max_earned * scale,
            credit_cpu_s=CREDIT_CPU_S * cpus_per_vcpu,
            restarted=restarted,
        )


class MachineType(BaseModel):
    """One machine type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    vcpus: Annotated[int, Field(gt=0)]
    memory_bytes: Annotated[SizeBytes, Field(alias="memory")]
    network: str
    """In the words of the one who rents it out."""
    price_usd_per_hour: Annotated[float, Field(gt=0)]
    credits: MachineCredits | None = None
    """``None`` where its CPUs do not depend on credits."""

    def limits(self, cpus_per_vcpu: float = 1.0, burst: Burst | None = None) -> Limits:
        """Return what a server must be held to so that this machine represents the type.

        Fewer CPUs for each of the type's compare types that are larger than this machine, by their ratios.
        """
        return Limits(
            cpus=self.vcpus * cpus_per_vcpu,
            memory_bytes=self.memory_bytes,
            burst=burst,
            period_us=MACHINE_PERIOD_US,
        )


class MachineTable(BaseModel):
    """Machine types with the date and the place of their prices."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    region: str
    date: datetime.date
    operating_system: str
    machines: dict[str, MachineType]

    def machine(self, name: str) -> MachineType:
        """Return a machine type.

        Raises ``BadInput``: the table has no such type.
        """
        if name not in self.machines:
            known = list(self.machines)
            raise BadInput(
                f'Unknown machine type "{name}"; known are {", ".join(known)}{nearest(name, known)}'
            )
        return self.machines[name]


@functools.cache
def machine_table() -> MachineTable:
    """Return the table that comes with the package."""
    file = Path(__file__).with_name("machines.toml")
    return MachineTable.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
