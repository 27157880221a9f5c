"""The server's processor time: from its control group where it has one, and else from its processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.probe.figures import Figure, figure
from loadcurve.probe.samples import Sample
from loadcurve.result.load import Reason

CPU_INCOMPLETE = Reason(
    code="cpu_incomplete",
    text="the server ignores SIGCHLD, so the kernel forgets the processor time of its children that end, and "
    "no control group could be made for it, which would keep that time: run as root, or as a user who may "
    "make groups",
)


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Where the server's processor time is read."""

    source: Literal["group", "processes"]
    user: Figure
    system: Figure


GROUP = ProcessorTime("group", figure("group.cpu_user_s"), figure("group.cpu_system_s"))
PROCESSES = ProcessorTime("processes", figure("tree.cpu_user_s"), figure("tree.cpu_system_s"))


def processor_time(samples: Sequence[Sample]) -> ProcessorTime | None:
    """Return where to read the processor time in these samples; ``None`` where it is complete nowhere."""
    if any(sample.group for sample in samples):
        return GROUP
    forgets = any(sample.context_switches and sample.context_switches.ignores_sigchld for sample in samples)
    return None if forgets else PROCESSES
