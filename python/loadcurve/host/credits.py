"""CPU credits of burstable machine types: a pure account of what was used and what that leaves to be used."""

from dataclasses import dataclass, field
from typing import Self

CREDIT_CPU_S = 60.0
"""One credit is one CPU of the machine type, used for a minute (AWS's EC2 user guide)."""

DAY_S = 24 * 3600


class CreditsLeft:
    """What is left of a machine's credits between two servers on it; ``None`` before the first one ends."""

    def __init__(self) -> None:
        """Begin before the first server."""
        self.account: CreditAccount | None = None
        self.at_s = 0.0

    def leave(self, account: "CreditAccount", at_s: float) -> None:
        """Keep what a server leaves, at a moment of the monotonic clock."""
        self.account, self.at_s = account, at_s


@dataclass(frozen=True)
class Burst:
    """How a machine lends its CPUs beyond a baseline, as long as credits last."""

    credits: float
    """What it has when it starts, which counts towards no maximum (AWS: launch credits)."""
    baseline_cpus: float
    """Processor seconds that it earns in each second."""
    max_earned: float
    """The most credits that it accrues out of what it earns."""
    credit_cpu_s: float = CREDIT_CPU_S
    """Processor seconds of this machine that one credit is; fewer where less than a CPU represents a vCPU."""
    restarted: bool = True
    """Whether the machine itself is started before each start of its server, which renews the credits."""
    left: CreditsLeft = field(default_factory=CreditsLeft, init=False, compare=False, repr=False)
    """What the last server on a machine that keeps running has left of them."""

    @classmethod
    def of_a_day(cls, credits_at_start: float, baseline_cpus: float, *, restarted: bool = True) -> Self:
        """Return a burst that accrues what it earns in 24 hours, as AWS's machine types do."""
        most = baseline_cpus * DAY_S / CREDIT_CPU_S
        return cls(credits_at_start, baseline_cpus, most, restarted=restarted)

    def at_start(self) -> "CreditAccount":
        """Return the account of a machine that has just been started."""
        return CreditAccount(self, self.credits * self.credit_cpu_s, 0.0)

    def at_start_of_server(self, now_s: float) -> "CreditAccount":
        """Return the account of the machine when a server starts on it, at a moment of the monotonic clock.

        A machine that keeps running between two servers earns its baseline meanwhile.
        """
        if self.restarted or self.left.account is None:
            return self.at_start()
        return self.left.account.after(now_s - self.left.at_s, 0.0)


@dataclass(frozen=True)
class CreditAccount:
    """The credits of one machine at one moment, in processor seconds.

    Credits from the start are spent first. What was used before the quota fell may leave ``earned_cpu_s``
    below 0: it is earned back before more than the baseline can be used.
    """

    burst: Burst
    launch_cpu_s: float
    earned_cpu_s: float

    def after(self, elapsed_s: float, used_cpu_s: float) -> Self:
        """Return the account after some time, with the processor seconds that were used in it."""
        from_launch_s = min(used_cpu_s, self.launch_cpu_s)
        earned_s = self.earned_cpu_s + self.burst.baseline_cpus * elapsed_s - (used_cpu_s - from_launch_s)
        most_s = self.burst.max_earned * self.burst.credit_cpu_s
        return type(self)(self.burst, self.launch_cpu_s - from_launch_s, min(earned_s, most_s))

    @property
    def credits(self) -> float:
        """How many credits remain, at least 0."""
        return max(self.launch_cpu_s + self.earned_cpu_s, 0.0) / self.burst.credit_cpu_s

    @property
    def is_used_up(self) -> bool:
        """Whether the machine is held to its baseline."""
        return self.launch_cpu_s + self.earned_cpu_s <= 0
