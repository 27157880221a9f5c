"""`loadcurve run` with servers in containers."""

import pytest

from loadcurve.report.html import write_report
from loadcurve.result.folder import RUN_FILE, read_run
from support.containers import Containers
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
    sandbox.write("tiny.toml", study_text(servers, load='duration = "1s"', connections="[20]", trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 0, finished.stderr
    run = read_run(sandbox.work / "out")
    container = run.run.servers["nginx"].container
    assert container is not None
    assert (container.engine, container.network) == ("podman", "host")
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
    assert finished.returncode == 0
    assert "other is not measured: The image localhost/no-such-image is not there" in finished.stderr
    assert "connection refused" in finished.stderr
    run = read_run(sandbox.work / "out")
    assert {point.server for point in run.points} == {"limit"}
    assert [(failure.server, failure.reason.code) for failure in run.failures] == [
        ("other", "image_unavailable")
    ]
    assert run.run.servers["other"].status == "missing"


@pytest.mark.parametrize(
    ("keys", "line", "problem"),
    [
        ('image = "x"', 23, 'given without an engine; expected engine = "podman" or engine = "docker"'),
        ('engine = "podmann"', 23, 'did you mean "podman"?'),
        ('engine = "podman"\nimage = "x"\nrootfs = "."', 25, "given beside image; keep one of the two"),
        ('engine = "podman"\nrootfs = "gone"', 24, "there is no folder and no file"),
        ('use = "command"\nengine = "podman"\nimage = "x"', 22, "expected the port on which the image's own"),
        ('use = "command"\nengine = "podman"\nstart = ["x"]', 22, "missing; expected an image or a rootfs"),
        ('use = "url"\nengine = "podman"\nurl = "http://127.0.0.1"', 24, "runs already and is not started"),
        ('use = "postgresql"\nengine = "podman"', 24, "so it does not run in a container"),
        ('engine = "podman"\nnetwork = "none"', 24, 'expected "host" or "private"'),
    ],
)
def test_keys_of_a_container_that_cannot_be_are_refused_with_their_line(keys, line, problem, sandbox):
    sandbox.write("tiny.toml", study_text(f"[servers.limit]\n{keys}"))
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 2
    assert f"tiny.toml:{line}: " in finished.stderr
    assert problem in finished.stderr
