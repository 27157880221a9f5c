"""Shared by all tests."""

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from loadcurve.analysis import sections
from loadcurve.errors import BadInput
from loadcurve.server.interrupts import INTERRUPTS
from loadcurve.tools.catalog import driven_tools
from support.containers import Containers, locked, open_containers

INSTALL_HINTS = {
    "nginx": "apt-get install nginx",
    "setpriv": "apt-get install util-linux",
    "ss": "apt-get install iproute2",
    "zsh": "apt-get install zsh",
}
settings.register_profile(
    "reproducible",
    # Nothing that passes may fail when it is run once more, nor because the machine is slow.
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("reproducible")
for ignored, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    # A shell starts what it puts into the background with these ignored, which the tested commands inherit.
    signal.signal(ignored, default)
if "PYTEST_XDIST_WORKER" in os.environ:
    # Beside each other tests are each other's other programs. Those that measure run alone, and are judged.
    os.environ["LOADCURVE_OTHER_PROGRAMS"] = "note"
# A section of a report that fails would else only be missing.
sections.are_faults_raised = True
SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from what stays until the end: it took a sixteenth of the unit tests."""
    gc.collect()
    gc.freeze()


@cache
def refusal_to_drive(program: str) -> str | None:
    """Return why a load generator of this name cannot be driven; ``None`` where it can, or is none."""
    if (tool := driven_tools().get(program)) is None:
        return None
    try:
        tool.require_installed()
    except BadInput as refused:
        return str(refused)
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose program is not installed, or too old, and name the program."""
    for marker in item.iter_markers("needs"):
        (program,) = marker.args
        if shutil.which(program, path=SEARCH_PATH) is None:
            hint = INSTALL_HINTS.get(program, "see your distribution's packages")
            pytest.skip(f"needs {program}, which is not installed; on Debian: {hint}")
        if (refusal := refusal_to_drive(program)) is not None:
            pytest.skip(refusal)


@pytest.fixture(autouse=True)
def interrupts_as_before() -> Iterator[None]:
    """Undo what a command that runs in the process of a test does to interrupts."""
    before = {number: signal.getsignal(number) for number in INTERRUPTS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def podman_lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the file that whoever uses podman has locked: its own locks are the same for all of its stores."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "podman.lock"


@pytest.fixture(scope="session")
def container_store(podman_lock: Path) -> Iterator[Containers]:
    with open_containers(podman_lock) as place:
        yield place


@pytest.fixture
def containers(container_store: Containers, podman_lock: Path) -> Iterator[Containers]:
    """Give a place for containers; skip the test, with podman's own words, where there can be none."""
    with locked(podman_lock):
        yield container_store
