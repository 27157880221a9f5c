"""Build the native parts and install the package as editable, with cargo's progress in sight.

An installer would hide what cargo says until the build is over, which takes minutes the first time.
"""

import contextlib
import io
import math
import os
import subprocess
import sys
import tempfile

import build_backend

CPU_MINUTES = (5, 15)
"""What all native parts take to compile, on a fast and on a slow processor."""
LEAST_MINUTES = 1
"""However many CPUs there are, some crates wait for others."""


def expected_minutes(cpus: int) -> str:
    """Return about how long a first build takes on so many CPUs, such as ``3 to 8 minutes``."""
    low, high = (max(LEAST_MINUTES, math.ceil(minutes / cpus)) for minutes in CPU_MINUTES)
    if high == LEAST_MINUTES:
        return "a minute"
    return f"{low} to {high} minutes" if low < high else f"{high} minutes"


def main() -> None:
    """Build and install; exits with the failing program's code."""
    if not (build_backend.ROOT / "target" / "release").is_dir():
        cpus = len(os.sched_getaffinity(0))
        sys.stderr.write(
            f"loadcurve: compiling the native parts, about {expected_minutes(cpus)} on {cpus} CPUs; "
            "later builds compile only what has changed\n"
        )
    os.chdir(build_backend.ROOT)
    with tempfile.TemporaryDirectory() as folder:
        # What maturin says of the wheel is of no use here; cargo's progress goes to stderr.
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            wheel = build_backend.build_editable(folder)
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
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
