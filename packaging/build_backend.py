"""The package's build backend: maturin, after the native programs were built and laid into the package.

A wheel must carry ``loadcurve-server`` and ``loadcurve-probe`` beside the extension module; maturin builds
one crate per wheel, so the programs are built first with the same locked dependencies and travel as files of
the package.
"""

import shutil
import subprocess
from pathlib import Path

import maturin

ROOT = Path(__file__).resolve().parent.parent
NATIVE_FOLDER = ROOT / "python" / "loadcurve" / "native"
ConfigSettings = dict[str, str | list[str]] | None
PROGRAMS = {"loadcurve-probe": "loadcurve-probe", "loadcurve-servers": "loadcurve-server"}

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
build_sdist = maturin.build_sdist


def build_native_programs() -> None:
    """Build each native program in release mode and copy it into the package."""
    packages = [argument for package in PROGRAMS for argument in ("--package", package)]
    subprocess.run(["cargo", "build", "--release", "--locked", *packages], cwd=ROOT, check=True)
    NATIVE_FOLDER.mkdir(exist_ok=True)
    for program in PROGRAMS.values():
        built = ROOT / "target" / "release" / program
        # A running copy cannot be written over, but it can be replaced.
        staged = NATIVE_FOLDER / f".{program}.new"
        shutil.copy2(built, staged)
        staged.replace(NATIVE_FOLDER / program)


def build_wheel(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """PEP 517: the native programs first, then maturin's wheel."""
    build_native_programs()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """PEP 660: the native programs first, then maturin's editable wheel."""
    build_native_programs()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
