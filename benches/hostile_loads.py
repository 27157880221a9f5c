"""Loads on servers that do harm: whether each ends in time, names what was wrong, and takes little memory.

For every behaviour a row says how the command ended, how much longer than the timeout and a load on a good
server that took, and how much memory beyond such a one.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from benches.rig import LOADCURVE, machine, named_with

Manners = TypeVar("Manners")
"""What a campaign has of each behaviour."""

GRACE_S = 5.0
"""What more than the timeout a load may take, on a machine that may be busier than at the good one."""
MEMORY_MIB = 48.0
"""What a load may take beyond one on a good server."""
CONNECTIONS = 4
STREAMS = 100
UPLOAD_BYTES = 64 << 20

Words = Callable[[str, int, Path], list[object]]
"""The URL and options of the load for a behaviour, on a server at this port, with a folder for its files."""


def upload(folder: Path) -> list[object]:
    """Return the options of a load that sends a long body with each request, from a file of this folder."""
    body = folder / "body"
    with body.open("wb") as file:
        file.truncate(UPLOAD_BYTES)
    return ["-X", "POST", "--body", f"@{body}"]


@dataclass(frozen=True)
class Ended:
    """How a load ended."""

    said: str
    took_s: float
    peak_mib: float
    is_named: bool
    """Whether it says what was wrong, or measured what there was."""


@dataclass(frozen=True)
class Limits:
    """What loads are given."""

    timeout_s: float
    duration_s: float


@dataclass(frozen=True)
class Hostility(Generic[Manners]):
    """Servers that do harm in one protocol, and the loads on them."""

    good: Manners
    """Of a server that does none."""
    bad: Mapping[str, Manners]
    """By what they are called."""
    running: Callable[[Manners], AbstractContextManager[int]]
    """Runs a server of these manners for as long as the block lasts, and gives its port."""
    words: Words


def load_on(behaviour: str, hostility: Hostility[Manners], limits: Limits) -> Ended:
    """Put a load on a server of this behaviour, or on a good one for none, by the real command."""
    manners = hostility.bad[behaviour] if behaviour else hostility.good
    with hostility.running(manners) as port, tempfile.TemporaryDirectory() as folder:
        peak = Path(folder) / "peak"
        command: list[object] = [sys.executable, "-m", "benches.peak_memory", peak, LOADCURVE, "load"]
        command += [*hostility.words(behaviour, port, Path(folder)), "-t", 1, "--json"]
        command += ["-d", f"{limits.duration_s}s", "--timeout", f"{limits.timeout_s}s"]
        began_s = time.monotonic()
        ended = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=False, timeout=120
        )
        took_s = time.monotonic() - began_s
        said, is_named = _said(ended)
        return Ended(said, took_s, int(peak.read_text()) / 2**20, is_named)


def _said(ended: subprocess.CompletedProcess[str]) -> tuple[str, bool]:
    """Return how a command ended in words, and whether it says what was wrong or measured what there was."""
    is_named = ended.returncode in {0, 3, 4} and "Traceback" not in ended.stderr
    if not ended.stdout:
        return f"exit {ended.returncode}: {ended.stderr.strip()}", is_named
    result = json.loads(ended.stdout)
    requests = result["requests"]
    facts = {"answered": requests["answered"], "moved": requests["moved"], **result["errors"]}
    said = [f"{count} {name}" for name, count in facts.items() if count]
    said += [message["text"] for message in result["error_messages"][:1]]
    is_accounted_for = requests["due"] == sum(
        requests[fate] for fate in ("answered", "failed", "unanswered", "never_sent")
    )
    return f"exit {ended.returncode}: {', '.join(said)}", is_named and is_accounted_for


@dataclass(frozen=True)
class Row:
    """How a load ended, beside one on a good server."""

    behaviour: str
    ended: Ended
    over_s: float
    """Its time over the timeout and that of a good one, at whose start the machine was as busy, or less."""
    more_mib: float

    @property
    def is_good(self) -> bool:
        """Whether it ended in time, as it should, and in little memory."""
        ended = self.ended
        return ended.is_named and self.over_s <= GRACE_S and self.more_mib <= MEMORY_MIB

    def print(self) -> None:
        """Print it as a line of the table."""
        mark = "" if self.is_good else "WRONG "
        said = " ".join(self.ended.said.split())[:120]
        print(f"{mark}{self.behaviour:<46} {self.over_s:>+6.2f} s {self.more_mib:>+7.1f} MiB  {said}")


def try_all(about: str | None, hostility: Hostility[Manners]) -> None:
    """Print the table of all behaviours, or of those that are asked for; end with 1 where a row is bad."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--timeout", type=float, default=1.0, metavar="SECONDS", help="of each request")
    parser.add_argument("--duration", type=float, default=2.0, metavar="SECONDS", help="of each load")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="how many loads at once")
    parser.add_argument("--only", default="", metavar="TEXT", help="behaviours with this text in their names")
    arguments = parser.parse_args()
    limits = Limits(arguments.timeout, arguments.duration)
    print(machine())
    with ThreadPoolExecutor(arguments.at_once) as pool:
        usual = list(pool.map(lambda _: load_on("", hostility, limits), range(arguments.at_once)))
    usual_s, usual_mib = max(one.took_s for one in usual), min(one.peak_mib for one in usual)
    print(f"a good server: {usual_s:.1f} s, {usual_mib:.1f} MiB, {usual[0].said}")
    if not usual[0].said.startswith("exit 0"):
        sys.exit("the load on a good server failed, so that there is nothing to compare others with")

    def row_of(behaviour: str) -> Row:
        ended = load_on(behaviour, hostility, limits)
        over_s = ended.took_s - usual_s - limits.timeout_s
        row = Row(behaviour, ended, over_s, ended.peak_mib - usual_mib)
        row.print()
        return row

    behaviours = named_with(arguments.only, hostility.bad)
    with ThreadPoolExecutor(arguments.at_once) as pool:
        rows = list(pool.map(row_of, behaviours))
    bad = [row for row in rows if not row.is_good]
    print(f"\n{len(rows)} behaviours, {len(bad)} not as they should be")
    print(
        f"at most {max(row.more_mib for row in rows):.1f} MiB more than a good one, goal {MEMORY_MIB:g} MiB"
    )
    print(f"at most {max(row.over_s for row in rows):.2f} s over the timeout, goal {GRACE_S:g} s")
    sys.exit(1 if bad else 0)
