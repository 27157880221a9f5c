"""The machines that a load is sent from, as long as they are needed."""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from typing import Final

from loadcurve.errors import BadInput
from loadcurve.generate.load_machine import REACHABLE, AgentMachine, LoadMachine
from loadcurve.machines.channel import Channel
from loadcurve.machines.ssh import SshMachine
from loadcurve.machines.table import MachineTable

AGENT_HERE: Final = (sys.executable, "-P", "-m", "loadcurve.machines.agent")
LOOPBACK: Final = "127.0.0.1"
CLUSTER_ADDRESS: Final = "RAY_ADDRESS"
RAY_IS_MISSING: Final = (
    "Ray is not installed in the environment of this command: pip install 'loadcurve[ray]'"
)


def has_ray() -> bool:
    """Say whether Ray is installed beside this command."""
    return "ray" in sys.modules or find_spec("ray") is not None


def load_nodes(count: int, address: str | None = None) -> AbstractContextManager[list[LoadMachine]]:
    """Return, as a context, this number of nodes of a Ray cluster as load machines.

    ``address`` is that of a running one; without it that of the environment counts (``RAY_ADDRESS``), or one
    of this machine alone is started. Raises as :func:`loadcurve.generate.on_ray.nodes_as_load_machines`, and
    ``BadInput`` where Ray is not installed.
    """
    if not has_ray():
        raise BadInput(RAY_IS_MISSING)
    address = address or os.environ.get(CLUSTER_ADDRESS)
    if address is None:
        os.environ.setdefault(REACHABLE, "0")
    # Ray is an extra, and takes a second to import.
    from loadcurve.generate.on_ray import nodes_as_load_machines  # noqa: PLC0415

    return nodes_as_load_machines(count, address)


@contextmanager
def load_machines(names: Sequence[str], tables: Mapping[str, MachineTable]) -> Iterator[list[LoadMachine]]:
    """Yield the machines of these names, each with an agent of ours that ends afterwards.

    A machine has a table, but for ``here``; one that is named several times has several agents.

    Raises:
        BadInput: an address cannot be found out.
        NothingMeasured: a machine cannot be reached, or cannot run the agent.

    """
    with ExitStack() as stack, ThreadPoolExecutor(max(len(names), 1)) as pool:
        reached = [
            pool.submit(_reached, distinct, tables.get(name))
            for name, distinct in zip(names, distinct_names(names), strict=True)
        ]
        # Those that were reached are left where another one was not.
        for one in reached:
            if one.exception() is None:
                stack.callback(one.result()[0].close)
        yield [one.result()[1] for one in reached]


def _reached(name: str, table: MachineTable | None) -> tuple[Channel, LoadMachine]:
    if table is None:
        channel = Channel(name, AGENT_HERE)
        return channel, AgentMachine(channel, address=LOOPBACK, is_here=True)
    there = SshMachine(name, table)
    address = there.address()
    channel = there.connect()
    return channel, AgentMachine(
        channel,
        address=address,
        cpus=table.cpus or (),
        link_speed_bits_per_s=table.link_speed_bits_per_s,
        source_addresses=[*map(str, table.source_addresses)],
    )


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind each that is there more than once."""
    total, seen = Counter(names), Counter[str]()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(f"{name}-{seen[name]}" if total[name] > 1 else name)
    return distinct
