"""A short look at what else runs on this machine, before something is measured on it."""

import time
from collections.abc import Callable
from typing import Final

from loadcurve.host.process_times import ProcessTable
from loadcurve.host.processor_times import ProcessorTimes
from loadcurve.host.strangers import named, own_family, strangers
from loadcurve.result.machine import EXPECTED_VARIABLE, INVALID_TAKEN
from loadcurve.units import whole_percent

LENGTH_S: Final = 0.2
"""Twenty of the kernel's ticks on each CPU, so that a tick is 5 % of one."""
NAMED_FROM: Final = 0.1
"""Of a CPU: programs that take less are not named, as two ticks may be chance."""
NAMED_MAX: Final = 5
STEAL_FROM: Final = 0.05


class Look:
    """Looks at processes and CPUs when it is made, and again when it is asked what runs here."""

    def __init__(self) -> None:
        """Look for the first time."""
        self._times = ProcessorTimes.now()
        self._table = ProcessTable.now()

    def disturbance(self, sleep: Callable[[float], None] = time.sleep) -> str | None:
        """Say which programs take how much of which CPU, beside this one; ``None`` where nothing does.

        It waits until the first look is :data:`LENGTH_S` ago.
        """
        left_s = self._times.moment_s + LENGTH_S - time.monotonic()
        if left_s > 0:
            sleep(left_s)
        times, table = ProcessorTimes.now(), ProcessTable.now()
        length_s = times.moment_s - self._times.moment_s
        cpus = sorted(set(times.by_cpu) & set(self._times.by_cpu))
        uses = strangers(table.since(self._table), own_family(table), cpus)
        programs = [one for one in named(uses, length_s) if one.cpu_share >= NAMED_FROM][:NAMED_MAX]
        # What runs on several CPUs at once did not run on the last of them alone.
        said = [
            one.text_of_cpu if one.processes == 1 and one.cpu_share <= 1 else one.text for one in programs
        ]
        spent = times.since(self._times, cpus)
        if spent is not None and spent.steal_s >= STEAL_FROM * length_s * len(cpus):
            withheld = whole_percent(spent.steal_s / length_s / len(cpus))
            said.append(f"the host withholds {withheld} of the CPU time (steal)")
        return ", ".join(said) if said else None


def warning(disturbance: str) -> str:
    """Return what a person reads before a measurement on a machine that is not quiet."""
    return (
        f"this machine is not quiet: {disturbance}. Server and load lack what others take; the verdict of "
        f"each point says how much that was: from {whole_percent(INVALID_TAKEN)} on it is invalid, or "
        f"suspect where they may work for the server. If they belong there, set {EXPECTED_VARIABLE}=note. "
        "Measuring all the same."
    )
