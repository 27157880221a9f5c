"""Bringing the agent to a machine that lacks it: this package and what it needs, once for each version."""

import base64
import gzip
import hashlib
import io
import json
import platform
import re
import shlex
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from loadcurve.errors import NothingMeasured, sentence
from loadcurve.files import sha256_of
from loadcurve.machines.messages import Message
from loadcurve.machines.wheels import NotFetched, Version, files_for

PACKAGE_FOLDER = Path(__file__).parents[1]
BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
LEFT_OUT = frozenset({"__pycache__", "studies", "report", "target"})
"""Folders that no role needs."""
DEPENDENCIES = (
    *("annotated-types", "jinja2", "markupsafe", "pydantic", "pydantic-core"),
    *("typing-extensions", "typing-inspection"),
)
"""The packages that roles import."""
FOR_ONE_PYTHON = re.compile(r"\.cpython-\d+[^/]*\.so$")
"""What is compiled for one minor version; what is for all of them (abi3) has another name."""
RUNS_WITHOUT = frozenset({"markupsafe"})
"""Packages that have the same in Python, for where what is compiled does not fit."""
PART_BYTES = 1 << 16
DIGEST_DIGITS = 16
ROOM_FACTOR = 2
"""How many times what is brought must be free: the archive, and what is in it."""
OLDEST_PYTHON = (3, 11)
HERE: Version = sys.version_info[:2]
ELF = b"\x7fELF"
GLIBC = re.compile(rb"GLIBC_(\d+\.\d+)\0")

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


def brought(machine: str, found: Message, send: Send) -> None:
    """Answer the bootstrap of a machine: bring what it lacks, and let it go on.

    Raises ``NothingMeasured``: it cannot run what would be brought, or has no room for it; says what to do.
    """
    _require_fit(machine, found)
    major, minor = map(int, found["python"][:2])
    files = _files_for(machine, (major, minor))
    _require_libc(machine, found["libc"], files)
    name = _digest(files)
    archive = b"" if name in found["there"] else _archive(files)
    needed = ROOM_FACTOR * sum(file.stat().st_size for file in files.values())
    if archive and found["free_bytes"] < needed:
        raise NothingMeasured(
            f"machine {machine}: {found['folder']} has {found['free_bytes'] >> 20:,} MiB free, but "
            f"Loadcurve's files need {needed >> 20:,} MiB: free some space there, or set XDG_CACHE_HOME "
            "for its logins"
        )
    send(json.dumps({"name": name, "bytes": len(archive)}).encode() + b"\n")
    for start in range(0, len(archive), PART_BYTES):
        send(archive[start : start + PART_BYTES])


def _require_fit(machine: str, found: Message) -> None:
    """Refuse a machine on which what is compiled for this one does not run."""
    there = tuple(found["python"][:2])
    if there < OLDEST_PYTHON:
        oldest, own, its = (_dotted(version) for version in (OLDEST_PYTHON, HERE, there))
        raise NothingMeasured(
            f"machine {machine}: its python3 is {its}; {oldest} or newer is required: install python{own} "
            "there"
        )
    if found["processor"] != platform.machine():
        raise NothingMeasured(
            f"machine {machine}: its processor is {found['processor']}, but Loadcurve's programs here are "
            f"compiled for {platform.machine()}. Run Loadcurve on a machine with the same processor"
        )
    libc, _ = found["libc"]
    if libc != platform.libc_ver()[0]:
        raise NothingMeasured(
            f"machine {machine}: its C library is {libc or 'an unknown one'}, but Loadcurve's "
            f"programs here are compiled for {platform.libc_ver()[0]}"
        )


def _require_libc(machine: str, libc_there: Sequence[str], files: Mapping[str, Path]) -> None:
    """Refuse a machine whose C library is older than what is compiled needs."""
    libc, version = libc_there
    if (needed := glibc_needed(files.values())) > _numbers(version):
        raise NothingMeasured(
            f"machine {machine}: its C library is {libc} {version}, but the programs of this installation "
            f"need {_dotted(needed)} or newer: use a machine with a newer system, or install a "
            "Loadcurve that was built on one as old as that"
        )


def _dotted(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def glibc_needed(files: Iterable[Path]) -> tuple[int, ...]:
    """Return the oldest version of the GNU C library with which compiled files can run; nothing without any.

    A symbol that a program takes from the library is named with the version that brought it, such as
    ``GLIBC_2.34``, and the dynamic loader refuses a program that names one that is not there.
    """
    versions = {found for file in files if _is_compiled(file) for found in GLIBC.findall(file.read_bytes())}
    return max((_numbers(version.decode()) for version in versions), default=())


def _is_compiled(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(ELF)) == ELF


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _files_for(machine: str, python: Version) -> dict[str, Path]:
    """Return what is brought to a machine with this Python; refuses it if a package is not available."""
    try:
        return dict(_files(python))
    except NotFetched as error:
        own, its = _dotted(HERE), _dotted(python)
        raise NothingMeasured(
            f"machine {machine}: its Python is {its}, but Loadcurve's packages here are compiled for {own}, "
            f"and those for {its} cannot be fetched: {sentence(str(error))} Install python{own} there, or "
            f"run Loadcurve with Python {its} here"
        ) from None


def _files(python: Version) -> Iterator[tuple[str, Path]]:
    """Yield what is brought for a Python: the name there, and the file here."""
    for file in sorted(PACKAGE_FOLDER.rglob("*")):
        inside = file.relative_to(PACKAGE_FOLDER)
        if file.is_file() and not LEFT_OUT & set(inside.parts) and not file.name.endswith(".new"):
            yield f"{PACKAGE_FOLDER.name}/{inside.as_posix()}", file
    yield from _installed("loadcurve", ("METADATA",))
    for package in DEPENDENCIES:
        files = dict(_installed(package))
        is_for_one = any(FOR_ONE_PYTHON.search(name) for name in files)
        if python != HERE and is_for_one and package not in RUNS_WITHOUT:
            files = files_for(package, metadata.version(package), python)
        yield from files.items()


def _installed(package: str, names: Sequence[str] = ()) -> Iterator[tuple[str, Path]]:
    """Yield the files of an installed package, or those with these names alone."""
    for file in metadata.distribution(package).files or []:
        if ".." in file.parts or "__pycache__" in file.parts or (names and file.name not in names):
            continue
        yield file.as_posix(), Path(str(file.locate()))


def _digest(files: dict[str, Path]) -> str:
    digest = hashlib.sha256()
    for name, file in files.items():
        digest.update(f"{name}\0{sha256_of(file)}\n".encode())
    return digest.hexdigest()[:DIGEST_DIGITS]


def _archive(files: dict[str, Path]) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as compressed,
        tarfile.open(fileobj=compressed, mode="w|") as archive,
    ):
        for name, file in files.items():
            archive.add(file, name)
    return packed.getvalue()
