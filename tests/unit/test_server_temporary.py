"""Temporary folders, which may hold passwords, are left by no command, however it ends."""

import re
import subprocess
import sys
from pathlib import Path

import loadcurve
from loadcurve.server.ledger import clean_up_after_killed_runs, ledger_folder
from loadcurve.server.temporary import READ_BY_ALL_MODE, temporary_folder
from support.sandbox import wait_until

MAKING = re.compile(r"\b(mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile|TemporaryFile)\b")
IN_PLACE = {"machines/wheels.py", "machines/bootstrap.py", "server/installed/installation.py"}
"""What is staged where it stays, and removed with what was not used for long, or by the next one."""
KILLED = """\
import sys, time
from pathlib import Path
from loadcurve.tools.process import ToolProcess
from loadcurve.server.temporary import temporary_folder
with temporary_folder("wrk") as folder:
    (folder / "private.properties").write_text("db.passwd=sesame")
    place = folder / "measured"
    place.mkdir()
    started = ToolProcess(["sleep", "600"], place, (), private=folder).__enter__() if sys.argv[1:] else None
    print(folder, flush=True)
    time.sleep(600)
"""


def killed(*arguments: str) -> Path:
    """Return the folder of a process that was killed."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, *arguments], stdout=subprocess.PIPE, text=True
    ) as it:
        assert it.stdout is not None
        folder = Path(it.stdout.readline().strip())
        assert (folder / "private.properties").exists()
        it.kill()
    return folder


def test_what_a_killed_command_leaves_is_removed_by_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = killed()
    [cleaned] = clean_up_after_killed_runs()
    assert (cleaned.server, cleaned.removed_folder) == ("wrk", folder)
    assert not folder.exists()
    assert not list(ledger_folder().iterdir())


def test_the_folder_of_a_tool_goes_at_once_where_the_command_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = killed("with a tool")
    wait_until(lambda: not folder.exists(), "it is removed")


def test_a_folder_is_closed_to_others_unless_a_server_is_to_read_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with temporary_folder("wrk") as own, temporary_folder("content", READ_BY_ALL_MODE) as read_by_all:
        assert (own.stat().st_mode & 0o777, read_by_all.stat().st_mode & 0o777) == (0o700, 0o755)
    assert not own.exists()
    assert not list(ledger_folder().iterdir())


def test_no_module_makes_a_temporary_file_that_the_ledger_does_not_know():
    package = Path(loadcurve.__file__).parent
    texts = {file.relative_to(package).as_posix(): file.read_text() for file in package.rglob("*.py")}
    making = {name for name, text in texts.items() if MAKING.search(text) and not name.startswith("catalog/")}
    assert making == IN_PLACE
