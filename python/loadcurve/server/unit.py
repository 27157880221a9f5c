"""A unit of systemd: which processes it has, as ``systemctl`` and its control group say."""

import subprocess
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import refusal
from loadcurve.host.cgroups import unified_folder
from loadcurve.server.group import MEMBERS_FILE, members_of_groups
from loadcurve.server.processes import PROC
from loadcurve.server.settings import UnusableSetting

ANSWER_TIMEOUT_S = 5.0
PROPERTIES = ("LoadState", "ActiveState", "SubState", "MainPID", "ControlGroup")
LIVELY_STATES = frozenset({"active", "activating", "reloading"})


@dataclass(frozen=True)
class UnitProcesses:
    """The processes of a unit that runs."""

    pids: Collection[int]
    main_pid: int | None
    group: Path | None
    """Its control group of version 2, where that holds them itself and not in others below it."""


def processes_of_unit(name: str) -> UnitProcesses:
    """Ask systemd, and the kernel, for the processes of a unit: the machine's, or else this user's.

    Raises ``UnusableSetting``: systemd does not answer, or the unit is not there, does not run or has none.
    """
    facts = _shown(name, ())
    if facts.get("LoadState") == "not-found":
        with suppress(UnusableSetting):
            facts = _shown(name, ("--user",))
    if facts.get("LoadState") == "not-found":
        text = f'found "{name}"; systemd has no such unit, see: systemctl list-units --type service'
        raise UnusableSetting("unit", text)
    if facts.get("ActiveState") not in LIVELY_STATES:
        state = f"{facts.get('ActiveState')} ({facts.get('SubState')})"
        raise UnusableSetting(
            "unit", f'found "{name}", which is {state}: start it with systemctl start {name}'
        )
    main = int(facts.get("MainPID") or 0) or None
    folder = unified_folder(facts["ControlGroup"]) if facts.get("ControlGroup") else None
    nested = [] if folder is None else [file.parent for file in folder.rglob(MEMBERS_FILE)]
    pids = members_of_groups(nested) | ({main} if main else set())
    if not pids:
        text = (
            f'found "{name}", which has no process, as a unit that only starts others; expected the unit of '
            "the process that listens"
        )
        raise UnusableSetting("unit", text)
    is_flat = folder is not None and members_of_groups([folder]) >= pids
    return UnitProcesses(pids, main, folder if is_flat else None)


def unit_of(pid: int) -> str | None:
    """Return the name of the service that a process is of, by its control group; ``None`` if of none."""
    try:
        lines = (PROC / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    parts = [part for line in lines for part in line.rpartition(":")[2].split("/")]
    return next((part for part in reversed(parts) if part.endswith(".service")), None)


def _shown(name: str, words: Collection[str]) -> dict[str, str]:
    command = ["systemctl", *words, "show", f"--property={','.join(PROPERTIES)}", "--", name]
    try:
        finished = subprocess.run(  # noqa: S603 -- the system's own program
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        text = "not used: no program systemctl was found on PATH; name the server's main process with pid"
        raise UnusableSetting("unit", text) from None
    except subprocess.TimeoutExpired:
        text = (
            f"systemctl did not answer within {ANSWER_TIMEOUT_S:g} s; name the server's main process with pid"
        )
        raise UnusableSetting("unit", text) from None
    except OSError as error:
        raise UnusableSetting("unit", f"systemctl cannot be run: {refusal(error)}") from None
    if finished.returncode:
        said = " ".join(finished.stderr.decode(errors="replace").split())
        said = said.rstrip(".") or f"it ended with status {finished.returncode}"
        text = f'found "{name}"; systemctl said: {said}; name the server\'s main process with pid'
        raise UnusableSetting("unit", text)
    lines = finished.stdout.decode(errors="replace").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)
