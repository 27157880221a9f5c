"""The other machines of a run, each reached once, and left when the run ends."""

import atexit
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from loadcurve.errors import BadInput
from loadcurve.generate.load_machine import LoadMachine
from loadcurve.generate.load_machines import RAY_IS_MISSING, has_ray, load_machines, load_nodes
from loadcurve.generate.many import ManyMachines
from loadcurve.machines.ssh import SshMachine
from loadcurve.machines.table import RAY, MachineTable
from loadcurve.result.records import OtherMachineRecord
from loadcurve.server.elsewhere import ServerMachine
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.problems import Problem


class Machines:
    """The machines that the studies of a run name for their servers."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """Reach none yet; ``say`` takes what a person should know of them."""
        self._say = say
        self._reached: dict[str, ServerMachine] = {}
        # Whatever comes between, what runs there ends with the connection.
        atexit.register(self.close)

    def at(self, place: tuple[str, MachineTable] | None) -> ServerMachine | None:
        """Return the machine of this name and table; ``None`` for this one, which has none.

        Raises:
            BadInput: the study does not say enough to reach it.
            NothingMeasured: it cannot be reached, or cannot run servers for a load from here.

        """
        if place is None:
            return None
        name, table = place
        if name not in self._reached:
            self._reached[name] = reached(name, table)
            machine = self._reached[name]
            for other in machine.others:
                self._say(
                    f"another run is in progress on machine {name} ({other}): the two disturb each other"
                )
            for note in machine.notes:
                self._say(note)
        return self._reached[name]

    def records(self, study: Study) -> dict[str, OtherMachineRecord]:
        """Return the records of the machines on which a study has servers."""
        machines = [self.at(study.server_machine_of(name)) for name in study.servers]
        return {
            machine.name: OtherMachineRecord(
                address=machine.address, facts=machine.recorded_facts, link=machine.link
            )
            for machine in machines
            if machine is not None
        }

    def close(self) -> None:
        """Leave all of them; again does nothing."""
        atexit.unregister(self.close)
        while self._reached:
            _, machine = self._reached.popitem()
            machine.close()


def reached(name: str, table: MachineTable) -> ServerMachine:
    """Reach a machine by ssh; raises as :meth:`Machines.at`."""
    there = SshMachine(name, table)
    try:
        address = there.address()
    except BadInput:
        # Of a machine that is not reached at all ssh has more to say.
        there.connect().close()
        raise
    return ServerMachine(name, address, there.connect, table.link_speed_bits_per_s)


@contextmanager
def sending_machines(studies: Sequence[Study]) -> Iterator[dict[str, ManyMachines]]:
    """Reach the machines that send loads of studies; yield them by the arms whose loads they send.

    A machine is reached once, however many arms name it. The loads of arms that are left out, the run sends
    itself. Raises as :func:`loadcurve.generate.load_machines.load_machines` and ``load_nodes`` there.
    """
    by_ray, named = {}, {}
    for study in studies:
        for arm in study.servers:
            if study.is_loaded_by_ray(arm):
                by_ray[arm] = study.host.load_nodes or 1
            elif names := study.sending_machines_of(arm):
                named[arm] = tuple(names)
    with ExitStack() as stack:
        found: dict[str, ManyMachines] = {}
        if by_ray:
            nodes = ManyMachines(stack.enter_context(load_nodes(max(by_ray.values()))))
            found |= dict.fromkeys(by_ray, nodes)
        if named:
            tables = {name: table for study in studies for name, table in study.load_machines.items()}
            agents = stack.enter_context(_agents_for(set(named.values()), tables))
            together = {
                names: ManyMachines(agents_of(names, agents)) for names in dict.fromkeys(named.values())
            }
            found |= {arm: together[names] for arm, names in named.items()}
        yield found


@contextmanager
def _agents_for(
    lists: Collection[Sequence[str]], tables: Mapping[str, MachineTable]
) -> Iterator[dict[str, list[LoadMachine]]]:
    """Reach each machine of some lists, as often as one of them has it; yield its agents by its name."""
    most: Counter[str] = Counter()
    for names in lists:
        most |= Counter(names)
    wanted = sorted(most.elements())
    with load_machines(wanted, tables) as machines:
        agents: dict[str, list[LoadMachine]] = {}
        for name, machine in zip(wanted, machines, strict=True):
            agents.setdefault(name, []).append(machine)
        yield agents


def agents_of(names: Sequence[str], agents: Mapping[str, Sequence[LoadMachine]]) -> list[LoadMachine]:
    """Return an agent for each name; of a name that comes again, the next one."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        found.append(agents[name][seen[name]])
        seen[name] += 1
    return found


def require_ray(study: Study, document: TomlDocument) -> None:
    """Raise ``BadInput`` with its line where a study wants nodes of Ray, and Ray is not installed."""
    if study.host.load_machines == RAY and not has_ray():
        text = f'found "{RAY}"; {RAY_IS_MISSING}'
        raise BadInput(document.report(Problem(("host", "load_machines"), text)))
