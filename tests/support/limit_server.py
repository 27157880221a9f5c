"""The package's own server `limit`, started for tests of the load."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.server.instance import free_port
from loadcurve.server.spawn import ends_with_parent
from support.sandbox import wait_until

PORT_ATTEMPTS = 5


@contextmanager
def limit_server(content: Path) -> Iterator[str]:
    """Yield the address of a server of the files in ``content``."""
    for _ in range(PORT_ATTEMPTS):
        address = f"127.0.0.1:{free_port()}"
        command = [NATIVE_FOLDER / "loadcurve-server", "limit", "--listen", address, "--root", content]
        with subprocess.Popen([*ends_with_parent(), *command], stdout=subprocess.DEVNULL) as server:
            try:
                wait_until(lambda: server.poll() is not None or _listens(server.pid), "the server listens")
                # It ends at once where another program was faster to take the port.
                if server.poll() is None:
                    yield address
                    return
            finally:
                server.kill()
    raise AssertionError("no free port for the server")


def _listens(pid: int) -> bool:
    try:
        sockets = psutil.Process(pid).net_connections(kind="inet")
    except psutil.Error:
        return False
    return any(one.status == psutil.CONN_LISTEN for one in sockets)
