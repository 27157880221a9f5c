"""Servers whose pages a program computes: each page equals the file of the content that its path names."""

import http.client
import os
import signal

import psutil
import pytest
from server_support import (
    CATALOG,
    answer_to,
    bytes_answered_to_head,
    server_of,
    servers,
    wait_until,
)

from loadcurve.server.failure import ServerFailure

COMPUTING = ["apache-ssi", "apache-cgi", "apache-perl", "nginx-php", "lighttpd-php", "node-postgresql"]
BEHIND_FASTCGI = ["nginx-php", "lighttpd-php"]


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


@servers("node-postgresql", fixture="running")
def test_the_application_has_as_many_connections_to_its_database_as_asked(running):
    def connections():
        of_database = processes_of_program(running.server, "postgres")
        return sum("loadcurve postgres [local]" in " ".join(process.cmdline()) for process in of_database)

    # That which has filled the table ends a moment after its farewell.
    wait_until(lambda: connections() == running.server.settings["database_connections"])


@pytest.mark.long
@servers("nginx-php", "lighttpd-php", "node-postgresql")
def test_the_second_program_ends_when_the_web_server_does(name, content_folder):
    with server_of(CATALOG[name], content_folder) as server:
        second = processes_of_program(server, "postgres" if name == "node-postgresql" else "php-fpm")
        assert len(second) > 1
        os.kill(server.pid, signal.SIGKILL)
        wait_until(lambda: all(map(has_ended, second)))


@pytest.mark.long
@servers("node-postgresql")
def test_the_application_ends_with_its_database(name, content_folder):
    with server_of(CATALOG[name], content_folder, workers=2) as server:
        server.verify(["/1k.txt"])
        processes_of_program(server, "postgres")[0].kill()
        with pytest.raises(ServerFailure, match="during the trial"):
            wait_until(lambda: server.require_life() is not None)


@servers("apache-php")
def test_php_in_apache_computes_every_page_where_asked(name, content_folder):
    with server_of(CATALOG[name], content_folder, app="files") as server:
        server.verify(["/1k.txt", "/deep/64k.txt"])
        assert answer_to(server, "/1k.txt").getheader("X-Powered-By").startswith("PHP/")
