"""Whose CPU and memory are those of a server that runs already, and why they cannot be seen."""

import ipaddress
import json
import os
import re
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from loadcurve.host.cgroups import remove_groups
from loadcurve.server import listeners, members
from loadcurve.server.group import born_in_group, group_parent
from loadcurve.server.listeners import Place
from loadcurve.server.members import (
    ByContainer,
    ByPid,
    ByUnit,
    SeenProcesses,
    UnseenProcesses,
    processes_of,
)
from loadcurve.server.processes import identify
from loadcurve.server.settings import UnusableSetting
from support.preforking_server import preforking_server
from support.sandbox import wait_until

RUNS = "LoadState=loaded\nActiveState=active\nSubState=running\n"


@pytest.fixture
def server():
    """The place, the main process and the workers of a server of several processes."""
    with preforking_server() as (port, process):
        main = psutil.Process(process.pid)
        wait_until(lambda: len(main.children()) == 2, "two workers")
        yield Place.of_web_server(f"127.0.0.1:{port}"), main


@pytest.fixture
def over_udp(server):
    """A process that has the UDP port of the same number, and nothing of TCP; and that port."""
    place, _ = server
    code = "import socket,sys,time\nopened = socket.socket(type=socket.SOCK_DGRAM)"
    code += "\nopened.bind(('127.0.0.1', int(sys.argv[1])))\nprint(flush=True)\ntime.sleep(60)"
    with subprocess.Popen(["python3", "-c", code, str(place.port)], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield Place.of_web_server(str(place), is_over_quic=True), process
        process.kill()


@pytest.fixture
def bystander():
    """A process that listens nowhere."""
    with subprocess.Popen(["sleep", "3600"]) as process:
        yield process
        process.kill()


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Put a program in front of those on PATH, which does what a shell script says."""

    def put(name, script):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return put


def unseen(place):
    found = processes_of((), place)
    assert isinstance(found, UnseenProcesses)
    return found.reason


def refused(named, place):
    with pytest.raises(UnusableSetting) as caught:
        processes_of((named,), place)
    return f"{caught.value.setting}: {caught.value}"


def test_the_owner_of_the_port_is_the_process_that_has_started_all_others_that_listen(server):
    place, main = server
    seen = processes_of((), place)
    assert isinstance(seen, SeenProcesses)
    assert seen.roots == (identify(main.pid),)
    assert seen.text.startswith(f"process {main.pid} (")
    assert f"which listens on port {place.port}" in seen.text
    assert seen.ports() == [place.port]
    assert seen.cpus == set(main.cpu_affinity())
    assert seen.program == Path(main.exe())
    assert seen.missing == ()


def test_a_server_that_listens_on_any_address_is_found_and_one_on_another_address_is_not():
    with socket.create_server(("0.0.0.0", 0)) as wide:
        port = wide.getsockname()[1]
        inode = os.fstat(wide.fileno()).st_ino
        assert [one.inode for one in Place.of_web_server(f"127.0.0.1:{port}").listeners()] == [inode]
    with socket.create_server(("127.0.0.2", 0)) as other:
        port = other.getsockname()[1]
        assert Place.of_web_server(f"127.0.0.1:{port}").listeners() == []
        (found,) = Place.of_web_server(f"127.0.0.2:{port}").listeners()
        assert (found.address, found.user) == (ipaddress.ip_address("127.0.0.2"), os.geteuid())
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as dual:
        port = dual.getsockname()[1]
        assert len(Place.of_web_server(f"127.0.0.1:{port}").listeners()) == 1


def test_over_quic_the_server_is_who_has_the_udp_port_and_not_who_has_tcps(server, over_udp):
    of_tcp, main = server
    place, process = over_udp
    seen = processes_of((), place)
    assert seen.roots == (identify(process.pid),)
    assert f"which listens on UDP port {place.port}" in seen.text
    assert (seen.ports(), seen.ports(over_udp=True)) == ([], [place.port])
    assert processes_of((), of_tcp).roots == (identify(main.pid),)
    assert processes_of((ByPid(process.pid),), place).roots == seen.roots
    said = refused(ByPid(main.pid), place)
    assert f"which does not listen on UDP port {place.port}: process {process.pid} (" in said


def test_over_quic_no_socket_is_one_of_udp_that_is_not_connected(server):
    place, _ = server
    alone = Place.of_web_server(str(place), is_over_quic=True)
    assert f"no socket of this machine listens on UDP port {place.port}: " in unseen(alone)
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.bind(("127.0.0.1", place.port))
        assert len(alone.listeners()) == 1
        client.connect(("127.0.0.1", 9))
        assert alone.listeners() == []


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://me@127.0.0.1/test", "127.0.0.1:5432"),
        ("postgresql://127.0.0.1:5433", "127.0.0.1:5433"),
        ("mongodb://[::1]/", "[::1]:27017"),
        ("postgresql:///test?host=/run/postgresql", "None"),
        ("mongodb://a:1,b:2/", "None"),
        ("mongodb+srv://cluster.example/", "None"),
    ],
)
def test_a_database_listens_where_its_url_says_or_where_its_kind_does(url, place):
    assert str(Place.of_database(url)) == place


def test_what_cannot_be_seen_is_said_with_the_reason(monkeypatch, server):
    place, main = server
    assert "URL names no single address" in unseen(None)
    assert unseen(Place.of_web_server("192.0.2.1:80")) == (
        "it is reached at 192.0.2.1, which is no address of this machine"
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert f"no socket of this machine listens on port {port}" in unseen(
            Place.of_web_server(f"127.0.0.1:{port}")
        )
    with socket.create_server(("127.0.0.1", 0)) as own:
        reason = unseen(Place.of_web_server(f"127.0.0.1:{own.getsockname()[1]}"))
        assert f"process {os.getpid()} (" in reason
        assert "has started this command" in reason
    with monkeypatch.context() as patched:
        patched.setattr(members, "FORWARDERS", frozenset({main.name()}))
        assert "only passes connections on; name the server with container or pid" in unseen(place)
    # As for an ordinary user, who may not see what processes of others have open.
    with monkeypatch.context() as patched:
        patched.setattr(listeners, "held_sockets", lambda _: None)
        user = psutil.Process().username()
        assert f"is that of a process of the user {user}, and this user may not see which: name" in unseen(
            place
        )


def test_of_another_users_process_it_is_said_what_is_missing(monkeypatch, server):
    place, main = server
    monkeypatch.setattr(members, "held_sockets", lambda _: None)
    (missing,) = processes_of((), place).missing
    assert f"disk reads of processes of the user {main.username()} may be missing" in missing


def test_a_process_that_is_named_is_that_of_the_server(server):
    place, main = server
    seen = processes_of((ByPid(main.pid),), place)
    assert seen.roots == (identify(main.pid),)
    assert seen == processes_of((ByPid(main.pid),), None)


def test_an_application_that_is_named_beside_its_proxy_is_of_the_server_too(server, bystander):
    place, proxy = server
    seen = processes_of((ByPid(proxy.pid), ByPid(bystander.pid)), place)
    assert seen.roots == (identify(proxy.pid), identify(bystander.pid))
    assert f"process {proxy.pid} (" in seen.text
    assert f"process {bystander.pid} (sleep)" in seen.text
    assert processes_of((ByPid(bystander.pid), ByPid(proxy.pid)), place).roots == seen.roots[::-1]


def test_of_several_that_are_named_one_has_to_listen(server, bystander):
    place, main = server
    with subprocess.Popen(["sleep", "3600"]) as other:
        named = ByPid(bystander.pid), ByPid(other.pid)
        with pytest.raises(UnusableSetting) as caught:
            processes_of(named, place)
        other.kill()
    assert str(caught.value) == (
        f"found {bystander.pid} (sleep), {other.pid} (sleep), which do not listen on port {place.port}: "
        f"process {main.pid} ({main.name()}) does; expected pid = {main.pid} beside it, or no pid"
    )


def test_processes_that_two_names_have_in_common_are_there_once(programs, server):
    place, main = server
    programs("systemctl", f"echo '{RUNS}MainPID={main.pid}\nControlGroup='")
    seen = processes_of((ByPid(main.pid), ByUnit("app.service")), place)
    assert seen.roots == (identify(main.pid),)


def test_a_wrong_process_is_named_with_the_right_one(server, bystander):
    place, main = server
    said = refused(ByPid(bystander.pid), place)
    assert said.startswith(
        f"pid: found {bystander.pid} (sleep), which does not listen on port {place.port}: "
    )
    assert said.endswith(f"process {main.pid} ({main.name()}) does; expected pid = {main.pid}, or no pid")


def test_a_process_that_listens_on_another_port_is_named_with_that(server):
    place, _ = server
    with preforking_server() as (port, other):
        said = refused(ByPid(other.pid), place)
    assert f"which does not listen on port {place.port}, but on port {port}: process " in said


def test_one_of_several_workers_is_not_the_server(server):
    place, main = server
    worker = main.children()[0].pid
    said = refused(ByPid(worker), place)
    assert f"one of several processes that process {main.pid} (" in said
    assert f"expected that one, pid = {main.pid}, or no pid" in said


def test_a_process_that_is_not_there_is_refused(bystander):
    bystander.kill()
    bystander.wait()
    assert "there is no such process here" in refused(ByPid(bystander.pid), None)
    assert "which has started this command" in refused(ByPid(os.getpid()), None)
    assert "which has started this command" in refused(ByPid(os.getppid()), None)


def test_a_thread_is_refused_with_the_id_of_its_process():
    # Python's own pool has threads; that of a process started for it is not this one.
    code = "import threading,time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    code += "\nprint(flush=True)\ntime.sleep(60)"
    with subprocess.Popen(["python3", "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        thread = next(one.id for one in psutil.Process(process.pid).threads() if one.id != process.pid)
        assert f"that is a thread; expected the id of its process, {process.pid}" in refused(
            ByPid(thread), None
        )
        process.kill()


def test_a_server_elsewhere_has_no_process_here(bystander):
    said = refused(ByPid(bystander.pid), Place.of_web_server("192.0.2.1:80"))
    assert said == "pid: not used: the server is reached at 192.0.2.1, which is no address of this machine"


def test_the_processes_of_a_unit_are_those_that_systemd_names(programs, server):
    place, main = server
    programs("systemctl", f"echo '{RUNS}MainPID={main.pid}\nControlGroup='")
    seen = processes_of((ByUnit("app.service"),), place)
    assert seen.roots == (identify(main.pid),)
    assert seen.text.startswith(f"the unit app.service (process {main.pid} (")


@pytest.mark.skipif(group_parent() is None, reason="no control group can be made here")
def test_a_unit_is_followed_by_its_control_group(programs, tmp_path):
    group = group_parent() / f"loadcurve-test-{os.getpid()}.service"
    mount = next(
        Path(line.split()[4])
        for line in Path("/proc/self/mountinfo").read_text().splitlines()
        if " - cgroup2 " in line
    )
    try:
        with ExitStack() as stack:
            with born_in_group(group):
                port, process = stack.enter_context(preforking_server())
            place = Place.of_web_server(f"127.0.0.1:{port}")
            programs(
                "systemctl", f"echo '{RUNS}MainPID={process.pid}\nControlGroup=/{group.relative_to(mount)}'"
            )
            seen = processes_of((ByUnit("app.service"),), place)
            assert seen.group == group
            assert seen.roots == (identify(process.pid),)
            assert " and 2 more)" in seen.text
    finally:
        remove_groups([group])


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo LoadState=not-found", "systemd has no such unit"),
        (
            "echo 'LoadState=loaded\nActiveState=inactive\nSubState=dead'",
            "which is inactive (dead): start it with",
        ),
        (f"echo '{RUNS}MainPID=0\nControlGroup='", "which has no process, as a unit that only starts others"),
        (
            "echo no systemd here >&2; exit 1",
            "systemctl said: no systemd here; name the server's main process",
        ),
    ],
)
def test_a_unit_that_cannot_be_measured_is_refused_with_what_to_do(programs, script, said):
    programs("systemctl", script)
    assert refused(ByUnit("app.service"), None).startswith("unit: ")
    assert said in refused(ByUnit("app.service"), None)


def test_without_systemd_a_unit_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no program systemctl was found on PATH; name the server's main process with pid" in refused(
        ByUnit("app.service"), None
    )
    assert "no program podman or docker was found on PATH" in refused(ByContainer("web"), None)


def test_a_container_is_known_by_its_first_process(programs, server):
    place, main = server
    programs("podman", f"echo '{json.dumps([{'State': {'Pid': main.pid, 'Status': 'running'}}])}'")
    seen = processes_of((ByContainer("web"),), place)
    assert seen.roots == (identify(main.pid),)
    assert seen.text.startswith(f"the container web (process {main.pid} (")


def test_a_container_that_cannot_be_measured_is_refused_or_said_to_be_hidden(programs, bystander):
    programs("docker", "echo no such container >&2; exit 1")
    programs("podman", "echo no such container >&2; exit 1")
    assert re.match(
        'container: found "web"; there is no such container by podman and docker, see: podman ps',
        refused(ByContainer("web"), None),
    )
    programs("podman", """echo '[{"State": {"Pid": 0, "Status": "exited"}}]'""")
    assert 'found "web", which is exited: start it with podman start web' in refused(ByContainer("web"), None)
    bystander.kill()
    bystander.wait()
    programs("podman", f"""echo '[{{"State": {{"Pid": {bystander.pid}}}}}]'""")
    found = processes_of((ByContainer("web"),), None)
    assert f"first process of the container web is {bystander.pid}, which cannot be seen" in found.reason
