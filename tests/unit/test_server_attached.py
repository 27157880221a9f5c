"""A server that runs already: it is left as it is, and watched as far as its processes can be seen."""

import os
import signal
import time
import urllib.request

import psutil
import pytest

from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import load_catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import Overrides
from loadcurve.server.here import free_port
from loadcurve.server.listeners import Place
from loadcurve.server.members import ByPid
from loadcurve.server.running import RunningServer, find_running_server
from support.preforking_server import preforking_server
from support.probed_load import load_of
from support.sandbox import wait_until

INTERVAL_S = 0.02
WINDOW_S = 0.5
"""Long enough for some samples, however busy the machine is."""
CPUS = os.sched_getaffinity(0)


@pytest.fixture
def attached():
    url, address = "http://user:secret@127.0.0.1:80", "127.0.0.1:80"
    return AttachedServer(
        RunningServer(load_catalog()["url"], url, address, address, "1.0", {}, "http"), None
    )


def attached_to(port):
    overrides = Overrides(url=f"http://127.0.0.1:{port}")
    return AttachedServer(find_running_server(load_catalog()["url"], {}, overrides), None)


def observed(probe):
    """Return the record of a window that ends now, and how many processes were seen in it."""
    record = probe.observed(load_of(WINDOW_S))
    processes = record.server and record.server.processes
    return record, (None if processes is None else (processes.min, processes.max))


def asked(port, times):
    for _ in range(times):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()


def test_where_its_processes_are_not_seen_this_is_said(attached):
    with attached as server, server.probe({0}, 0.1) as probe:
        record = probe.observed(load_of(0.01))
    assert [caveat.code for caveat in record.caveats] == ["processes_unknown"]
    assert "CPU and memory of the server are not measured: its URL names no single" in record.caveats[0].text
    assert (record.server, record.cpus, record.series) == (None, None, None)
    assert attached.own_cpus is None


def test_neither_its_configuration_nor_its_logs_nor_its_limits_are_known(attached):
    assert (attached.configuration, attached.log_tail(), attached.limit_use()) == ({}, "", None)
    assert "secret" not in str(attached.settings)
    attached.raise_if_exited()
    attached.stop()
    assert attached.address == "127.0.0.1:80"


def test_all_its_processes_are_measured_those_included_that_replace_others():
    with preforking_server() as (port, process):
        main = psutil.Process(process.pid)
        with attached_to(port) as server, server.probe(CPUS, INTERVAL_S) as probe:
            assert server.own_cpus == set(main.cpu_affinity())
            first = {child.pid for child in main.children()}
            for pid in first:
                os.kill(pid, signal.SIGKILL)
            wait_until(
                lambda: len(main.children()) == 2 and not first & {one.pid for one in main.children()},
                "other workers",
            )
            replaced_s = time.monotonic()
            # In one that began before, all samples may be of the workers that were replaced.
            wait_until(lambda: time.monotonic() > replaced_s + WINDOW_S, "a window of the other workers")
            asked(port, 20)
            wait_until(lambda: observed(probe)[1] == (3, 3), "three processes")
            record, processes = observed(probe)
    assert processes == (3, 3)
    assert record.caveats == []
    assert record.server.memory_peak_bytes > 0
    assert record.server.cpu_user_s is not None
    assert record.tcp.listen_overflows is not None
    assert record.listen_queue.backlog > 0


def test_another_server_in_its_place_is_followed_and_what_was_lost_is_said():
    with (
        preforking_server() as (port, process),
        attached_to(port) as server,
        server.probe(CPUS, INTERVAL_S) as probe,
    ):
        process.terminate()
        process.wait()
        with preforking_server(port) as (_, successor):
            server.raise_if_exited()
            (caveat,) = probe.observed(load_of(0.01)).caveats
            assert caveat.code == "processes_unknown"
            assert f"process {process.pid} of the server ended during the load" in caveat.text
            wait_until(lambda: observed(probe)[1] == (3, 3), "the successor is seen")
            assert observed(probe)[0].caveats == []
            assert successor.poll() is None


def test_one_that_ends_without_a_successor_has_failed():
    with preforking_server() as (port, process), attached_to(port) as server:
        server.raise_if_exited()
        process.terminate()
        process.wait()
        wait_until(lambda: not Place.of_web_server(server.address).listeners(), "nobody listens")
        with pytest.raises(ServerFailure, match=f"process {process.pid} .* ended during the trial") as caught:
            server.raise_if_exited()
    assert caught.value.code == "died"


def test_a_server_on_a_port_that_nobody_has_is_named_with_the_port_of_its_process():
    with preforking_server() as (port, process):
        overrides = Overrides(url=f"http://127.0.0.1:{free_port()}", named=(ByPid(process.pid),))
        found = find_running_server(load_catalog()["url"], {}, overrides)
    assert found.status == "missing"
    assert f"process {process.pid} (" in found.reason
    assert f"listens on port {port}" in found.reason
