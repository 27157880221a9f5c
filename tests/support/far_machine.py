"""Another machine for tests: a network namespace with a real sshd in it, and one from which it is reached.

Both share this machine's processors, files and kernel; what the agent keeps there has separate folders.
"""

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from .delayed_link import delayed_link

NEAR_ADDRESS, FAR_ADDRESS = "10.203.0.1", "10.203.0.2"
PORT = 22
PATIENCE_S = 20.0


@dataclass(frozen=True)
class FarMachine:
    """A machine that ``ssh far`` leads to, for commands that are started in its neighbour's network."""

    near: str
    far: str
    folder: Path
    """With what both need: keys, configurations, and what the far side keeps."""

    @property
    def near_words(self) -> list[str]:
        """The words before a command that is to run where the machine is reached."""
        return inside(self.near)

    @property
    def cache(self) -> Path:
        """Where the agent is kept."""
        return self.folder / "cache"

    @property
    def environment(self) -> dict[str, str]:
        """That of a command which is to find the machine by ``ssh far``."""
        return {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def set_link(self, state: str) -> None:
        """Set the link between both ``up`` or ``down``."""
        subprocess.run([*inside(self.far), "ip", "link", "set", "far", state], check=True)

    def limit_link(self, mbit_per_s: int) -> None:
        """Let packets leave the machine at this rate alone; skips the test where that cannot be done here."""
        words = ["root", "tbf", "rate", f"{mbit_per_s}mbit", "burst", "32kb", "latency", "50ms"]
        limited = ["tc", "-n", self.far, "qdisc", "add", "dev", "far", *words]
        if subprocess.run(limited, check=False, capture_output=True).returncode:
            pytest.skip("needs tc, and a kernel with its token bucket filter (sch_tbf)")

    def unlimit_link(self) -> None:
        """Take the limit away."""
        unlimited = ["tc", "-n", self.far, "qdisc", "del", "dev", "far", "root"]
        subprocess.run(unlimited, check=True, capture_output=True)

    @contextmanager
    def shared_connection(self) -> Iterator[None]:
        """Have a person's own connection (ControlMaster) open, which all of ssh then uses."""
        ssh = [*self.near_words, str(self.folder / "bin" / "ssh")]
        # It goes into the background once it is connected.
        subprocess.run([*ssh, "-M", "-N", "-f", "far"], check=True, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            subprocess.run([*ssh, "-O", "exit", "far"], check=True, capture_output=True)

    def processes(self) -> dict[int, str]:
        """The commands in the machine's network by their ids, but for those of sshd."""
        return {pid: words for pid, words in processes_in(self.far).items() if "sshd" not in words}

    def processes_near(self) -> dict[int, str]:
        """The commands in its neighbour's network."""
        return processes_in(self.near)

    def connections(self) -> int:
        """How many connections there are to servers there."""
        asked = [*inside(self.far), "ss", "-tnH", "state", "established", f"( sport != :{PORT} )"]
        return len(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines())

    def is_under_load(self) -> bool:
        """Whether a server there is measured; no probe is started for one that is only tried."""
        is_probed = any("loadcurve-probe" in words for words in self.processes().values())
        return is_probed and self.connections() > 1

    def what_was_started(self) -> list[Path]:
        """The folders of what was started there, and the records of starts."""
        records = (self.folder / "state").rglob("started/*.json")
        return sorted([*(self.folder / "tmp").glob("loadcurve-*"), *records])

    def wait_until_empty(self, within_s: float) -> float:
        """Wait until nothing is left there but the agent's own files; returns how long that took."""
        began = time.monotonic()
        while (left := self.processes()) or self.what_was_started():
            waited_s = time.monotonic() - began
            assert waited_s < within_s, f"after {waited_s:.1f} s: {left} {self.what_was_started()}"
            time.sleep(0.02)
        return time.monotonic() - began


def processes_in(namespace: str) -> dict[int, str]:
    """The commands in a network by their ids."""
    listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True)
    found = {}
    for pid in map(int, listed.stdout.split()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        # One that has ended and is not waited for has none.
        if command:
            found[pid] = command.strip()
    return found


def inside(namespace: str) -> list[str]:
    """The words before a command that runs in a network, and sees the files and groups of this machine."""
    return ["nsenter", f"--net=/run/netns/{namespace}", "--"]


@contextmanager
def far_machine(folder: Path, delay_s: float | None = None) -> Iterator[FarMachine]:
    """Make a machine and its neighbour; skips the test where that cannot be done here.

    Every packet between them takes ``delay_s``; without it they are as near as can be.
    """
    if os.geteuid() != 0:
        pytest.skip("needs root, to make network namespaces")
    for program in ("ip", "nsenter", "sshd", "ssh", "ssh-keygen"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            pytest.skip(f"needs {program}")
    mark = secrets.token_hex(3)
    machine = FarMachine(f"lc-near-{mark}", f"lc-far-{mark}", folder)
    with ExitStack() as stack:
        for namespace in (machine.near, machine.far):
            _ip("netns", "add", namespace)
            stack.callback(_ip, "netns", "delete", namespace)
        ends = ((machine.near, "near"), (machine.far, "far"))
        if delay_s is None:
            peer = ("peer", "far", "netns", machine.far)
            _ip("-n", machine.near, "link", "add", "near", "type", "veth", *peer)
        else:
            stack.enter_context(delayed_link(ends, delay_s))
        for namespace, link, address in (
            (machine.near, "near", NEAR_ADDRESS),
            (machine.far, "far", FAR_ADDRESS),
        ):
            _ip("-n", namespace, "address", "add", f"{address}/30", "dev", link)
            for one in ("lo", link):
                _ip("-n", namespace, "link", "set", one, "up")
        _write_configurations(machine)
        stack.enter_context(_sshd(machine))
        yield machine


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _write_configurations(machine: FarMachine) -> None:
    folder = machine.folder
    for name in ("cache", "state", "tmp", "bin"):
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(0o755)
    for name in ("host-key", "key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / name], check=True
        )
    (folder / "authorized").write_text((folder / "key.pub").read_text())
    (folder / "known").write_text(f"{FAR_ADDRESS} {(folder / 'host-key.pub').read_text()}")
    (folder / "sshd.conf").write_text(
        f"""\
        ListenAddress {FAR_ADDRESS}:{PORT}
        HostKey {folder}/host-key
        AuthorizedKeysFile {folder}/authorized
        PidFile none
        StrictModes no
        UsePAM no
        PermitRootLogin prohibit-password
        SetEnv XDG_CACHE_HOME={folder}/cache XDG_STATE_HOME={folder}/state TMPDIR={folder}/tmp
        """
    )
    (folder / "ssh.conf").write_text(
        f"""\
        Host far
          HostName {FAR_ADDRESS}
          Port {PORT}
          User root
          IdentityFile {folder}/key
          IdentitiesOnly yes
          UserKnownHostsFile {folder}/known
          GlobalKnownHostsFile /dev/null
          ControlPath {folder}/shared-connection
        """
    )
    (folder / "bin" / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh.conf "$@"\n')
    (folder / "bin" / "ssh").chmod(0o755)


@contextmanager
def _sshd(machine: FarMachine) -> Iterator[None]:
    # Without it sshd refuses to start; its package makes it only with its service.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    # It starts itself anew for each connection, and requires its whole path for that.
    program = shutil.which("sshd", path="/usr/sbin:/usr/bin") or "/usr/sbin/sshd"
    command = [*inside(machine.far), program, "-D", "-e", "-f", str(machine.folder / "sshd.conf")]
    with (machine.folder / "sshd.log").open("wb") as log, subprocess.Popen(command, stderr=log) as sshd:
        try:
            _wait_for_sshd(machine)
            yield
        finally:
            sshd.terminate()


def _wait_for_sshd(machine: FarMachine) -> None:
    asked = [*machine.near_words, "bash", "-c", f"exec 3<>/dev/tcp/{FAR_ADDRESS}/{PORT}"]
    deadline = time.monotonic() + PATIENCE_S
    while subprocess.run(asked, check=False, capture_output=True).returncode:
        assert time.monotonic() < deadline, (machine.folder / "sshd.log").read_text()
        time.sleep(0.02)
