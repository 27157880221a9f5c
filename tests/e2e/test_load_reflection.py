"""`loadcurve load grpc://…` without a schema: the server's own reflection gives it, here that of grpcio."""

import base64
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadcurve import _engine

pytest.importorskip("grpc_reflection", reason="needs grpcio-reflection: pip install grpcio-reflection")
SERVER = Path(__file__).parents[1] / "support" / "grpc_server.py"
MESSAGE = ("--message", '{"name": "x"}')


class Serving:
    """A server of grpcio."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.address = f"127.0.0.1:{self._line().strip()}"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def counts(self) -> dict[str, int]:
        """End the server; return what it has counted."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return json.loads(self._line())


@contextmanager
def serving(*options: object) -> Iterator[Serving]:
    command = [sys.executable, SERVER, *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Serving(process)
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("method", "counted", "options"),
    [
        ("Say", {"Say x": 51}, ()),
        ("Listen", {"Listen": 51}, ("--events-expected", 3)),
        ("Tell", {"Tell": 51, "Tell messages": 204}, ("--messages-per-call", 4)),
        # The call that the server was verified by is another one than those that are kept.
        ("Chat", {"Chat messages": 51}, ("--streams", 5)),
    ],
)
def test_the_server_says_of_what_kind_a_method_is_and_what_its_message_looks_like(
    sandbox, method, counted, options
):
    with serving() as server:
        url = f"grpc://{server.address}/h.Hello/{method}"
        finished = sandbox.run("load", url, *MESSAGE, "-c", 2, "-n", 50, *options, "--json")
        assert finished.returncode == 0, finished.stderr
        requests = json.loads(finished.stdout)["requests"]
        assert (requests["answered"], requests["failed"]) == (50, 0)
        # One more for the verification.
        assert server.counts() == counted


def test_it_is_asked_over_tls_as_the_load_is_sent(sandbox, tmp_path):
    authority, certificate, key = _engine.make_certificates("ecdsa", ["127.0.0.1"])
    files = [tmp_path / name for name in ("authority", "certificate", "key")]
    for file, text in zip(files, (authority, certificate, key), strict=True):
        file.write_text(text)
    with serving(*files[1:]) as server:
        url = f"grpcs://{server.address}/h.Hello/Say"
        finished = sandbox.run("load", url, *MESSAGE, "--cacert", files[0], "-c", 2, "-n", 20, "--json")
        assert finished.returncode == 0, finished.stderr
        assert server.counts() == {"Say x": 21}


def test_the_study_in_the_folder_of_the_load_has_the_descriptors(sandbox, tmp_path):
    with serving() as server:
        url = f"grpc://{server.address}/h.Hello/Say"
        finished = sandbox.run("load", url, *MESSAGE, "-n", 20, "--out", tmp_path / "run")
        assert finished.returncode == 0, finished.stderr
    study = tomllib.loads((tmp_path / "run" / "study.toml").read_text())
    descriptors = base64.b64decode(study["load"]["grpc"]["descriptors"])
    names = [f"h.Hello/{name}" for name in ("Say", "Listen", "Tell", "Chat")]
    assert _engine.schema_methods(descriptors) == names


@pytest.mark.parametrize(
    ("path", "message", "said"),
    [
        (
            "h.Hello/Shout",
            '{"name": "x"}',
            'URL: the server has no method "h.Hello/Shout"; it has h.Hello/Say, h.Hello/Listen',
        ),
        (
            "h.Helo/Say",
            '{"name": "x"}',
            'URL: the server has no service "h.Helo"; it has h.Hello; did you mean "h.Hello"?',
        ),
        ("h.Hello/Say", '{"nam": "x"}', "--message: line 1, column 6: unrecognized field name 'nam'"),
    ],
)
def test_what_the_server_does_not_know_is_refused_with_what_it_does(sandbox, path, message, said):
    with serving() as server:
        finished = sandbox.run("load", f"grpc://{server.address}/{path}", "--message", message)
        assert (finished.returncode, finished.stdout) == (2, "")
        assert said in " ".join(finished.stderr.split())
        assert server.counts() == {}


def test_a_server_without_reflection_is_refused_with_what_to_give_instead(sandbox):
    with serving("--no-reflection") as server:
        finished = sandbox.run("load", f"grpc://{server.address}/h.Hello/Say", *MESSAGE)
        assert (finished.returncode, finished.stdout) == (2, "")
        text = " ".join(finished.stderr.split())
        assert "has no reflection" in text
        assert "--proto FILE" in text
