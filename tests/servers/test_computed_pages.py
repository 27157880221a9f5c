"""Servers whose pages a program computes: each page equals the file of the content that its path names."""

import http.client
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from server_support import (
    CATALOG,
    answer_to,
    bytes_answered_to_head,
    found,
    server_of,
    servers,
    wait_until,
)

from loadcurve.server.content import content_of_folder
from loadcurve.server.failure import ServerFailure
from loadcurve.server.here import Server
from support.probed_load import load_of

BEHIND_FASTCGI = ["nginx-php", "lighttpd-php", "nginx-php-postgresql"]
BY_NODE = ["node-postgresql", "nginx-node-postgresql"]
COMPUTING = ["apache-ssi", "apache-cgi", "apache-perl", *BEHIND_FASTCGI, *BY_NODE]
OTHER_PROGRAMS = {
    "nginx-php": ["php-fpm"],
    "lighttpd-php": ["php-fpm"],
    "nginx-php-postgresql": ["php-fpm", "postgres"],
    "node-postgresql": ["postgres"],
    "nginx-node-postgresql": ["node", "postgres"],
}
"""What servers start beside their first program."""


def page_at(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    response = connection.getresponse()
    page = response.read()
    connection.close()
    return response.status, page


def processes_of(server):
    """Return the main process and those that come from it, also those that have left its session."""
    main = psutil.Process(server.pid)
    return [main, *main.children(recursive=True)]


def processes_of_program(server, name):
    return [process for process in processes_of(server) if process.name().startswith(name)]


def has_ended(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@servers(*COMPUTING, fixture="running")
def test_a_page_equals_the_file_that_its_path_names(running):
    running.server.verify(["/1k.txt", "/deep/a%20b.txt?again=1"])


@servers(*COMPUTING, fixture="running")
def test_a_page_is_the_programs_and_not_the_file(running):
    # As a file, it would be text/plain.
    assert answer_to(running.server, "/1k.txt").getheader("Content-Type").startswith("text/html")


@servers(*COMPUTING, fixture="running")
def test_the_answer_to_head_is_the_header_of_the_page_without_the_page(running):
    head, end, body = bytes_answered_to_head(running.server.port, "/deep/a%20b.txt").partition(b"\r\n\r\n")
    assert head.split()[1] == b"200"
    assert (end, body) == (b"\r\n\r\n", b"")


@servers(*COMPUTING, fixture="running")
def test_no_page_shows_anything_but_the_files(running):
    (running.place / "outside").write_text("not for clients")
    for path in ("/none.txt", "/deep", "/%2e%2e/outside", "/..%2foutside", "/%ff"):
        status, page = page_at(running.server.port, path)
        # A folder without its last slash may be redirected; a page with an include that fails is a page.
        assert status in {301, 400, 403, 404} or (running.name == "apache-ssi" and b"error occurred" in page)
        assert b"not for clients" not in page


@servers(*COMPUTING, fixture="running")
def test_every_process_of_a_computing_server_is_bound_to_its_cpus(running):
    bound = {frozenset(process.cpu_affinity()) for process in processes_of(running.server)}
    assert bound == {frozenset(running.cpus)}


@servers(*BEHIND_FASTCGI, fixture="running")
def test_php_runs_beside_the_web_server_with_as_many_processes_as_asked(running):
    # They are the children of one that manages them.
    assert len(processes_of_program(running.server, "php-fpm")) == 1 + running.server.settings["php_workers"]


@servers(*BY_NODE, fixture="running")
def test_the_application_has_as_many_connections_to_its_database_as_asked(running):
    def connections():
        of_database = processes_of_program(running.server, "postgres")
        return sum("loadcurve postgres [local]" in " ".join(process.cmdline()) for process in of_database)

    assert connections() == running.server.settings["database_connections"]


@servers("nginx-node-postgresql", "nginx-php-postgresql", fixture="running")
def test_the_probe_divides_the_time_among_the_programs_of_an_application(running):
    begin_s = time.monotonic()
    with running.server.probe(running.cpus, 0.02) as probe:
        while time.monotonic() - begin_s < 0.8:
            running.server.verify(["/deep/a%20b.txt"])
        record = probe.observed(load_of(0.6))
    used = {use.name: use for use in record.server.programs}
    names = {name.rstrip("0123456789.") for name in used}
    assert names == {"nginx", *OTHER_PROGRAMS[running.name]}
    assert all(use.run_delay_share is not None for use in used.values())
    assert sum(use.cpu_share for use in used.values()) == pytest.approx(record.server.cpu_share, abs=0.2)


@servers("nginx-node-postgresql", fixture="running")
def test_requests_of_clients_that_come_and_go_share_the_connections_from_nginx_to_node(running):
    (node,) = processes_of_program(running.server, "node")

    def accepted():
        return sum(one.laddr == "node.sock" for one in node.net_connections("unix")) - 1

    before = accepted()
    for _ in range(20):
        running.server.verify(["/1k.txt"])
    # A worker of nginx asks for one page at a time here, so one connection is enough for it.
    assert 1 <= accepted() <= max(before, running.server.settings["workers"])


@pytest.mark.long
@servers(*OTHER_PROGRAMS)
def test_the_other_programs_end_when_the_first_does(name, content_folder):
    with server_of(CATALOG[name], content_folder) as server:
        others = [processes_of_program(server, program) for program in OTHER_PROGRAMS[name]]
        assert all(others)
        os.kill(server.pid, signal.SIGKILL)
        wait_until(lambda: all(has_ended(process) for of_one in others for process in of_one))


@servers("node-postgresql", "nginx-php-postgresql")
def test_a_page_has_the_rows_of_the_table_whatever_the_bytes_and_the_names(name, state):
    """Pages of none, one and several rows, of every byte, in a folder whose name SQL would take for more."""
    folder = state / "it's \\ 100 % content"
    pages = {"empty": b"", "one.bin": b"\0", "row.bin": bytes(range(7)), "deep/er/ä'b.bin": bytes(range(256))}
    for page, content in pages.items():
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_bytes(content)
    with server_of(CATALOG[name], folder, row_bytes=7) as server:
        server.verify(["/empty", "/one.bin", "/row.bin", "/deep/er/%C3%A4'b.bin"])


@pytest.mark.long
@servers("node-postgresql")
def test_an_application_may_ask_for_more_connections_than_postgresql_takes_by_itself(name, content_folder):
    with server_of(CATALOG[name], content_folder, database_connections=120) as server:
        server.verify(["/1k.txt"])


@servers("nginx-node-postgresql")
def test_a_backend_that_ends_at_once_ends_the_start(name, content_folder):
    looked_for = found(CATALOG[name])
    broken = replace(looked_for, parts={**looked_for.parts, "node": Path("/bin/false")})
    server = Server(broken, content_folder, content_of_folder(content_folder))
    with pytest.raises(ServerFailure, match="ended with status 1 before it was ready"), server:
        pass


@pytest.mark.long
@servers("node-postgresql")
def test_the_application_ends_with_its_database(name, content_folder):
    with server_of(CATALOG[name], content_folder, workers=2) as server:
        server.verify(["/1k.txt"])
        processes_of_program(server, "postgres")[0].kill()
        with pytest.raises(ServerFailure, match="during the trial"):
            wait_until(lambda: server.raise_if_exited() is not None)


@servers("apache-php")
def test_php_in_apache_computes_every_page_where_asked(name, content_folder):
    with server_of(CATALOG[name], content_folder, app="files") as server:
        server.verify(["/1k.txt", "/deep/64k.txt"])
        assert answer_to(server, "/1k.txt").getheader("X-Powered-By").startswith("PHP/")
