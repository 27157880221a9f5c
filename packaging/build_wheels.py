"""Builds the wheels of a release into a folder: one for each platform, for an old glibc, linked by Zig.

Usage: python packaging/build_wheels.py FOLDER GLIBC PLATFORM…, such as dist 2.28 x86_64 aarch64
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")
ZIG = ("ziglang==0.16.0", "cargo-zigbuild==0.24.0")
"""What links, and what lets cargo use it, in the version that is part of maturin; packages of Python."""
ZIGBUILD_PROGRAM = "CARGO_BIN_EXE_cargo-zigbuild"
"""The variable by which both use one program as the linker: cargo compiles all anew for another one."""
TARGET = "{}-unknown-linux-gnu"


def library_of(target: str) -> Path:
    """Return where Rust's standard library for a platform is, if it is there."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def require_platforms(platforms: Sequence[str]) -> None:
    """End with 1 where Rust's standard library for a platform is missing."""
    missing = [target for one in platforms if not library_of(target := TARGET.format(one)).is_dir()]
    if missing:
        raise SystemExit(
            f"loadcurve: Rust's standard library is missing for {', '.join(missing)}: "
            f"rustup target add {' '.join(missing)}, or name fewer in PLATFORMS"
        )


def zig_programs(folder: Path) -> Path:
    """Return the folder of Zig's programs, installed where they are not yet."""
    programs = folder / "bin"
    if not (programs / "python").exists():
        subprocess.run([UV, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
    subprocess.run([UV, "pip", "install", "--quiet", "--python", programs / "python", *ZIG], check=True)
    return programs


def build(platform: str, glibc: str, folder: Path, programs: Path) -> None:
    """Build the wheel of one platform."""
    tag = f"manylinux_{glibc.replace('.', '_')}"
    arguments = f"--zig --target {TARGET.format(platform)} --compatibility {tag}"
    options = ["--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder]
    # Zig's folder is last, since it has a Python, too: the one that Zig is a package of.
    path = os.pathsep.join([str(UV.parent), os.environ["PATH"], str(programs)])
    subprocess.run(
        [UV, "build", "--quiet", *options, "--config-setting", f"build-args={arguments}"],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": path,
            "CARGO_ZIGBUILD_PYTHON_PATH": str(programs / "python"),
            ZIGBUILD_PROGRAM: str(programs / "cargo-zigbuild"),
        },
        check=True,
    )


def main() -> None:
    """Read the arguments, and build each wheel."""
    parser = argparse.ArgumentParser(description="Build the wheels of a release.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("glibc", help="the oldest that they are to run with, such as 2.28 (GLIBC)")
    parser.add_argument("platforms", nargs="+", help="x86_64, aarch64 (PLATFORMS)")
    given = parser.parse_args()
    require_platforms(given.platforms)
    shutil.rmtree(given.folder, ignore_errors=True)
    programs = zig_programs(ROOT / "target" / "zig")
    for platform in given.platforms:
        build(platform, given.glibc, given.folder, programs)
    sys.stdout.writelines(f"{wheel}\n" for wheel in sorted(given.folder.glob("*.whl")))


if __name__ == "__main__":
    main()
