"""`loadcurve run` on one's own application: a study of eight lines, and the mistakes of the first hour."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from loadcurve.result.folder import read_run
from loadcurve.server.found import NATIVE_FOLDER
from support.sandbox import Sandbox

STUDY = """\
title = "Mine"
load = {{ model = "closed", requests = ["/{path}"], warmup = "0s", requests_total = 40 }}
sweep = {{ connections = [1, 2] }}
trials = {{ count = 2 }}
[servers.mine]
start = "{start}"
"""
PROGRAM = f"{NATIVE_FOLDER}/loadcurve-server"
SERVES_ITS_FOLDER = f"{PROGRAM} limit --listen 127.0.0.1:{{port}} --root ."
MISTAKES = {
    "another port": (
        f"sh -c 'exec {PROGRAM} limit --listen 127.0.0.1:0 --root .' {{port}}",
        "hello.txt",
        # At the first look after 2 s, or at a later one.
        ": it listens on port ",
    ),
    "a path that it does not have": (
        SERVES_ITS_FOLDER,
        "gone.txt",
        "GET /gone.txt was answered with status 404",
    ),
    "a module that is missing": (
        "sh -c 'echo no module named app; exit 3' {port}",
        "hello.txt",
        "ended with status 3 before it was ready. Its output:\n    no module named app",
    ),
    "a program that cannot be run": (
        "sh -c ./hello.txt {port}",
        "hello.txt",
        "ended with status 126 (of a shell that may not run the command: chmod +x makes a file executable)",
    ),
    "a program that goes into the background": (
        "sh -c 'sleep 60 &' {port}",
        "hello.txt",
        "It still runs in the background: its start command must keep it in the foreground.",
    ),
}


@pytest.fixture
def application(sandbox: Sandbox) -> Sandbox:
    """A Git repository with what an application serves."""
    sandbox.write("app/hello.txt", "hello")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "safe.directory=*")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", "-C", str(sandbox.work / "app"), *identity, *words], check=True)
    return sandbox


def test_a_study_of_one_command_measures_it_in_its_own_folder(application: Sandbox):
    application.write("app/mine.toml", STUDY.format(path="hello.txt", start=SERVES_ITS_FOLDER))
    finished = application.run("run", "app/mine.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    run = read_run(application.work / "run")
    assert [point.load.requests.ok for point in run.points] == [40] * 4
    assert run.run.servers["mine"].version.startswith("git ")
    # The run is repeated from a copy of its folder, which does not have the application.
    shutil.copytree(application.work / "run", application.work / "copy")
    again = application.run("run", "copy/study.toml", "--out", "again")
    assert again.returncode == 0, again.stderr
    assert len(read_run(application.work / "again").points) == 4


def test_init_finds_a_path_that_the_application_describes_and_answers(application: Sandbox):
    described = {"openapi": "3.1.0", "paths": {path: {"get": {}} for path in ("/gone", "/hello.txt")}}
    application.write("app/openapi.json", json.dumps(described))
    finished = application.run("init", "app/study.toml", "--command", SERVES_ITS_FOLDER)
    assert finished.returncode == 0, finished.stderr
    assert "so the study asks for /hello.txt, which /openapi.json of the application names" in finished.stderr
    assert 'requests = ["/hello.txt"]' in (application.work / "app/study.toml").read_text()


ON_SOCKET = """\
import http.server, socketserver, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def address_string(self):
        return "a socket"

class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

Server(sys.argv[1], Handler).serve_forever()
"""


def test_a_program_that_listens_on_a_socket_is_loaded_over_it(application: Sandbox):
    application.write("app/serve.py", ON_SOCKET)
    start = f"{sys.executable} serve.py {{socket}}"
    # Another user than root may not enter the folder of this interpreter.
    user = 'user = "root"\n' if os.geteuid() == 0 else ""
    application.write("app/mine.toml", STUDY.format(path="hello.txt", start=start) + user)
    finished = application.run("run", "app/mine.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    points = read_run(application.work / "run").points
    assert [point.load.requests.ok for point in points] == [40] * 4
    assert all(point.load.load.address.startswith("unix:/") for point in points)
    # There are no segments to count.
    assert {value for point in points for value in point.load.kernel.model_dump().values()} == {None}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's programs become another user")
def test_in_a_folder_that_its_user_cannot_enter_it_works_elsewhere_and_a_failure_says_so(
    application: Sandbox,
):
    folder = application.work / "app"
    text = STUDY.format(path="hello.txt", start=SERVES_ITS_FOLDER)
    (folder / "mine.toml").write_text(text)
    (folder / "made.toml").write_text(
        text.replace("--root .", "--root {content}") + '[content]\n"hello.txt" = { text = "hello" }\n'
    )
    folder.chmod(0o700)
    assert application.run("run", "app/made.toml", "--out", "made").returncode == 0
    finished = application.run("run", "app/mine.toml", "--out", "run")
    assert finished.returncode == 4
    assert f"in an empty folder, because that user cannot enter {folder}: move the study" in finished.stderr
    with (folder / "mine.toml").open("a") as opened:
        opened.write('cwd = "."\n')
    named = application.run("run", "app/mine.toml", "--out", "named")
    assert f"that user cannot reach {folder}, because other users have no access" in named.stderr


@pytest.mark.parametrize(("start", "path", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_of_the_first_hour_is_said_once(application: Sandbox, start: str, path: str, said: str):
    application.write("app/mine.toml", STUDY.format(path=path, start=start))
    finished = application.run("run", "app/mine.toml", "--out", "run")
    assert finished.returncode == 4
    assert finished.stderr.count(said) == 1
    assert "mine: failed:" not in finished.stderr


def test_a_program_that_opens_another_port_first_is_waited_for(application: Sandbox):
    """A debugger or metrics may have a port of its own, which is open long before that of the work."""
    other = f"{PROGRAM} limit --listen 127.0.0.1:0 --root . & sleep 4"
    start = f"sh -c '{other}; exec {PROGRAM} limit --listen 127.0.0.1:{{port}} --root .'"
    application.write("app/mine.toml", STUDY.format(path="hello.txt", start=start))
    finished = application.run("run", "app/mine.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.count("give it that as the port to listen on") == 1
