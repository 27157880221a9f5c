"""A sandbox for each test, and one server for all tests of `load`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadcurve.server.found import NATIVE_FOLDER
from support.limit_server import limit_server
from support.sandbox import Sandbox, open_sandbox

CONTENT_BYTES = 1024
SMALL_NETWORK = Path(__file__).parents[1] / "support" / "small_network.py"
PORTS_OF_SMALL_NETWORK = 40


@pytest.fixture(scope="session")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the script of the figures, one for all processes of the tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "figures"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def sandbox(figures: Path) -> Iterator[Sandbox]:
    """Give the test its own sandbox."""
    with open_sandbox(figures) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def shared_sandbox(figures: Path) -> Iterator[Sandbox]:
    """One sandbox for several tests that only read what one command has written."""
    with open_sandbox(figures) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def limit_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the URL of a file of 1024 bytes on the server `limit`."""
    content = tmp_path_factory.mktemp("content")
    (content / "1k.txt").write_bytes(b"x" * CONTENT_BYTES)
    with limit_server(content) as address:
        yield f"http://{address}/1k.txt"


@pytest.fixture(scope="session")
def new_network():
    """Give the command that runs another one in its own network, where that is allowed."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare, which is not installed; on Debian: apt-get install util-linux")
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *as_root, "--net"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make a network namespace")
    return command


@pytest.fixture(scope="session")
def own_mounts():
    """Give the command that runs another one with its own mounts, where that is allowed."""
    command = ["unshare", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("needs unshare, and the right to make a mount namespace")
    return command


@pytest.fixture
def small_network(new_network, sandbox):
    """Give the command that runs another one beside a server that it reaches from 40 local ports only."""
    ports = str(PORTS_OF_SMALL_NETWORK)
    file = sandbox.write("content/1k.txt", "x" * 1024)
    server = NATIVE_FOLDER / "loadcurve-server"
    return [*new_network, sys.executable, str(SMALL_NETWORK), ports, str(server), str(file.parent)]
