"""Several programs that are one server: the order of their starts and of their ends."""

import sys
from pathlib import Path

from loadcurve.server.catalog import load_catalog
from loadcurve.server.found import NATIVE_FOLDER, Overrides, ReadyQuestion, WorkingFolder
from loadcurve.server.several import GivenProgram, find_programs
from loadcurve.server.together import ServerOfPrograms

SAYS_WHEN = """\
import signal, sys, time
name = sys.argv[1]
def say(what):
    with open("log", "a") as log:
        log.write(f"{name} {what}\\n")
def end(*_):
    say("ends")
    sys.exit()
signal.signal(signal.SIGTERM, end)
say("starts")
while True:
    time.sleep(60)
"""


def worker(name: str) -> GivenProgram:
    return GivenProgram(name, [sys.executable, "says.py", name], serves=False)


def test_programs_start_in_their_order_each_when_those_before_it_are_ready_and_end_in_reverse(
    tmp_path: Path,
) -> None:
    (tmp_path / "says.py").write_text(SAYS_WHEN)
    (tmp_path / "index.txt").write_text("right")
    serving = GivenProgram(
        "web",
        [f"{NATIVE_FOLDER}/loadcurve-server", "limit", "--listen", "127.0.0.1:{port}", "--root", "."],
        serves=True,
        ready=ReadyQuestion("/index.txt", 400),
    )
    overrides = Overrides(version="1", user="root", folder=WorkingFolder(tmp_path, is_given=True))
    programs = [worker("first"), worker("second"), serving]
    found = find_programs(load_catalog()["command"], {}, overrides, programs)
    log = tmp_path / "log"
    with ServerOfPrograms(found, None, {}) as server:
        assert log.read_text().splitlines() == ["first starts", "second starts"]
        server.raise_if_exited()
        marks = server.probe([0], 0.1)._marks
        assert list(marks.programs) == ["first", "second", "web"]
        folders = [part.folder for part in marks.programs.values()]
        assert all(folder.exists() for folder in folders)
    ends = ["second ends", "first ends"]
    assert log.read_text().splitlines() == ["first starts", "second starts", *ends]
    assert not any(folder.exists() for folder in folders)
