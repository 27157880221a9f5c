"""Proxies before nginx: two programs that are started, measured, named and ended together."""

import http.client
import os
import signal
import time

import psutil
import pytest
from server_support import (
    CATALOG,
    PROXIES,
    answer_to,
    members_of_session,
    server_of,
    servers,
    wait_until,
)

from support.probed_load import load_of

NAMES = {"envoy": {"envoy", "nginx"}, "haproxy": {"haproxy", "nginx"}, "varnish": {"varnishd", "nginx"}}


@servers(*PROXIES, fixture="running")
def test_the_probe_divides_the_time_among_the_proxy_and_its_backend(running):
    begin_s = time.monotonic()
    with running.server.probe(running.cpus, 0.02) as probe:
        while time.monotonic() - begin_s < 0.8:
            running.server.verify(["/deep/a%20b.txt"])
        record = probe.observed(load_of(0.6))
    used = {use.name: use for use in record.server.programs}
    assert used.keys() == NAMES[running.name]
    assert sum(use.cpu_share for use in used.values()) == pytest.approx(record.server.cpu_share, abs=0.2)


@servers(*PROXIES, fixture="running")
def test_the_version_names_both_programs(running):
    proxy, name, backend = running.server.found.version.split()
    assert proxy[0].isdigit()
    assert name == "nginx"
    # Envoy writes its own name there.
    served_by = "envoy" if running.name == "envoy" else f"nginx/{backend}"
    assert answer_to(running.server, "/1k.txt").getheader("Server") == served_by


@servers(*PROXIES)
def test_the_backend_ends_when_the_proxy_does(name, content_folder):
    with server_of(CATALOG[name], content_folder) as server:
        behind = [
            process
            for process in map(psutil.Process, members_of_session(server.pid))
            if process.name() == "nginx"
        ]
        assert behind
        os.kill(server.pid, signal.SIGKILL)
        wait_until(
            lambda: (
                not any(
                    process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in behind
                )
            )
        )


@servers("varnish")
def test_varnish_answers_from_memory_unless_it_is_to_pass_each_request_on(name, content_folder):
    for cache in (True, False):
        with server_of(CATALOG[name], content_folder, cache=cache) as server:
            answer_to(server, "/1k.txt")
            # Answers from memory carry the number of the request that brought them there, too.
            numbers = answer_to(server, "/1k.txt").getheader("X-Varnish").split()
            assert len(numbers) == (2 if cache else 1)


@servers("haproxy")
def test_haproxy_lets_in_as_many_connections_as_asked(name, content_folder):
    with server_of(CATALOG[name], content_folder, max_connections=2, workers=1) as server:
        connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=10) for _ in range(3)]
        for connection in connections:
            connection.request("GET", "/1k.txt")
        for connection in connections[:2]:
            connection.getresponse().read()
        connections[2].sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connections[2].sock.recv(1)
        connections[0].close()
        connections[2].sock.settimeout(10)
        assert connections[2].sock.recv(12) == b"HTTP/1.1 200"
        for connection in connections[1:]:
            connection.close()
