"""Build the native parts and install the package as editable, with cargo's progress in sight.

An installer would hide what cargo says until the build is over, which takes minutes the first time. With
``--demo`` the drivers of databases and TLS are left out, and what takes the compiler longest for the last
percent of speed: together most of its work. Otherwise NATIVE_PROFILE names the profile of cargo.
"""

import contextlib
import io
import math
import os
import subprocess
import sys
import tempfile

import build_backend

CPU_MINUTES = {False: (5, 15), True: (1, 4)}
"""What the native parts take to compile, whole or for a demo, on a fast and on a slow processor."""
WITHOUT_DATABASES = "--no-default-features --features extension-module"
LEAST_MINUTES = 1
"""However many CPUs there are, some crates wait for others."""


def expected_minutes(cpus: int, *, demo: bool = False) -> str:
    """Return about how long a first build takes on a number of CPUs, such as ``3 to 8 minutes``."""
    low, high = (max(LEAST_MINUTES, math.ceil(minutes / cpus)) for minutes in CPU_MINUTES[demo])
    if high == LEAST_MINUTES:
        return "a minute"
    return f"{low} to {high} minutes" if low < high else f"{high} minutes"


def main(*, demo: bool) -> None:
    """Build and install."""
    profile = "demo" if demo else os.environ.get("NATIVE_PROFILE", build_backend.PROFILE)
    if not (build_backend.ROOT / "target" / profile).is_dir():
        cpus = len(os.sched_getaffinity(0))
        minutes = expected_minutes(cpus, demo=demo)
        sys.stderr.write(
            f"loadcurve: compiling the native parts, about {minutes} on {cpus} CPUs; "
            "later builds compile only what has changed\n"
        )
    os.chdir(build_backend.ROOT)
    with tempfile.TemporaryDirectory() as folder:
        # What maturin says of the wheel is of no use here; cargo's progress goes to stderr.
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            arguments = f"--profile {profile} {WITHOUT_DATABASES if demo else ''}"
            wheel = build_backend.build_editable(folder, {build_backend.BUILD_ARGUMENTS: arguments})
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
        main(demo=sys.argv[1:] == ["--demo"])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
