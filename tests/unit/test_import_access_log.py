"""An access log becomes a list of requests that a load reads."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.imported.weighted import write_requests
from loadcurve.loads.requests import open_requests
from support.command import Command

LOG = """127.0.0.1 - - [24/Nov/2026:02:30:20 +0000] "GET /a?x=1 HTTP/1.1" 200 1024
127.0.0.1 - ann [24/Nov/2026:02:30:21 +0000] "GET /b HTTP/1.1" 404 - "-" "curl/7.88.1" 0.004
::1 - - [24/Nov/2026:02:30:21 +0000] "GET /a?x=1 HTTP/2.0" 304 0 "http://x/" "a \\"quoted\\" agent"
127.0.0.1 - - [24/Nov/2026:02:30:22 +0000] "POST /form HTTP/1.1" 200 12 "-" "-"
127.0.0.1 - - [24/Nov/2026:02:30:23 +0000] "\\x16\\x03\\x01" 400 150 "-" "-"
"""


def test_paths_are_weighed_by_how_often_they_were_asked_for(tmp_path: Path):
    (tmp_path / "access.log").write_text(LOG)
    assert write_requests(tmp_path / "access.log", tmp_path / "requests.txt") == (3, 2, 2)
    listed = open_requests(tmp_path / "requests.txt")
    assert [(path, weight) for path, weight, _ in listed.short] == [("/a?x=1", 2.0), ("/b", 1.0)]


def test_the_command_writes_the_list_and_prints_its_name(tmp_path: Path):
    command = Command(tmp_path)
    command.write("access.log", LOG)
    done = command.run("import", "access.log", "--as", "requests", "--out", "list.txt")
    assert (done.returncode, done.stdout) == (0, "list.txt\n")
    again = command.run("import", "access.log", "--as", "requests", "--out", "list.txt")
    assert again.returncode == 2
    assert "never overwritten" in again.stderr
    other = command.run("import", "access.log", "--as", "requests", "--point", "rate=1")
    assert other.returncode == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LOG + "Segmentation fault\n", "line 6: found 'Segmentation fault'"),
        (LOG[:-30], "line 5: found the end of the file within a line"),
        (LOG.replace("GET", "PUT"), "no GET request"),
        ("", "no GET request"),
    ],
)
def test_what_is_no_access_log_is_refused(tmp_path: Path, text: str, found: str):
    (tmp_path / "access.log").write_text(text)
    with pytest.raises(BadInput, match=found):
        write_requests(tmp_path / "access.log", tmp_path / "requests.txt")
    assert not (tmp_path / "requests.txt").exists()
