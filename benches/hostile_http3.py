"""Servers that do harm over HTTP/3 and QUIC: loads end in time, name what was wrong, and take little memory.

The servers are behaviours of `foreign/hostile-http3/server.py`, written on aioquic, which is installed
once, by its pinned version, into a folder of temporary files.
"""

import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benches.hostile_loads import CONNECTIONS, STREAMS, Hostility, try_all, upload
from loadcurve._engine import make_certificates

SOURCES = Path(__file__).with_name("foreign") / "hostile-http3"
SERVER = SOURCES / "server.py"
ENVIRONMENT = Path(tempfile.gettempdir()) / "loadcurve-hostile-http3"
PYTHON = ENVIRONMENT / "bin" / "python"
GOOD = "answers well"
SENT_MUCH = ("has windows of one byte", "opens all windows and does not answer", "stops each stream")


def install() -> None:
    """Make the environment of the servers, where that is not done yet."""
    if PYTHON.exists():
        return
    venv.create(ENVIRONMENT)
    words = ["-m", "pip", "--python", str(PYTHON), "install", "--quiet"]
    subprocess.run([sys.executable, *words, "-r", str(SOURCES / "requirements.txt")], check=True)


def behaviours() -> list[str]:
    """Return the names of all behaviours but the good one."""
    listed = subprocess.run([PYTHON, SERVER], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if name != GOOD]


@contextmanager
def running(behaviour: str) -> Iterator[int]:
    """Run a server of this behaviour for as long as the block lasts; yields its port."""
    _, certificate, key = make_certificates("ecdsa", ["127.0.0.1"])
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        files[0].write_text(certificate)
        files[1].write_text(key)
        command = [str(word) for word in (PYTHON, SERVER, *files, behaviour)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as server:
            assert server.stdout is not None
            try:
                yield int(server.stdout.readline())
            finally:
                server.kill()


def words(behaviour: str, port: int, folder: Path) -> list[object]:
    """Return the URL and options of the load."""
    options: list[object] = ["--http", "3", "--insecure", "-c", CONNECTIONS, "--streams", STREAMS]
    if behaviour in SENT_MUCH:
        options += upload(folder)
    return [f"https://127.0.0.1:{port}/", *options]


if __name__ == "__main__":
    install()
    try_all(__doc__, Hostility(GOOD, {name: name for name in behaviours()}, running, words))
