"""What a server did with its processor time while a load ran, by samples of its stacks."""

from collections.abc import Mapping
from dataclasses import dataclass

Stack = tuple[str, ...]
"""The functions that a sample was in, the outermost first; before them the name of the program."""
_US_PER_S = 1e6


@dataclass(frozen=True, slots=True)
class Profile:
    """Samples of one start of a server, which is in no figure: to be sampled slows it."""

    requests: int | None
    """All requests that were sent to it while it was sampled; ``None`` where nobody has counted them."""
    samples_per_s: float
    """Of a CPU that is busy throughout."""
    stacks: Mapping[Stack, int]
    """How many samples were in each stack; empty if it could not be sampled."""
    system_calls_per_request: float | None
    missing: tuple[str, ...] = ()
    """Why something is not known, a sentence each."""

    @property
    def us_per_sample(self) -> float | None:
        """The processor time per request that a sample stands for, in µs."""
        return _US_PER_S / self.samples_per_s / self.requests if self.requests else None


@dataclass(frozen=True, slots=True)
class ProfiledPair:
    """The profiles of the two sides of a gate, under the same load."""

    base: Profile
    head: Profile

    @property
    def missing(self) -> tuple[str, ...]:
        """Why something is not known of either, each sentence once."""
        return tuple(dict.fromkeys((*self.base.missing, *self.head.missing)))
