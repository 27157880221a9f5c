"""Build the native parts and install the package as editable, with cargo's progress in sight.

An installer would hide what cargo says until the build is over, which takes minutes the first time. With
``--without-databases`` the drivers of databases and TLS are left out, which halves what there is to compile.
"""

import contextlib
import io
import math
import os
import subprocess
import sys
import tempfile

import build_backend

CPU_MINUTES = {True: (5, 15), False: (2, 7)}
"""What the native parts take to compile, with databases or without, on a fast and on a slow processor."""
WITHOUT_DATABASES = {build_backend.BUILD_ARGUMENTS: "--no-default-features --features extension-module"}
LEAST_MINUTES = 1
"""However many CPUs there are, some crates wait for others."""


def expected_minutes(cpus: int, *, databases: bool = True) -> str:
    """Return about how long a first build takes on a number of CPUs, such as ``3 to 8 minutes``."""
    low, high = (max(LEAST_MINUTES, math.ceil(minutes / cpus)) for minutes in CPU_MINUTES[databases])
    if high == LEAST_MINUTES:
        return "a minute"
    return f"{low} to {high} minutes" if low < high else f"{high} minutes"


def main(*, databases: bool) -> None:
    """Build and install."""
    if not (build_backend.ROOT / "target" / "release").is_dir():
        cpus = len(os.sched_getaffinity(0))
        minutes = expected_minutes(cpus, databases=databases)
        sys.stderr.write(
            f"loadcurve: compiling the native parts, about {minutes} on {cpus} CPUs; "
            "later builds compile only what has changed\n"
        )
    os.chdir(build_backend.ROOT)
    with tempfile.TemporaryDirectory() as folder:
        # What maturin says of the wheel is of no use here; cargo's progress goes to stderr.
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            wheel = build_backend.build_editable(folder, None if databases else WITHOUT_DATABASES)
        installer = [
            "uv",
            "pip",
            "install",
            "--quiet",
            "--python",
            sys.executable,
            "--no-deps",
            "--reinstall",
        ]
        subprocess.run([*installer, f"{folder}/{wheel}"], check=True)


if __name__ == "__main__":
    try:
        main(databases=sys.argv[1:] != ["--without-databases"])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
