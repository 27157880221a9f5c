"""What is left on another machine when the way there ends: `python -m benches.lost_machines`.

As root. The other machine is a network namespace with a real sshd (tests/support/far_machine.py). In each
try a run has a server under load there when one of these things happens: `loadcurve` is killed, ssh is
killed, the link goes down, or the agent is stopped: its worker, or both of its processes at once, the latter
also where ssh uses a connection that stays (ControlMaster). Within 10 s nothing may be left there.
"""

import argparse
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

from tests.support.far_machine import FarMachine, far_machine

from benches.rig import LOADCURVE

PATIENCE_S = 60.0
LEFT_AFTER_S = 10.0
STUDY = """
title = "x"
content."1k.txt" = "1KiB"
load = { model = "closed", requests = ["/1k.txt"], warmup = "0s", duration = "60s" }
sweep.connections = [2]
trials.count = 1
host.server_machine = "web"
machines.web.ssh = "far"
servers.nginx.workers = 1
"""


def kill_the_run(run: subprocess.Popen[bytes], _: FarMachine) -> None:
    """Kill the command."""
    run.kill()


def kill_ssh(_: subprocess.Popen[bytes], machine: FarMachine) -> None:
    """Kill the process of ssh on this side."""
    for pid in (pid for pid, words in machine.processes_near().items() if " -F " in words):
        os.kill(pid, signal.SIGKILL)


def cut_the_link(_: subprocess.Popen[bytes], machine: FarMachine) -> None:
    """Let no packet through any more."""
    machine.set_link("down")


def stop_the_agent(_: subprocess.Popen[bytes], machine: FarMachine) -> None:
    """Stop the worker of the agent, which the guard is the parent of."""
    agents = [pid for pid, words in machine.processes().items() if "machines.agent" in words]
    (worker,) = (pid for pid in agents if _parent(pid) in agents)
    os.kill(worker, signal.SIGSTOP)


def stop_the_whole_agent(_: subprocess.Popen[bytes], machine: FarMachine) -> None:
    """Stop the worker of the agent and its guard."""
    for pid in [pid for pid, words in machine.processes().items() if "machines.agent" in words]:
        os.kill(pid, signal.SIGSTOP)


SHARED = "both stopped, shared ssh"
EVENTS: Mapping[str, Callable[[subprocess.Popen[bytes], FarMachine], None]] = {
    "loadcurve killed": kill_the_run,
    "ssh killed": kill_ssh,
    "link down": cut_the_link,
    "worker stopped": stop_the_agent,
    "both stopped": stop_the_whole_agent,
    SHARED: stop_the_whole_agent,
}


def _parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def tried_s(machine: FarMachine, event: Callable[[subprocess.Popen[bytes], FarMachine], None]) -> float:
    """Return how long something was left there, from the event on; fails where it is for too long."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.toml").write_text(STUDY)
        places = {"XDG_STATE_HOME": str(folder / "state"), "TMPDIR": name}
        command = [*machine.near_words, LOADCURVE, "run", "study.toml", "--out", "out"]
        with subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **machine.environment, **places},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as run:
            deadline = time.monotonic() + PATIENCE_S
            while not machine.is_under_load():
                assert run.poll() is None, (run.communicate()[1] or b"").decode()
                assert time.monotonic() < deadline, "the load does not reach the server"
                time.sleep(0.02)
            try:
                event(run, machine)
                return machine.wait_until_empty(LEFT_AFTER_S)
            finally:
                machine.set_link("up")
                run.kill()


def main() -> None:
    """Print the times of all tries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=50)
    parser.add_argument("--only", choices=EVENTS, action="append", help="try this alone; may be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="loadcurve-far-") as name:
        Path(name).chmod(0o755)
        with far_machine(Path(name)) as machine:
            for title in options.only or EVENTS:
                event = EVENTS[title]
                with machine.shared_connection() if title == SHARED else nullcontext():
                    times_s = [tried_s(machine, event) for _ in range(options.tries)]
                middle_s, most_s = statistics.median(times_s), max(times_s)
                print(
                    f"{title:>24}: {len(times_s)} tries, gone after {middle_s:.2f} s, at most {most_s:.2f} s"
                )


if __name__ == "__main__":
    main()
