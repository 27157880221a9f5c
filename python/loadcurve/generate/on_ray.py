"""Load machines that are nodes of a Ray cluster: the one file that imports Ray.

Ray says which nodes there are, starts the agent on each, carries the messages to it, and ends it. It is no
clock and carries no load: the engine runs in the agent's own process, bound to other CPUs than Ray's daemons
where there are enough. That all nodes have one version of Ray and of Python is Ray's own rule: it lets no
other node into a cluster.
"""

import contextlib
import ipaddress
import logging
import os
import re
import secrets
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final

import ray
import ray.cloudpickle
import ray.exceptions

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.load_machine import REACHABLE, AgentMachine, LoadMachine
from loadcurve.machines.bring import BOOTSTRAP, brought
from loadcurve.machines.channel import Channel

AUTHENTICATION: Final = "RAY_AUTH_MODE"
TOKEN: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
LABEL: Final = ("loadcurve", "load")
"""Nodes with this label are load machines; where none has it, all are."""
OWN_ADDRESS: Final = "127.0.0.1"
"""Of our own cluster. At any other address Ray's daemons listen on all addresses of the machine."""
OBJECTS_BYTES: Final = 80_000_000
"""Little more than the least that Ray wants for its objects, of which there are none here."""
GREETING_TIMEOUT_S: Final = 60.0
PLACING_TIMEOUT_S: Final = 60.0
READING_S: Final = 1.0
"""The longest that one question after an agent's output waits."""
READ_BYTES: Final = 1 << 20
CALLS_AT_ONCE: Final = 4
SAME: Final = "with RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL=minor, 3.11 with any other 3.11"
LOST_STATUS: Final = 255
"""Of a process whose node is gone, as ssh has it."""


class AgentProcess:
    """A process on a node, in an actor. It is pickled by value, so it uses nothing but Python's library."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Start this Python with these arguments, away from Ray's daemons."""
        self.cpus = self._cpus_apart()
        self._process = subprocess.Popen(  # noqa: S603 -- the agent
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._input, *outputs = (pipe for pipe in pipes if pipe is not None)
        self._outputs = [pipe.fileno() for pipe in outputs]
        self._open = set(self._outputs)
        self._poll = select.poll()
        for descriptor in self._outputs:
            self._poll.register(descriptor, select.POLLIN)

    def _cpus_apart(self) -> list[int]:
        """Bind this process, and so what it starts, to the CPUs that the daemons do not have; return them."""
        daemons = os.sched_getaffinity(os.getppid())
        # A node that was started on some CPUs alone has handed that down to here.
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        allowed = os.sched_getaffinity(0)
        apart = allowed - daemons or allowed - {min(allowed)} or allowed
        os.sched_setaffinity(0, apart)
        return sorted(apart)

    def facts(self) -> dict[str, object]:
        """Return on which CPUs it is, and whether Ray answers anybody here."""
        return {"cpus": self.cpus, "authentication": os.environ.get("RAY_AUTH_MODE", "disabled").lower()}

    def write(self, data: bytes) -> None:
        """Write to its input."""
        self._input.write(data)
        self._input.flush()

    def close_input(self) -> None:
        """Close its input, which ends an agent."""
        self._input.close()

    def read(self, wait_s: float, size: int) -> tuple[bytes, bytes, int | None]:
        """Return what it has written on output and on errors, and its status once both have ended."""
        found = dict.fromkeys(self._outputs, b"")
        for descriptor, _ in self._poll.poll(wait_s * 1000):
            found[descriptor] = os.read(descriptor, size)
            if not found[descriptor]:
                self._poll.unregister(descriptor)
                self._open.remove(descriptor)
        output, errors = found.values()
        return output, errors, None if self._open else self._process.wait()


class RelayedProcess:
    """A process on a node as if it were here: what a channel wants of one."""

    def __init__(self, actor: Any) -> None:  # noqa: ANN401 -- Ray has no types
        """Relay the input and the outputs of the actor's process."""
        self._actor = actor
        self._status: int | None = None
        self._ended = threading.Event()
        self.stdin: IO[bytes] | None
        self.stdout: IO[bytes] | None
        self.stderr: IO[bytes] | None
        given, self.stdin = _pipe()
        self.stdout, output = _pipe()
        self.stderr, errors = _pipe()
        threading.Thread(target=self._carry_there, args=(given,), daemon=True).start()
        threading.Thread(target=self._carry_back, args=(output, errors), daemon=True).start()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process there."""
        if not self._ended.wait(timeout) or self._status is None:
            raise subprocess.TimeoutExpired("the agent", timeout or 0.0)
        return self._status

    def kill(self) -> None:
        """End the actor, and with it the input of its process."""
        ray.kill(self._actor)
        self._end(-signal.SIGKILL)

    def _carry_there(self, given: IO[bytes]) -> None:
        with given, contextlib.suppress(ray.exceptions.RayError):
            while data := os.read(given.fileno(), READ_BYTES):
                ray.get(self._actor.write.remote(data))
            ray.get(self._actor.close_input.remote())

    def _carry_back(self, output: IO[bytes], errors: IO[bytes]) -> None:
        status: int | None = None
        # Nobody may read any more.
        with output, errors, contextlib.suppress(BrokenPipeError):
            try:
                while status is None:
                    written, complained, status = ray.get(self._actor.read.remote(READING_S, READ_BYTES))
                    output.write(written)
                    errors.write(complained)
            except ray.exceptions.RayError as error:
                errors.write(f"Ray: {str(error).strip()}\n".encode())
        self._end(LOST_STATUS if status is None else status)

    def _end(self, status: int) -> None:
        if not self._ended.is_set():
            self._status = status
            self._ended.set()


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0)


@contextmanager
def nodes_as_load_machines(count: int, address: str | None) -> Iterator[list[LoadMachine]]:
    """Yield this number of nodes as load machines, each with an agent that ends afterwards.

    ``address`` is that of a running cluster; without one a cluster of this machine alone is started, and
    ended, on loopback unless the environment allows more (:data:`REACHABLE`).

    Raises:
        BadInput: there are fewer nodes, or the cluster answers without a token.
        NothingMeasured: no cluster is reached, or it is of another version.
        MachineLost: a node is lost, or cannot run the agent.

    """
    with _connected(address), ExitStack() as stack, ThreadPoolExecutor(count) as pool:
        nodes = chosen([node for node in ray.nodes() if node["Alive"]], count)
        if away := [node["NodeManagerAddress"] for node in nodes if not _is_loopback(node)]:
            require_token(os.environ.get(AUTHENTICATION), f"its nodes, such as {away[0]}")
        actors = [_placed(node) for node in nodes]
        stack.callback(lambda: [ray.kill(actor) for actor in actors])
        facts = _answers([actor.facts.remote() for actor in actors])
        for node, fact in zip(nodes, facts, strict=True):
            if not _is_loopback(node):
                require_token(fact["authentication"], f"its node {node['NodeManagerAddress']}")
        names = [f"ray-{number}" for number in range(1, count + 1)]
        channels = [pool.submit(_channel, name, actor) for name, actor in zip(names, actors, strict=True)]
        # Those that did start are ended where another one did not.
        for channel in channels:
            if channel.exception() is None:
                stack.callback(channel.result().close)
        yield [
            AgentMachine(
                channel.result(),
                address=node["NodeManagerAddress"],
                cpus=fact["cpus"],
                is_here=_is_loopback(node),
            )
            for channel, node, fact in zip(channels, nodes, facts, strict=True)
        ]


def chosen(nodes: Sequence[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """Return this number of nodes, first those with the label; raises BadInput where there are fewer."""
    labelled = [node for node in nodes if node["Labels"].get(LABEL[0]) == LABEL[1]]
    found = labelled or [*nodes]
    if len(found) < count:
        which = f" with the label {LABEL[0]}={LABEL[1]}" if labelled else ""
        raise BadInput(
            f"the Ray cluster has {len(found)} node{'s' * (len(found) != 1)}{which}, but the load "
            f"requires {count}: reduce it to {len(found)}, add nodes, or give the address of another cluster"
        )
    return sorted(found, key=lambda node: str(node["NodeID"]))[:count]


def require_token(mode: str | None, where: str) -> None:
    """Refuse a cluster that anybody who reaches it can make run a program; raises BadInput."""
    if (mode or "").lower() != "token":
        raise BadInput(
            f"{where} can be reached from other machines, and this Ray cluster answers without a token: "
            f"start its nodes, and this command, with {AUTHENTICATION}=token and one token, such as that of "
            "ray get-auth-token --generate"
        )


def version_mismatch(said: str) -> str | None:
    """Return, with what to do, what Ray says of other versions in a cluster; ``None`` if that is not it."""
    found = re.findall(r"^[ \t]*(Ray|Python): (\S+)$", said, re.MULTILINE)
    if "Version mismatch" not in said or [name for name, _ in found] != ["Ray", "Python"] * 2:
        return None
    ray_there, python_there, ray_here, python_here = (version for _, version in found)
    advice = []
    if ray_there != ray_here:
        advice.append(
            f"install the cluster's Ray in the environment of this command: pip install ray=={ray_there}"
        )
    if python_there != python_here:
        advice.append(f"install this command, or start the cluster's nodes, with the other's Python ({SAME})")
    return (
        f"it has Ray {ray_there} and Python {python_there}, and this command Ray {ray_here} and Python "
        f"{python_here}, but Ray requires the same on both sides; {'; '.join(advice)}"
    )


@contextmanager
def _connected(address: str | None) -> Iterator[None]:
    """Connect to a running cluster, or start one of this machine alone."""
    quiet = {"log_to_driver": False, "configure_logging": False}
    logging.getLogger("ray").setLevel(logging.ERROR)
    own_token = address is None and not _has_token()
    if own_token:
        # Ray would write one into the person's home otherwise.
        os.environ[TOKEN[0]] = secrets.token_hex(32)
    try:
        if address is not None:
            host = address.rpartition("://")[2].rpartition(":")[0]
            # Otherwise Ray would look for itself at another address than a cluster on loopback has.
            here = {"_node_ip_address": host} if _is_loopback({"NodeManagerAddress": host}) else {}
            ray.init(address=address, **quiet, **here)
        else:
            _start_own(quiet)
    except (RuntimeError, ConnectionError, ValueError, ray.exceptions.RayError) as error:
        tried = f"at {address}" if address is not None else "of this machine alone"
        reason = version_mismatch(str(error)) or str(error).strip()
        raise NothingMeasured(f"the Ray cluster {tried} cannot be used: {reason}") from None
    finally:
        if own_token:
            del os.environ[TOKEN[0]]
    try:
        if address is None and os.environ.get(AUTHENTICATION, "").lower() != "token":
            require_token(None, "this machine")
        yield
    finally:
        ray.shutdown()


def _start_own(quiet: Mapping[str, Any]) -> None:
    """Start a cluster of this machine alone, whose daemons share one CPU."""
    cpus = os.sched_getaffinity(0)
    # Processes that this thread starts inherit it.
    os.sched_setaffinity(0, {min(cpus)})
    try:
        ray.init(
            address="local",
            num_cpus=0,
            include_dashboard=False,
            object_store_memory=OBJECTS_BYTES,
            _node_ip_address=OWN_ADDRESS,
            **quiet,
        )
    finally:
        os.sched_setaffinity(0, cpus)
    nodes = [node["NodeManagerAddress"] for node in ray.nodes()]
    if os.environ.get(REACHABLE) == "0" and nodes != [OWN_ADDRESS]:
        ray.shutdown()
        raise NothingMeasured(
            f"the Ray cluster of this machine alone is at {', '.join(nodes)} instead of {OWN_ADDRESS}, where "
            f"other machines reach it, so it was ended; {REACHABLE}=1 allows that"
        )


def _has_token() -> bool:
    return any(name in os.environ for name in TOKEN) or (Path.home() / ".ray" / "auth_token").exists()


def _is_loopback(node: Mapping[str, Any]) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(node["NodeManagerAddress"]).is_loopback
    return False


def _placed(node: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- Ray has no types
    """Return an actor on this node; it takes nothing of what Ray counts, because the load is not Ray's."""
    # The nodes need not have Loadcurve: what the actor is travels with it.
    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["on_ray"]))
    options = {
        "num_cpus": 0,
        "max_restarts": 0,
        "max_concurrency": CALLS_AT_ONCE,
        "label_selector": {"ray.io/node-id": node["NodeID"]},
    }
    return ray.remote(AgentProcess).options(**options).remote(["-c", BOOTSTRAP.read_text(encoding="utf-8")])


def _answers(asked: Sequence[Any]) -> list[Any]:
    try:
        return list(ray.get([*asked], timeout=PLACING_TIMEOUT_S))
    except ray.exceptions.RayError as error:
        raise NothingMeasured(f"Ray cannot start a process on each node: {str(error).strip()}") from None


def _channel(name: str, actor: Any) -> Channel:  # noqa: ANN401 -- Ray has no types
    return Channel(
        name, RelayedProcess(actor), greeting_timeout_s=GREETING_TIMEOUT_S, before_greeting=brought
    )
