"""The mistakes of a first hour with one's own application: when each is named, and in which words.

``python -m benches.first_hour [--only NAME]``

Each is made in a separate folder, by `loadcurve run study.toml --quick` on a study of seven lines, and by
`loadcurve init --command`, which is given no path. Printed is the time from the start of the command to the
line that names the mistake, and what was said from there on. Each must be named within 5 s; the command
ends with 1 where one was not. What other work on the machine takes is in the times.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benches.rig import LOADCURVE, machine

GOAL_S = 5.0
LINES_SHOWN = 12
LATE_S = 8.0
"""How long the application takes that listens late: longer than anybody waits without a word."""
STUDY = """\
title = "Mine"
load = {{ model = "closed", requests = ["{path}"], duration = "1s" }}
sweep.connections = [1, 2]
[servers.mine]
start = {start}
version = "1"
"""
APP = """\
import http.server, socket, sys, time
{before}

class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/products" else 404)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"pen")

class Server(http.server.ThreadingHTTPServer):
    address_family = {family}

Server(({address!r}, {port}), Shop).serve_forever()
"""
RIGHT = ("", "int(sys.argv[1])")
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
"""Where root starts it, it becomes another user, who may not enter root's own folders."""


@dataclass(frozen=True)
class Mistake:
    """One mistake: the files of the application, how it is started, and what must be said."""

    named: str
    """By which the line is known that names it, as a regular expression."""
    start: str
    files: Mapping[str, str] = field(default_factory=dict)
    path: str = "/products"
    named_by_init: str | None = None
    """What ``init`` says, where that is something else; "" where it is no mistake there."""


def app(before: str = RIGHT[0], port: str = RIGHT[1], address: str = "127.0.0.1") -> dict[str, str]:
    """Return the application, with what it does first, and where it listens."""
    family = "socket.AF_INET6" if ":" in address else "socket.AF_INET"
    return {"app.py": APP.format(before=before, port=port, address=address, family=family)}


MISTAKES = {
    "wrong port": Mistake(r"listens on port \d+, and not on", f"{PYTHON} app.py {{port}}", app(port="0")),
    "an address of IPv6 alone": Mistake(
        "listens at ::1, and not at 127.0.0.1", f"{PYTHON} app.py {{port}}", app(address="::1")
    ),
    "wrong path of the program": Mistake("there is no program .*/ap.py", "./ap.py {port}", app()),
    "an environment that is not active": Mistake(
        r"lacks the package shop.*\.venv/bin/python3",
        f"{Path(PYTHON).name} app.py {{port}}",
        {**app(before="import shop"), f".venv/bin/{Path(PYTHON).name}": "#!/bin/sh\n"},
        # It takes the program of the environment by itself, and this one ends at once.
        named_by_init="",
    ),
    "listens late": Mistake(
        "is not ready after 2 s", f"{PYTHON} app.py {{port}}", app(before=f"time.sleep({LATE_S})")
    ),
    "answers late": Mistake(
        r"does not answer GET /\S* .* yet",
        f"{PYTHON} app.py {{port}}",
        {"app.py": app()["app.py"].replace("do_GET(self):", f"do_GET(self):\n        time.sleep({LATE_S})")},
        named_by_init="is not ready after 2 s",
    ),
    "goes into the background": Mistake(
        "still runs in the background", f"sh -c '{PYTHON} app.py $0 & ' {{port}}", app()
    ),
    "missing module": Mistake("ended with status 1 before it was ready", f"{PYTHON} -m shop {{port}}"),
    "status 126": Mistake("status 126", "sh -c './app.py $0' {port}", app()),
    "404": Mistake(
        "status 404", f"{PYTHON} app.py {{port}}", app(), path="/orders", named_by_init="with status 404"
    ),
}


@dataclass(frozen=True)
class Said:
    """What a command said of a mistake."""

    after_s: float | None
    """From the start of the command to the line that names it; ``None`` where none does."""
    lines: Sequence[str]
    """From the line that names it on, or all of them."""
    times: int
    """How many lines name it."""
    took_s: float

    @property
    def is_good(self) -> bool:
        """Whether it was named in time."""
        return self.after_s is not None and self.after_s <= GOAL_S


def main() -> None:
    """Make each mistake, and print when and how it is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=MISTAKES, help="one mistake")
    only = parser.parse_args().only
    print(f"{machine()}; load average {os.getloadavg()[0]:.1f}; the goal is {GOAL_S:g} s")
    failed, tries = 0, 0
    for name in [only] if only else MISTAKES:
        for command, said in tried(MISTAKES[name]).items():
            failed += not said.is_good
            tries += 1
            print(f"\n{name}, {command}: {in_words(said)}")
            print(textwrap.indent("\n".join(said.lines[:LINES_SHOWN]), "    "))
    print(f"\n{tries - failed} of {tries} named within {GOAL_S:g} s")
    sys.exit(1 if failed else 0)


def in_words(said: Said) -> str:
    """Return when a mistake was named, and how often."""
    if said.after_s is None:
        return f"not named; the command took {said.took_s:.1f} s"
    often = "" if said.times == 1 else f", {said.times} times"
    return f"named after {said.after_s:.1f} s{often}; the command took {said.took_s:.1f} s"


def tried(mistake: Mistake) -> dict[str, Said]:
    """Make a mistake by each command, in a folder that is gone afterwards."""
    found = {}
    for command in ("run", "init"):
        named = mistake.named if command == "run" or mistake.named_by_init is None else mistake.named_by_init
        if named:
            with tempfile.TemporaryDirectory(prefix="loadcurve-first-hour-") as name:
                folder = Path(name)
                folder.chmod(0o755)
                write(folder, mistake)
                found[command] = said_by(words_of(command, mistake), folder, named)
    return found


def write(folder: Path, mistake: Mistake) -> None:
    """Write the application and its study."""
    for file, text in mistake.files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
        (folder / file).chmod(0o755 if file.startswith(".venv") else 0o644)
    study = STUDY.format(path=mistake.path, start=f'"{mistake.start}"')
    (folder / "study.toml").write_text(study)


def words_of(command: str, mistake: Mistake) -> list[str]:
    """Return the words of a command."""
    if command == "run":
        return [LOADCURVE, "run", "study.toml", "--quick"]
    return [LOADCURVE, "init", "other.toml", "--command", mistake.start]


def said_by(words: Sequence[str], folder: Path, named: str) -> Said:
    """Run a command, and return what it said of a mistake that these words name, and when."""
    began_s = time.monotonic()
    process = subprocess.Popen(
        words,
        cwd=folder,
        # Other benches may take the CPUs, and an interpreter of this user may be before that of all.
        env={
            **os.environ,
            "LOADCURVE_OTHER_PROGRAMS": "note",
            "PATH": f"{Path(PYTHON).parent}:/usr/bin:/bin",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    after_s: float | None = None
    lines: list[str] = []
    times = 0
    assert process.stderr is not None, "it is a pipe"
    with process:
        for line in process.stderr:
            if re.search(named, line):
                times += not line.startswith("    ")
                if after_s is None:
                    after_s = time.monotonic() - began_s
                    lines.clear()
            lines.append(line.rstrip())
    return Said(after_s, lines, times, time.monotonic() - began_s)


if __name__ == "__main__":
    main()
