"""Looks for known holes in the Go modules of the catalogue: ``python packaging/audit_go.py MODULE_FOLDER…``.

It runs govulncheck, which finds the vulnerable functions that a program can reach. It fails for each hole of
which ``EXCEPTIONS`` does not say why it harms nobody, and names exceptions that are no longer needed. Options
of govulncheck, such as ``-db file:///folder``, come from the environment variable GOVULNCHECK_OPTIONS.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

EXCEPTIONS = {
    "GO-2026-4394": "OpenTelemetry asks for the machine's number by a program from PATH on macOS, where "
    "Loadcurve does not run",
    "GO-2026-5970": "a password that is no UTF-8 hangs a server that asks for none, listens on 127.0.0.1 "
    "alone and ends with its trial; the mend requires Go 1.25, which Debian 13 does not have",
}
"""Why a hole, by its number in Go's database, is left open."""


def main() -> int:
    """Audit each folder that is named; return how the process ends."""
    if shutil.which("govulncheck") is None:
        print(
            "loadcurve: govulncheck is missing: go install golang.org/x/vuln/cmd/govulncheck@latest, and put "
            "its folder into PATH",
            file=sys.stderr,
        )
        return 1
    reached = {number: call for folder in map(Path, sys.argv[1:]) for number, call in holes(folder)}
    for number in sorted(reached.keys() - EXCEPTIONS.keys()):
        print(f"{number}: {reached[number]} is reached: https://pkg.go.dev/vuln/{number}")
    for number in sorted(reached.keys() & EXCEPTIONS.keys()):
        print(f"{number}: left open: {EXCEPTIONS[number]}")
    for number in sorted(EXCEPTIONS.keys() - reached.keys()):
        print(f"{number}: the exception is not needed")
    return int(not reached.keys() <= EXCEPTIONS.keys())


def holes(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the number of each hole that a module reaches, with a vulnerable function of it.

    The module is looked at with the build tags of its server.
    """
    build = tomllib.loads((folder / "server.toml").read_text(encoding="utf-8"))["build"]
    tags = [argument for argument in build if argument.startswith("-tags=")]
    options = os.environ.get("GOVULNCHECK_OPTIONS", "").split()
    command = ["govulncheck", "-format", "json", *options, *tags, "./..."]
    output = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    for message in messages(output):
        trace = message.get("finding", {}).get("trace", [{}])
        # Findings without a function are modules and packages that are there, and not reached.
        if "function" in trace[0]:
            yield message["finding"]["osv"], f"{trace[0]['package']}.{trace[0]['function']}"


def messages(output: str) -> Iterator[dict]:
    """Yield the JSON objects of a text, which follow one another with white space between them."""
    decoder, place = json.JSONDecoder(), 0
    while place < len(output.rstrip()):
        message, place = decoder.raw_decode(
            output, place + len(output[place:]) - len(output[place:].lstrip())
        )
        yield message


if __name__ == "__main__":
    sys.exit(main())
