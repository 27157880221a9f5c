"""The processes of a server that this machine itself runs."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from loadcurve.host.cgroups import ControlGroup, LimitsUnavailable, remove_groups, used_cpu_s
from loadcurve.host.governor import CreditGovernor
from loadcurve.result.records import LimitUse
from loadcurve.server.adoption import adopt_orphans, adopted_since, strays_below
from loadcurve.server.environment import environment_of_servers
from loadcurve.server.group import born_in_group
from loadcurve.server.ledger import LedgerEntry
from loadcurve.server.privileges import confined
from loadcurve.server.processes import identify
from loadcurve.server.spawn import spawn
from loadcurve.server.start import ServerProcesses, StartCommand

if TYPE_CHECKING:
    from pathlib import Path


class DirectProcesses(ServerProcesses):
    """One session of this machine's processes."""

    on_this_network = True

    def __init__(self) -> None:
        """Prepare a start; nothing exists yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: list[Path] = []
        self._limiting_group: ControlGroup | None = None
        self._governor: CreditGovernor | None = None
        self._ledger_entry: LedgerEntry | None = None

    def start(
        self, command: StartCommand, ledger_entry: LedgerEntry, _interrupted: Callable[[], bool], /
    ) -> subprocess.Popen[bytes]:
        """Make the group of the limits and start the server in it, in its own session and group."""
        group = ControlGroup.planned(ledger_entry.start.private_folder.name, command.limits)
        ledger_entry.record_limiting_groups(group.folders)
        self._groups = ledger_entry.start.groups
        group.make()
        self._limiting_group = group
        argv = [*group.entering(), *confined(command.user), *command.argv]
        adopt_orphans(adopts=True)
        with born_in_group(ledger_entry.start.counting_group):
            self._govern(command, [*group.folders, *filter(None, [ledger_entry.start.counting_group])])
            environment = environment_of_servers(command.environment)
            self._process = spawn(argv, command.folder, command.log, command.cpus, environment)
        self._leader = identify(self._process.pid)
        ledger_entry.record_session(self._leader)
        self._ledger_entry = ledger_entry
        return self._process

    def look_after_orphans(self, *, with_strays: bool = False) -> None:
        """Record those of the server that have lost their parents since the last look; reap the dead."""
        if self._ledger_entry is None or self._leader is None:
            return
        known = {one.identity for one in self._ledger_entry.start.adopted}
        found = [*adopted_since(self._leader), *(strays_below(self._leader) if with_strays else ())]
        if new := [one for one in dict.fromkeys(found) if one not in known]:
            self._ledger_entry.record_adopted(new)

    def limit_use(self) -> LimitUse | None:
        """Return what limits of memory and credits have done to it since its start; ``None`` without any."""
        if self._limiting_group is None:
            raise RuntimeError("the server is not started")
        use = self._limiting_group.use()
        if self._governor is None:
            return use
        return (use or LimitUse()).model_copy(update={"credits": self._governor.use()})

    def hears(self, _signal_number: signal.Signals, /) -> bool:
        """Say that any signal reaches the main process."""
        return True

    def clear(self) -> None:
        """Reap the main process and remove the control groups."""
        self.look_after_orphans()
        adopt_orphans(adopts=False)
        if self._governor is not None:
            self._governor.close()
        if self._process is not None:
            self._process.wait()
        remove_groups(self._groups)

    def _govern(self, command: StartCommand, counting: Sequence["Path"]) -> None:
        """Hold the server to its CPU credits, if it has any; off its CPUs where others may be used."""
        group, limits = self._limiting_group, command.limits
        if group is None or limits.burst is None or limits.cpus is None:
            return
        cpus = os.sched_getaffinity(0) - set(command.cpus or ())
        governor = CreditGovernor(
            limits.burst, limits.cpus, partial(used_cpu_s, counting), group.set_cpus, cpus=cpus
        )
        try:
            governor.start()
        except OSError as error:
            raise LimitsUnavailable(
                f"its CPU credits cannot be emulated: {error.strerror}. Use a machine whose control groups "
                "of version 2 can be written, or remove `burst`."
            ) from None
        self._governor = governor
