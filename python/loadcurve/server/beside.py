"""What runs on a server's CPUs beside it, from one look to the next."""

import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from loadcurve.host.process_times import ProcessTable, threads_of
from loadcurve.host.strangers import own_family, strangers
from loadcurve.probe.whose_time import BesideServer
from loadcurve.server.launch import ServerMarks
from loadcurve.server.processes import ProcessIdentity, carries_variable


class BesideWatch:
    """Looks at all processes before a load and after it; the next load begins with the last look."""

    def __init__(self, marks: ServerMarks, cpus: Collection[int]) -> None:
        """Look for the first time."""
        self._marks = marks
        self._cpus = frozenset(cpus)
        self._look()

    def _look(self) -> None:
        self._moment_s, self._table = time.monotonic(), ProcessTable.now()
        self._probe = ProcessTable({})

    def since_last(self, probe_pid: int) -> BesideServer:
        """Look again, and return what ran on the server's CPUs since the last time."""
        then_s, then, probe_then = self._moment_s, self._table, self._probe
        self._look()
        self._probe = threads_of(probe_pid)
        uses = self._table.since(then)
        of_probe = self._probe.since(probe_then)
        known = self._of_server() | own_family(self._table)
        found = strangers(uses, known, self._cpus)
        variable = self._marks.variable
        return BesideServer(
            cpus=self._cpus,
            length_s=self._moment_s - then_s,
            uses=uses,
            strangers=[
                use for use in found if not carries_variable(ProcessIdentity(*use.process.identity), variable)
            ],
            probe_s=sum(use.own_s for use in of_probe if use.process.cpu in self._cpus),
        )

    def _of_server(self) -> set[int]:
        session = self._marks.session
        members = [one.pid for one in self._table.processes.values() if session in (one.session, one.pid)]
        return self._table.with_descendants([*members, *_of_group(self._marks.group)])


def _of_group(folder: Path | None) -> Iterator[int]:
    if folder is None:
        return
    for members in folder.rglob("cgroup.procs"):
        with suppress(OSError, ValueError):
            yield from map(int, members.read_text(encoding="ascii").split())
