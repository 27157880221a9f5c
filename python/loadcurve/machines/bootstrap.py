"""What runs first on another machine, by whatever Python 3 is there: it unpacks the agent, and becomes it.

Its source travels in the command of ssh, so it imports nothing of Loadcurve, and any Python 3 can read it.
"""

import json
import os
import platform
import select
import shutil
import sys
import tarfile
import tempfile
import time
from typing import Any

PATIENCE_S = 60
UNUSED_S = 30 * 24 * 3600
"""What was not used for so long is removed when something new is brought."""
STAGED, STAGED_S = ".new-", 24 * 3600
"""How the names of folders begin that are not whole, and how long making one takes at most."""


def agent_folder() -> str:
    """Return the folder of all that is brought."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "loadcurve", "agent")


def say(message: Any) -> None:  # noqa: ANN401 -- JSON
    """Write a line for the near side."""
    os.write(1, json.dumps(message).encode() + b"\n")


def read(size: int) -> bytes:
    """Return some bytes of what the near side sends; it is not waited for without end."""
    ready = select.select([0], [], [], PATIENCE_S)[0]
    data = os.read(0, size) if ready else b""
    if not data:
        sys.exit("the connecting machine sent nothing")
    return data


def read_line() -> Any:  # noqa: ANN401 -- JSON
    """Return what a line of the near side says, and read nothing beyond it."""
    line = b""
    while not line.endswith(b"\n"):
        line += read(1)
    return json.loads(line.decode())


def free_bytes(folder: str) -> int:
    """Return how much room there is where the folder is, or will be."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return shutil.disk_usage(folder).free


def unpack(folder: str, name: str, size: int) -> None:
    """Take this number of bytes of a tar file, and unpack it under a name; whoever is first stays."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    # Others may do the same now, on this machine or on one with the same home folder.
    staged = tempfile.mkdtemp(prefix=STAGED, dir=folder)
    packed, files, own = (
        os.path.join(staged, "tar"),
        os.path.join(staged, "files"),
        os.path.join(folder, name),
    )
    try:
        with open(packed, "wb") as file:
            while size:
                data = read(min(size, 65536))
                file.write(data)
                size -= len(data)
        with tarfile.open(packed) as archive:
            archive.extractall(files)
        try:
            os.rename(files, own)
        except OSError:
            if not os.path.isdir(own):
                raise
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def remove_unused(folder: str, prefix: str = "") -> None:
    """Remove what no run has used for a long time, of that whose name begins so."""
    for name in (one for one in os.listdir(folder) if one.startswith(prefix)):
        path = os.path.join(folder, name)
        try:
            used = os.stat(path).st_mtime
        except FileNotFoundError:
            # Another one has just unpacked it.
            continue
        if used < time.time() - (STAGED_S if name.startswith(STAGED) else UNUSED_S):
            shutil.rmtree(path, ignore_errors=True)


def main() -> None:
    """Say what is here, take what is brought, and become the agent."""
    folder = agent_folder()
    there = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    say(
        {
            "format": "loadcurve-bootstrap/1",
            "python": list(sys.version_info[:3]),
            "processor": platform.machine(),
            "libc": list(platform.libc_ver()),
            "folder": folder,
            "free_bytes": free_bytes(folder),
            "there": there,
        }
    )
    order = read_line()
    if order.get("remove"):
        shutil.rmtree(folder, ignore_errors=True)
        say({"removed": there, "folder": folder})
        return
    own = os.path.join(folder, order["name"])
    try:
        if order["bytes"]:
            unpack(folder, order["name"], order["bytes"])
            remove_unused(folder)
        os.utime(own)
    except OSError as error:
        say({"failed": "%s: %s" % (error.filename or folder, error.strerror)})
        return
    os.environ["PYTHONPATH"] = own
    os.execv(sys.executable, [sys.executable, "-P", "-m", "loadcurve.machines.agent"])


if __name__ == "__main__":
    main()
