"""`loadcurve run`: servers that run already and are measured where they are."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psutil
import pytest

from loadcurve.files import sha256_of
from loadcurve.server.found import NATIVE_FOLDER
from support.limit_server import limit_server
from support.tiny_study import study_text


@pytest.fixture
def content(sandbox):
    return sandbox.write("site/1k.txt", "x" * 1024).parent


def study_of(url, keys='version = "1"', content='folder = "site"'):
    server = f'[servers.staging]\nuse = "url"\nurl = "{url}"\n{keys}'
    # Some samples of the probe lie within it, on a busy machine as well.
    load = 'duration = "1500ms"'
    return study_text(server, content=content, connections="[1]", trials=1, load=load)


def listener_of(address):
    """Return the id of the process that listens at an address."""
    port = int(address.partition(":")[2])
    (found,) = [
        one.pid
        for one in psutil.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN and one.laddr.port == port
    ]
    return found


def run(sandbox, text):
    sandbox.write("tiny.toml", text)
    return sandbox.run("run", "tiny.toml", "--out", "run")


def records_of(sandbox):
    folder = sandbox.work / "run"
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    return json.loads((folder / "run.json").read_text()), trials


class HostEcho(BaseHTTPRequestHandler):
    """Answers 200 with a body of another length each time, to the host that it is instructed to expect."""

    protocol_version = "HTTP/1.1"
    server_version = "demo/1.2"
    sys_version = ""
    lengths = iter(range(1, 1_000_000))

    def do_GET(self) -> None:
        right = self.headers["Host"] == f"localhost:{self.server.server_address[1]}"
        body = b"x" * (next(self.lengths) % 100)
        self.send_response(200 if right else 421)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def echo_server() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), HostEcho) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_a_server_that_runs_already_is_verified_measured_and_left_running(sandbox, content):
    with limit_server(content) as address:
        finished = run(sandbox, study_of(f"http://{address}"))
        socket.create_connection(tuple(address.split(":"))).close()
    assert finished.returncode == 0, finished.stderr
    record, (trial,) = records_of(sandbox)
    server = record["servers"]["staging"]
    assert (server["status"], server["version"]) == ("found", "1")
    assert server["binary"] == str((NATIVE_FOLDER / "loadcurve-server").resolve())
    assert server["binary_sha256"] == sha256_of(NATIVE_FOLDER / "loadcurve-server")
    assert server["settings"] == {"url": f"http://{address}"}
    assert trial["measurements"]["load"]["requests"]["answered"] > 0
    assert trial["measurements"]["load"]["errors"]["mismatch"] == 0
    port = address.partition(":")[2]
    assert finished.stderr.count("staging: CPU and memory are those of process ") == 1
    assert f" (loadcurve-serve), which listens on port {port}, with all that it starts" in finished.stderr
    used = trial["probe"]["server"]
    assert used["processes"] == {"min": 1, "max": 1}
    assert used["memory_peak_bytes"] > 1 << 20
    assert used["cpu_share"] is not None
    codes = [caveat["code"] for caveat in trial["probe"]["caveats"]]
    assert codes in ([], ["cpus_shared"], ["not_alone"], ["cpus_shared", "not_alone"])


def test_a_process_that_does_not_listen_there_is_refused_at_its_line_before_anything(sandbox, content):
    with limit_server(content) as address, limit_server(content) as other:
        pid = int(listener_of(other))
        finished = run(sandbox, study_of(f"http://{address}", keys=f'version = "1"\npid = {pid}'))
    assert finished.returncode == 2
    port, of_other = address.partition(":")[2], other.partition(":")[2]
    said = " ".join(finished.stderr.split())
    assert f"servers.staging.pid: found {pid} (loadcurve-serve), which does not listen on port {port}" in said
    assert f", but on port {of_other}: process " in said
    assert not (sandbox.work / "run").exists()


def test_without_content_any_answer_with_status_200_is_a_right_one(sandbox):
    text = study_of("URL", keys="").replace('[content]\nfolder = "site"\n', "")
    assert "[content]" not in text
    with echo_server() as port:
        finished = run(sandbox, text.replace("URL", f"http://localhost:{port}"))
    assert finished.returncode == 0, finished.stderr
    record, (trial,) = records_of(sandbox)
    assert record["content"] == {}
    assert record["servers"]["staging"]["version"] == "demo/1.2", "what the header Server says"
    load = trial["measurements"]["load"]
    assert load["status"]["2xx"] == load["requests"]["answered"] > 0, "Host is the URL's"
    assert load["errors"]["mismatch"] == 0
