"""Bringing the agent to a machine that lacks it, once for each version of it."""

import base64
import json
import platform
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from loadcurve.errors import NothingMeasured, sentence
from loadcurve.machines.agent_package import HERE, AgentPackage, agent_package, numbers
from loadcurve.machines.far_call import Bootstrapped
from loadcurve.machines.wheels import NotFetched, Version

BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
PART_BYTES = 1 << 16
ROOM_FACTOR = 2
"""How many times what is brought must be free: the archive, and what is in it."""
OLDEST_PYTHON = (3, 11)

Send = Callable[[bytes], None]


def first_command() -> str:
    """Return the command for the shell there: whatever its kind, it starts the bootstrap by a Python 3.

    One of this Python's minor version goes before others: compiled packages are for that.
    """
    source = base64.b64encode(BOOTSTRAP.read_bytes()).decode()
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    run = f'exec $p -c "import base64;exec(base64.b64decode(\\"{source}\\"))"'
    looking = f"for p in {own} python3; do if command -v $p >/dev/null 2>&1; then {run}; fi; done"
    complaint = 'echo "no Python 3 was found on PATH" >&2; exit 127'
    return f"exec sh -c {shlex.quote(f'{looking}; {complaint}')}"


def brought(machine: str, found: Bootstrapped, send: Send) -> None:
    """Answer the bootstrap of a machine: bring what it lacks, and let it go on.

    Raises ``NothingMeasured``: it cannot run what would be brought, or has no room for it; says what to do.
    """
    _require_fit(machine, found)
    major, minor = found.python[:2]
    package = _package_for(machine, (major, minor))
    _require_libc(machine, found.libc, package.glibc)
    is_missing = package.name not in found.there
    needed = ROOM_FACTOR * package.size_bytes
    if is_missing and found.free_bytes < needed:
        raise NothingMeasured(
            f"machine {machine}: {found.folder} has {found.free_bytes >> 20:,} MiB free, but "
            f"Loadcurve's files need {needed >> 20:,} MiB: free some space there, or set XDG_CACHE_HOME "
            "for its logins"
        )
    archive = package.archive() if is_missing else b""
    send(json.dumps({"name": package.name, "bytes": len(archive)}).encode() + b"\n")
    for start in range(0, len(archive), PART_BYTES):
        send(archive[start : start + PART_BYTES])


def _require_fit(machine: str, found: Bootstrapped) -> None:
    """Refuse a machine on which what is compiled for this one does not run."""
    there = tuple(found.python[:2])
    if there < OLDEST_PYTHON or there[0] != OLDEST_PYTHON[0]:
        oldest, own, its = (_dotted(version) for version in (OLDEST_PYTHON, HERE, there))
        raise NothingMeasured(
            f"machine {machine}: its python3 is {its}; {oldest} or newer is required: install python{own} "
            "there"
        )
    if found.processor != platform.machine():
        raise NothingMeasured(
            f"machine {machine}: its processor is {found.processor}, but Loadcurve's programs here are "
            f"compiled for {platform.machine()}. Run Loadcurve on a machine with the same processor"
        )
    libc, _ = found.libc
    if libc != platform.libc_ver()[0]:
        raise NothingMeasured(
            f"machine {machine}: its C library is {libc or 'an unknown one'}, but Loadcurve's "
            f"programs here are compiled for {platform.libc_ver()[0]}"
        )


def _require_libc(machine: str, libc_there: Sequence[str], needed: tuple[int, ...]) -> None:
    """Refuse a machine whose C library is older than what is compiled needs."""
    libc, version = libc_there
    if needed > numbers(version):
        raise NothingMeasured(
            f"machine {machine}: its C library is {libc} {version}, but the programs of this installation "
            f"need {_dotted(needed)} or newer: use a machine with a newer system, or install a "
            "Loadcurve that was built on one as old as that"
        )


def _dotted(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def _package_for(machine: str, python: Version) -> AgentPackage:
    """Return what is brought to a machine with this Python; refuses it if a package is not available."""
    try:
        return agent_package(python)
    except NotFetched as error:
        own, its = _dotted(HERE), _dotted(python)
        raise NothingMeasured(
            f"machine {machine}: its Python is {its}, but Loadcurve's packages here are compiled for {own}, "
            f"and those for {its} cannot be fetched: {sentence(str(error))} Install python{own} there, or "
            f"run Loadcurve with Python {its} here"
        ) from None
