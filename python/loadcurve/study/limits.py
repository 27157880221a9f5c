"""What a study says of the share of the machine that a server is held to."""

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import Problem, own_problem, own_problems
from loadcurve.toml.quantities import SHARE_IN_WORDS, Share, SizeBytes


class BurstTable(TomlTable):
    """CPU credits; ``None`` is what the machine type has."""

    credits: Annotated[float, Field(ge=0), Expected("a number of credits, such as 30 or 0.5")] | None = None
    """Credits at the start of the server. One is one CPU of its type, or of its limit, used for a minute."""
    baseline_share: (
        Annotated[Share, Field(gt=0, lt=1), Expected(f"{SHARE_IN_WORDS}, above 0 and below 100 %")] | None
    ) = Field(None, alias="baseline")
    """The share of its CPUs that earns the credits, and remains when they are used up."""
    restarted: bool = True
    """Whether the machine is stopped and started before each start of the server, which renews the credits;
    `false` carries them over from trial to trial."""


class LimitsTable(TomlTable):
    """How much of the machine a server may use; ``None`` leaves a resource unlimited."""

    cpus: (
        Annotated[
            float, Field(ge=0.01, le=4096), Expected("a number of CPUs from 0.01 to 4,096, such as 1 or 0.5")
        ]
        | None
    ) = None
    """CPU time: that of this many CPUs in each period of 100 ms."""
    memory_bytes: Annotated[SizeBytes, Field(ge=1 << 20), Expected('a size of at least "1MiB"')] | None = (
        Field(None, alias="memory")
    )
    """Memory of all its processes together, page cache included, without swap."""
    burst: BurstTable | None = None
    """CPU credits beside `cpus`, such as `{ credits = 30, baseline = "10 %" }`; both keys are required."""

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.burst is not None:
            self._require_whole_burst(self.burst)
        elif self.cpus is None and self.memory_bytes is None:
            raise own_problem('empty; expected cpus, memory or both, such as { cpus = 1, memory = "1GiB" }')
        return self

    def _require_whole_burst(self, burst: BurstTable) -> None:
        problems = [
            Problem(("burst", key), "missing; without a machine type it must be given")
            for key, value in (("credits", burst.credits), ("baseline", burst.baseline_share))
            if value is None
        ]
        if self.cpus is None:
            problems.append(
                Problem(("burst",), "requires cpus, the CPUs that it has as long as credits last")
            )
        if problems:
            raise own_problems(problems)


def _as_table(burst: object) -> object:
    """Read `true` as what the machine type has, and `false` as no credits."""
    if isinstance(burst, bool):
        return {} if burst else None
    return burst


MachineBurst = Annotated[
    BurstTable | None,
    BeforeValidator(_as_table),
    Expected("true, false or a table, such as { credits = 0.5 }"),
]
