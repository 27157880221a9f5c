"""A history of real releases: each version of a public server is installed, measured and added.

The server is aiohttp, waitress, uvicorn or granian from PyPI, each version in a separate environment. All
are installed before the first one is measured. A run has the time at which it was measured, and its version.
Prints the changes, and the path of the page. The same folder continues: what it has is neither installed nor
measured again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from benches.rig import LOADCURVE

APPLICATION = """\
BODY = b"x" * 1024


def wsgi(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "1024")])
    return [BODY]


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"1024")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})


def aiohttp(port):
    from aiohttp import web

    async def answer(request):
        return web.Response(body=BODY, content_type="text/plain")

    application = web.Application()
    application.router.add_get("/", answer)
    web.run_app(application, host="127.0.0.1", port=port, access_log=None)
"""
COMMANDS = {
    "aiohttp": ["-c", "import application; application.aiohttp({port})"],
    "waitress": ["-m", "waitress", "--listen=127.0.0.1:{port}", "--threads=4", "application:wsgi"],
    "uvicorn": ["-m", "uvicorn", "--port={port}", "--no-access-log", "application:asgi"],
    "granian": ["-m", "granian", "--interface=asgi", "--port={port}", "--no-ws", "application:asgi"],
}
STUDY = """\
title = "Releases of {server}"

[load]
model = "closed"
requests = ["/"]
warmup = "1s"
duration = "{duration}"

[sweep]
connections = [10]

[trials]
count = {trials}

[servers.{server}]
start = {start}
cwd = "{folder}"
version = "{version}"
"""


def main() -> None:
    """Measure the versions that the history does not have yet, from the oldest to the newest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="+", help="versions to install, from the oldest to the newest")
    parser.add_argument("--server", choices=sorted(COMMANDS), default="waitress")
    parser.add_argument("--to", type=Path, default=Path("loadcurve-history-real"))
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--duration", default="3s")
    parser.add_argument("--install-only", action="store_true", help="measure nothing yet")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no version after these")
    arguments = parser.parse_args()
    known = versions_in(arguments.to / "entries", arguments.server)
    installed = {
        version: folder
        for version in arguments.versions
        if version not in known and (folder := environment_of(arguments, version)) is not None
    }
    if arguments.install_only:
        return
    since_s = time.monotonic()
    for version, folder in installed.items():
        if time.monotonic() - since_s > arguments.seconds:
            break
        measure(arguments, version, folder)
    show = ["history", "show", "--to", str(arguments.to / "entries"), "--html"]
    subprocess.run([LOADCURVE, *show], check=True)


def versions_in(entries: Path, server: str) -> set[str]:
    """Return the versions of a server that a history has."""
    if not entries.is_dir():
        return set()
    shown = [LOADCURVE, "history", "show", "--to", str(entries), "--json"]
    found = json.loads(subprocess.run(shown, capture_output=True, check=True).stdout)
    return {
        run["commit"]
        for study in found["studies"]
        for series in study["series"]
        if series["arm"] == server
        for run in series["runs"]
    }


def environment_of(arguments: argparse.Namespace, version: str) -> Path | None:
    """Return the folder of a version with its environment; a version that does not install is named."""
    folder: Path = (arguments.to / "installed" / f"{arguments.server}-{version}").absolute()
    if (folder / "application.py").exists():
        return folder
    venv.create(folder / "environment")
    into = ["-m", "pip", "--python", str(folder / "environment" / "bin" / "python")]
    wanted = f"{arguments.server}=={version}"
    if not is_done([sys.executable, *into, "install", "--quiet", "--prefer-binary", wanted], version):
        return None
    (folder / "application.py").write_text(APPLICATION)
    return folder


def measure(arguments: argparse.Namespace, version: str, folder: Path) -> None:
    """Measure a version and add the run; a version that does not start is named."""
    python = folder / "environment" / "bin" / "python"
    with tempfile.TemporaryDirectory(prefix="loadcurve-release-") as name:
        study = Path(name) / "study.toml"
        study.write_text(
            STUDY.format(
                server=arguments.server,
                version=version,
                folder=folder,
                start=json.dumps([str(python), *COMMANDS[arguments.server]]),
                trials=arguments.trials,
                duration=arguments.duration,
            )
        )
        run = arguments.to / "runs" / f"{arguments.server}-{version}"
        words = [LOADCURVE, "run", str(study), "--out", str(run), "--yes"]
        if is_done(words, version):
            add = ["history", "add", str(run), "--to", str(arguments.to / "entries"), "--commit", version]
            is_done([LOADCURVE, *add], version)


def is_done(words: Sequence[str], version: str) -> bool:
    """Run a command and say whether it has succeeded; of one that has not, the last lines are printed."""
    environment = {**os.environ, "LOADCURVE_OTHER_PROGRAMS": "note"}
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
    )
    print(f"{version}: {Path(words[0]).name} {words[1]}: exit code {done.returncode}", flush=True)
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-10:]), flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    main()
