"""Whose the time of the load's CPUs was, from this machine's own processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from loadcurve.generate import whose_time
from loadcurve.generate.whose_time import TimeWatch, work_of
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan

SERVER = """\
import os, socket, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
listening = socket.create_server(("127.0.0.1", 0))
datagrams = socket.socket(type=socket.SOCK_DGRAM)
datagrams.bind(("127.0.0.1", 0))
print(listening.getsockname()[1], datagrams.getsockname()[1], flush=True)
for line in sys.stdin:
    end = time.process_time() + float(line)
    while time.process_time() < end: pass
    print("done", flush=True)
"""
"""A server that uses as much processor time as it is asked to, on one CPU."""
CPUS = sorted(os.sched_getaffinity(0))
ELSEWHERE = "192.0.2.1:80"
"""An address that is nobody's (RFC 5737), so none of this machine's."""


@contextmanager
def server_on(cpu: int, *, over_udp: bool = False) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start the server; yields its address, of TCP or UDP, and its process."""
    words = [sys.executable, "-c", SERVER, str(cpu)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{process.stdout.readline().split()[over_udp]}", process
        finally:
            process.kill()


def use(process: subprocess.Popen[str], cpu_s: float) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{cpu_s}\n")
    process.stdin.flush()
    process.stdout.readline()


def test_the_server_at_the_address_has_its_time_where_it_shares_the_loads_cpus():
    with server_on(CPUS[0]) as (address, process):
        watch = TimeWatch({"address": address}, CPUS)
        use(process, 0.3)
        watch.ends()
        found = watch.divided(0.0)
    assert found is not None
    assert found.cpus == CPUS
    assert found.server is not None
    # That it used 0.3 s is a share of a time that a busy machine makes longer.
    assert found.server > 0
    assert found.generator is not None
    assert str(process.pid) not in {str(program.pid) for program in found.programs}


def test_over_quic_the_server_is_who_has_the_port_of_udp():
    with server_on(CPUS[0], over_udp=True) as (address, process):
        work = {"address": address, "network": "udp"}
        watch = TimeWatch(work, CPUS)
        assert watch.server is not None
        assert watch.server.pids == {process.pid}
        # Nobody, or another program, has the TCP port of this number.
        of_tcp = TimeWatch({"address": address}, CPUS).server
        assert of_tcp is None or process.pid not in of_tcp.pids


@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU cannot be divided")
def test_a_server_that_is_bound_to_other_cpus_has_no_part_of_the_loads():
    with server_on(CPUS[0]) as (address, _):
        found = TimeWatch({"address": address}, CPUS[1:2]).divided(0.0)
    assert found is not None
    assert (found.cpus, found.server) == (CPUS[1:2], None)


def test_a_server_on_another_machine_has_no_part_either():
    found = TimeWatch({"address": ELSEWHERE}, CPUS[:1]).divided(0.0)
    assert found is not None
    assert found.server is None


def test_a_server_that_cannot_be_found_is_not_taken_for_another_program(monkeypatch):
    assert TimeWatch({"address": "127.0.0.1:1"}, CPUS).divided(0.0) is None
    assert TimeWatch({}, CPUS).divided(0.0) is None
    with server_on(CPUS[0]) as (address, _):
        # It may listen for a server in a container.
        names = frozenset({"python", "python3", "python3.11", "python3.12", "python3.13"})
        monkeypatch.setattr(whose_time, "FORWARDERS", names)
        assert TimeWatch({"address": address}, CPUS).divided(0.0) is None


def test_what_a_server_used_that_has_ended_is_not_taken_for_another_programs():
    with server_on(CPUS[0]) as (address, process):
        watch = TimeWatch({"address": address}, CPUS)
        use(process, 0.1)
        process.kill()
        process.wait()
        assert watch.divided(0.0) is None


def test_a_plan_names_its_server_by_url_or_address():
    class Web:
        address = "127.0.0.1:80"

    class Data:
        url, address = "mongodb://h:1/", "h:1"

    assert work_of(Web()) == {"address": "127.0.0.1:80"}
    assert work_of(Data()) == {"url": "mongodb://h:1/"}
    assert work_of(object()) == {}


@pytest.mark.parametrize(("http", "network"), [("1.1", {}), ("2", {}), ("3", {"network": "udp"})])
def test_a_plan_of_http3_goes_to_a_port_of_udp(http, network):
    load = ClosedLoad(model="closed", requests=["/"], connections=1, requests_total=1, http=http)
    plan = HttpPlan(load=load, address="127.0.0.1:443", authority="h", scheme="https", threads=1)
    assert work_of(plan) == {"address": "127.0.0.1:443", **network}
