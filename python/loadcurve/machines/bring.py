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

from loadcurve.errors import NothingMeasured
from loadcurve.machines.messages import Message

PACKAGE_FOLDER = Path(__file__).parents[1]
BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
LEFT_OUT = frozenset({"__pycache__", "studies", "report", "target"})
"""Folders that no role needs."""
DEPENDENCIES = (
    *("annotated-types", "jinja2", "markupsafe", "pydantic", "pydantic-core"),
    *("typing-extensions", "typing-inspection"),
)
"""The packages that roles import."""
PART_BYTES = 1 << 16
DIGEST_DIGITS = 16
ROOM_FACTOR = 2
"""How many times what is brought must be free: the archive, and what is in it."""
OLDEST_PYTHON = (3, 11)
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
    files = dict(_files())
    _require_fit(machine, found, files)
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


def _require_fit(machine: str, found: Message, files: Mapping[str, Path]) -> None:
    """Refuse a machine on which what is compiled for this one does not run."""
    here, there = sys.version_info[:2], tuple(found["python"][:2])
    own, its = (".".join(map(str, version)) for version in (here, there))
    if there < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        raise NothingMeasured(
            f"machine {machine}: its python3 is {its}; {oldest} or newer is required: install python{own} "
            "there"
        )
    if found["processor"] != platform.machine():
        raise NothingMeasured(
            f"machine {machine}: its processor is {found['processor']}, but Loadcurve's programs here are "
            f"compiled for {platform.machine()}. Run Loadcurve on a machine with the same processor"
        )
    libc, version = found["libc"]
    if libc != platform.libc_ver()[0]:
        raise NothingMeasured(
            f"machine {machine}: its C library is {libc or 'an unknown one'}, but Loadcurve's "
            f"programs here are compiled for {platform.libc_ver()[0]}"
        )
    if (needed := glibc_needed(files.values())) > _numbers(version):
        raise NothingMeasured(
            f"machine {machine}: its C library is {libc} {version}, but the programs of this installation "
            f"need {'.'.join(map(str, needed))} or newer: use a machine with a newer system, or install a "
            "Loadcurve that was built on one as old as that"
        )
    if there != here:
        raise NothingMeasured(
            f"machine {machine}: its Python is {its}, but Loadcurve's packages here are compiled for {own}: "
            f"install python{own} there, or run Loadcurve with Python {its} here"
        )


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


def _files() -> Iterator[tuple[str, Path]]:
    """Yield what is brought: the name there, and the file here."""
    for file in sorted(PACKAGE_FOLDER.rglob("*")):
        inside = file.relative_to(PACKAGE_FOLDER)
        if file.is_file() and not LEFT_OUT & set(inside.parts) and not file.name.endswith(".new"):
            yield f"{PACKAGE_FOLDER.name}/{inside.as_posix()}", file
    yield from _installed("loadcurve", ("METADATA",))
    for package in DEPENDENCIES:
        yield from _installed(package)


def _installed(package: str, names: Sequence[str] = ()) -> Iterator[tuple[str, Path]]:
    """Yield the files of an installed package, or those with these names alone."""
    for file in metadata.distribution(package).files or []:
        if ".." in file.parts or "__pycache__" in file.parts or (names and file.name not in names):
            continue
        yield file.as_posix(), Path(str(file.locate()))


def _digest(files: dict[str, Path]) -> str:
    digest = hashlib.sha256()
    for name, file in files.items():
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(f"{name}\0{content}\n".encode())
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
