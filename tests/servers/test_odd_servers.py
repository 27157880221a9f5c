"""Servers with odd habits, which the catalogue lacks: what is counted is what each of them has counted."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from server_support import wait_until

from loadcurve.generate.engine import ENGINE
from loadcurve.loads.http import ClosedLoad
from loadcurve.runs.plan import plan_at_point

DEBIANS_PYTHON = "/usr/bin/python3"
REQUESTS = 200

WSGI = """
import os, sys
port = int(sys.argv[1])
log = os.open("counted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def app(environ, start_response):
    os.write(log, b".")
    start_response("200 OK", [("Content-Length", "1024"), ("Content-Type", "text/plain")])
    return [b"x" * 1024]
"""
WAITRESS = f"""{WSGI}
import waitress
waitress.serve(app, host="127.0.0.1", port=port, threads=4)
"""
CHEROOT = f"""{WSGI}
from cheroot.wsgi import Server
Server(("127.0.0.1", port), app).start()
"""
TORNADO = """
import asyncio, os, sys
import tornado.web
log = os.open("counted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
class Answer(tornado.web.RequestHandler):
    def get(self):
        os.write(log, b".")
        self.finish(b"x" * 1024)
async def main():
    tornado.web.Application([("/.*", Answer)]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()
asyncio.run(main())
"""
PSGI = """
open(my $log, ">>", "counted") or die;
sub { syswrite($log, "."); [200, ["Content-Type" => "text/plain", "Content-Length" => 1024], ["x" x 1024]] };
"""
RACK = """
LOG = File.open("counted", "a").tap { |file| file.sync = true }
run lambda { |env|
  LOG.write(".")
  [200, { "Content-Type" => "text/plain", "Content-Length" => "1024" }, ["x" * 1024]]
}
"""
WEBRICK = """
require "webrick"
log = File.open("counted", "a").tap { |file| file.sync = true }
server = WEBrick::HTTPServer.new(
  BindAddress: "127.0.0.1", Port: ARGV[0].to_i, AccessLog: [], Logger: WEBrick::Log.new(nil, 0)
)
server.mount_proc("/") { |_, response| log.write("."); response.body = "x" * 1024 }
server.start
"""


@dataclass(frozen=True)
class Odd:
    """A server, as words with {port}; its files; what it needs; whether it counts, and keeps connections."""

    words: tuple[str, ...]
    files: dict[str, str]
    needs: tuple[str, ...]
    counts: bool = True
    keeps: bool = True


def in_python(text: str, module: str) -> Odd:
    return Odd(
        (DEBIANS_PYTHON, "serve.py", "{port}"), {"serve.py": text}, (DEBIANS_PYTHON, "-c", f"import {module}")
    )


ODD = {
    "waitress": in_python(WAITRESS, "waitress"),
    "cheroot": in_python(CHEROOT, "cheroot"),
    "tornado": in_python(TORNADO, "tornado"),
    "starman": Odd(
        ("starman", "--listen", "127.0.0.1:{port}", "--workers", "4", "app.psgi"),
        {"app.psgi": PSGI},
        ("starman", "--version"),
    ),
    "feersum": Odd(
        ("feersum", "--listen", "127.0.0.1:{port}", "app.psgi"),
        {"app.psgi": PSGI},
        ("perl", "-MFeersum", "-e", "1"),
    ),
    "thin": Odd(
        ("thin", "--address", "127.0.0.1", "--port", "{port}", "--rackup", "config.ru", "start"),
        {"config.ru": RACK},
        ("thin", "--version"),
    ),
    "webrick": Odd(
        ("ruby", "serve.rb", "{port}"), {"serve.rb": WEBRICK}, ("ruby", "-e", 'require "webrick"')
    ),
    "busybox": Odd(
        ("busybox", "httpd", "-f", "-p", "127.0.0.1:{port}"),
        {"1k.txt": "x" * 1024},
        ("busybox", "httpd", "--help"),
        counts=False,
        keeps=False,
    ),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextmanager
def serving(odd: Odd, folder: Path) -> Iterator[int]:
    """Run a server in a folder; give its port."""
    if (
        shutil.which(odd.needs[0]) is None
        or subprocess.run(odd.needs, capture_output=True, check=False).returncode
    ):
        pytest.skip(f"needs {odd.words[0]}: {' '.join(odd.needs)} fails")
    for name, text in odd.files.items():
        (folder / name).write_text(text)
    port = free_port()
    words = [word.format(port=port) for word in odd.words]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            words,
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={"PATH": os.environ["PATH"]},
        )
    try:
        wait_until(lambda: accepts(port) or process.poll() is not None)
        assert process.poll() is None, (folder / "log").read_text()
        yield port
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("name", ODD)
def test_the_answers_counted_are_those_that_an_odd_server_has_given(name, tmp_path):
    odd = ODD[name]
    load = ClosedLoad(
        model="closed", requests=["/1k.txt"], connections=4, requests_total=REQUESTS, warmup=0, timeout=5
    )
    with serving(odd, tmp_path) as port:
        plan = plan_at_point(load, f"127.0.0.1:{port}", {}, (0,), seed=0)
        result = ENGINE.run(plan, lambda _: None)
    requests = result.requests
    assert (requests.answered, requests.failed, requests.unanswered) == (REQUESTS, 0, 0)
    if odd.counts:
        assert (tmp_path / "counted").stat().st_size == REQUESTS
    # One that closes behind each answer costs a connection for each.
    assert (result.connections.opened < REQUESTS / 4) == odd.keeps
    # No answer is lost and none is late by the generator's doing.
    assert result.verdict.status != "invalid"
