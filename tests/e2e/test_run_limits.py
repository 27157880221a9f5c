"""`loadcurve run` with servers that are held to a share of the machine."""

import pytest

from loadcurve.host.cgroups import ControlGroup, Limits, LimitsUnavailable, control_group_trees
from loadcurve.result.folder import RUN_FILE, read_run
from loadcurve.server.ledger import FOLDER_PREFIX
from support.sandbox import finish, wait_until
from support.tiny_study import study_text

MIB = 1 << 20


def groups_left() -> list[str]:
    """Return the control groups of servers that exist now."""
    folders = {tree.folder for tree in control_group_trees().values()}
    return [str(group) for folder in folders for group in folder.glob(f"{FOLDER_PREFIX}*")]


@pytest.fixture(autouse=True)
def _limits_can_be_set() -> None:
    group = ControlGroup.planned("loadcurve-test-probe", Limits(cpus=1.0, memory_bytes=MIB))
    try:
        group.make()
    except LimitsUnavailable as unavailable:
        pytest.skip(str(unavailable))
    group.remove()


def test_a_limited_server_is_throttled_and_the_record_says_so_and_another_is_not(sandbox):
    servers = """\
[servers.free]
use = "limit"
[servers.limited]
use = "limit"
limits = { cpus = 0.1, memory = "64MiB" }
"""
    sandbox.write("tiny.toml", study_text(servers, load='duration = "500ms"', connections="[10]", trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 0
    run = read_run(sandbox.work / "out")
    points = {record.server: record for record in run.points}
    assert points["free"].limit_use is None
    limited = points["limited"]
    assert limited.probe.throttling is not None
    assert limited.probe.throttling.throttled_periods > 0
    assert limited.probe.throttling.throttled_s > 0
    assert limited.limit_use is not None
    assert limited.limit_use.oom_kills == 0
    assert limited.limit_use.memory_peak_bytes is not None
    assert 0 < limited.limit_use.memory_peak_bytes <= 64 * MIB
    assert run.run.servers["free"].limits is None
    assert run.run.servers["limited"].limits is not None
    assert run.run.servers["limited"].limits.model_dump() == {"cpus": 0.1, "memory_bytes": 64 * MIB}
    assert groups_left() == []


def test_a_machine_type_limits_a_server_to_its_size_and_is_recorded_with_its_price(sandbox):
    servers = '[servers.micro]\nuse = "limit"\nmachine = "t2.micro"'
    sandbox.write("tiny.toml", study_text(servers, connections="[1]", trials=1))
    assert sandbox.run("run", "tiny.toml", "--out", "out").returncode == 0
    server = read_run(sandbox.work / "out").run.servers["micro"]
    assert server.limits is not None
    assert (server.limits.cpus, server.limits.memory_bytes) == (1, 1024 * MIB)
    assert server.machine is not None
    assert (server.machine.name, server.machine.price_usd_per_hour) == ("t2.micro", 0.0116)
    assert server.machine.priced_on.startswith("2020-12")


def test_more_cpus_than_the_servers_side_has_are_a_failure_that_says_what_to_change(sandbox):
    servers = '[servers.limit]\n[servers.large]\nuse = "limit"\nlimits = { cpus = 4000 }'
    sandbox.write("tiny.toml", study_text(servers, connections="[1]", trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert "is to have 4000 CPUs, and the server's side has" in finished.stderr
    failures = read_run(sandbox.work / "out").failures
    assert [(failure.server, failure.reason.code) for failure in failures] == [
        ("large", "limits_unavailable")
    ]


@pytest.mark.parametrize(
    ("keys", "line", "problem"),
    [
        ('machine = "t2.micor"', 23, 'did you mean "t2.micro"?'),
        ('machine = "t2.micro"\nlimits = { cpus = 1 }', 23, "given beside limits; keep one of the two"),
        ("limits = { cpus = 0 }", 23, "a number of CPUs"),
        ("limits = {}", 23, "expected cpus, memory or both"),
        ('limits = { memory = "1KiB" }', 23, '"1MiB"'),
    ],
)
def test_limits_that_cannot_be_are_refused_with_their_line(keys, line, problem, sandbox):
    sandbox.write("tiny.toml", study_text(f"[servers.limit]\n{keys}"))
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 2
    assert f"tiny.toml:{line}: " in finished.stderr
    assert problem in finished.stderr


def test_the_groups_of_a_killed_run_are_removed_by_the_next(sandbox):
    limited = '[servers.limit]\nlimits = { cpus = 1, memory = "64MiB" }'
    sandbox.write("tiny.toml", study_text(limited, load='duration = "10s"', trials=1))
    process = sandbox.start("run", "tiny.toml", "--out", "killed")
    run_file = sandbox.work / "killed" / RUN_FILE
    wait_until(lambda: run_file.exists() and bool(groups_left()), "a limited server")
    process.kill()
    finish(process)
    assert groups_left()
    sandbox.write("next.toml", study_text(connections="[1]", trials=1))
    assert sandbox.run("run", "next.toml", "--out", "next").returncode == 0
    assert groups_left() == []
