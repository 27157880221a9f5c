"""`loadcurve run` with servers in containers."""

import pytest

from loadcurve.result.folder import read_run
from loadcurve.result.run_files import RUN_FILE
from support.containers import Containers
from support.report_pages import write_report
from support.sandbox import Sandbox, finish, wait_until
from support.tiny_study import study_text

MIB = 1 << 20


def test_nginx_in_a_container_is_measured_within_its_limits_and_the_record_says_in_what(
    sandbox: Sandbox, containers: Containers
):
    if not (containers.rootfs / "usr/sbin/nginx").exists():
        pytest.skip("needs nginx, which is not installed; on Debian: apt-get install nginx")
    servers = f"""\
[servers.nginx]
workers = 2
limits = {{ cpus = 0.05, memory = "64MiB" }}
{containers.keys}
"""
    sandbox.write("tiny.toml", study_text(servers, load='duration = "500ms"', connections="[20]", trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 0, finished.stderr
    run = read_run(sandbox.work / "out")
    container = run.run.servers["nginx"].container
    assert container is not None
    assert (container.engine, container.network) == (containers.engine.name, "host")
    assert container.image.startswith("localhost/loadcurve-rootfs:")
    assert len(container.image_id) == 64
    assert run.run.servers["nginx"].binary == "/usr/sbin/nginx"
    [point] = run.points
    assert point.probe.throttling is not None
    assert point.probe.throttling.throttled_periods > 0
    assert point.limit_use is not None
    assert point.limit_use.oom_kills == 0
    assert point.limit_use.memory_peak_bytes is not None
    assert 0 < point.limit_use.memory_peak_bytes <= 64 * MIB
    page = write_report(sandbox.work / "out").read_text(encoding="utf-8")
    assert f"<code>{container.image_id[:12]}</code>" in page
    assert point.probe.listen_queue is not None
    # One master and two workers, and nothing of the engine's.
    assert point.probe.server is not None
    assert point.probe.server.processes is not None
    assert point.probe.server.processes.max == 3
    assert containers.names() == []


def test_the_container_of_a_killed_run_is_removed_by_the_next(sandbox: Sandbox, containers: Containers):
    # The server `simple` handles no signal, so that only force ends it as the first process of a container.
    contained = f"[servers.simple]\n{containers.keys}"
    sandbox.write("tiny.toml", study_text(contained, load='duration = "20s"', trials=1))
    process = sandbox.start("run", "tiny.toml", "--out", "killed")
    run_file = sandbox.work / "killed" / RUN_FILE
    wait_until(lambda: run_file.exists() and bool(containers.names()), "a server in a container")
    [name] = containers.names()
    process.kill()
    finish(process)
    assert containers.names() == [name]
    sandbox.write("next.toml", study_text(connections="[1]", trials=1))
    following = sandbox.run("run", "next.toml", "--out", "next")
    assert following.returncode == 0
    assert f"its container {name} was removed" in following.stderr
    assert containers.names() == []


def test_a_server_whose_image_is_nowhere_is_named_and_the_others_are_measured(
    sandbox: Sandbox, containers: Containers
):
    servers = f"[servers.limit]\n[servers.other]\nuse = 'limit'\n{containers.keys}"
    servers = servers.replace(f'rootfs = "{containers.rootfs}"', 'image = "localhost/no-such-image"')
    sandbox.write("tiny.toml", study_text(servers, connections="[1]", trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 3
    assert "other is not measured: The image localhost/no-such-image does not exist" in finished.stderr
    assert "connection refused" in finished.stderr
    run = read_run(sandbox.work / "out")
    assert {point.server for point in run.points} == {"limit"}
    assert [(failure.server, failure.reason.code) for failure in run.failures] == [
        ("other", "image_unavailable")
    ]
    assert run.run.servers["other"].status == "missing"
