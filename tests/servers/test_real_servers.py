"""Real nginx and Apache, through a whole life."""

import http.client
import multiprocessing
import os
import socket
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from server_support import found, is_root, members_of_session, server_of

from loadcurve.errors import BadInput
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import catalog_rows, check_server
from loadcurve.server.content import content_of_folder
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, find_server
from loadcurve.server.instance import Server

NOBODY = 65534
PATIENCE_S = 30
FORKING_SERVERS = ["simple", "persistent", "pipelined"]
EACH_SERVER = pytest.mark.parametrize(
    "name",
    [
        pytest.param("nginx", marks=pytest.mark.needs("nginx")),
        pytest.param("apache-event", marks=pytest.mark.needs("apache2")),
    ],
)


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def checked_version(name):
    return check_server(load_catalog()[name]).found.version


@EACH_SERVER
def test_a_server_is_started_verified_and_gone_after_the_block(name, content_folder):
    with server_of(load_catalog()[name], content_folder) as server:
        server.verify(["/1k.txt", "/deep/64k.txt?again=1"])
        assert server.is_alive()
        assert len(members_of_session(server.pid)) > 1
        port, pid = server.port, server.pid
    assert not server.is_alive()
    assert members_of_session(pid) == set()
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port).request("GET", "/1k.txt")


@pytest.mark.parametrize("name", ["limit", *FORKING_SERVERS])
def test_the_packages_own_servers_pass_the_same_check(name):
    checked = check_server(load_catalog()[name])
    assert checked.found.binary.parent.name == "native"
    assert checked.found.version.startswith("0.")


@pytest.mark.parametrize("name", FORKING_SERVERS)
def test_a_client_that_stays_does_not_keep_its_process_beyond_the_stop(name, content_folder):
    with server_of(load_catalog()[name], content_folder) as server, socket.socket() as client:
        client.connect(("127.0.0.1", server.port))
        deadline = time.monotonic() + PATIENCE_S
        while len(members_of_session(server.pid)) == 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        pid = server.pid
        assert len(members_of_session(pid)) == 2
        server.stop()
        assert members_of_session(pid) == set()


def test_the_settings_of_pipelined_reach_the_program(content_folder):
    entry = load_catalog()["pipelined"]
    with server_of(entry, content_folder, listen_backlog=7, keepalive_timeout=1, buffer_bytes=1000) as server:
        command = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
        options = dict(zip(command[2::2], command[3::2], strict=False))
    assert options["--backlog"] == "7"
    assert options["--idle-timeout-s"] == "1"
    assert options["--buffer-bytes"] == "1000"


@EACH_SERVER
def test_the_version_is_what_the_program_says(name):
    checked = check_server(load_catalog()[name])
    printed = subprocess.run([checked.found.binary, "-v"], capture_output=True, text=True, check=True)
    assert f"/{checked.found.version}" in printed.stdout + printed.stderr


@EACH_SERVER
@is_root
def test_an_ordinary_user_can_check_a_server(name):
    # A fork needs no interpreter that the ordinary user may reach.
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork, initializer=become_nobody) as as_nobody:
        assert as_nobody.submit(checked_version, name).result() == checked_version(name)


@EACH_SERVER
@is_root
def test_what_root_starts_serves_as_an_unprivileged_user(name, content_folder):
    with server_of(load_catalog()[name], content_folder) as server:
        children = members_of_session(server.pid) - {server.pid}
        assert {Path(f"/proc/{pid}").stat().st_uid for pid in children} == {NOBODY}


@EACH_SERVER
def test_every_process_is_bound_to_the_servers_cpus_and_this_one_is_not(name, content_folder):
    before = os.sched_getaffinity(0)
    one_cpu = {min(before)}
    content = content_of_folder(content_folder)
    with Server(found(load_catalog()[name]), content_folder, content, one_cpu) as server:
        for pid in members_of_session(server.pid):
            assert os.sched_getaffinity(pid) == one_cpu
        assert os.sched_getaffinity(0) == before


@pytest.mark.needs("nginx")
@pytest.mark.parametrize("given", [{}, {"workers": 0}, {"workers": "auto"}])
def test_nginx_has_one_worker_for_each_cpu_unless_told_otherwise(given, content_folder):
    with server_of(load_catalog()["nginx"], content_folder, **given) as server:
        cpu_count = len(os.sched_getaffinity(0))
        assert server.settings["workers"] == cpu_count
        assert len(members_of_session(server.pid)) == 1 + cpu_count


@pytest.mark.needs("apache2")
def test_apache_starts_as_many_children_as_asked(content_folder):
    with server_of(load_catalog()["apache-event"], content_folder, start_servers=2) as server:
        server.verify(["/1k.txt"])
        assert len(members_of_session(server.pid)) == 1 + 2


@EACH_SERVER
def test_a_connection_is_closed_after_as_many_requests_as_the_setting_allows(name, content_folder):
    # Apache counts the requests after the first one.
    allowed = {"nginx": 3, "apache-event": 4}[name]
    with server_of(load_catalog()[name], content_folder, keepalive_requests=3) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        answers = []
        for _ in range(allowed):
            connection.request("GET", "/1k.txt")
            response = connection.getresponse()
            response.read()
            answers.append(response.will_close)
        connection.close()
    assert answers == [False] * (allowed - 1) + [True]


@EACH_SERVER
def test_without_keepalive_the_first_answer_closes_the_connection(name, content_folder):
    with server_of(load_catalog()[name], content_folder, keepalive=False) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", "/1k.txt")
        assert connection.getresponse().will_close
        connection.close()


@EACH_SERVER
def test_the_access_log_is_written_only_when_asked_for(name, content_folder, state):
    def access_logs():
        return [log.read_text().count("GET /1k.txt") for log in (state / "tmp").rglob("access.log")]

    with server_of(load_catalog()[name], content_folder):
        assert access_logs() == []
    with server_of(load_catalog()[name], content_folder, access_log=True):
        assert access_logs() == [1]


@EACH_SERVER
def test_folders_whose_names_hold_spaces_and_quotes_are_served(name, state):
    folder = state / 'some "odd" folder'
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "a b.txt").write_bytes(b"hello")
    with server_of(load_catalog()[name], folder) as server:
        server.verify(["/a%20b.txt"])


@pytest.mark.needs("nginx")
def test_a_rejected_configuration_fails_with_the_servers_own_words(content_folder):
    with (
        pytest.raises(ServerFailure) as caught,
        server_of(load_catalog()["nginx"], content_folder, worker_connections=10**30),
    ):
        pass
    assert caught.value.code == "config_rejected"
    assert "[emerg]" in caught.value.log_tail
    assert "nginx.conf:" in caught.value.log_tail


@pytest.mark.needs("apache2")
def test_apache_names_the_line_of_a_rejected_configuration(content_folder):
    with (
        pytest.raises(ServerFailure) as caught,
        server_of(load_catalog()["apache-event"], content_folder, listen_backlog=10**30),
    ):
        pass
    assert caught.value.code == "config_rejected"
    assert "ListenBacklog" in caught.value.log_tail


@pytest.mark.needs("nginx")
@is_root
def test_content_that_the_unprivileged_user_cannot_reach_is_explained(state):
    folder = state / "closed"
    folder.mkdir(mode=0o700)
    (folder / "1k.txt").write_bytes(b"x")
    entry = load_catalog()["nginx"]
    description = entry.description
    ready = description.ready.model_copy(update={"timeout_s": 0.3})
    impatient = type(entry)(entry.name, entry.folder, description.model_copy(update={"ready": ready}))
    with (
        pytest.raises(ServerFailure, match="must be able to pass through") as caught,
        server_of(impatient, folder),
    ):
        pass
    assert caught.value.code == "not_ready"
    assert "Permission denied" in caught.value.log_tail


@pytest.mark.needs("nginx")
def test_a_given_program_that_is_not_executable_is_named(tmp_path):
    program = tmp_path / "nginx"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o644)
    missing = find_server(load_catalog()["nginx"], {}, program)
    assert isinstance(missing, MissingServer)
    assert missing.failure().code == "not_installed"
    assert f"{program} is not executable" in missing.reason


@pytest.mark.needs("nginx")
def test_a_program_that_is_no_nginx_has_no_known_version():
    with pytest.raises(ServerFailure, match="is not measured") as caught:
        find_server(load_catalog()["nginx"], {}, Path("/bin/echo"))
    assert caught.value.code == "version_unknown"
    assert caught.value.log_tail == "-v"


@pytest.mark.needs("nginx")
def test_cpus_that_this_machine_lacks_are_bad_input(content_folder):
    server = Server(found(load_catalog()["nginx"]), content_folder, content_of_folder(content_folder), {1000})
    with pytest.raises(BadInput, match="CPUs 1000"), server:
        pass


@pytest.mark.needs("nginx")
def test_the_catalogue_shows_what_is_installed():
    rows = {row.name: row for row in catalog_rows(load_catalog())}
    assert {"limit", "nginx", "apache-event"} <= rows.keys()
    assert rows["nginx"].status == "found"
    assert rows["nginx"].binary is not None
