"""`loadcurve run` with servers that are held to a share of the machine."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadcurve.explain.all import findings
from loadcurve.host.cgroups import ControlGroup, Limits, LimitsUnavailable, control_group_trees
from loadcurve.result.folder import Run, read_run
from loadcurve.result.run_files import RUN_FILE
from loadcurve.server.ledger import FOLDER_PREFIX
from support.sandbox import Sandbox, finish, wait_until
from support.tiny_study import STAYS_OURS, study_text

pytestmark = pytest.mark.alone

MIB = 1 << 20
PERIOD_S = 0.1
"""Of the kernel's accounting of shares."""


def groups_of_servers() -> set[Path]:
    """Return the control groups of servers that exist now, whoever made them."""
    folders = {tree.folder for tree in control_group_trees().values()}
    return {group for folder in folders for group in folder.glob(f"{FOLDER_PREFIX}*")}


@pytest.fixture
def groups_left() -> Callable[[], set[Path]]:
    """Return what lists the control groups of servers that were made since the test began."""
    before = groups_of_servers()
    return lambda: groups_of_servers() - before


@pytest.fixture(autouse=True)
def _limits_can_be_set() -> None:
    require_limits()


def require_limits() -> None:
    """Skip the test where this process may not set limits."""
    group = ControlGroup.planned("loadcurve-test-probe", Limits(cpus=1.0, memory_bytes=MIB))
    try:
        group.make()
    except LimitsUnavailable as unavailable:
        pytest.skip(str(unavailable))
    group.remove()


@dataclass(frozen=True)
class Limited:
    """One run of servers with limits, and without."""

    run: Run
    said: str
    left: set[Path]
    """The control groups that it left behind."""


@pytest.fixture(scope="module")
def limited(shared_sandbox: Sandbox) -> Limited:
    require_limits()
    servers = """\
[servers.free]
use = "limit"
work = "1ms"
[servers.limited]
use = "limit"
work = "1ms"
limits = { cpus = 0.04, memory = "64MiB" }
[servers.micro]
use = "limit"
delay = "5ms"
machine = "t2.micro"
burst = true
[servers.large]
use = "limit"
limits = { cpus = 4000 }
"""
    study = study_text(servers, load='duration = "400ms"', connections="[10]", trials=1)
    shared_sandbox.write("tiny.toml", study)
    before = groups_of_servers()
    finished = shared_sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 3, finished.stderr
    return Limited(read_run(shared_sandbox.work / "out"), finished.stderr, groups_of_servers() - before)


def test_a_limited_server_is_throttled_and_the_record_and_a_finding_say_so_and_another_is_not(
    limited: Limited,
):
    run = limited.run
    points = {record.server: record for record in run.points}
    assert points["free"].limit_use is None
    throttled = points["limited"]
    assert throttled.probe.throttling is not None
    assert throttled.probe.throttling.throttled_periods > 0
    assert throttled.probe.throttling.throttled_s > 0
    assert throttled.limit_use is not None
    assert throttled.limit_use.oom_kills == 0
    assert throttled.limit_use.memory_peak_bytes is not None
    assert 0 < throttled.limit_use.memory_peak_bytes <= 64 * MIB
    assert run.run.servers["free"].limits is None
    assert run.run.servers["limited"].limits is not None
    assert run.run.servers["limited"].limits.model_dump() == {
        "cpus": 0.04,
        "memory_bytes": 64 * MIB,
        "burst": None,
        "period_ms": 100.0,
    }
    assert {one.server for one in findings(run) if one.code == "cpu_throttled"} == {"limited"}
    assert limited.left == set()


def test_a_machine_type_limits_a_server_to_its_size(limited: Limited):
    server = limited.run.run.servers["micro"]
    assert server.limits is not None
    assert (server.limits.cpus, server.limits.memory_bytes) == (1, 1024 * MIB)
    assert server.machine is not None
    assert (server.machine.name, server.machine.price_usd_per_hour) == ("t2.micro", 0.0116)
    assert server.machine.priced_on.startswith("2020-12")
    assert server.limits.burst is not None
    assert (server.limits.burst.credits, server.limits.burst.baseline_share) == (30, 0.1)
    [point] = [one for one in limited.run.points if one.server == "micro"]
    assert point.limit_use is not None
    assert point.limit_use.credits is not None
    # A second of a CPU is a sixtieth of a credit, and what it earns meanwhile is a tenth of that.
    assert 29.5 < point.limit_use.credits.remaining < 30.01


def test_more_cpus_than_there_are_are_a_failure_and_the_run_goes_on(limited: Limited):
    assert "requires 4000 CPUs, and servers have" in limited.said
    assert [(failure.server, failure.reason.code) for failure in limited.run.failures] == [
        ("large", "limits_unavailable")
    ]


GREEDY_SERVER = """\
import functools, http.server, sys
kept = []
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        kept.append(bytearray(b"x" * (1 << 20)))
        super().do_GET()
handler = functools.partial(Handler, directory=sys.argv[2])
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()
"""
"""A server that keeps a mebibyte for each request."""


@pytest.mark.parametrize("restart", ["sweep", pytest.param("point", marks=pytest.mark.long)])
def test_a_server_that_outgrows_its_memory_is_recorded_so_and_the_run_goes_on(restart, sandbox, groups_left):
    sandbox.write("greedy.py", GREEDY_SERVER)
    servers = f"""\
[servers.greedy]
use = "command"
{STAYS_OURS}
start = ["{sys.executable}", "{{study}}/greedy.py", "{{port}}", "{{content}}"]
version = "1"
limits = {{ memory = "64MiB" }}
[servers.early]
use = "command"
{STAYS_OURS}
start = ["{sys.executable}", "-c", "x = bytearray(b'x' * (1 << 28))", "{{port}}"]
version = "1"
limits = {{ memory = "64MiB" }}
[servers.limit]
"""
    text = study_text(servers, load="connections = 2", warmup="0s", restart=restart, trials=2)
    # The second point takes more requests than there are mebibytes.
    text = text.replace("connections = [1, 2]", "requests_total = [4, 100, 5]")
    sandbox.write("tiny.toml", text)
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 3, finished.stderr
    run = read_run(sandbox.work / "out")
    failed = {
        name: [(one.reason.code, one.point) for one in run.failures if one.server == name]
        for name in ("greedy", "early")
    }
    assert failed["greedy"] == [("out_of_memory", {"requests_total": 100})] * 2
    assert {code for code, _ in failed["early"]} == {"out_of_memory"}
    early = next(one.reason.text for one in run.failures if one.server == "early")
    assert "was ended by SIGKILL before it was ready. The kernel had killed 1" in early
    text = next(one.reason.text for one in run.failures if one.server == "greedy")
    assert "was ended by SIGKILL during the trial" in text
    assert "The kernel had killed 1 of its processes: its limit of 64 MiB was reached." in text
    assert text in finished.stderr
    assert text in (sandbox.work / "out" / "report.html").read_text()
    measured = [one.point["requests_total"] for one in run.points if one.server == "greedy"]
    assert measured == ([4] * 2 if restart == "sweep" else [4, 5] * 2)
    assert [one.point["requests_total"] for one in run.points if one.server == "limit"] == [4, 100, 5] * 2
    assert groups_left() == set()


def test_a_server_that_loses_a_process_to_its_limit_of_memory_and_goes_on_has_a_caveat(sandbox):
    # Two requests come before the load; a later one makes a child that needs more than there is.
    child = "os.fork() or (bytearray(b'x' * (1 << 28)), os._exit(0))"
    losing = GREEDY_SERVER.replace(
        'kept.append(bytearray(b"x" * (1 << 20)))',
        f"""kept.append(1)
        if len(kept) == 5:
            {child}
            os.wait()""",
    ).replace("import ", "import os, ")
    sandbox.write("losing.py", losing)
    servers = f"""\
[servers.losing]
use = "command"
{STAYS_OURS}
start = ["{sys.executable}", "{{study}}/losing.py", "{{port}}", "{{content}}"]
version = "1"
limits = {{ memory = "64MiB" }}
"""
    text = study_text(servers, load="requests_total = 9", connections="[1, 2]", warmup="0s", trials=1)
    sandbox.write("tiny.toml", text)
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 0, finished.stderr
    points = read_run(sandbox.work / "out").points
    assert [point.limit_use and point.limit_use.oom_kills for point in points] == [1, 0]
    (caveat,) = points[0].caveats
    assert points[1].caveats == []
    assert f"losing: {caveat.text}" in finished.stderr
    assert f"losing, 1 point</span>: {caveat.text}." in (sandbox.work / "out" / "report.html").read_text()


@pytest.mark.long
def test_credits_run_out_when_arithmetic_says_so_and_the_report_says_it(sandbox):
    burst = 'burst = { credits = 0.02, baseline = "10 %" }'
    servers = f"""\
[servers.limited]
use = "limit"
work = "1ms"
limits = {{ cpus = 0.5, {burst} }}
"""
    text = study_text(servers, load='duration = "4s"', connections="[10, 20]", trials=1)
    sandbox.write("tiny.toml", text)
    finished = sandbox.run("run", "tiny.toml", "--out", "out")
    assert finished.returncode == 0, finished.stderr
    run = read_run(sandbox.work / "out")
    first, second = run.points
    # At most half a CPU, of which 0.45 spend 1.2 s of credits.
    assert first.limit_use.credits.ran_out_s >= 1.2 / 0.45 - PERIOD_S
    assert second.limit_use.credits.remaining == 0
    assert second.limit_use.credits.at_baseline_s >= 3.9
    # The baseline is 0.05 CPUs; a quota of a period at each end, and the error of a sample.
    assert second.probe.server.cpu_share == pytest.approx(0.05, abs=0.01)
    (finding,) = [one for one in findings(run) if one.code == "cpu_credits"]
    assert finding.points == [{"connections": 10}, {"connections": 20}]
    assert "its baseline of 10 % of its CPUs" in finding.seen
    assert finding.seen in (sandbox.work / "out" / "report.html").read_text()


WITHOUT_CONTROL_GROUPS = """
for folder in /sys/fs/cgroup /sys/fs/cgroup/*; do
    mountpoint --quiet "$folder" && mount --bind -o ro "$folder" "$folder"
done
exec "$@"
"""


@pytest.mark.needs("unshare")
def test_a_server_whose_limits_cannot_be_set_is_not_measured_without_them(sandbox):
    servers = '[servers.limited]\nuse = "limit"\nmachine = "t2.micro"\n[servers.limit]'
    sandbox.write("tiny.toml", study_text(servers, trials=1))
    within = ["unshare", "--mount", "sh", "-c", WITHOUT_CONTROL_GROUPS, "sh"]
    finished = sandbox.run("run", "tiny.toml", "--out", "out", within=within)
    assert finished.returncode == 3, finished.stderr
    run = read_run(sandbox.work / "out")
    assert {point.server for point in run.points} == {"limit"}
    (failure,) = run.failures
    assert (failure.server, failure.reason.code) == ("limited", "limits_unavailable")
    assert "Read-only file system. Run as root, or inside a control group" in failure.reason.text
    assert failure.reason.text in finished.stderr


def test_the_groups_of_a_killed_run_are_removed_by_the_next(sandbox, groups_left):
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
    assert groups_left() == set()
