"""What goes before a start in the private folder, such as making an empty database."""

import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from loadcurve.server.environment import environment_of_servers
from loadcurve.server.failure import ServerFailure
from loadcurve.server.privileges import ServerUser, confined
from loadcurve.server.spawn import run_to_its_end

PREPARE_LOG = "prepare.log"
"""The file beside the private folder that takes what the command prints."""

PREPARE_TIMEOUT_S = 120.0


def prepare(
    title: str,
    argv: Sequence[str],
    folder: Path,
    log: Path,
    *,
    user: ServerUser | None,
    cpus: Collection[int] | None,
    environment: Mapping[str, str],
    interrupted: Callable[[], bool],
) -> None:
    """Run the command that goes before a start, on the server's CPUs, to its end or to an interrupt.

    Raises:
        BadInput: the CPUs cannot be had.
        OSError: the command cannot be started.
        ServerFailure: it failed ("not_prepared"), with what it printed.

    """
    status = run_to_its_end(
        [*confined(user), *argv],
        folder,
        log,
        cpus=cpus,
        environment=environment_of_servers(environment),
        interrupted=interrupted,
        timeout_s=PREPARE_TIMEOUT_S,
    )
    if status == 0:
        return
    killed = f"did not end within {PREPARE_TIMEOUT_S:g} s"
    how = killed if status == -signal.SIGKILL else f"ended with status {status}"
    said = log.read_text(encoding="utf-8", errors="replace").strip()
    raise ServerFailure("not_prepared", f"{title} was not started: its prepare command {how}.", said)
