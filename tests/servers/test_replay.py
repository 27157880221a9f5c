"""A replay against a real server: its own log shows the recorded spacing, and can be replayed again."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_support import wait_until

pytestmark = pytest.mark.needs("nginx")

CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;
events {{}}
http {{
    log_format timed '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent $msec';
    access_log {folder}/access.log timed;
    client_body_temp_path {folder}/bodies;
    server {{
        listen 127.0.0.1:{port};
        location / {{ return 200 "here"; }}
        location /gone {{ return 404; }}
        location /moved {{ return 301 /; }}
    }}
}}
"""
RECORDED = [("/a", 0.0), ("/b", 0.1), ("/a", 0.5), ("/c", 0.5), ("/b", 1.2)]
"""Paths, and when they were asked for, in s."""
SPEED = 2
LOG_STEP_S = 0.001


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[str]:
    """The authority of a server that logs each request to the millisecond."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    configuration = tmp_path / "nginx.conf"
    configuration.write_text("user root;" + CONFIGURATION.format(folder=tmp_path, port=port))
    server = subprocess.Popen(
        [shutil.which("nginx") or "nginx", "-p", tmp_path, "-c", configuration],
        stderr=subprocess.PIPE,
        text=True,
    )

    def is_ready() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(is_ready)
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.communicate()


def loadcurve(folder: Path, *words: object) -> str:
    """Return what the real command prints."""
    program = Path(sys.executable).parent / "loadcurve"
    command = [str(word) for word in (program, *words)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.stdout, ended.stderr
    return ended.stdout


def test_the_log_of_nginx_shows_the_recorded_spacing_and_becomes_a_recording_itself(
    nginx: str, tmp_path: Path
) -> None:
    (tmp_path / "list.txt").write_text("".join(f"{path} @{moment_s}\n" for path, moment_s in RECORDED))
    replay = ("--urls", "list.txt", "--arrivals", "recorded", "--speed", SPEED, "-c", 4, "--json")
    result = json.loads(loadcurve(tmp_path, "load", f"http://{nginx}/", *replay))
    assert result["requests"]["ok"] == result["requests"]["due"] == len(RECORDED)
    assert (result["load"]["arrivals"], result["load"]["speed"]) == ("recorded", SPEED)
    assert result["load"]["recording"]["requests"] == len(RECORDED)

    loadcurve(tmp_path, "import", "access.log", "--as", "recording", "--out", "again.txt")
    again = [line.split() for line in (tmp_path / "again.txt").read_text().splitlines()]
    assert sorted(path for path, _, _ in again) == sorted(path for path, _ in RECORDED)
    assert {status for _, _, status in again} == {"=200"}
    # Between the moment at which it is due and its answer nginx logs a request, however slow this machine is.
    latest_s = result["latency_ms"]["max"] / 1e3 + 2 * LOG_STEP_S
    for (_, moment, _), (_, recorded_s) in zip(again, RECORDED, strict=True):
        assert float(moment.removeprefix("@")) == pytest.approx(recorded_s / SPEED, abs=latest_s)


STUDY = """
title = "a replay"
trials = {{ count = 1 }}
[load]
model = "open"
requests = "again.txt"
arrivals = "recorded"
connections = 4
warmup = "0s"
[sweep]
speed = [1]
[servers.web]
use = "url"
url = "http://{authority}"
version = "1"
"""


def test_what_was_answered_by_404_and_301_is_right_where_it_is_answered_so_again(
    nginx: str, tmp_path: Path
) -> None:
    (tmp_path / "list.txt").write_text("".join(f"/{path}\n" for path in ("gone", "a", "moved") * 40))
    # As a load without a log knows it, a third of these answers are errors.
    first = json.loads(
        loadcurve(tmp_path, "load", f"http://{nginx}/", "--urls", "list.txt", "-n", 120, "-c", 1, "--json")
    )
    assert (first["requests"]["ok"], first["verdict"]["status"]) == (80, "invalid")

    loadcurve(tmp_path, "import", "access.log", "--as", "recording", "--out", "again.txt")
    replay = ("--urls", "again.txt", "--arrivals", "recorded", "-c", 4, "--json")
    again = json.loads(loadcurve(tmp_path, "load", f"http://{nginx}/", *replay))
    assert again["requests"]["ok"] == again["requests"]["due"]
    assert set(again["unexpected_status"].values()) == {0}
    assert "error_status" not in [reason["code"] for reason in again["verdict"]["reasons"]]

    (tmp_path / "replay.toml").write_text(STUDY.format(authority=nginx))
    loadcurve(tmp_path, "run", "replay.toml", "--out", "run")
    [line] = (tmp_path / "run" / "trials.jsonl").read_text().splitlines()
    measured = json.loads(line)["measurements"]["load"]
    assert measured["requests"]["ok"] == measured["requests"]["due"] == 120
