"""Machine types that people rent, as data: their price, and the size by which another machine can be one."""

import datetime
import functools
import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from loadcurve.errors import BadInput
from loadcurve.host.cgroups import Limits
from loadcurve.toml.expected import nearest
from loadcurve.toml.quantities import SizeBytes


class MachineType(BaseModel):
    """One machine type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    vcpus: Annotated[int, Field(gt=0)]
    memory_bytes: Annotated[SizeBytes, Field(alias="memory")]
    network: str
    """In the words of the one who rents it out."""
    price_usd_per_hour: Annotated[float, Field(gt=0)]
    burstable: bool
    """Whether its CPUs are lent beyond a share of their time only as long as credits last."""

    def limits(self, cpus_per_vcpu: float = 1.0) -> Limits:
        """Return what a server must be held to so that this machine represents the type.

        Fewer CPUs for each of the type's compare types that are larger than this machine, by their ratios.
        """
        return Limits(cpus=self.vcpus * cpus_per_vcpu, memory_bytes=self.memory_bytes)


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
