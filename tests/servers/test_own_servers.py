"""The servers of this package, which are always there."""

import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from server_support import CATALOG, bytes_answered_to_head, members_of_session, server_of, wait_until

from loadcurve.server.check import check_server
from loadcurve.server.failure import ServerFailure

FORKING_SERVERS = ["simple", "persistent", "pipelined"]


@pytest.mark.parametrize("name", ["limit", *FORKING_SERVERS])
def test_the_packages_own_servers_pass_the_same_check(name):
    checked = check_server(CATALOG[name])
    assert checked.found.binary.parent.name == "native"
    assert checked.found.version.startswith("0.")


@pytest.mark.parametrize("name", ["limit", *FORKING_SERVERS])
def test_the_answer_to_head_is_the_header_of_the_file_without_the_file(name, content_folder):
    with server_of(CATALOG[name], content_folder) as server:
        answer = bytes_answered_to_head(server.port, "/deep/64k.txt")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-length: 65536" in head.lower().split(b"\r\n")
    assert body == b""


@pytest.mark.parametrize("name", FORKING_SERVERS)
def test_a_client_that_stays_does_not_keep_its_process_beyond_the_stop(name, content_folder):
    with server_of(CATALOG[name], content_folder) as server, socket.socket() as client:
        client.connect(("127.0.0.1", server.port))
        pid = server.pid
        wait_until(lambda: len(members_of_session(pid)) == 2)
        server.stop()
        assert members_of_session(pid) == set()


def _options(server) -> dict[str, str]:
    """Return the options that a running server was started with."""
    command = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
    return dict(zip(command[2::2], command[3::2], strict=False))


def test_the_settings_of_pipelined_reach_the_program(content_folder):
    entry = CATALOG["pipelined"]
    with server_of(entry, content_folder, listen_backlog=7, keepalive_timeout=1, buffer_bytes=1000) as server:
        options = _options(server)
    assert options["--backlog"] == "7"
    assert options["--idle-timeout-s"] == "1"
    assert options["--buffer-bytes"] == "1000"


def test_the_faults_of_limit_reach_the_program(content_folder):
    passed_on = {
        "keepalive_requests": 100,
        "announce_close": False,
        "delay": "5ms",
        "delay_share": 0.5,
        "stall_every": "1h",
        "stall_for": "300ms",
        "reset_share": 0.01,
        "error_share": 0.02,
        "truncated_share": 0.03,
        "wrong_length_share": 0.04,
        "seed": 7,
        "spared_requests": 50,
        "accept_every": "1ms",
        "work": "50us",
        "connection_memory": "64KiB",
        "leak": "100B",
        "connections_per_thread": 100,
        "event_every": "20ms",
        "events": 5,
        "call_messages": "echo",
    }
    renamed = {"listen_backlog": ("--backlog", 7), "keepalive_timeout": ("--idle-timeout-s", 60)}
    expected = {f"--{name.replace('_', '-')}": value for name, value in passed_on.items()}
    expected |= dict(renamed.values())
    entry = CATALOG["limit"]
    settings = passed_on | {name: value for name, (_, value) in renamed.items()}
    of_every_server = {"tls", "http2", "http3", "certificate"}
    # These are refused without HTTP/3, with whose tests they are.
    of_http3 = {"early_data", "retry", "announce_http3"}
    assert settings.keys() | of_every_server | of_http3 == entry.description.settings.keys()
    with server_of(entry, content_folder, **settings) as server:
        options = _options(server)
    assert {name: options[name] for name in expected} == {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in expected.items()
    }


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(
    ("tls", "version", "times"),
    # In clear text this version of curl fails with every server where it reuses a connection.
    [(False, ["--http2-prior-knowledge"], 1), (True, ["--http2", "--parallel"], 40)],
    ids=["clear text", "TLS"],
)
def test_curl_gets_what_limit_serves_over_http2_on_one_connection(
    content_folder, tmp_path, tls, version, times
):
    # curl's HTTP/2 is nghttp2, which has nothing in common with this server's.
    with server_of(CATALOG["limit"], content_folder, http2=True, tls=tls) as server:
        urls = [f"{server.url}/deep/64k.txt"] * times
        outputs = [option for index in range(times) for option in ("-o", str(tmp_path / str(index)))]
        shown = "%{http_version} %{response_code} %{num_connects}\n"
        command = ["curl", "-sS", "--insecure", *version, "--write-out", shown, *outputs, *urls]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert sorted(finished.stdout.splitlines()) == ["2 200 0"] * (times - 1) + ["2 200 1"]
    served = (content_folder / "deep" / "64k.txt").read_bytes()
    assert all((tmp_path / str(index)).read_bytes() == served for index in range(times))


def test_a_delay_of_limit_is_there_and_without_it_nothing_waits(content_folder):
    with server_of(CATALOG["limit"], content_folder, delay="100ms") as server:
        assert _answer_s(server.port) >= 0.1
    with server_of(CATALOG["limit"], content_folder) as server:
        assert min(_answer_s(server.port) for _ in range(5)) < 0.1


def test_faults_that_contradict_each_other_are_reported_in_the_programs_own_words(content_folder):
    settings = {"stall_every": "1s", "stall_for": "2s"}
    with (
        pytest.raises(ServerFailure, match="--stall-for is 2s: expected less than --stall-every"),
        server_of(CATALOG["limit"], content_folder, **settings),
    ):
        pass


def _answer_s(port: int) -> float:
    """Return how long an answer took, its connection included."""
    start_s = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/1k.txt") as answer:
        answer.read()
    return time.monotonic() - start_s
