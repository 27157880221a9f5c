"""Machines on this one: network namespaces that a bridge joins, each with a separate monotonic clock.

What that hides: they share one quartz and one kernel, so their clocks do not drift apart, and the ways
between them are shorter and more even than those of a network. It needs root.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

NETWORK = "10.213.77"
"""Of private addresses; it is seen in the namespaces alone."""


@dataclass(frozen=True)
class Namespace:
    """A namespace of the network, and how far ahead its monotonic clock is of that of this machine."""

    name: str
    address: str
    ahead_s: int

    def command(self, *words: str) -> list[str]:
        """Return what runs a command there, by its clock."""
        clock = ["unshare", "-T", "--monotonic", str(self.ahead_s)] if self.ahead_s else []
        return ["ip", "netns", "exec", self.name, *clock, *words]


@contextmanager
def namespaces(ahead_s: Sequence[int]) -> Iterator[tuple[Namespace, list[Namespace]]]:
    """Yield a namespace with the bridge, whose clock is the one here, and one for each clock.

    All of them are gone afterwards, with what runs in them. Raises CalledProcessError where that is not
    allowed.
    """
    prefix = f"lc{os.getpid()}"
    hub = Namespace(f"{prefix}-hub", f"{NETWORK}.1", 0)
    with ExitStack() as stack:
        _add(stack, hub.name)
        _in(hub.name, "ip", "link", "add", "bridge", "type", "bridge")
        _in(hub.name, "ip", "address", "add", f"{hub.address}/24", "dev", "bridge")
        _in(hub.name, "ip", "link", "set", "bridge", "up")
        machines = []
        for number, ahead in enumerate(ahead_s, start=2):
            machine = Namespace(f"{prefix}-{number}", f"{NETWORK}.{number}", ahead)
            _add(stack, machine.name)
            port = f"port{number}"
            _in(
                hub.name,
                "ip",
                "link",
                "add",
                port,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                machine.name,
            )
            _in(hub.name, "ip", "link", "set", port, "master", "bridge", "up")
            _in(machine.name, "ip", "address", "add", f"{machine.address}/24", "dev", "eth0")
            _in(machine.name, "ip", "link", "set", "eth0", "up")
            machines.append(machine)
        yield hub, machines


def _add(stack: ExitStack, name: str) -> None:
    _run("ip", "netns", "add", name)
    stack.callback(_remove, name)
    _in(name, "ip", "link", "set", "lo", "up")


def _remove(name: str) -> None:
    found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
    for process in map(int, found.stdout.split()):
        os.kill(process, 9)
    subprocess.run(["ip", "netns", "delete", name], check=False)


def _in(name: str, *words: str) -> None:
    _run("ip", "netns", "exec", name, *words)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=30)
