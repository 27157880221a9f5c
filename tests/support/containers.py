"""A place for the containers of tests, and a small root filesystem of this machine's own programs.

Podman has a store for the tests alone. With ``CONTAINER_ENGINE=docker`` the same tests run in the Docker of
this machine, which must have no containers of others.
"""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadcurve.server.container.command import ContainerCommand
from loadcurve.server.container.engine import Engine
from loadcurve.server.container.image import RootFilesystem
from loadcurve.server.found import NATIVE_FOLDER

SEARCH_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
USERS = "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
GROUPS = "root:x:0:\nnogroup:x:65534:\nnobody:x:65534:\n"


@dataclass(frozen=True)
class Containers:
    """What runs the containers of a test, and a root filesystem for them."""

    engine: Engine
    rootfs: Path
    """Holds `sh`, `readlink`, /opt/loadcurve-server and, where it is installed, nginx."""

    @property
    def keys(self) -> str:
        """What a server's table of a study says to run in such a container."""
        arguments = ", ".join(f'"{word}"' for word in self.engine.arguments)
        return f'engine = "{self.engine.name}"\nrootfs = "{self.rootfs}"\nengine_arguments = [{arguments}]'

    def require_private_network(self) -> None:
        """Skip the test, with the engine's own words, where it can give a container no separate network."""
        self._try(self.engine.kind.private_network)

    def require_that_it_runs(self) -> None:
        """Skip the test, with the engine's own words, where it can run no container."""
        self._try()

    def _try(self, network: str = "host") -> None:
        image = RootFilesystem(self.rootfs).image(self.engine, print)
        attempt = ContainerCommand(image.id, ["sh", "-c", "exit 0"], network=network)
        tried = self.engine.finished(attempt.words(self.engine))
        if tried.returncode != 0:
            said = tried.stderr.decode(errors="replace").strip()
            name = self.engine.name
            pytest.skip(f"{name} cannot run a container on the network {network} here: {said}")

    def names(self) -> list[str]:
        """Return the names of all containers, ended ones too."""
        return self.engine.answer("ps", "--all", "--format", "{{.Names}}").split()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Wait until no other process has a file locked, and lock it for the length of the block."""
    with file.open("w") as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def open_containers(lock: Path) -> Iterator[Containers]:
    """Yield a place for containers that is gone at the end; skip where the engine cannot run any.

    It is used while the file ``lock`` is locked.
    """
    chosen = os.environ.get("CONTAINER_ENGINE", "podman")
    engine = Engine("docker" if chosen == "docker" else "podman")
    if not engine.is_installed():
        packages = " ".join(engine.kind.packages.debian)
        pytest.skip(f"needs {engine.name}, which is not installed; on Debian: apt-get install {packages}")
    with tempfile.TemporaryDirectory(prefix="loadcurve-containers-") as name:
        folder = Path(name)
        # The containers' programs run as other users.
        folder.chmod(0o755)
        if engine.name == "podman":
            engine = Engine("podman", ("--root", f"{folder}/store", "--runroot", f"{folder}/run"))
        rootfs = folder / "rootfs"
        make_root_filesystem(rootfs)
        containers = Containers(engine, rootfs)
        try:
            with locked(lock):
                containers.require_that_it_runs()
            yield containers
        finally:
            with locked(lock):
                if engine.name == "podman":
                    # Removes the files of the store as the user who owns them inside.
                    engine.finished(["rmi", "--all", "--force"])
                else:
                    engine.finished(["rmi", "--force", RootFilesystem(rootfs).image(engine, print).id])


def make_root_filesystem(folder: Path) -> None:
    """Copy some of this machine's programs, with the libraries that they are linked with."""
    for name in ("bin", "dev", "etc", "proc", "sys", "tmp", "run", "opt", "var/log/nginx", "var/lib/nginx"):
        (folder / name).mkdir(parents=True)
    (folder / "etc/passwd").write_text(USERS)
    (folder / "etc/group").write_text(GROUPS)
    _copy_program("sh", folder / "bin/sh")
    _copy_program("readlink", folder / "bin/readlink")
    _copy_program(str(NATIVE_FOLDER / "loadcurve-server"), folder / "opt/loadcurve-server")
    if shutil.which("nginx", path=SEARCH_PATH):
        _copy_program("nginx", folder / "usr/sbin/nginx")


def _copy_program(name: str, target: Path) -> None:
    program = shutil.which(name, path=SEARCH_PATH) or name
    root = next(parent for parent in target.parents if (parent / "etc/passwd").exists())
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, target)
    for library in _libraries(program):
        place = root / library.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)


def _libraries(program: str) -> Sequence[Path]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", listed)]
