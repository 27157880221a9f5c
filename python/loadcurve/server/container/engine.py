"""The programs that run containers, whose command lines use the same words: podman and docker."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadcurve.server.install import Packages
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.container import EngineName

ANSWER_TIMEOUT_S = 60.0
REMOVE_TIMEOUT_S = 15.0
POLL_S = 0.05


@dataclass(frozen=True)
class EngineKind:
    """In what the engines differ."""

    version: str
    """What of its version says whether it can be used, as a template of Go."""
    ordinary_user: tuple[str, ...]
    """Words of ``run`` by which an ordinary user is the same user inside, with ``{user}`` and ``{group}``."""
    private_network: str
    """The network of ``run`` that is the container's own."""
    own_environment: tuple[str, ...]
    """Words of ``run`` by which nothing of the engine's own environment reaches the container."""
    packages: Packages


KINDS: dict[EngineName, EngineKind] = {
    "podman": EngineKind(
        version="{{.Client.Version}}",
        ordinary_user=("--userns", "keep-id"),
        private_network="private",
        own_environment=("--http-proxy=false",),
        packages=Packages(
            debian=["podman"], fedora=["podman"], arch=["podman"], alpine=["podman"], suse=["podman"]
        ),
    ),
    "docker": EngineKind(
        version="{{.Server.Version}}",
        ordinary_user=("--user", "{user}:{group}"),
        private_network="bridge",
        own_environment=(),
        packages=Packages(
            debian=["docker.io"], fedora=["moby-engine"], arch=["docker"], alpine=["docker"], suse=["docker"]
        ),
    ),
}


class EngineError(Exception):
    """A subcommand of the engine failed; the text says which, and ``said`` is what it printed."""

    def __init__(self, text: str, said: str) -> None:
        """Make the failure of one subcommand."""
        super().__init__(text)
        self.said = said


@dataclass(frozen=True)
class Engine:
    """One engine with the options before each of its subcommands."""

    name: EngineName
    arguments: tuple[str, ...] = ()

    @property
    def kind(self) -> EngineKind:
        """In what it differs from the others."""
        return KINDS[self.name]

    def same_user(self) -> list[str]:
        """Return the words of ``run`` by which who starts a container is the same user inside."""
        user = os.geteuid()
        words = ("--user", "0:0") if user == 0 else self.kind.ordinary_user
        return [word.format(user=user, group=os.getegid()) for word in words]

    @property
    def words(self) -> tuple[str, ...]:
        """The words before a subcommand."""
        return (self.name, *self.arguments)

    def is_installed(self) -> bool:
        """Say whether its program is on PATH."""
        return shutil.which(self.name) is not None

    def version(self) -> str:
        """Return its version; raises EngineError where it cannot be used."""
        return self.answer("version", "--format", self.kind.version)

    def finished(
        self,
        words: Sequence[str],
        timeout_s: float | None = ANSWER_TIMEOUT_S,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a subcommand to its end, with further variables in the engine's environment.

        Raises:
            OSError: the engine's program cannot be run.
            TimeoutExpired: it did not end in time.

        """
        return subprocess.run(  # noqa: S603 -- the engine's own words
            [*self.words, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, **(variables or {})},
            timeout=timeout_s,
            check=False,
        )

    def answer(self, *words: str, timeout_s: float | None = ANSWER_TIMEOUT_S) -> str:
        """Return what a subcommand printed; raises EngineError where it failed."""
        asked = f"`{' '.join([*self.words, *words[:2]])}`"
        try:
            finished = self.finished(words, timeout_s)
        except OSError as error:
            raise EngineError(f"{asked} cannot be run: {error.strerror}", "") from None
        except subprocess.TimeoutExpired:
            raise EngineError(f"{asked} did not end within {timeout_s:g} s", "") from None
        if finished.returncode != 0:
            said = (finished.stdout + finished.stderr).decode(errors="replace").strip()
            raise EngineError(f"{asked} ended with status {finished.returncode}", said)
        return finished.stdout.decode(errors="replace").strip()

    def image(self, name: str) -> dict[str, Any] | None:
        """Return what the engine knows of an image; ``None`` where it has none of this name.

        Raises ``EngineError``: it does not answer.
        """
        return self._inspected("image", name)

    def container(self, name: str) -> dict[str, Any] | None:
        """Return what the engine knows of a container; ``None`` where it has none of this name.

        Raises ``EngineError``: it does not answer.
        """
        return self._inspected("container", name)

    def remove_container(self, name: str) -> bool:
        """Kill a container and remove it; returns whether there was one.

        Raises ``EngineError``: it is still there.
        """
        existed = False
        deadline = time.monotonic() + REMOVE_TIMEOUT_S
        # Podman knows nothing of a container that it has half removed, but for its name.
        while name in self.answer("ps", "--all", "--format", "{{.Names}}").split():
            existed = True
            failure = EngineError(f"the container {name} could not be removed", "")
            try:
                # Podman's `rm --force` alone would first ask the container to stop, and wait.
                self._kill(name)
                self.answer("rm", "--force", "--volumes", name)
            except EngineError as error:
                # One that is being removed already may refuse, and then it is gone a moment later.
                failure = error
            if time.monotonic() > deadline:
                raise failure
            time.sleep(POLL_S)
        return existed

    def _kill(self, name: str) -> None:
        """Kill a container; one that does not run is no error."""
        with contextlib.suppress(EngineError):
            self.answer("kill", name)

    def _inspected(self, what: str, name: str) -> dict[str, Any] | None:
        try:
            described = json.loads(self.answer(what, "inspect", name))
        except EngineError as failure:
            if any(words in failure.said.lower() for words in ("no such", "not known")):
                return None
            raise
        facts: dict[str, Any] = described[0]
        return facts


def first_process_of(name: str, engines: Sequence[Engine]) -> tuple[str, int]:
    """Return the engine that knows a container, and the id of the container's first process.

    Raises ``UnusableSetting``: no engine knows it, or it does not run.
    """
    installed = [engine for engine in engines if engine.is_installed()]
    if not installed:
        named = " or ".join(engine.name for engine in engines)
        raise UnusableSetting("container", f"not used: no program {named} was found on PATH")
    troubles, asked = [], []
    for engine in installed:
        try:
            facts = engine.container(name)
        except EngineError as error:
            troubles.append(f"{error}{': ' if error.said else ''}{error.said}")
            continue
        asked.append(engine.name)
        if facts is not None:
            return engine.name, _pid(name, engine, facts["State"])
    # An engine whose service does not run has no containers that do.
    found = "; ".join(troubles)
    if asked:
        found = f"there is no such container by {' and '.join(asked)}, see: {asked[0]} ps"
    raise UnusableSetting("container", f'found "{name}"; {found}')


def _pid(name: str, engine: Engine, state: dict[str, object]) -> int:
    pid = int(str(state.get("Pid") or 0))
    if not pid:
        status = state.get("Status") or "not running"
        text = f'found "{name}", which is {status}: start it with {engine.name} start {name}'
        raise UnusableSetting("container", text)
    return pid
