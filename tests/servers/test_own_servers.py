"""The servers of this package, which are always there."""

import socket
from pathlib import Path

import pytest
from server_support import CATALOG, bytes_answered_to_head, members_of_session, server_of, wait_until

from loadcurve.server.check import check_server

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


def test_the_settings_of_pipelined_reach_the_program(content_folder):
    entry = CATALOG["pipelined"]
    with server_of(entry, content_folder, listen_backlog=7, keepalive_timeout=1, buffer_bytes=1000) as server:
        command = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
        options = dict(zip(command[2::2], command[3::2], strict=False))
    assert options["--backlog"] == "7"
    assert options["--idle-timeout-s"] == "1"
    assert options["--buffer-bytes"] == "1000"
