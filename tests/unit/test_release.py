"""What `make release` writes beside the wheel: checksums that other tools check, and a signature."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))

import build_backend
import build_wheels
import release

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """Checksums of two files of a folder."""
    files = [tmp_path / "b.whl", tmp_path / "a.json"]
    for file in files:
        file.write_text(f"what {file.name} has")
    return release.write_sums(tmp_path, files)


def succeeds(*command: object, folder: Path, given: Path | None = None) -> bool:
    with (given or Path("/dev/null")).open("rb") as stdin:
        done = subprocess.run(
            list(map(str, command)), cwd=folder, stdin=stdin, capture_output=True, check=False
        )
    return done.returncode == 0


def test_checksums_are_those_that_sha256sum_checks(sums: Path, tmp_path: Path):
    assert [line.split("  ")[1] for line in sums.read_text().splitlines()] == ["a.json", "b.whl"]
    assert succeeds("sha256sum", "--check", "--strict", sums.name, folder=tmp_path)
    (tmp_path / "a.json").write_text("something else")
    assert not succeeds("sha256sum", "--check", "--strict", sums.name, folder=tmp_path)


@pytest.mark.needs("ssh-keygen")
def test_a_signature_by_ssh_verifies_what_was_signed_and_nothing_else(sums: Path, tmp_path: Path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"a@example.org {key.with_suffix('.pub').read_text()}")
    said = release.sign(sums, "ssh", str(key))
    assert said is not None
    command, _, name = said.partition(" < ")
    words = command.replace("ALLOWED_SIGNERS", str(signers)).replace("SIGNER", "a@example.org").split()
    assert name == sums.name
    assert succeeds(*words, folder=tmp_path, given=sums)
    sums.write_text("another text")
    assert not succeeds(*words, folder=tmp_path, given=sums)


def test_without_a_signature_there_is_no_command_that_verifies_one(sums: Path, tmp_path: Path):
    assert release.sign(sums, "none", "") is None
    assert sorted(file.name for file in tmp_path.iterdir()) == ["SHA256SUMS", "a.json", "b.whl"]


@pytest.mark.parametrize(
    ("given", "said"), [(["ssh"], "SIGN=ssh requires KEY"), (["pgp", "--key", "k"], "invalid choice")]
)
def test_a_release_that_cannot_be_signed_is_not_begun(given, said, tmp_path):
    script = ROOT / "packaging" / "release.py"
    command = [sys.executable, script, tmp_path / "out", *given, tmp_path / "a.whl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, said in done.stderr) == (2, True)
    assert not (tmp_path / "out").exists()


def test_what_is_linked_into_the_wheel_is_taken_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wheel = tmp_path / "loadcurve-1-cp311-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "loadcurve-1.dist-info/sboms/loadcurve-native.cdx.json", '{"bomFormat": "CycloneDX"}'
        )
    monkeypatch.setattr(release.subprocess, "run", lambda *_, **__: None)
    native = release.native_materials(wheel, tmp_path)
    packages = release.python_materials("loadcurve-1", tmp_path)
    assert native.read_text() == '{"bomFormat": "CycloneDX"}'
    assert (native.suffixes[-2:], packages.suffixes[-2:]) == ([".cdx", ".json"], [".cdx", ".json"])


@pytest.mark.parametrize("tag", ["linux_{}", "manylinux_2_28_{}", "manylinux2014_{0}.manylinux_2_17_{0}"])
@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
def test_a_wheel_is_known_by_its_processor_whatever_its_glibc(tag, processor):
    wheel = Path(f"loadcurve-0.1.0-cp311-abi3-{tag.format(processor)}.whl")
    assert release.processor_of(wheel) == processor


def test_a_wheel_for_an_older_glibc_is_linked_by_zig_for_its_platform():
    words = "--zig --target aarch64-unknown-linux-gnu --compatibility manylinux_2_28 --features x"
    build = build_backend.Build.of(words.split())
    assert build.command[:3] == ["cargo", "zigbuild", "--locked"]
    options = build.command[: build.command.index("--package")]
    assert options[-4:] == ["--target", "aarch64-unknown-linux-gnu.2.28", "--features", "x"]
    assert build.folder == ROOT / "target" / "aarch64-unknown-linux-gnu" / "release"
    with pytest.raises(ValueError, match="--zig requires --target"):
        build_backend.Build.of(["--zig"])


def test_programs_and_module_of_a_wheel_are_linked_by_one_program_so_that_all_is_compiled_once(
    monkeypatch, tmp_path
):
    [pinned] = [one for one in build_wheels.ZIG if one.startswith("cargo-zigbuild")]
    inside = re.findall(rb"cargo-zigbuild-([\d.]+)/", Path(sys.executable).with_name("maturin").read_bytes())
    assert {pinned} == {f"cargo-zigbuild=={version.decode()}" for version in inside}
    given = []
    monkeypatch.setattr(build_wheels.subprocess, "run", lambda *_, env, **__: given.append(env))
    build_wheels.build("x86_64", "2.28", tmp_path, tmp_path / "bin")
    assert given[0]["CARGO_BIN_EXE_cargo-zigbuild"] == str(tmp_path / "bin" / "cargo-zigbuild")


def test_a_wheel_for_this_machine_is_built_as_cargo_does_by_itself():
    build = build_backend.Build.of(["--profile", "ci"])
    options = build.command[: build.command.index("--package")]
    assert options == ["cargo", "build", "--locked", "--bins", "--profile", "ci"]
    assert build.folder == ROOT / "target" / "ci"


def test_a_platform_whose_standard_library_is_missing_is_refused_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(build_wheels, "library_of", lambda target: tmp_path / target)
    with pytest.raises(SystemExit, match="rustup target add riscv64gc-unknown-linux-gnu"):
        build_wheels.require_platforms(["riscv64gc"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_each_action_by_a_commit_and_may_only_read_by_default(path: Path):
    text = path.read_text(encoding="utf-8")
    actions = re.findall(r"uses: (\S+)", text)
    assert actions
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in actions)
    assert "\npermissions:\n  contents: read\njobs:" in text
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = {
        word for words in re.findall(r"\bmake ([a-z -]+)", text.split("jobs:")[1]) for word in words.split()
    }
    assert asked <= targets
