"""Findings of real runs: a cause is planted in a real server, or it is not, and the findings tell which.

What disturbs the whole machine would show, too: a test that needs it quiet tries again, and is skipped, with
what the counters say, where something else took the CPUs each time.
"""

import functools
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from loadcurve.explain import memory
from loadcurve.explain.all import findings
from loadcurve.explain.steal import STEAL_SHARE
from loadcurve.result.folder import Run, read_run
from loadcurve.result.run_files import TRIALS_FILE
from support.planted_run import run_study, value
from support.sandbox import Sandbox, finish, wait_until
from support.tiny_study import STAYS_OURS
from support.tiny_study import study_text as tiny_study_text

pytestmark = pytest.mark.alone

study_text = functools.partial(tiny_study_text, repeat_disturbed=3)
"""What the host disturbs is measured again, as it is by default."""
QUIET_ATTEMPTS = 3
CPU_WAIT_MAX = 0.2
"""Nothing that these tests start waits for a CPU for so long, as long as nothing else runs."""


def codes(run: Run, server: str) -> set[str]:
    return {one.code for one in findings(run) if one.server == server}


def the(run: Run, code: str, server: str):
    [finding] = [one for one in findings(run) if (one.code, one.server) == (code, server)]
    return finding


def run_of_a_quiet_machine(
    sandbox: Sandbox, name: str, study: str, is_as_expected: Callable[[Run], bool]
) -> Run:
    """Run a study until nothing from outside shows, or a few times; skip where the machine is to blame."""
    for attempt in range(QUIET_ATTEMPTS):
        run = run_study(sandbox, f"{name}-{attempt}", study)
        if is_as_expected(run):
            return run
    noise = disturbed(run)
    if noise is not None:
        pytest.skip(f"this machine is not quiet: {noise}")
    return run


def disturbed(run: Run) -> str | None:
    """Return what the run's own records say of a machine that was not its alone."""
    stolen = max((cpu.steal_share for point in run.points for cpu in point.probe.cpus or []), default=0.0)
    if stolen > STEAL_SHARE:
        return f"others had {stolen:.0%} of a CPU"
    reasons = [reason.text for point in run.points for reason in point.load.verdict.reasons]
    late = next((reason for reason in reasons if "generator" in reason), None)
    waits = [point.probe.pressure.cpu_some_share for point in run.points if point.probe.pressure]
    waited = max((wait for wait in waits if wait is not None), default=0.0)
    return f"some work waited for a CPU {waited:.0%} of the time" if waited > CPU_WAIT_MAX else late


# --- nothing planted


@pytest.mark.needs("nginx")
def test_a_clean_run_of_nginx_has_no_finding(sandbox):
    load = 'think = "5ms"\nduration = "300ms"'
    study = study_text("[servers.nginx]", load=load, connections="[4, 16]", trials=2)
    run = run_of_a_quiet_machine(sandbox, "clean", study, lambda run: findings(run) == [])
    assert [(one.code, one.seen) for one in findings(run)] == []


# --- the listen queue


SLOW_TO_ACCEPT = """\
[servers.short]
use = "limit"
listen_backlog = 4
accept_every = "10ms"
[servers.long]
use = "limit"
"""
SHORT_NGINX = """\
[servers.short]
use = "nginx"
listen_backlog = 1
[servers.long]
use = "nginx"
"""


@pytest.mark.parametrize(
    ("servers", "backlog"),
    [
        pytest.param(SLOW_TO_ACCEPT, 4, id="slow to accept"),
        pytest.param(SHORT_NGINX, 1, id="nginx", marks=[pytest.mark.needs("nginx"), pytest.mark.long]),
    ],
)
def test_a_short_listen_queue_explains_requests_of_whole_seconds_and_a_long_one_has_none(
    sandbox, servers: str, backlog: int
):
    # One request for each connection, for longer than the second after which a SYN is sent again.
    load = 'calls = 1\nduration = "1500ms"'
    run = run_study(sandbox, "queues", study_text(servers, load=load, connections="[60]", trials=1))
    finding = the(run, "listen_queue_overflow", "short")
    assert finding.certainty == "shown"
    assert value(finding, "overflows of listen queues") > 0
    assert value(finding, "SYNs retransmitted") > 0
    assert value(finding, "backlog of the server's listen queue") == backlog
    assert value(finding, "connections established about 1 s after their first SYN") > 0
    assert not codes(run, "long") & {"listen_queue_overflow", "connections_retried"}


# --- what limit can do wrong


WRONG = """\
[servers.plain]
use = "limit"
delay = "2ms"
[servers.errors]
use = "limit"
delay = "2ms"
error_share = 0.05
spared_requests = 10
[servers.short-bodies]
use = "limit"
delay = "2ms"
truncated_share = 0.05
spared_requests = 10
[servers.closes]
use = "limit"
delay = "2ms"
keepalive_requests = 20
"""
GROWING = """\
[servers.plain]
use = "limit"
delay = "2ms"
[servers.heavy]
use = "limit"
delay = "2ms"
connection_memory = "512KiB"
[servers.leaks]
use = "limit"
delay = "2ms"
leak = "4KiB"
[servers.threads]
use = "limit"
delay = "2ms"
connections_per_thread = 4
"""


@pytest.fixture(scope="module")
def wrong(shared_sandbox) -> Run:
    """Servers that each do one thing wrong, and one that does not."""
    study = study_text(WRONG, load="requests_total = 1000", connections="[8]", trials=1)
    return run_study(shared_sandbox, "wrong", study)


@pytest.fixture(autouse=True)
def short_windows(monkeypatch):
    """Take the windows of these tests for long enough: what is planted continues for as long as they like."""
    monkeypatch.setattr(memory, "LEAK_LENGTH_MIN_S", 0.2)


@pytest.fixture(scope="module")
def growing(shared_sandbox) -> Run:
    """Servers that take more of something, and one that does not."""
    load, host = 'duration = "400ms"', 'probe_interval = "50ms"'
    study = study_text(GROWING, load=load, connections="[4, 16, 32]", trials=1, host=host)
    return run_study(shared_sandbox, "growing", study)


PLANTED = {
    "wrong": {"errors": "wrong_answers", "short-bodies": "wrong_answers", "closes": "reconnects"},
    "growing": {
        "heavy": "memory_per_connection",
        "leaks": "memory_grows_with_requests",
        "threads": "processes_changed",
    },
}


@pytest.mark.parametrize(
    ("study", "server"),
    [(study, server) for study, planted in PLANTED.items() for server in (*planted, "plain")],
)
def test_each_fault_is_reported_for_its_server_and_for_no_other(request, study: str, server: str):
    planted = PLANTED[study]
    reported = codes(request.getfixturevalue(study), server) & set(planted.values())
    assert reported == ({planted[server]} if server in planted else set())


def test_the_rate_of_good_answers_leaves_the_errors_out(wrong):
    finding = the(wrong, "wrong_answers", "errors")
    assert value(finding, "requests without a correct answer") == pytest.approx(0.05, rel=0.5)
    assert value(finding, "correct answers") < value(finding, "answers")


def test_reconnects_are_explained_by_the_limit_that_the_server_is_set_to(wrong):
    finding = the(wrong, "reconnects", "closes")
    assert finding.certainty == "shown"
    assert "after 20 requests" in finding.cause
    assert value(finding, "replies per connection") == pytest.approx(20, rel=0.2)


def test_the_memory_of_a_connection_is_what_was_planted(growing):
    assert the(growing, "memory_per_connection", "heavy").evidence[0].value == pytest.approx(
        512 * 1024, rel=0.15
    )


def test_the_memory_lost_with_each_request_is_what_was_planted(growing):
    finding = the(growing, "memory_grows_with_requests", "leaks")
    assert finding.evidence[0].value == pytest.approx(4096, rel=0.15)


def test_the_stored_run_gives_the_same_findings_again_as_json(wrong, shared_sandbox):
    finished = shared_sandbox.run("report", "wrong", "--findings")
    assert finished.returncode == 0
    assert json.loads(finished.stdout) == [one.model_dump(mode="json") for one in findings(wrong)]


def test_the_terminal_and_the_page_show_them(wrong, shared_sandbox):
    finished = shared_sandbox.run("report", "wrong")
    assert "Findings" in finished.stdout
    assert finished.stdout.splitlines()[-1] == "wrong/report.html"
    page = (shared_sandbox.work / "wrong" / "report.html").read_text()
    assert the(wrong, "reconnects", "closes").seen in page


@pytest.mark.long
def test_an_idle_timeout_shorter_than_the_pauses_of_clients_is_reported_as_the_cause_of_reconnects(sandbox):
    servers = """\
[servers.impatient]
use = "limit"
keepalive_timeout = 1
[servers.patient]
use = "limit"
"""
    load = 'think = "1200ms"\nduration = "1500ms"'
    study = study_text(servers, load=load, connections="[20]", trials=1)
    run = run_study(sandbox, "idle", study)
    finding = the(run, "reconnects", "impatient")
    assert finding.certainty == "shown"
    assert "idle for 1 s" in finding.cause
    assert "reconnects" not in codes(run, "patient")


def test_local_ports_that_run_out_are_reported_with_the_connections_in_time_wait(sandbox, small_network):
    servers = "[servers.limit]"
    load = 'rate = 500\nduration = "1s"\ncalls = 1'
    study = study_text(servers, load=load, connections="[2]", trials=1).replace('"closed"', '"open"')
    finding = the(run_study(sandbox, "ports", study, within=small_network), "ports_exhausted", "limit")
    assert finding.certainty == "shown"
    assert value(finding, "local ports") == 40
    assert 20 <= value(finding, "sockets in TIME_WAIT, most") <= 45


# --- what another tenant takes

STEAL = 7
"""The place of steal among the times of a CPU, which come in the order of proc(5)."""


def test_time_that_another_tenant_takes_is_reported(sandbox, own_mounts):
    """No hypervisor can be made to take time, so the kernel's file is imitated."""
    stat_file = sandbox.write("stat", Path("/proc/stat").read_text(encoding="ascii"))
    load = 'think = "1ms"\nduration = "1500ms"'
    study = study_text(load=load, connections="[2]", trials=1)
    over_the_kernels = [*own_mounts, "sh", "-c", f'mount --bind {stat_file} /proc/stat && exec "$@"', "sh"]
    with taking_time(stat_file, share=1 / 3):
        run = run_study(sandbox, "steal", study, within=over_the_kernels)
    finding = the(run, "steal", "limit")
    assert finding.certainty == "shown"
    # The third comes on top of the time that the CPU really had: 1/3 of 4/3.
    assert value(finding, "steal of the most affected CPU") == pytest.approx(1 / 4, rel=0.05)


@contextmanager
def taking_time(stat_file: Path, share: float) -> Iterator[None]:
    """Keep a file like the kernel's, but that others take a share on top of each CPU's time from now on."""
    begun = {name: fields for name, *fields in map(str.split, stat_file.read_text().splitlines())}
    over = Event()

    def tell() -> None:
        while not over.wait(0.01):
            lines = [with_steal(line, begun, share) for line in Path("/proc/stat").read_text().splitlines()]
            # Written in one go, as the kernel does; what an older, longer text leaves behind are empty lines.
            text = "\n".join(lines)
            os.pwrite(file, text.encode() + b"\n" * (stat_file.stat().st_size + 8 - len(text)), 0)

    file = os.open(stat_file, os.O_WRONLY)
    thread = Thread(target=tell)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        os.close(file)


def with_steal(line: str, begun: dict[str, list[str]], share: float) -> str:
    """A line of ``/proc/stat`` with this share of a CPU's time since then as steal, and no other."""
    if not re.match(r"cpu\d", line):
        return line
    name, *fields = line.split()
    # Read at any moment, one text has both: the CPU's own time, and what was taken in it.
    own_ticks = sum(map(int, fields[:STEAL])) - sum(map(int, begun[name][:STEAL]))
    fields[STEAL] = str(int(begun[name][STEAL]) + round(share * own_ticks))
    return " ".join([name, *fields])


# --- stalls, and what a closed loop hides


@pytest.fixture(scope="module")
def stalls(shared_sandbox) -> Run:
    servers = """\
[servers.stalls]
use = "limit"
stall_every = "900ms"
stall_for = "400ms"
"""
    return run_study(shared_sandbox, "stalls", study_at_a_rate(servers))


def study_at_a_rate(servers: str) -> str:
    load = 'rate = 400\nduration = "2s"'
    return study_text(servers, load=load, connections="[2]", trials=1).replace('"closed"', '"open"')


def test_a_stall_is_reported_with_its_length_and_that_the_server_was_idle(stalls):
    finding = the(stalls, "stall", "stalls")
    # Less for the requests that came before it, more for a machine that is busy with something else.
    assert 300 <= value(finding, "longest stall") < 800
    assert value(finding, "CPU of the server in the stall") < 0.1
    assert "did nothing" in finding.cause


def test_the_tail_that_a_closed_loop_would_have_hidden_is_reported(stalls):
    finding = the(stalls, "hidden_tail", "stalls")
    percentile = finding.evidence[0].name.rpartition(" ")[2]
    assert value(finding, f"latency, {percentile}") > 2 * value(finding, f"service time, {percentile}")


@pytest.mark.long
def test_a_steady_server_has_neither(sandbox):
    def unplanted(run: Run) -> set[str]:
        return codes(run, "limit") & {"stall", "hidden_tail"}

    study = study_at_a_rate("[servers.limit]")
    run = run_of_a_quiet_machine(sandbox, "steady", study, lambda run: not unplanted(run))
    assert unplanted(run) == set()


# --- processor time


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.parametrize(
    ("cpus", "code"), [(1, "cpu_limit"), pytest.param(2, "one_thread", marks=pytest.mark.long)]
)
def test_a_server_of_one_thread_is_at_the_limit_of_one_cpu_however_many_it_has(sandbox, cpus: int, code: str):
    first, second = sorted(os.sched_getaffinity(0))[:2]
    host = f"server_cpus = {[first, second][:cpus]}\nload_cpus = [{second}]"
    servers = '[servers.works]\nuse = "limit"\nwork = "1ms"\n[servers.rests]\nuse = "limit"\ndelay = "5ms"'
    study = study_text(servers, load='duration = "700ms"', connections="[4]", trials=1, host=host)
    for attempt in range(QUIET_ATTEMPTS):
        run = run_study(sandbox, f"busy-{attempt}", study)
        used = {point.server: point.probe.server.cpu_share for point in run.points}
        # A server that has work all the time uses its CPU, as far as nothing else does.
        if used["works"] >= 0.92:
            break
    else:
        pytest.skip(
            f"something else has this CPU: a server with work all the time got {used['works']:.0%} of it"
        )
    assert code in codes(run, "works")
    assert not codes(run, "rests") & {"cpu_limit", "one_thread"}


def test_a_generator_that_stands_still_again_and_again_is_reported_as_the_limit(sandbox):
    load = 'rate = 500\nduration = "1s"'
    study = study_text(load=load, connections="[8]", trials=1).replace('"closed"', '"open"')
    sandbox.write("late.toml", study)
    command = sandbox.start("run", "late.toml", "--out", "late")
    trials = sandbox.work / "late" / TRIALS_FILE
    wait_until(lambda: trials.exists() or command.poll() is not None, "the trial begins")
    generator = psutil.Process(command.pid)
    while command.poll() is None and trials.stat().st_size == 0:
        generator.suspend()
        time.sleep(0.1)
        generator.resume()
        time.sleep(0.1)
    assert finish(command).returncode in {0, 3}
    finding = the(read_run(sandbox.work / "late"), "rig_limit", "limit")
    assert finding.certainty == "shown"
    # At least one of a hundred requests fell due early in a stop of 100 ms.
    assert value(finding, "lateness of the generator, p99") > 50


# --- one trial


@pytest.mark.long
def test_a_trial_of_a_slower_start_is_odd_and_its_siblings_are_not(sandbox):
    # The first of six starts is the check before the trials, so the fifth is that of the fourth trial.
    script = (
        "echo started >> {study}/starts; starts=$(wc -l < {study}/starts); "
        "delay=5ms; [ $((starts % 6)) -eq 5 ] && delay=60ms; "
        "exec {binary} limit --listen {address}:{port} --root {content} --delay $delay"
    )
    servers = f"""\
[servers.moody]
use = "limit"
{STAYS_OURS}
start = ["/bin/sh", "-c", '{script}']
"""
    study = study_text(servers, load='duration = "300ms"', connections="[2, 4, 8]", trials=5)
    planted = [([3], [{"connections": 2}, {"connections": 4}, {"connections": 8}])]

    def odd_trials(run: Run) -> list[tuple[list[int], list[dict[str, float]]]]:
        return [(one.trials, one.points) for one in odd_throughputs(run)]

    run = run_of_a_quiet_machine(sandbox, "odd", study, lambda run: odd_trials(run) == planted)
    assert odd_trials(run) == planted
    [odd] = odd_throughputs(run)
    # Answers take twelve times as long, and less where a busy machine adds to both. Of the five at most that
    # each connection has, one may come too late.
    assert 4 / 5 / 12 < value(odd, "times that of the others") < 0.5


def odd_throughputs(run: Run):
    return [one for one in findings(run) if one.code == "odd_trial" and "throughput" in one.seen]


# --- real servers


@pytest.fixture(scope="module")
def real(shared_sandbox) -> Run:
    servers = """\
[servers.nginx]
workers = 1
[servers.nginx-100]
use = "nginx"
workers = 1
keepalive_requests = 100
[servers.nginx-small]
use = "nginx"
workers = 1
worker_connections = 16
"""
    load = 'think = "1ms"\nduration = "300ms"'
    study = study_text(servers, load=load, connections="[8, 40]", trials=1)
    return run_study(shared_sandbox, "real", study)


@pytest.mark.needs("nginx")
def test_keepalive_requests_of_nginx_explain_its_reconnects(real):
    finding = the(real, "reconnects", "nginx-100")
    assert finding.certainty == "shown"
    assert "after 100 requests" in finding.cause


@pytest.mark.needs("nginx")
def test_a_server_with_too_few_places_turns_connections_away(real):
    finding = the(real, "server_connections_exhausted", "nginx-small")
    assert [point["connections"] for point in finding.points] == [40]
    assert value(finding, "connections allowed by the server's settings") == 16


@pytest.mark.needs("nginx")
def test_nginx_as_it_comes_has_none_of_these(real):
    unplanted = {"reconnects", "server_connections_exhausted", "wrong_answers", "processes_changed"}
    assert not codes(real, "nginx") & unplanted


@pytest.mark.long
@pytest.mark.needs("apache2")
def test_apache_that_forks_its_third_child_is_reported_where_it_does(sandbox):
    servers = """\
[servers.apache]
use = "apache-worker"
start_servers = 2
threads_per_child = 10
max_request_workers = 40
min_spare_threads = 5
max_spare_threads = 40
"""
    load = 'duration = "1500ms"\nthink = "1ms"'
    study = study_text(servers, load=load, connections="[2, 4, 8, 16, 30]", trials=1, warmup="1500ms")
    finding = the(run_study(sandbox, "apache", study), "processes_changed", "apache")
    # A connection holds a thread: two children of 10 threads have 5 to spare up to 15 connections.
    assert max(point["connections"] for point in finding.points) >= 16
    assert value(finding, "processes after") > value(finding, "processes before")
