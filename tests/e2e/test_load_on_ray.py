"""`loadcurve load --on-ray`, by a real cluster of several nodes, which are processes of this machine."""

import contextlib
import importlib.util
import ipaddress
import json
import os
import secrets
import subprocess
import sys
import time

import psutil
import pytest

from support.sandbox import wait_until
from support.tiny_study import study_text

if importlib.util.find_spec("ray") is None:
    pytest.skip("needs Ray: pip install 'loadcurve[ray]'", allow_module_level=True)
pytestmark = [pytest.mark.long, pytest.mark.alone]

NODES = 3
"""Those with the label; the head has none."""
PROGRAM = "from loadcurve.cli.main import main; main()"
CLUSTER = f"""
import os

from ray.cluster_utils import Cluster

os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
common = {{"num_cpus": 0, "object_store_memory": 80_000_000}}
head = {{**common, "include_dashboard": False, "node_ip_address": "127.0.0.2"}}
cluster = Cluster(initialize_head=True, head_node_args=head)
for number in range({NODES}):
    cluster.add_node(**common, node_ip_address=f"127.0.0.{{3 + number}}", labels={{"loadcurve": "load"}})
print("listening at", cluster.address, flush=True)
while input() == "lose a node":
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
cluster.shutdown()
"""
"""Ends with its input. A head, and nodes that are load machines, each at a different loopback address; their
daemons are all on one CPU."""
DAEMONS = ("gcs_server", "raylet")


class Cluster:
    """A cluster that is there."""

    def __init__(self, process):
        self._process = process
        self.address = next(line.split()[-1] for line in process.stdout if line.startswith("listening"))

    def lose_a_node(self):
        self._process.stdin.write("lose a node\n")
        self._process.stdin.flush()

    def close(self):
        self._process.communicate("no more\n", timeout=60)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home and a token that Ray's processes and the command have in common."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("home"))
        patch.setenv("HOME", folder)
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield folder


@pytest.fixture(scope="module")
def cluster(home):
    arguments = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        cluster = Cluster(process)
        yield cluster
        cluster.close()


def command(*arguments):
    return [sys.executable, "-c", PROGRAM, *map(str, arguments)]


def run(*arguments, **environment):
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )


def agents(home):
    """The processes of agents that have this home."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        own = (process.info["environ"] or {}).get("HOME") == home
        if own and "loadcurve.machines.agent" in (process.info["cmdline"] or []):
            found.append(process)
    return found


def test_nodes_share_a_load_exactly_and_each_has_its_row(cluster, home, limit_url):
    address = cluster.address
    finished = run("load", limit_url, "--on-ray", 3, "--ray-address", address, "-c", 6, "-n", 1000, "--json")
    assert finished.returncode in {0, 3}, finished.stderr
    result = json.loads(finished.stdout)
    requests = result["requests"]
    assert (requests["due"], requests["answered"], result["bytes"]["body"]) == (1000, 1000, 1_024_000)
    parts = result["machines"]["parts"]
    assert [part["machine"] for part in parts] == ["ray-1", "ray-2", "ray-3"]
    # 1000 requests among three: interleaved, the first has one more.
    assert [part["requests"]["answered"] for part in parts] == [334, 333, 333]
    # They have one clock in truth, and what is stated holds it, by datagrams and not by Ray's messages.
    assert {part["clock"]["over"] for part in parts} == {"echo"}
    assert all(abs(part["clock"]["offset_s"]) * 1e3 <= part["clock"]["error_ms"] for part in parts)
    wait_until(lambda: agents(home) == [], "no agent is left")


def affinities(processes):
    """The CPUs that any thread of these processes may use."""
    found = set()
    for process in processes:
        # A thread may end at any moment, and so may a process.
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            for thread in process.threads():
                found |= os.sched_getaffinity(thread.id)
    return found


def test_the_engine_has_other_cpus_than_rays_daemons(cluster, home, limit_url):
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("needs two CPUs")
    words = ("--on-ray", 2, "--ray-address", cluster.address, "-c", 2, "-R", 50, "-d", "1s", "--json")
    daemons = [one for one in psutil.process_iter(["name"]) if one.info["name"] in DAEMONS]
    assert len(daemons) > NODES
    of_agents = set()
    with subprocess.Popen(
        command("load", limit_url, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            of_agents |= affinities(agents(home))
            time.sleep(0.02)
        stdout, stderr = process.communicate()
    assert process.returncode in {0, 3}, stderr
    assert of_agents == os.sched_getaffinity(0) - affinities(daemons)
    # The engine has bound its threads to these, one by one.
    parts = json.loads(stdout)["machines"]["parts"]
    assert {cpu for part in parts for cpu in part["cpus"]} == of_agents


def test_more_nodes_than_there_are_is_an_error_in_words(cluster, home, limit_url):
    finished = run("load", limit_url, "--on-ray", 4, "--ray-address", cluster.address)
    assert finished.returncode == 2
    assert "the Ray cluster has 3 nodes with the label loadcurve=load" in finished.stderr


def test_a_wrong_token_is_an_error_in_words(cluster, home, limit_url):
    finished = run(
        "load", limit_url, "--on-ray", 1, "--ray-address", cluster.address, RAY_AUTH_TOKEN="f" * 64
    )
    assert finished.returncode == 4, finished.stderr
    assert f"the Ray cluster at {cluster.address} cannot be used" in finished.stderr


def test_a_killed_command_leaves_no_agent(cluster, home, limit_url):
    arguments = (
        "load",
        limit_url,
        "--on-ray",
        2,
        "--ray-address",
        cluster.address,
        "-c",
        2,
        "-R",
        50,
        "-d",
        "60s",
    )
    process = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_until(lambda: len(agents(home)) == 4, "two agents", timeout_s=60)
    process.kill()
    process.communicate()
    killed = time.monotonic()
    wait_until(lambda: agents(home) == [], "no agent is left", timeout_s=30)
    assert time.monotonic() - killed < 10


def test_a_node_that_is_lost_makes_the_load_invalid_by_name(cluster, home, limit_url):
    arguments = (
        "load",
        limit_url,
        "--on-ray",
        3,
        "--ray-address",
        cluster.address,
        "-c",
        3,
        "-R",
        300,
        "-d",
        "8s",
    )
    process = subprocess.Popen(
        command(*arguments, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(agents(home)) == 6, "three agents", timeout_s=60)
    cluster.lose_a_node()
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode in {3, 4}, stderr
    said = stderr if process.returncode == 4 else json.loads(stdout)["verdict"]["reasons"][0]["text"]
    assert "machine ray-" in said
    wait_until(lambda: agents(home) == [], "no agent is left", timeout_s=30)


def test_a_study_has_its_load_sent_by_nodes(cluster, home, tmp_path):
    study = tmp_path / "study.toml"
    # Another test may have lost a node.
    study.write_text(study_text(connections="[4]", trials=1, host='load_machines = "ray"\nload_nodes = 2'))
    finished = run("run", study, "--out", tmp_path / "run", RAY_ADDRESS=cluster.address)
    assert finished.returncode in {0, 3}, finished.stderr
    [line] = (tmp_path / "run" / "trials.jsonl").read_text().splitlines()
    parts = json.loads(line)["measurements"]["load"]["machines"]["parts"]
    assert [part["machine"] for part in parts] == ["ray-1", "ray-2"]
    assert min(part["requests"]["answered"] for part in parts) > 0
    study.write_text(study.read_text().replace("load_nodes = 2", "load_nodes = 4"))
    finished = run("run", study, "--out", tmp_path / "none", RAY_ADDRESS=cluster.address)
    assert finished.returncode == 2
    assert "but the load requires 4" in finished.stderr
    assert not (tmp_path / "none").exists()


def test_without_an_address_a_cluster_of_this_machine_alone_is_made_and_ended(home, limit_url):
    finished = run("load", limit_url, "--on-ray", 1, "-c", 2, "-n", 100, "--json")
    assert finished.returncode in {0, 3}, finished.stderr
    [part] = json.loads(finished.stdout)["machines"]["parts"]
    assert part["requests"]["answered"] == 100
    # Its daemons share the first one.
    cpus = sorted(os.sched_getaffinity(0))
    assert part["cpus"] == (cpus[1:] or cpus)
    assert agents(home) == []


def listening(process):
    """The addresses at which a process and all that it started listen."""
    found = set()
    # A process may end at any moment.
    with contextlib.suppress(psutil.NoSuchProcess):
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                found |= {
                    (one.name(), one_socket.laddr.ip)
                    for one_socket in one.net_connections("tcp")
                    if one_socket.status == psutil.CONN_LISTEN
                }
    return found


def test_nothing_of_a_cluster_of_its_own_listens_beyond_loopback(home, limit_url):
    found = set()
    arguments = command("load", limit_url, "--on-ray", 1, "-c", 2, "-R", 50, "-d", "1s", "--json")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            found |= listening(watched)
            time.sleep(0.02)
        _, stderr = process.communicate()
    assert process.returncode in {0, 3}, stderr
    assert {"gcs_server", "raylet"} <= {name for name, _ in found}
    addresses = {ipaddress.ip_address(address.removeprefix("::ffff:")) for _, address in found}
    assert [address for address in addresses if not address.is_loopback] == []
