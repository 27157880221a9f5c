"""A run as one file: the same bytes each time, nothing lost, and nothing opened that was changed."""

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.host.archives import opened
from loadcurve.result import archive
from loadcurve.result.archive import pack, unpack, verified_archive
from loadcurve.result.folder import read_run
from support import synthetic_run as synthetic
from support.command import Command

MARK = b"loadcurve-archive/1 sha256="


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with inputs, one of which is a program, and with what is made again."""
    folder = tmp_path_factory.mktemp("runs") / "of-two-servers"
    record = synthetic.run_record()
    synthetic.write_run(folder, record, synthetic.trial_records(record)[:3])
    (folder / "inputs" / "site").mkdir(parents=True)
    (folder / "inputs" / "site" / "ü page.html").write_text("hello")
    program = folder / "inputs" / "serve"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder / "report.html").write_text("made again")
    return folder


@pytest.fixture(scope="module")
def packed(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the run folder."""
    return pack(run_folder, tmp_path_factory.mktemp("packed") / "run.loadcurve.zip").path


def files_in(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """The content of each file, and whether its owner may run it."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
        for path in folder.rglob("*")
        if path.is_file()
    }


def names_in(folder: Path) -> list[str]:
    """The names of what is in a folder, in order."""
    return sorted(one.name for one in folder.iterdir())


def resealed(path: Path) -> None:
    """Let an archive's comment answer for the bytes that it has now."""
    content = path.read_bytes()
    assert content[-64 - len(MARK) : -64] == MARK
    body = content[: -64 - len(MARK)]
    path.write_bytes(body + MARK + hashlib.sha256(body).hexdigest().encode())


def made(path: Path, fill: Callable[[zipfile.ZipFile], object]) -> Path:
    """An archive of other contents with a comment that answers for it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        fill(written)
        written.comment = MARK + b"0" * 64
    resealed(path)
    return path


def test_what_is_unpacked_is_what_was_packed_but_for_what_is_made_again(run_folder, packed, tmp_path):
    unpack(packed, tmp_path / "again")
    expected = files_in(run_folder)
    del expected["report.html"]
    assert files_in(tmp_path / "again") == expected
    assert len(read_run(tmp_path / "again").records) == 3


def test_the_same_files_give_the_same_bytes_wherever_and_whenever_they_were_written(
    run_folder, packed, tmp_path
):
    copy = tmp_path / "elsewhere" / run_folder.name
    shutil.copytree(run_folder, copy)
    for place, path in enumerate(sorted(copy.rglob("*"))):
        os.utime(path, (place, place))
    (copy / "inputs" / "site" / "ü page.html").chmod(0o600)
    again = pack(copy, tmp_path / "again.loadcurve.zip")
    content = packed.read_bytes()
    assert again.path.read_bytes() == content
    assert (again.bytes, again.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    with verified_archive(packed) as whole:
        assert whole.sha256 == again.sha256


def test_other_programs_open_it(packed, tmp_path):
    subprocess.run(
        ["python3", "-m", "zipfile", "-e", packed, tmp_path], check=True, capture_output=True, text=True
    )
    assert (tmp_path / "of-two-servers" / "run.json").is_file()


def test_an_archive_with_one_changed_byte_is_refused_and_leaves_nothing(packed, tmp_path):
    content = packed.read_bytes()
    changed = tmp_path / "changed.loadcurve.zip"
    last = range(len(content) - 300, len(content))
    for place in [*range(0, len(content) - 300, 211), *last]:
        changed.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(BadInput, match=r"changed or damaged|no archive of a run"):
            unpack(changed, tmp_path / "folder")
    for cut in (0, 1, 21, 400, len(content) - 1):
        changed.write_bytes(content[:cut])
        with pytest.raises(BadInput, match="no archive of a run"):
            unpack(changed, tmp_path / "folder")
    assert names_in(tmp_path) == ["changed.loadcurve.zip"]


@pytest.mark.parametrize(
    "name",
    [
        "top/../../outside", "/top/file", "top//file", "top/./file", "../top/file", "file", "top/", "top/\n",
        "top/" + "a/" * 70 + "file", "top/" + "a" * 5_000,
    ],
)  # fmt: skip
def test_names_that_could_lead_out_of_the_folder_are_refused(name, tmp_path):
    crafted = made(tmp_path / "x.loadcurve.zip", lambda written: written.writestr(name, "x"))
    with pytest.raises(BadInput, match="refused"):
        unpack(crafted, tmp_path / "in" / "folder")
    assert not list((tmp_path / "in").iterdir())


def a_link(written: zipfile.ZipFile) -> None:
    """Write an entry that is a symbolic link."""
    entry = zipfile.ZipInfo("top/run.json")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    written.writestr(entry, "/etc/passwd")


def two_folders(written: zipfile.ZipFile) -> None:
    """Write the files of two folders."""
    for name in ("a/run.json", "b/run.json"):
        written.writestr(name, "{}")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def a_file_twice(written: zipfile.ZipFile) -> None:
    """Write two files of one name."""
    for content in ("{}", "[]"):
        written.writestr("a/run.json", content)


def no_run(written: zipfile.ZipFile) -> None:
    """Write a folder that is no run's."""
    written.writestr("top/readme.txt", "hello")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("fill", "said"),
    [
        (a_link, "not a plain file"),
        (two_folders, "one folder"),
        (a_file_twice, "each file once"),
        (no_run, "x.loadcurve.zip is refused: it has no run.json, and so no run"),
    ],
)
def test_what_no_run_has_is_refused(fill, said, tmp_path):
    crafted = made(tmp_path / "x.loadcurve.zip", fill)
    with pytest.raises(BadInput, match=said):
        unpack(crafted, tmp_path / "in" / "folder")
    assert not list((tmp_path / "in").iterdir())


def test_an_archive_is_opened_only_where_all_of_it_has_room(monkeypatch, packed, tmp_path):
    monkeypatch.setattr(archive, "BYTES_MAX", packed.stat().st_size + 1)
    with pytest.raises(BadInput, match="would unpack to"):
        unpack(packed, tmp_path / "in" / "folder")
    monkeypatch.setattr(archive, "FILES_MAX", 2)
    with pytest.raises(BadInput, match=r"has \d+ files; expected at most 2"):
        unpack(packed, tmp_path / "in" / "folder")
    assert not list((tmp_path / "in").iterdir())


def test_a_file_that_is_longer_than_its_entry_says_is_refused(packed, tmp_path):
    lying = tmp_path / "lying.loadcurve.zip"
    content = bytearray(packed.read_bytes())
    first_entry = content.index(b"PK\x01\x02")
    content[first_entry + 24 : first_entry + 28] = (3).to_bytes(4, "little")
    lying.write_bytes(content)
    resealed(lying)
    with pytest.raises(BadInput, match="no archive of a run"):
        unpack(lying, tmp_path / "folder")
    assert names_in(tmp_path) == ["lying.loadcurve.zip"]


def test_a_link_in_a_run_folder_is_not_followed_into_the_archive(run_folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run_folder, copy)
    private = tmp_path / "private"
    private.mkdir()
    (private / "key").write_text("secret")
    shutil.rmtree(copy / "inputs")
    (copy / "inputs").symlink_to(private)
    with pytest.raises(BadInput, match="it is a link"):
        pack(copy, tmp_path / "out.loadcurve.zip")
    (copy / "inputs").unlink()
    (copy / "inputs").mkdir()
    (copy / "inputs" / "key").symlink_to(private / "key")
    with pytest.raises(BadInput, match="it is a link"):
        pack(copy, tmp_path / "out.loadcurve.zip")
    assert names_in(tmp_path) == ["copy", "private"]


def test_a_run_that_is_being_measured_is_not_packed(run_folder, tmp_path):
    with (run_folder / "trials.jsonl").open("rb") as trials:
        fcntl.flock(trials.fileno(), fcntl.LOCK_EX)
        with pytest.raises(BadInput, match="is being measured"):
            pack(run_folder, tmp_path / "out.loadcurve.zip")
    assert not list(tmp_path.iterdir())


def test_an_archive_is_unpacked_once_for_all_commands_and_anew_when_it_has_changed(
    run_folder, packed, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = opened(packed)
    assert folder.name == "run"
    (folder / "kept").touch()
    assert opened(packed) == folder
    assert (folder / "kept").exists()
    other = tmp_path / "run.loadcurve.zip"
    shutil.copytree(run_folder, tmp_path / "of-two-servers")
    (tmp_path / "of-two-servers" / "inputs" / "serve").write_text("#!/bin/false\n")
    pack(tmp_path / "of-two-servers", other)
    assert opened(other) != folder
    assert opened(run_folder) == run_folder


def test_commands_read_an_archive_as_they_read_its_folder(run_folder, tmp_path):
    command = Command(tmp_path)
    shutil.copytree(run_folder, command.work / "run")
    done = command.run("pack", "run")
    assert (done.returncode, done.stdout) == (0, "run.loadcurve.zip\n")
    of_folder, of_archive = (
        command.run("report", name, "--findings") for name in ("run", "run.loadcurve.zip")
    )
    assert of_folder.returncode == of_archive.returncode == 0
    assert of_folder.stdout == of_archive.stdout
    imported = command.run("import", "run.loadcurve.zip")
    assert imported.stdout == "loadcurve-runs/run\n"
    again = command.run("import", "run.loadcurve.zip")
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    refused = command.run("run", "quickstart", "--resume", "run.loadcurve.zip")
    assert (refused.returncode, "loadcurve import" in refused.stderr) == (2, True)
    misnamed = command.run("pack", "run", "--out", "run.zip")
    assert (misnamed.returncode, "ends with .loadcurve.zip" in misnamed.stderr) == (2, True)
