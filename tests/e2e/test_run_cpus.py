"""`loadcurve run`: on which CPUs each side runs, looked at in `/proc` while the load runs."""

import json
import os
import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from support.sandbox import finish
from support.tiny_study import study_text

CPUS = sorted(os.sched_getaffinity(0))
needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs, one for each side")

SETTINGS = {
    "nginx": "workers = 2",
    "apache-event": "start_servers = 1\nthreads_per_child = 5\nmin_spare_threads = 9\nmax_spare_threads = 30",
    "apache-prefork": "start_servers = 1\nmin_spare_servers = 5",
    "node": "workers = 2",
}
"""Settings with which servers have several processes or threads, and Apache grows while it is loaded."""

PROGRAMS = {"apache-event": "apache2", "apache-prefork": "apache2"}


def allowed_cpus(pid: int) -> dict[str, set[int]]:
    """Return the CPUs of each thread of a process, by the thread's id and name; empty when it has ended."""
    found = {}
    for thread in threads_of(pid):
        try:
            status = Path(f"/proc/{pid}/task/{thread}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = dict(re.findall(r"^(\w+):\t(.*)$", status, re.MULTILINE))
        ranges = [part.split("-") for part in fields["Cpus_allowed_list"].split(",")]
        cpus = {cpu for bounds in ranges for cpu in range(int(bounds[0]), int(bounds[-1]) + 1)}
        found[f"{thread} {fields['Name']}"] = cpus
    return found


def threads_of(pid: int) -> list[str]:
    """Return the ids of the threads of a process; none when it has ended."""
    try:
        return [thread.name for thread in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def bound_threads(command: psutil.Process) -> dict[str, dict[str, set[int]]]:
    """Return the CPUs of each thread of the command and its processes, by what the process is."""
    threads: dict[str, dict[str, set[int]]] = defaultdict(dict)
    for process in [command, *command.children(recursive=True)]:
        try:
            name = process.name()
        except psutil.NoSuchProcess:
            continue
        threads["command" if process == command else name].update(allowed_cpus(process.pid))
    return threads


@needs_two_cpus
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("nginx", marks=pytest.mark.needs("nginx")),
        pytest.param("apache-event", marks=[pytest.mark.needs("apache2"), pytest.mark.long]),
        pytest.param("apache-prefork", marks=[pytest.mark.needs("apache2"), pytest.mark.long]),
        pytest.param("node", marks=[pytest.mark.needs("node"), pytest.mark.long]),
    ],
)
def test_every_thread_of_each_side_is_bound_while_the_load_goes_on(name, sandbox):
    server_cpu, load_cpu = CPUS[0], CPUS[1]
    sandbox.write(
        "tiny.toml",
        study_text(
            f"[servers.{name}]\n{SETTINGS[name]}",
            load='duration = "500ms"\nthreads = 2',
            connections="[30]",
            trials=1,
            host=f"server_cpus = [{server_cpu}]\nload_cpus = [{load_cpu}]",
        ),
    )
    command = sandbox.start("run", "tiny.toml", "--out", "run")
    program = PROGRAMS.get(name, name)
    servers, generators = {}, {}
    while command.poll() is None:
        # It may end at any moment.
        with suppress(psutil.NoSuchProcess):
            threads = bound_threads(psutil.Process(command.pid))
            loading = {thread: cpus for thread, cpus in threads["command"].items() if " load-" in thread}
            generators |= loading
            if loading:
                servers |= threads[program]
    finished = finish(command)
    assert finished.returncode in {0, 3}, finished.stderr
    assert len(generators) == 2
    assert set(map(frozenset, generators.values())) == {frozenset({load_cpu})}
    assert len(servers) > 2
    assert set(map(frozenset, servers.values())) == {frozenset({server_cpu})}
    assert json.loads((sandbox.work / "run" / "run.json").read_text())["caveats"] == []
