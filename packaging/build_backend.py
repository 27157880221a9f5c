"""The package's build backend: maturin, after the native programs were built and laid into the package.

A wheel must carry ``loadcurve-server`` and ``loadcurve-probe`` beside the extension module; maturin builds
one crate per wheel, so the programs are built first with the same locked dependencies and travel as files of
the package, with the licences of what is linked into them. A wheel lists these crates as its components, and
the same sources and compiler give the same wheel in any folder.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
TARGET_OPTION, ZIG_OPTION, COMPATIBILITY_OPTION = "--target", "--zig", "--compatibility"
"""For another platform, or an older glibc: Zig links, against the glibc that maturin's tag names."""
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


@dataclass(frozen=True)
class Build:
    """What is compiled, and how, as the arguments for maturin say."""

    profile: str
    target: str | None
    """The platform, as cargo names it; ``None`` for this one."""
    glibc: str | None
    """The oldest glibc that the programs are to run with; ``None`` for that of this machine."""
    others: tuple[str, ...]
    """Further arguments for cargo."""

    @classmethod
    def of(cls, arguments: list[str]) -> "Build":
        """Read the arguments; raises ValueError where an older glibc is asked for without a platform."""
        others = [one for one in arguments if one != ZIG_OPTION]
        taken = {PROFILE_OPTION: PROFILE, TARGET_OPTION: None, COMPATIBILITY_OPTION: None}
        for option in taken:
            if option in others:
                at = others.index(option)
                taken[option] = others[at + 1]
                del others[at : at + 2]
        target, tag = taken[TARGET_OPTION], taken[COMPATIBILITY_OPTION]
        glibc = None
        if ZIG_OPTION in arguments:
            if target is None or tag is None:
                raise ValueError(f"{ZIG_OPTION} requires {TARGET_OPTION} and {COMPATIBILITY_OPTION}")
            glibc = tag.removeprefix("manylinux_").replace("_", ".")
        return cls(taken[PROFILE_OPTION] or PROFILE, target, glibc, tuple(others))

    @property
    def command(self) -> list[str]:
        """How cargo compiles the native programs.

        The extension module, which has no program, is selected with them, so that crates which both use have
        the same features, and are compiled once.
        """
        platform = []
        if self.target is not None:
            platform = [TARGET_OPTION, self.target + (f".{self.glibc}" if self.glibc else "")]
        how = "build" if self.glibc is None else "zigbuild"
        profile = [PROFILE_OPTION, self.profile]
        packages = [
            argument for package in (*PROGRAMS, EXTENSION_MODULE) for argument in ("--package", package)
        ]
        return ["cargo", how, "--locked", "--bins", *profile, *platform, *self.others, *packages]

    @property
    def folder(self) -> Path:
        """Where the programs are then."""
        return ROOT / "target" / (self.target or "") / self.profile


def build_native_programs(config_settings: ConfigSettings) -> None:
    """Build each native program and copy it into the package."""
    given = (config_settings or {}).get(BUILD_ARGUMENTS, [])
    build = Build.of(given.split() if isinstance(given, str) else list(given))
    subprocess.run(build.command, cwd=ROOT, check=True)
    NATIVE_FOLDER.mkdir(exist_ok=True)
    for program in PROGRAMS.values():
        # A running copy cannot be written over, but it can be replaced.
        staged = NATIVE_FOLDER / f".{program}.new"
        shutil.copy2(build.folder / program, staged)
        staged.replace(NATIVE_FOLDER / program)
    crates = third_party.linked_crates(ROOT, [*PROGRAMS, EXTENSION_MODULE], build.target)
    (NATIVE_FOLDER / NOTICES).write_text(third_party.notices(crates), encoding="utf-8")
    (ROOT / "target" / COMPONENTS).write_text(third_party.bill_of_materials(crates), encoding="utf-8")


@contextmanager
def programs_kept() -> Iterator[None]:
    """Put back the programs of an editable installation afterwards; a wheel's may be for another platform."""
    (ROOT / "target").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        kept = Path(folder) / NATIVE_FOLDER.name
        if NATIVE_FOLDER.exists():
            shutil.copytree(NATIVE_FOLDER, kept)
        try:
            yield
        finally:
            if kept.exists():
                shutil.rmtree(NATIVE_FOLDER)
                shutil.move(kept, NATIVE_FOLDER)


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
    with programs_kept():
        build_native_programs(config_settings)
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """PEP 660: the native programs first, then maturin's editable wheel."""
    build_native_programs(config_settings)
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
