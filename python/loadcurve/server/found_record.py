"""What records say of a server that was found: the digest of its program, and its container."""

import contextlib
from pathlib import Path

from loadcurve.files import sha256_of
from loadcurve.result.records import ContainerRecord
from loadcurve.server.container.location import InContainer
from loadcurve.server.found import FoundServer
from loadcurve.server.members import SeenProcesses
from loadcurve.server.processes import PROC
from loadcurve.server.running import RunningServer
from loadcurve.server.several import FoundPrograms

LARGEST_FILE = 64 << 20
"""Bytes of a file that is digested because the command of a server names it."""


def digest_of(server: FoundServer) -> str | None:
    """Return the digest of a program on this machine; ``None`` where it cannot be read."""
    if isinstance(server.location, InContainer):
        return None
    try:
        return sha256_of(server.binary)
    except OSError:
        return None


def digest_of_running(server: RunningServer) -> str | None:
    """Return the digest of the program that a server executes which runs already, where that may be read."""
    if not isinstance(server.processes, SeenProcesses):
        return None
    try:
        # Its file may be in a container, or replaced since.
        return sha256_of(PROC / str(server.processes.roots[0].pid) / "exe")
    except OSError:
        return None


def files_of_start(server: FoundServer) -> dict[str, str]:
    """Return the digest of each file that the command of a server names beside its program, by its path.

    A script that an interpreter runs is the program in all but name. Files of a container, and those larger
    than :data:`LARGEST_FILE`, which are rather data, are left out.
    """
    if isinstance(server.location, InContainer):
        return {}
    named = [word.replace("{entry}", str(server.entry.folder)) for word in server.start]
    paths = [Path(word.rpartition("=")[2].replace("{{", "{").replace("}}", "}")) for word in named]
    digests = {}
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            is_other = path.is_absolute() and path.is_file() and not path.samefile(server.binary)
            if is_other and path.stat().st_size <= LARGEST_FILE:
                digests[str(path)] = sha256_of(path)
    return digests


def files_of_programs(server: FoundPrograms) -> dict[str, str]:
    """Return the same of all programs of a server, with those that the load does not go to."""
    digests: dict[str, str] = {}
    for one in server.programs:
        digests |= files_of_start(one.found)
        if not one.given.serves and (digest := digest_of(one.found)) is not None:
            digests[str(one.found.binary)] = digest
    return digests


def container_record(server: FoundServer) -> ContainerRecord | None:
    """Return the container that a server runs in; ``None`` for one that runs on the machine itself."""
    container = server.location
    if not isinstance(container, InContainer):
        return None
    return ContainerRecord(
        engine=container.engine.name,
        engine_version=container.engine_version,
        image=container.image.name,
        image_id=container.image.id,
        image_digest=container.image.digest,
        network=container.network,
    )
