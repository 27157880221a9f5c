"""What is brought to a machine for the agent: this package and what it needs, for one version of Python."""

import gzip
import hashlib
import io
import re
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from threading import Lock

from loadcurve.files import sha256_of
from loadcurve.machines.wheels import Version, files_for

PACKAGE_FOLDER = Path(__file__).parents[1]
LEFT_OUT = frozenset({"__pycache__", "studies", "report", "target"})
"""Folders that no role needs."""
DEPENDENCIES = (
    *("annotated-types", "jinja2", "markupsafe", "pydantic", "pydantic-core"),
    *("typing-extensions", "typing-inspection"),
)
"""The packages that roles import."""
FOR_ONE_PYTHON = re.compile(r"\.cpython-\d++[^/.]*\.so$")
"""What is compiled for one minor version; what is for all of them (abi3) has another name."""
RUNS_WITHOUT = frozenset({"markupsafe"})
"""Packages that have the same in Python, for where what is compiled does not fit."""
DIGEST_DIGITS = 16
HERE: Version = sys.version_info[:2]
ELF = b"\x7fELF"
GLIBC = re.compile(rb"GLIBC_(\d+\.\d+)\0")


_MAKING = Lock()
"""Several machines are reached at once, and the first of them makes what all of them get."""


@dataclass(frozen=True)
class AgentPackage:
    """The files that are brought, and what is known of them."""

    files: Mapping[str, Path]
    """By their names there."""
    name: str
    """Of the files' names and contents: another version of any of them has another name."""
    size_bytes: int
    """What the files take where they are unpacked."""
    glibc: tuple[int, ...]
    """The oldest version of the GNU C library with which they run."""

    def archive(self) -> bytes:
        """Return a tar archive of the files, compressed by gzip; made once."""
        with _MAKING:
            return self._archive

    @cached_property
    def _archive(self) -> bytes:
        packed = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as compressed,
            tarfile.open(fileobj=compressed, mode="w|") as archive,
        ):
            for name, file in self.files.items():
                archive.add(file, name)
        return packed.getvalue()


def agent_package(python: Version) -> AgentPackage:
    """Return what is brought to machines with this Python; made once, however many machines there are.

    Raises ``NotFetched``: a package for that Python is not available here.
    """
    with _MAKING:
        return made_package(python)


@cache
def made_package(python: Version) -> AgentPackage:
    """Read the files; :func:`agent_package` is for several threads."""
    files = dict(_files(python))
    size_bytes = sum(file.stat().st_size for file in files.values())
    return AgentPackage(files, _digest(files), size_bytes, glibc_needed(files.values()))


def glibc_needed(files: Iterable[Path]) -> tuple[int, ...]:
    """Return the oldest version of the GNU C library with which compiled files can run; nothing without any.

    A symbol that a program takes from the library is named with the version that brought it, such as
    ``GLIBC_2.34``, and the dynamic loader refuses a program that names one that is not there.
    """
    versions = {found for file in files if _is_compiled(file) for found in GLIBC.findall(file.read_bytes())}
    return max((numbers(version.decode()) for version in versions), default=())


def _is_compiled(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(ELF)) == ELF


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers in a version, in their order."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


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


def _digest(files: Mapping[str, Path]) -> str:
    digest = hashlib.sha256()
    for name, file in files.items():
        digest.update(f"{name}\0{sha256_of(file)}\n".encode())
    return digest.hexdigest()[:DIGEST_DIGITS]
