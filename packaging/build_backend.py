"""The package's build backend: maturin, after the native programs were built and laid into the package.

A wheel must carry ``loadcurve-server`` and ``loadcurve-probe`` beside the extension module; maturin builds
one crate per wheel, so the programs are built first with the same locked dependencies and travel as files of
the package, with the licences of what is linked into them. A wheel lists these crates as its components, and
the same sources and compiler give the same wheel in any folder.
"""

import os
import shutil
import subprocess
from pathlib import Path

import maturin
import third_party

ROOT = Path(__file__).resolve().parent.parent
NATIVE_FOLDER = ROOT / "python" / "loadcurve" / "native"
ConfigSettings = dict[str, str | list[str]] | None
PROGRAMS = {"loadcurve-probe": "loadcurve-probe", "loadcurve-servers": "loadcurve-server"}
EXTENSION_MODULE = "loadcurve-python"
BUILD_ARGUMENTS = "build-args"
"""The setting with what maturin hands to cargo."""
PROFILE_OPTION, PROFILE = "--profile", "release"
"""With what is compiled unless the arguments say otherwise."""
NOTICES = "THIRD-PARTY-NOTICES.txt"
COMPONENTS = "loadcurve-native.cdx.json"
"""The file's name in a wheel and, in pyproject.toml, its path in the build folder."""
ENCODED_FLAGS = "CARGO_ENCODED_RUSTFLAGS"
"""The variable that goes before RUSTFLAGS, and in which a flag may have blanks."""
FLAG_SEPARATOR = "\x1f"

# maturin warns where another backend is named, since packaging tools would not use it: this one does.
os.environ.setdefault("MATURIN_NO_MISSING_BUILD_BACKEND_WARNING", "1")

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
build_sdist = maturin.build_sdist


def build_native_programs(config_settings: ConfigSettings) -> None:
    """Build each native program and copy it into the package.

    The extension module, which has no program, is selected with them and by the same arguments, so that
    crates which both use have the same features, and are compiled once.
    """
    selected = [argument for package in (*PROGRAMS, EXTENSION_MODULE) for argument in ("--package", package)]
    given = (config_settings or {}).get(BUILD_ARGUMENTS, [])
    arguments = given.split() if isinstance(given, str) else list(given)
    if PROFILE_OPTION not in arguments:
        arguments = [PROFILE_OPTION, PROFILE, *arguments]
    profile = arguments[arguments.index(PROFILE_OPTION) + 1]
    command = ["cargo", "build", "--locked", "--bins", *selected, *arguments]
    subprocess.run(command, cwd=ROOT, check=True)
    NATIVE_FOLDER.mkdir(exist_ok=True)
    for program in PROGRAMS.values():
        built = ROOT / "target" / profile / program
        # A running copy cannot be written over, but it can be replaced.
        staged = NATIVE_FOLDER / f".{program}.new"
        shutil.copy2(built, staged)
        staged.replace(NATIVE_FOLDER / program)
    crates = third_party.linked_crates(ROOT, [*PROGRAMS, EXTENSION_MODULE])
    (NATIVE_FOLDER / NOTICES).write_text(third_party.notices(crates), encoding="utf-8")
    (ROOT / "target" / COMPONENTS).write_text(third_party.bill_of_materials(crates), encoding="utf-8")


def forget_folders() -> None:
    """Keep the folders of this machine out of what the compiler writes."""
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    renamed = [
        f"--remap-path-prefix={folder}={name}" for folder, name in ((ROOT, "."), (cargo_home, "cargo"))
    ]
    # A folder's name may have blanks, at which cargo divides RUSTFLAGS.
    encoded = os.environ.get(ENCODED_FLAGS)
    given = os.environ.get("RUSTFLAGS", "").split() if encoded is None else encoded.split(FLAG_SEPARATOR)
    os.environ[ENCODED_FLAGS] = FLAG_SEPARATOR.join([*filter(None, given), *renamed])


def build_wheel(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """PEP 517: the native programs first, then maturin's wheel."""
    forget_folders()
    build_native_programs(config_settings)
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """PEP 660: the native programs first, then maturin's editable wheel."""
    build_native_programs(config_settings)
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
