"""`loadcurve run`: what the record of each point says of the server and its machine, and probes that end."""

import json
import os

import pytest

from loadcurve.result.run_files import TRIALS_FILE
from loadcurve.server.group import group_parent
from support.sandbox import finish, wait_until
from support.tiny_study import study_text

SERVERS = "[servers.nginx]\nworkers = 2"
DURATION_S = 0.8
INTERVAL_S = 0.025
DEFAULT_INTERVAL_S = 0.1


def points_of(folder):
    return [json.loads(line) for line in (folder / TRIALS_FILE).read_text().splitlines()]


def probes_in(sandbox):
    """Return the running probes that were started in a sandbox."""
    return sandbox.processes(named="loadcurve-probe")


@pytest.fixture(scope="module")
def points(shared_sandbox):
    """Two points of a load on nginx with two workers, in a study that sets the interval of the probe."""
    host = 'probe_interval = "25ms"'
    load = f'duration = "{DURATION_S}s"'
    shared_sandbox.write(
        "probed.toml", study_text(SERVERS, load=load, connections="[2, 8]", trials=1, host=host)
    )
    finished = shared_sandbox.run("run", "probed.toml", "--out", "probed")
    assert finished.returncode in {0, 3}, finished.stderr
    return points_of(shared_sandbox.work / "probed")


@pytest.mark.alone
@pytest.mark.needs("nginx")
def test_every_point_carries_what_the_server_used(points):
    assert [point["probe"]["caveats"] for point in points] == [[], []]
    for point in points:
        server, load = point["probe"]["server"], point["measurements"]["load"]
        # The master process and two workers, of one thread each.
        assert server["processes"] == server["threads"] == {"min": 3, "max": 3}
        used_s = server["cpu_user_s"] + server["cpu_system_s"]
        assert 0 < used_s <= DURATION_S * len(os.sched_getaffinity(0))
        assert server["cpu_share"] == pytest.approx(used_s / DURATION_S, rel=1e-6)
        answered = load["rate_rps"]["answered"] * load["duration_s"]
        assert server["cpu_per_request_us"] == pytest.approx(used_s / answered * 1e6, rel=1e-6)
        assert 1 << 20 < server["memory_mean_bytes"] <= server["memory_peak_bytes"]
        assert server["memory_peak_bytes"] < 1 << 30
        assert server["context_switches"]["voluntary"] > 0
    # Open files are counted as often as costs the server little, which may be at no moment of a short point.
    connections_of = {
        point["probe"]["server"]["open_files_max"]: point["point"]["connections"] for point in points
    }
    counted = {files: connections for files, connections in connections_of.items() if files is not None}
    # Its listening socket, its logs and the connections of the load.
    assert counted
    assert all(files > connections for files, connections in counted.items())


@pytest.mark.alone
@pytest.mark.needs("nginx")
def test_every_point_names_the_busiest_thread_which_is_one_of_the_workers(points):
    for point in points:
        server = point["probe"]["server"]
        thread, process = server["busiest_thread"], server["busiest_process"]
        assert thread["name"] == process["name"] == "nginx"
        # Each process has one thread, which has the id of the process.
        assert thread["thread"] == thread["pid"]
        # The busier one of two workers has at least half; the slack is that of times in ticks.
        assert server["cpu_share"] / 2 - 0.05 <= thread["cpu_share"] <= server["cpu_share"] + 0.05


@pytest.mark.alone
@pytest.mark.needs("nginx")
def test_every_point_carries_what_the_machine_did(points):
    for point in points:
        probe = point["probe"]
        assert [cpu["cpu"] for cpu in probe["cpus"]] == list(range(os.cpu_count()))
        for cpu in probe["cpus"]:
            assert 0 <= cpu["softirq_share"] <= cpu["busy_share"] <= 1
            assert 0 <= cpu["steal_share"] <= 1
        assert probe["tcp"]["listen_overflows"] is not None
        assert probe["sockets"]["established_max"] >= point["point"]["connections"]
        assert probe["cost"]["interval_s"] == INTERVAL_S
        # nginx asks for 511, and no machine allows less than 128.
        assert 128 <= probe["listen_queue"]["backlog"] <= 511


@pytest.mark.alone
@pytest.mark.needs("nginx")
def test_the_series_covers_the_window_and_agrees_with_its_sum(points):
    for point in points:
        series = point["probe"]["series"]
        moments_s = series["t_s"]
        assert moments_s == sorted(moments_s)
        assert 0 <= moments_s[0] <= moments_s[-1] <= DURATION_S
        # A busy machine may delay samples; the default interval would give 11 at most.
        assert DURATION_S / DEFAULT_INTERVAL_S + 1 < len(moments_s) <= DURATION_S / INTERVAL_S + 1
        columns = {name: column for name, column in series.items() if isinstance(column, list)}
        assert {len(column) for column in columns.values()} == {len(moments_s)}
        # Each row tells of the time since the row before it, the first one of time before the window, too.
        used_s = sum(
            (user + system) * (to_s - from_s)
            for user, system, from_s, to_s in zip(
                series["cpu_user_share"],
                series["cpu_system_share"],
                [0, *moments_s],
                moments_s,
                strict=False,
            )
        )
        assert used_s / moments_s[-1] == pytest.approx(point["probe"]["server"]["cpu_share"], rel=0.25)
        known = [memory for memory in series["memory_bytes"] if memory is not None]
        assert max(known) == point["probe"]["server"]["memory_peak_bytes"]


@pytest.mark.skipif(group_parent() is None, reason="needs to make a control group of version 2, as root may")
def test_a_server_that_forgets_its_children_is_measured_by_its_group(sandbox):
    """Each client has its own process, which is gone before anyone could look at it."""
    load = 'calls = 1\nduration = "200ms"'
    sandbox.write("tiny.toml", study_text("[servers.simple]", load=load, connections="[2]", trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert finished.returncode in {0, 3}, finished.stderr
    (point,) = points_of(sandbox.work / "run")
    server = point["probe"]["server"]
    assert (server["cpu_source"], point["probe"]["caveats"]) == ("group", [])
    # To make a process and to end it takes longer than this on any machine.
    assert server["cpu_per_request_us"] > 20


def test_a_killed_probe_is_a_caveat_and_the_run_goes_on(sandbox):
    # The second point continues for long enough to be disturbed.
    study = study_text(load='connections = 1\nthink = "1ms"', trials=1)
    sandbox.write("tiny.toml", study.replace("connections = [1, 2]", "requests_total = [50, 500]"))
    run = sandbox.start("run", "tiny.toml", "--out", "run")
    trials = sandbox.work / "run" / TRIALS_FILE
    wait_until(lambda: trials.exists() and trials.stat().st_size > 0, "the first point is measured")
    for probe in probes_in(sandbox):
        probe.kill()
    finished = finish(run)
    assert finished.returncode in {0, 3}, finished.stderr
    first, second = points_of(sandbox.work / "run")
    assert (first["kind"], first["probe"]["caveats"]) == ("point", [])
    assert second["kind"] == "point"
    assert second["measurements"]["load"]["requests"]["answered"] > 0
    assert [caveat["code"] for caveat in second["probe"]["caveats"]] == ["probe_died"]
    assert "limit: the probe ended with status -9" in finished.stderr
    assert "the probe ended with status -9" in (sandbox.work / "run" / "report.html").read_text()
