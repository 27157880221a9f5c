"""Files of folders that others may have prepared: nothing is written or read outside of them."""

import ast
import os
import stat
import threading
from pathlib import Path

import pytest

import loadcurve
from loadcurve import files
from loadcurve.errors import BadInput
from loadcurve.files import read_given
from loadcurve.report.formats.write import write_formats
from loadcurve.report.run_summary import make_summary
from loadcurve.result.folder import read_run
from loadcurve.result.run_files import NUMBERS_FILE, RUN_FILE, STUDY_FILE, TRIALS_FILE
from loadcurve.result.summary import read_summary
from loadcurve.watch.following import FollowedRun
from loadcurve.watch.progress import PROGRESS_FILE, read_progress
from support import synthetic_run as synthetic
from support.report_pages import write_report

PRIVATE = "only for me"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return synthetic.write_run(tmp_path / "run")


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A file outside of the run folder that nobody else is to read or write."""
    file = tmp_path / "private.txt"
    file.write_text(PRIVATE)
    return file


def test_links_at_the_names_of_temporary_files_lead_nowhere(run: Path, private: Path):
    names = (".report.html.new", ".report.md.new", f".{NUMBERS_FILE}.{os.getpid()}", ".index.html.new")
    for name in names:
        (run / name).symlink_to(private)
    write_report(run)
    write_formats(run, ["md"], None, None)
    make_summary(run)
    assert private.read_text() == PRIVATE
    assert "<!doctype html>" in (run / "report.html").read_text().lower()


@pytest.mark.parametrize(("write", "name"), [(write_report, "report.html"), (make_summary, NUMBERS_FILE)])
def test_a_link_at_the_place_of_a_file_is_replaced(run: Path, private: Path, write, name: str):
    (run / name).symlink_to(private)
    write(run)
    assert private.read_text() == PRIVATE
    assert not (run / name).is_symlink()
    assert (run / name).stat().st_size > len(PRIVATE)


def test_a_file_that_cannot_be_moved_to_its_place_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match="report"):
        files.write_whole(tmp_path / "report.html", b"page")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_written_file_can_be_read_by_whom_the_persons_mask_lets(tmp_path: Path):
    before = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_file_that_is_longer_than_it_may_be_is_refused_and_not_cut_off(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"12345")
    assert files.read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="it has more than 4 bytes"):
        files.read_regular(tmp_path / "file", 4)


@pytest.mark.parametrize("name", [STUDY_FILE, TRIALS_FILE, RUN_FILE])
def test_a_link_in_a_run_folder_is_not_followed(run: Path, private: Path, name: str):
    (run / name).unlink()
    (run / name).symlink_to(private)
    with pytest.raises(BadInput, match=f"{name}.* is a link"):
        read_run(run)
    with pytest.raises(BadInput, match=f"{name}.* is a link"):
        FollowedRun(run).read()


@pytest.mark.parametrize("name", [STUDY_FILE, TRIALS_FILE, RUN_FILE])
def test_a_pipe_in_a_run_folder_is_not_waited_for(run: Path, name: str):
    (run / name).unlink()
    os.mkfifo(run / name)
    with pytest.raises(BadInput, match=f"{name}.* is not a regular file"):
        read_run(run)
    with pytest.raises(BadInput, match=f"{name}.* is not a regular file"):
        FollowedRun(run).read()


def test_summary_and_progress_that_are_no_files_of_the_folder_are_none(run: Path, tmp_path: Path):
    make_summary(run)
    assert read_summary(run) is not None
    (run / NUMBERS_FILE).rename(tmp_path / "numbers")
    (run / NUMBERS_FILE).symlink_to(tmp_path / "numbers")
    os.mkfifo(run / PROGRESS_FILE)
    assert read_summary(run) is None
    assert read_progress(run) is None


WRITERS = {"write_text", "write_bytes", "mkstemp", "NamedTemporaryFile"}


@pytest.mark.parametrize("package", ["report", "result", "watch", "explain", "stats"])
def test_files_of_folders_that_are_passed_on_are_written_in_one_place(package: str):
    found = {
        f"{path.name}:{node.lineno}"
        for path in (Path(loadcurve.__file__).parent / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in WRITERS
    }
    assert found == set()


def test_a_named_file_is_read_as_far_as_it_may_be_long(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"four")
    assert read_given(file, 4)[0] == b"four"
    with pytest.raises(OSError, match="more than 3 bytes"):
        read_given(file, 3)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_file(device):
    with pytest.raises(OSError, match="not a regular file"):
        read_given(Path(device), 1 << 20)


def test_what_a_pipe_brings_is_read_to_its_end(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"A: 1\n")
    threading.Timer(0.1, lambda: (os.write(writing, b"B: 2\n"), os.close(writing))).start()
    assert read_given(Path(f"/dev/fd/{reading}"), 100)[0] == b"A: 1\nB: 2\n"
    os.close(reading)


def test_a_pipe_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PIPE_TIMEOUT_S", 0.1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert read_given(fifo, 100)[0] == b"", "nobody has opened it for writing"
    held = os.open(fifo, os.O_RDWR)
    with pytest.raises(TimeoutError, match=r"nothing came within 0\.1 s"):
        read_given(fifo, 100)
    os.close(held)
