"""What the build backend asks of the compiler."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))

import build_backend


def flags(monkeypatch: pytest.MonkeyPatch, **given: str) -> list[str]:
    """The compiler's flags where the sources are in a folder with blanks, and these variables are given."""
    monkeypatch.setattr(build_backend, "ROOT", Path("/home/of a person/loadcurve"))
    environment = {"CARGO_HOME": "/cargo home", **given}
    monkeypatch.setattr(os, "environ", environment)
    build_backend.forget_folders()
    return environment["CARGO_ENCODED_RUSTFLAGS"].split("\x1f")


RENAMED = [
    "--remap-path-prefix=/home/of a person/loadcurve=.",
    "--remap-path-prefix=/cargo home=cargo",
]


def test_folders_with_blanks_are_kept_out_of_what_is_compiled(monkeypatch: pytest.MonkeyPatch):
    assert flags(monkeypatch) == RENAMED


def test_flags_of_the_person_are_kept(monkeypatch: pytest.MonkeyPatch):
    assert flags(monkeypatch, RUSTFLAGS="-C  target-cpu=native") == ["-C", "target-cpu=native", *RENAMED]
    encoded = "-C\x1flink-arg=/a b"
    assert flags(monkeypatch, CARGO_ENCODED_RUSTFLAGS=encoded) == ["-C", "link-arg=/a b", *RENAMED]


def test_maturin_does_not_warn_that_this_backend_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo, whose metadata maturin reads")
    monkeypatch.chdir(build_backend.ROOT)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    folder = build_backend.prepare_metadata_for_build_wheel(str(tmp_path))
    assert (tmp_path / folder / "METADATA").is_file()
    assert "Warning" not in capfd.readouterr().err


def test_the_tests_compile_the_programs_beforehand_by_the_same_command():
    makefile = (build_backend.ROOT / "Makefile").read_text(encoding="utf-8")
    _, _, text = makefile.partition("\nCOMPILE_PROGRAMS = ")
    words = text.partition("\n#")[0].replace("\\\n", " ").replace("$(NATIVE_PROFILE)", "ci").split()
    build = build_backend.Build.of(["--profile", "ci"])
    assert sorted(words) == sorted([*build.command, "--quiet"])


@pytest.mark.parametrize(("given", "profile"), [({}, "release"), ({"NATIVE_PROFILE": "ci"}, "ci")])
def test_the_wheel_is_compiled_by_the_profile_of_setup(given: dict[str, str], profile: str):
    if (make := shutil.which("make")) is None:
        pytest.skip("needs make, which says what it would run")
    environment = {name: value for name, value in os.environ.items() if name != "NATIVE_PROFILE"} | given
    command = [make, "--dry-run", "--silent", "--assume-old=setup", "wheel"]
    said = subprocess.run(
        command, cwd=build_backend.ROOT, env=environment, check=True, capture_output=True, text=True
    )
    words = shlex.split(said.stdout.partition("uv build")[2].replace("\\\n", " ").partition("\n")[0])
    name, _, arguments = words[words.index("--config-setting") + 1].partition("=")
    assert name == build_backend.BUILD_ARGUMENTS
    assert build_backend.Build.of(arguments.split()).profile == profile
