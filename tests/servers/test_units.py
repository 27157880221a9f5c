"""A server that runs as a unit of a real systemd, which is the first process of namespaces made for it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

SYSTEMD = Path("/lib/systemd/systemd")
UNITS = {
    "loadcurve-test.target": "[Unit]\nDefaultDependencies=no\n",
    "web.service": (
        "[Unit]\nDefaultDependencies=no\n"
        "[Service]\nExecStart=/bin/sh -c 'sleep 600 & exec sleep 601'\nKillMode=control-group\n"
    ),
}
START = f"""
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /run/systemd/system
cp {{folder}}/* /run/systemd/system
export container=podman
exec {SYSTEMD} --system --unit=loadcurve-test.target --log-target=console --show-status=no
"""
LOOK = """
import sys
from pathlib import Path
from loadcurve.server.settings import UnusableSetting
from loadcurve.server.unit import processes_of_unit
try:
    found = processes_of_unit(sys.argv[1])
except UnusableSetting as unusable:
    print(unusable)
else:
    def command(pid):
        return " ".join(Path(f"/proc/{pid}/cmdline").read_text().split(chr(0))).strip()

    print(sorted(map(command, found.pids)), command(found.main_pid))
"""
READY_S = 30.0

pytestmark = [
    pytest.mark.long,
    pytest.mark.needs("unshare"),
    pytest.mark.needs("nsenter"),
    pytest.mark.skipif(
        os.geteuid() != 0 or not SYSTEMD.exists(), reason="needs root and systemd, for one in namespaces"
    ),
]


class OwnSystemd:
    """One that runs as the first process of its own namespaces."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command where it is the first process."""
        enter = ["nsenter", "--target", str(self._pid), "--mount", "--pid", "--cgroup"]
        return subprocess.run([*enter, *words], capture_output=True, text=True, check=False)

    def look(self, unit: str) -> str:
        """Return what is found of a unit, or why nothing is."""
        finished = self.run(sys.executable, "-c", LOOK, unit)
        return finished.stdout.strip() or finished.stderr


@pytest.fixture(scope="module")
def systemd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnSystemd]:
    folder = tmp_path_factory.mktemp("units")
    for name, text in UNITS.items():
        (folder / name).write_text(text)
    command = ["unshare", "--pid", "--mount", "--cgroup", "--fork", "--kill-child", "sh", "-ec"]
    with subprocess.Popen(
        [*command, START.format(folder=folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield _running(process)
        finally:
            process.kill()


def _running(process: "subprocess.Popen[bytes]") -> OwnSystemd:
    deadline = time.monotonic() + READY_S
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError, ValueError):
            first = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
            own = OwnSystemd(first)
            if own.run("systemctl", "is-active", "loadcurve-test.target").returncode == 0:
                return own
        time.sleep(0.05)
    pytest.skip("needs a machine on which systemd can be the first process of a namespace")


def test_a_unit_that_runs_has_its_main_process_and_what_that_has_started(systemd: OwnSystemd):
    assert systemd.run("systemctl", "start", "web.service").returncode == 0
    assert systemd.look("web.service") == "['sleep 600', 'sleep 601'] sleep 601"
    assert systemd.look("web") == systemd.look("web.service")


def test_a_unit_that_does_not_run_and_one_that_there_is_not_are_told_apart(systemd: OwnSystemd):
    systemd.run("systemctl", "stop", "web.service")
    assert "is inactive (dead): start it with systemctl start web.service" in systemd.look("web.service")
    assert "systemd has no such unit" in systemd.look("no.service")
