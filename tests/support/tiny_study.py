"""Studies of a few points of 100 ms, each measured once, and catalogues with servers for them."""

import os
import sys
from pathlib import Path
from typing import Literal

from loadcurve.server.found import NATIVE_FOLDER

STAYS_OURS = 'user = "root"' if os.geteuid() == 0 else ""
"""A line in a server's table: it stays ours, because what it needs of a test may be closed to others."""

FAILING_SERVER = Path(__file__).with_name("failing_server.py")
QUEUEING_SERVER = Path(__file__).with_name("queueing_server.py")


def study_text(
    servers: str = "[servers.limit]",
    *,
    content: str = '"1k.txt" = "1KiB"',
    warmup: str = "50ms",
    load: str = 'duration = "100ms"',
    connections: str = "[1, 2]",
    trials: int = 2,
    restart: str | None = "sweep",
    repeat_disturbed: int = 0,
    host: str = "",
    more_of_trials: str = "",
) -> str:
    restarts = "" if restart is None else f'restart = "{restart}"\n'
    more = more_of_trials and "\n" + more_of_trials
    return f"""\
title = "Tiny"

[content]
{content}

[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "{warmup}"
{load}

[sweep]
connections = {connections}

[trials]
count = {trials}
{restarts}repeat_disturbed = {repeat_disturbed}{more}
[host]
{host}

{servers}
"""


def write_missing_server(catalog: Path, name: str) -> None:
    """Add a server to a catalogue whose program is nowhere."""
    write_entry(
        catalog / name,
        binary="no-such-program-anywhere",
        start='"{binary}"',
        more='[install]\neverywhere = "make -C gone install"',
    )


def write_failing_server(
    catalog: Path, name: str, failure: Literal["exits", "hangs", "shortens"], *, requests_total: int
) -> None:
    """Add a server to a catalogue that fails after ``requests_total`` requests.

    It exits with some last words, or hangs, or answers every second request with 512 bytes.
    """
    arguments = f'"{FAILING_SERVER}", "{{port}}", "{{content}}", "{requests_total}", "{failure}"'
    write_entry(
        catalog / name,
        binary=sys.executable,
        start=f'"{{binary}}", {arguments}',
    )


def write_queueing_server(catalog: Path, name: str, *, service_ms: float) -> None:
    """Add a server to a catalogue that takes one request at a time and spends ``service_ms`` on each."""
    arguments = f'"{QUEUEING_SERVER}", "{{port}}", "{{content}}", "{service_ms}"'
    write_entry(catalog / name, binary=sys.executable, start=f'"{{binary}}", {arguments}')


def write_counted_server(catalog: Path, name: str) -> Path:
    """Add the server `limit` to a catalogue; each start appends a line to the file that is returned."""
    script = "echo started >> {entry}/starts; exec {binary} limit --listen {address}:{port} --root {content}"
    write_entry(catalog / name, binary="{native}/loadcurve-server", start=f'"/bin/sh", "-c", \'{script}\'')
    return catalog / name / "starts"


def write_built_server(catalog: Path, name: str, script: str = "") -> Path:
    """Add the server `limit` to a catalogue as one that a shell script builds, after what ``script`` does.

    Each build appends a line to the file that is returned.
    """
    builds = catalog.parent / f"{name}-builds"
    write_entry(
        catalog / name,
        binary="{build}/server",
        build='build = ["/bin/sh", "{entry}/build.sh", "{build}"]',
        start='"{binary}", "limit", "--listen", "{address}:{port}", "--root", "{content}"',
    )
    copy = f"cp '{NATIVE_FOLDER}/loadcurve-server' \"$1/server\""
    (catalog / name / "build.sh").write_text(f"set -e\necho built >> '{builds}'\n{script}\n{copy}\n")
    return builds


def write_entry(folder: Path, *, binary: str, start: str, build: str = "", more: str = "") -> None:
    """Add a server to a catalogue, whose program prints its version as the second word."""
    folder.mkdir(parents=True)
    (folder / "server.toml").write_text(
        f"""\
title = "{folder.name}"
documentation = "https://www.rfc-editor.org/rfc/rfc9112"
binary = ["{binary}"]
# Neither the interpreter of the tests nor what the server writes need be open to other users.
user = ["root"]
{build}
start = [{start}]
[version]
command = ["{{binary}}", "--version"]
pattern = '^\\S+ (\\S+)'
{more}
"""
    )
