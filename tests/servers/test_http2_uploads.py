"""Long bodies over HTTP/2 to a real server: all of each arrives, and the load takes little memory."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("nginx")

BODY_BYTES = 64 << 20
STREAMS = 4
MEMORY_BYTES = 32 << 20
"""What a load may take beyond one without bodies: less than one of the four bodies that are under way."""
CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;
events {{}}
http {{
    log_format received '$status $request_length $http_content_length $http_transfer_encoding';
    access_log {folder}/access.log received;
    client_body_temp_path {folder}/bodies; client_max_body_size 0; client_body_buffer_size 256k;
    server {{
        listen 127.0.0.1:{port} http2;
        location / {{ root {folder}/stored; dav_methods PUT; }}
    }}
}}
"""


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[str]:
    """The authority of a server that stores what is put there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "stored").mkdir()
    configuration = tmp_path / "nginx.conf"
    configuration.write_text("user root;" + CONFIGURATION.format(folder=tmp_path, port=port))
    server = subprocess.Popen(
        [shutil.which("nginx") or "nginx", "-p", tmp_path, "-c", configuration],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.communicate()


def load(folder: Path, authority: str, *options: object) -> tuple[dict, int]:
    """Return the result of the real command, and the peak of its memory in bytes."""
    peak = folder / "peak"
    program = Path(sys.executable).parent / "loadcurve"
    command = [sys.executable, "-m", "benches.peak_memory", peak, program, "load", f"http://{authority}/body"]
    command += ["--http", "2", "-c", 1, "-t", 1, "--warmup", "0s", "--json", *options]
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [str(word) for word in command], cwd=root, capture_output=True, text=True, check=False
    )
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout), int(peak.read_text())


@pytest.mark.parametrize("length", [1, 100_000])
def test_a_chunked_body_has_no_coding_and_no_length_on_a_stream(
    nginx: str, tmp_path: Path, length: int
) -> None:
    # HTTP/2 has no chunked coding (RFC 9113, section 8.2.2), and ends a body without a length by a flag.
    body = tmp_path / "body"
    body.write_bytes(bytes(number % 251 for number in range(length)))
    program = Path(sys.executable).parent / "loadcurve"
    command = [program, "load", f"http://{nginx}/body", "--http", "2", "-c", "1", "-n", "2", "--json"]
    command += ["-X", "PUT", "--body", f"@{body}", "--chunked"]
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    requests = json.loads(ended.stdout)["requests"]
    assert (requests["ok"], requests["failed"]) == (2, 0), ended.stdout
    assert (tmp_path / "stored" / "body").read_bytes() == body.read_bytes()
    for line in (tmp_path / "access.log").read_text().splitlines():
        status, _, declared, coding = line.split()
        assert status in {"201", "204"}
        assert (declared, coding) == ("-", "-")


def test_long_bodies_arrive_whole_on_streams_at_once_and_take_little_memory(
    nginx: str, tmp_path: Path
) -> None:
    body = tmp_path / "body"
    with body.open("wb") as file:
        file.truncate(BODY_BYTES)
    small, without_bodies = load(tmp_path, nginx, "-n", 1)
    assert small["requests"]["answered"] == 1
    put = ("-X", "PUT", "--body", f"@{body}", "--streams", STREAMS, "-n", STREAMS)
    result, with_bodies = load(tmp_path, nginx, *put)
    assert (result["requests"]["ok"], result["requests"]["failed"]) == (STREAMS, 0)
    assert with_bodies - without_bodies < MEMORY_BYTES
    assert (tmp_path / "stored" / "body").stat().st_size == BODY_BYTES
    received = [line.split() for line in (tmp_path / "access.log").read_text().splitlines()[-STREAMS:]]
    assert {status for status, *_ in received} <= {"201", "204"}
    assert all(int(request_bytes) > BODY_BYTES for _, request_bytes, *_ in received)
    # Header blocks and the frames' headers of nine bytes are counted as sent, too.
    assert STREAMS * BODY_BYTES < result["bytes"]["sent"] < STREAMS * BODY_BYTES * 1.01
