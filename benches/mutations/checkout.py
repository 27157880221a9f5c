"""A copy of the checkout in which product code is broken, and its tests run.

The copy lies in the folder of builds and has its own environment, in which the package is the copy's. It is
made anew each time; what cargo has built of dependencies is kept.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benches.mutations.edits import ROOT, Edit, is_python_test

FOLDER = ROOT / "target" / "mutations"
PACKAGE = Path("python/loadcurve")
UNTRACKED = ("_engine*.so", "native")
"""What is built into the package."""
FIRST_MOMENT_S = 1_000_000_000
"""Compiled modules are known by the second of their source: each writing has another one."""
ENDING_S = 20.0
SHOWN_LINES = 25

Ended = Literal["passed", "failed", "timed_out", "not_built"]


@dataclass(frozen=True)
class Outcome:
    """How a test ended, and the end of what it printed."""

    ended: Ended
    output: str
    took_s: float
    """Of the last command alone: a build before it does not count."""

    @property
    def tail(self) -> str:
        """The last lines."""
        return "\n".join(self.output.splitlines()[-SHOWN_LINES:])


class Checkout:
    """The copy: files are broken in it one by one, and tests are run."""

    def __init__(self, folder: Path, built: Path, timeout_s: float) -> None:
        """Describe the copy in ``folder``, which cargo builds into ``built``."""
        self.folder = folder
        self._built = built
        self.timeout_s = timeout_s
        """A test that takes longer counts as one that fails."""
        self._writings = 0

    @contextmanager
    def broken(self, edit: Edit) -> Iterator[None]:
        """Apply an edit to the copy inside the block.

        Raises ``BadInput``: it cannot be applied.
        """
        file = self.folder / edit.file
        whole = file.read_text(encoding="utf-8")
        broken = edit.applied_to(whole)
        try:
            self._write(file, broken)
            yield
        finally:
            self._write(file, whole)

    def run(self, test: str) -> Outcome:
        """Run a file of Python tests, or the tests of a package of Rust."""
        if is_python_test(test):
            return self.run_python([test])
        return self.run_rust(["--package", *test.split()])

    def run_python(self, arguments: Sequence[str]) -> Outcome:
        """Run Python tests, up to the first that fails."""
        python = self.folder / ".venv" / "bin" / "python"
        return self._run([str(python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments])

    def run_rust(self, arguments: Sequence[str]) -> Outcome:
        """Build and run tests of Rust, up to the first program of tests that fails."""
        command = ["cargo", "test", "--quiet", "--locked", *arguments]
        built = self._run([*command, "--no-run"])
        if built.ended != "passed":
            return Outcome("not_built", built.output, built.took_s)
        return self._run(command)

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        self._writings += 1
        # Cargo goes by whether a source is newer than what was built of it.
        if file.suffix == ".py":
            moment_s = FIRST_MOMENT_S + self._writings
            os.utime(file, (moment_s, moment_s))

    def _run(self, command: Sequence[str]) -> Outcome:
        started_s = time.monotonic()
        with tempfile.TemporaryFile() as output:
            with subprocess.Popen(
                command,
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process:
                timed_out = not _ends_within(process, self.timeout_s)
                if timed_out:
                    _end(process)
            took_s = time.monotonic() - started_s
            output.seek(0)
            text = output.read().decode(errors="replace")
        if timed_out:
            return Outcome("timed_out", text, took_s)
        return Outcome("passed" if process.returncode == 0 else "failed", text, took_s)

    def _environment(self) -> dict[str, str]:
        left_out = {"PYTHONPATH", "PYTEST_ADDOPTS", "VIRTUAL_ENV"}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        programs = os.pathsep.join([str(self.folder / ".venv" / "bin"), os.environ.get("PATH", os.defpath)])
        return {**kept, "PATH": programs, "CARGO_TARGET_DIR": str(self._built)}


@contextmanager
def copied(timeout_s: float) -> Iterator[Checkout]:
    """Yield a new copy of this checkout, with what is not committed; it is gone at the end.

    A test that takes longer than ``timeout_s`` counts as one that fails.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"another process works in {FOLDER}")
        folder = FOLDER / "checkout"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _copy_files(folder)
            _make_environment(folder)
            yield Checkout(folder, FOLDER / "built", timeout_s)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _copy_files(folder: Path) -> None:
    """Copy what git knows or would add, and the native parts; every file is new to cargo."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name]
    built = [path for pattern in UNTRACKED for path in (ROOT / PACKAGE).glob(pattern)]
    if not built:
        sys.exit("the package has no native parts: make setup")
    names += [
        path.relative_to(ROOT)
        for one in built
        for path in (one.rglob("*") if one.is_dir() else [one])
        if not path.is_dir()
    ]
    for name in names:
        # A file that was removed is listed until that is committed.
        if os.path.lexists(ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name, follow_symlinks=False)
            if not (ROOT / name).is_symlink():
                shutil.copymode(ROOT / name, folder / name)


def _make_environment(folder: Path) -> None:
    """Make an environment with what is installed in that of this process, but for the package itself."""
    environment, ours = folder / ".venv", Path(sys.prefix)
    venv.EnvBuilder(symlinks=True).create(environment)
    site_packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    # The files of paths in the second folder are not read, and so not the one that leads to this checkout.
    paths = [folder / "python", Path(sysconfig.get_path("purelib"))]
    (site_packages / "copy.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    for program in (ours / "bin").iterdir():
        place = environment / "bin" / program.name
        if program.name == "loadcurve":
            text = program.read_text(encoding="utf-8").replace(str(ours), str(environment))
            place.write_text(text, encoding="utf-8")
            place.chmod(0o755)
        elif not os.path.lexists(place):
            place.symlink_to(program)


def _ends_within(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what hangs; tests get time to end the servers that they have started."""
    for signal_number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        if _ends_within(process, ENDING_S):
            return
