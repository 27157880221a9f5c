"""Every installed server of the catalogue, through a whole life, and what its settings do."""

import http.client
import os
import re
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from server_support import (
    APACHES,
    CATALOG,
    CHANGED_SETTINGS,
    KEEPING,
    NOBODY,
    SERVERS,
    answer_to,
    bytes_answered_to_head,
    found,
    is_root,
    listen_backlog,
    members_of_session,
    results_of_each,
    server_of,
    servers,
    servers_with,
    thread_count,
    user_of,
    version_checked_by_nobody,
    wait_until,
)

from loadcurve.errors import BadInput
from loadcurve.server.check import catalog_rows
from loadcurve.server.content import content_of_folder, make_content
from loadcurve.server.found import MissingServer, find_server
from loadcurve.server.here import Server
from loadcurve.server.installed.place import installed_server


def access_logs(place):
    return [log.read_text() for log in (place / "tmp").rglob("access.log")]


@servers(*SERVERS)
def test_nothing_of_a_server_is_left_after_its_block(name, content_folder):
    with server_of(CATALOG[name], content_folder) as server:
        server.raise_if_exited()
        port, pid = server.port, server.pid
    assert members_of_session(pid) == set()
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port).request("GET", "/1k.txt")


@servers("nginx", "apache-event")
def test_each_start_is_a_new_process_in_a_new_folder_with_new_logs(name, content_folder, state):
    processes, folders = set(), set()
    for number in (1, 2):
        with server_of(CATALOG[name], content_folder, access_log=True) as server:
            answer_to(server, f"/1k.txt?start={number}")
            wait_until(lambda number=number: f"start={number}" in "".join(access_logs(state)))
            assert "".join(access_logs(state)).count("start=") == 1
            processes.add(server.pid)
            folders.add(server.marks.folder)
    assert len(processes) == len(folders) == 2


# That of python-http is the Python of whoever checks it.
@servers(*(name for name in SERVERS if name != "python-http"))
@is_root
def test_an_ordinary_user_can_check_a_server(name):
    if installed_server(name) is not None:
        pytest.skip("it is installed for root, whose folder other users do not look in")
    assert version_checked_by_nobody(name) == found(CATALOG[name]).version


@servers(*SERVERS, fixture="running")
def test_a_server_serves_each_file_as_it_is(running):
    running.server.verify(["/1k.txt", "/deep/a%20b.txt?again=1"])


@servers(*SERVERS, fixture="running")
def test_the_answer_to_head_is_the_header_of_the_file_without_the_file(running):
    head, end, body = bytes_answered_to_head(running.server.port, "/deep/a%20b.txt").partition(b"\r\n\r\n")
    assert head.split()[1] == b"200"
    assert b"content-length: 65536" in head.lower().split(b"\r\n")
    assert (end, body) == (b"\r\n\r\n", b"")


@servers("nginx", *APACHES, "h2o", "lighttpd", "mini-httpd", "python-http", fixture="running")
def test_the_version_is_the_one_that_the_server_gives_in_its_answers(running):
    said = answer_to(running.server, "/1k.txt").getheader("Server")
    for version in running.server.found.version.split():
        assert f"/{version.removeprefix('PHP/')}" in said


@servers("caddy", "node", fixture="running")
def test_the_version_of_a_server_that_hides_it_in_its_answers_is_a_version(running):
    assert re.fullmatch(r"\d+\.\d+\.\d+", running.server.found.version)


@servers("nginx", *APACHES, fixture="running")
@is_root
def test_what_root_starts_serves_in_children_of_an_unprivileged_user(running):
    def users() -> set[int]:
        return set(results_of_each(user_of, members_of_session(running.server.pid) - {running.server.pid}))

    # A child is born as root's.
    wait_until(lambda: users() == {NOBODY})


@servers("lighttpd", "mini-httpd", "h2o", fixture="running")
@is_root
def test_what_root_starts_becomes_an_unprivileged_user(running):
    assert user_of(running.server.pid) == NOBODY


@servers(*SERVERS, fixture="running")
def test_every_process_is_bound_to_the_servers_cpus_and_this_one_is_not(running):
    bound = results_of_each(os.sched_getaffinity, members_of_session(running.server.pid))
    assert set(map(frozenset, bound)) == {frozenset(running.cpus)}
    if (os.cpu_count() or 1) > 1:
        assert os.sched_getaffinity(0) != running.cpus


@servers_with("keepalive", fixture="running")
def test_a_connection_is_kept_unless_told_otherwise(running):
    assert answer_to(running.server, "/1k.txt").will_close == (running.name in KEEPING)


@servers_with("keepalive")
def test_without_keepalive_the_first_answer_closes_the_connection(name, content_folder):
    with server_of(CATALOG[name], content_folder, keepalive=False, **KEEPING.get(name, {})) as server:
        assert answer_to(server, "/1k.txt").will_close


@servers_with("keepalive_requests", fixture="changed")
def test_a_connection_is_closed_after_as_many_requests_as_the_setting_allows(changed):
    allowed = CHANGED_SETTINGS["keepalive_requests"]
    connection = http.client.HTTPConnection("127.0.0.1", changed.server.port)
    answers = []
    for _ in range(allowed):
        connection.request("GET", "/1k.txt")
        response = connection.getresponse()
        response.read()
        answers.append(response.will_close)
    connection.close()
    assert answers == [False] * (allowed - 1) + [True]


@servers_with("keepalive_requests")
def test_a_single_request_for_each_connection_is_no_keepalive(name, content_folder):
    with server_of(CATALOG[name], content_folder, keepalive_requests=1) as server:
        assert answer_to(server, "/1k.txt").will_close


@servers("nginx", *APACHES, "lighttpd")
def test_what_is_sent_with_sendfile_is_what_the_configuration_says(name, content_folder):
    directive = {"nginx": r"sendfile (\w+);", "lighttpd": r'server.network-backend = "(\w+)"'}
    said = []
    for sendfile in (True, False):
        with server_of(CATALOG[name], content_folder, sendfile=sendfile) as server:
            configuration = "".join(server.configuration.values())
            said += re.findall(directive.get(name, r"EnableSendfile (\w+)"), configuration)
            server.verify(["/1k.txt", "/deep/64k.txt"])
    assert said == {"nginx": ["on", "off"], "lighttpd": ["sendfile", "writev"]}.get(name, ["On", "Off"])


@servers_with("listen_backlog", fixture="changed")
@pytest.mark.needs("ss")
def test_the_queue_of_connections_is_as_long_as_asked(changed):
    assert listen_backlog(changed.server.port) == changed.server.settings["listen_backlog"] == 77


@servers_with("access_log", fixture="running")
def test_there_is_no_access_log_unless_asked_for(running):
    assert access_logs(running.place) == []


@servers_with("access_log", fixture="changed")
def test_the_access_log_has_each_request(changed):
    answer_to(changed.server, "/deep/a%20b.txt")
    if changed.name == "lighttpd":
        # It writes its log when it has gathered enough of it, or when it is to open it anew.
        os.kill(changed.server.pid, signal.SIGHUP)
    wait_until(lambda: [log.count("/deep/a") for log in access_logs(changed.place)] == [1])


def test_an_idle_connection_is_closed_after_the_time_that_is_set(content_folder):
    # All of them wait at once, so that the test takes as long as the slowest.
    with ExitStack() as stack:
        waiting = {}
        for name in SERVERS:
            entry = CATALOG[name]
            missing = isinstance(find_server(entry, {}), MissingServer)
            if missing or "keepalive_timeout" not in entry.description.settings:
                continue
            settings = {"keepalive_timeout": 1, **KEEPING.get(name, {})}
            server = stack.enter_context(server_of(entry, content_folder, **settings))
            waiting[name] = http.client.HTTPConnection("127.0.0.1", server.port, timeout=4)
            waiting[name].request("GET", "/1k.txt")
            waiting[name].getresponse().read()
        for name, connection in waiting.items():
            assert connection.sock.recv(1) == b"", name
            connection.close()


@servers("nginx")
@pytest.mark.parametrize("given", [{}, {"workers": 0}, {"workers": "auto"}])
def test_auto_and_zero_workers_are_one_for_each_cpu(name, given, content_folder):
    with server_of(CATALOG[name], content_folder, **given) as server:
        cpu_count = len(os.sched_getaffinity(0))
        assert server.settings["workers"] == cpu_count
        wait_until(lambda: len(members_of_session(server.pid)) == 1 + cpu_count)


@servers("nginx", "lighttpd", "node", "gunicorn", "puma")
def test_each_worker_is_a_process_beside_the_main_one(name, content_folder):
    with server_of(CATALOG[name], content_folder, workers=3) as server:
        wait_until(lambda: len(members_of_session(server.pid)) == 1 + 3)


@servers("lighttpd", "node", "uvicorn", "puma", fixture="running")
def test_a_single_worker_is_the_main_process_itself(running):
    assert running.server.settings["workers"] == 1
    assert members_of_session(running.server.pid) == {running.server.pid}


@servers("h2o")
def test_each_worker_of_h2o_is_a_thread(name, content_folder):
    with (
        server_of(CATALOG[name], content_folder, workers=2) as two,
        server_of(CATALOG[name], content_folder, workers=5) as five,
    ):
        wait_until(lambda: thread_count(five.pid) - thread_count(two.pid) == 5 - 2)


@servers("caddy", fixture="running")
def test_caddy_runs_as_many_threads_at_once_as_there_are_cpus(running):
    environment = Path(f"/proc/{running.server.pid}/environ").read_bytes()
    assert f"GOMAXPROCS={len(running.cpus)}".encode() in environment.split(b"\0")


@servers(*APACHES)
def test_apache_starts_as_many_children_as_asked(name, content_folder):
    spare = {"min_spare_servers": 1} if name in {"apache-prefork", "apache-php"} else {}
    with server_of(CATALOG[name], content_folder, start_servers=2, **spare) as server:
        server.verify(["/1k.txt"])
        wait_until(lambda: len(members_of_session(server.pid)) == 1 + 2)


@servers("apache-event", "apache-worker")
def test_each_child_of_apache_has_as_many_threads_as_asked(name, content_folder):
    with server_of(CATALOG[name], content_folder, threads_per_child=5, start_servers=1) as server:
        child = max(members_of_session(server.pid) - {server.pid})
        # Besides those that serve there are the main thread and the one that listens.
        wait_until(lambda: thread_count(child) == 5 + 2)


@servers("lighttpd")
def test_lighttpd_opens_as_many_files_as_asked(name, content_folder):
    with server_of(CATALOG[name], content_folder, max_fds=333) as server:
        limits = Path(f"/proc/{server.pid}/limits").read_text()
        assert re.search(r"^Max open files +333 ", limits, re.MULTILINE)


@servers("apache-php")
def test_the_page_of_php_is_served_beside_the_files(name, state):
    folder = state / "content"
    make_content(folder, {"1k.txt": 1024, "hello.php": "Hello, World!"}, seed=1)
    with server_of(CATALOG[name], folder) as server:
        server.verify(["/1k.txt", "/hello.php"])
        assert answer_to(server, "/hello.php").getheader("X-Powered-By").startswith("PHP/")


@servers("apache-php")
def test_php_keeps_compiled_pages_only_when_asked(name, content_folder):
    for opcache in (False, True):
        with server_of(CATALOG[name], content_folder, opcache=opcache) as server:
            assert ("opcache.so" in Path(f"/proc/{server.pid}/maps").read_text()) == opcache


@servers("node")
@pytest.mark.parametrize("workers", [1, 2])
def test_the_hello_world_of_node_is_the_answer_to_every_path(name, workers, state):
    folder = state / "content"
    make_content(folder, {"hello.txt": "Hello, World!", "also.txt": "Hello, World!"}, seed=1)
    with server_of(CATALOG[name], folder, app="hello", workers=workers) as server:
        server.verify(["/hello.txt", "/also.txt"])


@servers("gunicorn")
@pytest.mark.parametrize(("worker_class", "is_kept"), [("sync", False), ("gthread", True)])
def test_a_worker_of_gunicorn_keeps_connections_where_its_class_does(
    name, worker_class, is_kept, content_folder
):
    with server_of(CATALOG[name], content_folder, worker_class=worker_class) as server:
        server.verify(["/1k.txt", "/deep/64k.txt"])
        assert answer_to(server, "/1k.txt").will_close != is_kept


@servers("node", "gunicorn", "uvicorn", "puma", fixture="running")
@pytest.mark.parametrize("path", ["/none.txt", "/deep", "/%2e%2e/outside", "/..%2foutside", "/%ff", "//"])
def test_an_application_serves_nothing_but_the_files_and_lives_on(running, path):
    (running.place / "outside").touch()
    assert answer_to(running.server, path).status in {400, 404}
    running.server.verify(["/1k.txt"])


@servers("nginx")
def test_cpus_that_this_machine_lacks_are_bad_input(name, content_folder):
    server = Server(found(CATALOG[name]), content_folder, content_of_folder(content_folder), {1000})
    with pytest.raises(BadInput, match="CPUs 1000"), server:
        pass


@servers("nginx")
def test_the_catalogue_shows_what_is_installed(name):
    rows = {row.name: row for row in catalog_rows(CATALOG)}
    assert rows.keys() == {entry.name for entry in CATALOG} - {"command", "url"}
    assert rows[name].status == "found"
    assert rows[name].found.binary.name == "nginx"
