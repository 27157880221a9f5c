"""The command line that runs something in a container, for every engine the same words."""

import resource
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadcurve.host.cgroups import NO_LIMITS, PERIOD_US, Limits, quota_and_period_us
from loadcurve.redaction import holds_secret, is_secret_variable
from loadcurve.server.container.engine import Engine
from loadcurve.server.location import LOOPBACK
from loadcurve.server.privileges import ServerUser

SYS_RESOURCE = 24
"""The number of the capability that may raise hard limits, see capabilities(7)."""

PROCESSES_MAX = 32_768
"""Podman lowers its own limit to this many processes, and cannot raise it again without the capability."""


@dataclass(frozen=True)
class Mount:
    """A file or a folder of this machine that is found in the container, too."""

    source: Path
    target: Path
    writable: bool = False

    @property
    def words(self) -> tuple[str, str]:
        """The option, with quotes as in CSV, because a path may have a comma."""
        fields = ["type=bind", f"source={self.source}", f"target={self.target}"]
        fields += [] if self.writable else ["readonly"]
        return ("--mount", ",".join(map(_csv_field, fields)))


def _csv_field(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""')) if set(text) & {",", '"'} else text


@dataclass(frozen=True)
class PublishedPort:
    """A port of a private network that is reached on a port of this machine."""

    here: int
    inside: int
    address: str = LOOPBACK
    """Of this machine."""


@dataclass(frozen=True)
class ContainerCommand:
    """What runs in a container, what it finds there and what it is held to."""

    image: str
    argv: Sequence[str]
    name: str | None = None
    network: str = "none"
    published: PublishedPort | None = None
    mounts: Sequence[Mount] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Collection[str] = frozenset()
    """The names of variables that are secret, besides those whose names or values say so."""
    folder: Path | None = None
    """In which it works, as ``user``; ``None`` for the image's own folder and user."""
    user: ServerUser | None = None
    """Of this machine, who works in the folder; ``None`` for who starts it."""
    cpus: Collection[int] | None = None
    limits: Limits = NO_LIMITS
    extra: Sequence[str] = ()
    """What the person says besides."""

    def words(self, engine: Engine) -> list[str]:
        """Return the engine's subcommand, which ends when what runs inside does, with the same status."""
        program, *arguments = self.argv
        return [
            *("run", "--rm", "--pull", "never"),
            # Nothing but the server runs inside, and what it prints comes here alone.
            *("--no-healthcheck", "--log-driver", "none"),
            # With SELinux, the folders of this machine would need other labels.
            *("--security-opt", "label=disable"),
            *("--security-opt", "no-new-privileges"),
            *([] if self.name is None else ["--name", self.name]),
            *("--network", self.network),
            *self._published_words(),
            *self._user_words(engine),
            *own_limits(),
            *self._share_words(),
            *(word for mount in self.mounts for word in mount.words),
            *engine.kind.own_environment,
            *(word for key in self.environment for word in ("--env", self._shown_variable(key))),
            *self.extra,
            *("--entrypoint", program, self.image),
            *arguments,
        ]

    @property
    def variables_of_engine(self) -> dict[str, str]:
        """The variables that the engine takes from its own environment: its command line is seen by all."""
        return {name: value for name, value in self.environment.items() if self._is_secret(name)}

    def _is_secret(self, name: str) -> bool:
        return name in self.secrets or is_secret_variable(name) or holds_secret(self.environment[name])

    def _shown_variable(self, name: str) -> str:
        return name if self._is_secret(name) else f"{name}={self.environment[name]}"

    def _published_words(self) -> list[str]:
        if self.published is None:
            return []
        return ["--publish", f"{self.published.address}:{self.published.here}:{self.published.inside}/tcp"]

    def _user_words(self, engine: Engine) -> list[str]:
        if self.folder is None:
            return []
        ids = None if self.user is None else ":".join(map(str, self.user.ids))
        user = engine.same_user() if ids is None else ["--user", ids]
        return [*user, "--workdir", str(self.folder)]

    def _cpu_words(self, cpus: float) -> list[str]:
        if self.limits.period_us == PERIOD_US:
            return ["--cpus", f"{cpus:g}"]
        quota_us, period_us = quota_and_period_us(cpus, self.limits.period_us)
        return ["--cpu-period", str(period_us), "--cpu-quota", str(quota_us)]

    def _share_words(self) -> list[str]:
        words = []
        if self.cpus is not None:
            words += ["--cpuset-cpus", ",".join(map(str, sorted(self.cpus)))]
        if self.limits.cpus is not None:
            words += self._cpu_words(self.limits.cpus)
        if self.limits.memory_bytes is not None:
            # As much memory with swap as without means no swap.
            memory = f"{self.limits.memory_bytes}b"
            words += ["--memory", memory, "--memory-swap", memory]
        return words


def own_limits() -> list[str]:
    """Return the words that give a container the limits of this process, as a child of it would have them."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes = resource.getrlimit(resource.RLIMIT_NPROC)
    if not _may_raise_limits():
        processes = (_at_most(processes[0], PROCESSES_MAX), _at_most(processes[1], PROCESSES_MAX))
    return [
        *("--ulimit", f"nofile={_limit_words(files)}"),
        *("--ulimit", f"nproc={_limit_words(processes)}"),
        *("--pids-limit", "-1"),
    ]


def _at_most(limit: int, most: int) -> int:
    return most if limit == resource.RLIM_INFINITY else min(limit, most)


def _limit_words(limits: tuple[int, int]) -> str:
    return ":".join("-1" if limit == resource.RLIM_INFINITY else str(limit) for limit in limits)


def _may_raise_limits() -> bool:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) & (1 << SYS_RESOURCE))
