"""Nodes of a Ray cluster as load machines, by a stand-in for Ray.

tests/e2e/test_load_on_ray.py has a real one.
"""

import importlib
import os
import subprocess
from pathlib import Path

import pytest

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.load_machine import REACHABLE
from loadcurve.generate.load_machines import load_nodes
from loadcurve.generate.many import ManyMachines
from loadcurve.runs.machines import require_ray, sending_machines
from loadcurve.study.model import Study
from loadcurve.toml.document import Place, TomlDocument
from support.fake_ray import FakeRay


def node(number, address="127.0.0.2", *, label=True, alive=True):
    labels = {"ray.io/node-id": f"id{number}"} | ({"loadcurve": "load"} if label else {})
    return {"NodeID": f"id{number}", "NodeManagerAddress": address, "Labels": labels, "Alive": alive}


@pytest.fixture
def on(monkeypatch, tmp_path):
    """Give the module as it is with a cluster of these nodes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv(REACHABLE, "1")
    cpus = os.sched_getaffinity(0)

    def module(*nodes):
        ray = FakeRay(nodes)
        ray.install(monkeypatch)
        return importlib.import_module("loadcurve.generate.on_ray"), ray

    yield module
    # The actors bind their process, which here is that of the tests.
    os.sched_setaffinity(0, cpus)


def test_only_living_nodes_with_the_label_are_load_machines_one_actor_on_each(on):
    on_ray, ray = on(node(3), node(1), node(2, alive=False), node(4, label=False))
    with on_ray.nodes_as_load_machines(2, None) as machines:
        assert [machine.name for machine in machines] == ["ray-1", "ray-2"]
        assert ray.is_running
        placed = [actor.options["label_selector"]["ray.io/node-id"] for actor in ray.actors]
        assert placed == ["id1", "id3"]
        assert {actor.options["num_cpus"] for actor in ray.actors} == {0}
        # The agent itself answers, through Ray's messages and its own.
        assert all(machine.round_trip_s() > 0 for machine in machines)
    assert not ray.is_running
    assert [actor.killed for actor in ray.actors] == [True, True]


@pytest.mark.parametrize(
    ("daemons", "cpus", "apart"),
    [
        pytest.param({0}, {0, 1, 2, 3}, [1, 2, 3], id="bound daemons"),
        pytest.param({0, 1, 2, 3}, {0, 1, 2, 3}, [1, 2, 3], id="daemons everywhere leave all but one"),
        pytest.param({0}, {0}, [0], id="one CPU for all"),
    ],
)
def test_the_engine_is_bound_away_from_the_daemons(on, monkeypatch, daemons, cpus, apart):
    on_ray, _ = on()
    # What a node was started on is handed down to its processes.
    bound = [daemons]
    monkeypatch.setattr(os, "cpu_count", lambda: len(cpus))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: bound[-1] if pid == 0 else daemons)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, wanted: bound.append(set(wanted) & cpus))
    assert on_ray.AgentProcess._cpus_apart(None) == apart
    assert bound[-1] == set(apart)


def test_a_process_on_a_node_ends_with_its_status_and_its_last_words(on):
    on_ray, ray = on()
    program = "import sys; print(sys.stdin.read().upper()); sys.exit(3)"
    relayed = on_ray.RelayedProcess(ray.remote(on_ray.AgentProcess).options().remote(["-c", program]))
    relayed.stdin.write(b"some words")
    with pytest.raises(subprocess.TimeoutExpired):
        relayed.wait(0.01)
    relayed.stdin.close()
    assert relayed.stdout.read() == b"SOME WORDS\n"
    assert relayed.wait(30) == 3


def test_a_node_that_is_lost_ends_its_process_with_the_words_of_ray(on):
    on_ray, ray = on()

    class Lost:
        def read(self, wait_s, size):
            raise ray.exceptions.RayError("The actor died because its node has died.")

        def close_input(self):
            pass

    relayed = on_ray.RelayedProcess(ray.remote(Lost).options().remote())
    assert relayed.stderr.read() == b"Ray: The actor died because its node has died.\n"
    assert relayed.wait(30) == 255
    relayed.stdin.close()


def test_fewer_nodes_than_asked_for_are_refused_in_words(on):
    on_ray, _ = on(node(1), node(2, label=False))
    with (
        pytest.raises(
            BadInput, match=r"has 1 node with the label loadcurve=load, .* requires 2: reduce it to 1"
        ),
        on_ray.nodes_as_load_machines(2, None),
    ):
        pass


def test_a_cluster_beyond_loopback_without_a_token_is_refused_before_anything_is_started(on, monkeypatch):
    on_ray, ray = on(node(1, "192.0.2.8"))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with (
        pytest.raises(BadInput, match=r"192\.0\.2\.8 can be reached from other machines"),
        on_ray.nodes_as_load_machines(1, "192.0.2.8:6379"),
    ):
        pass
    assert ray.actors == []


def test_a_cluster_of_its_own_has_no_dashboard_is_on_loopback_and_has_a_token(on, monkeypatch):
    on_ray, ray = on(node(1, "127.0.0.1"))
    with on_ray.nodes_as_load_machines(1, None):
        assert ray.started_with["include_dashboard"] is False
        assert ray.started_with["address"] == "local"
        # Ray's daemons listen on all addresses where they are given another one of loopback.
        assert ray.started_with["_node_ip_address"] == "127.0.0.1"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(BadInput, match="answers without a token"), on_ray.nodes_as_load_machines(1, None):
        pass


def test_a_cluster_of_its_own_that_ray_makes_reachable_is_ended_unless_the_environment_allows_it(
    on, monkeypatch
):
    monkeypatch.delenv(REACHABLE, raising=False)
    _, ray = on(node(1, "192.0.2.8"))
    with pytest.raises(NothingMeasured, match=r"at 192\.0\.2\.8 instead of 127\.0\.0\.1"), load_nodes(1):
        pass
    assert (ray.is_running, ray.actors) == (False, [])
    monkeypatch.setenv(REACHABLE, "1")
    with load_nodes(1) as machines:
        assert [machine.name for machine in machines] == ["ray-1"]


def test_a_running_cluster_is_reached_as_ray_does_by_itself(on, monkeypatch):
    monkeypatch.delenv(REACHABLE, raising=False)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.2:6379")
    _, ray = on(node(1))
    with load_nodes(1):
        assert ray.started_with["address"] == "127.0.0.2:6379"
        assert REACHABLE not in os.environ


def study_of_nodes(count):
    text = {
        "title": "x",
        "load": {"model": "closed", "requests": ["/"], "duration": "1s"},
        "sweep": {"connections": [4]},
        "servers": {"nginx": {}},
        "host": {"load_machines": "ray", "load_nodes": count},
    }
    return TomlDocument(Path("study.toml"), text, {}).to_model(Study)


def test_a_study_takes_as_many_nodes_as_it_names_and_leaves_them(on):
    _, ray = on(node(1), node(2), node(3))
    with sending_machines([study_of_nodes(2)]) as many:
        assert isinstance(many["nginx"], ManyMachines)
        placed = [actor.options["label_selector"]["ray.io/node-id"] for actor in ray.actors]
        assert placed == ["id1", "id2"]
    assert not ray.is_running
    with (
        pytest.raises(BadInput, match=r"has 3 nodes .* requires 4: reduce it to 3"),
        sending_machines([study_of_nodes(4)]),
    ):
        pass


def test_a_study_that_wants_nodes_is_refused_with_its_place_where_ray_is_not_installed(monkeypatch):
    monkeypatch.setattr("loadcurve.runs.machines.has_ray", lambda: False)
    monkeypatch.setattr("loadcurve.generate.load_machines.has_ray", lambda: False)
    document = TomlDocument(Path("study.toml"), {}, {("host", "load_machines"): Place(Path("study.toml"), 7)})
    with pytest.raises(
        BadInput, match=r"study\.toml:7: host\.load_machines: .*pip install 'loadcurve\[ray\]'"
    ):
        require_ray(study_of_nodes(2), document)
    with pytest.raises(BadInput, match="Ray is not installed"):
        load_nodes(2)


SAID = """\
Version mismatch: The cluster was started with:
    Ray: 2.9.0
    Python: {python}
This process on node 10.0.0.7 was started with:
    Ray: {ray}
    Python: 3.11.7
"""
"""As ray._private.utils.check_version_info writes it."""


@pytest.mark.parametrize(
    ("ray_here", "python_there", "advice"),
    [
        ("2.60.0", "3.11.7", "pip install ray==2.9.0"),
        ("2.9.0", "3.12.1", "with the other's Python"),
    ],
)
def test_a_cluster_of_other_versions_is_reported_with_both_and_what_to_do(
    on, monkeypatch, ray_here, python_there, advice
):
    on_ray, ray = on(node(1))

    def refuse(**arguments):
        raise RuntimeError(SAID.format(ray=ray_here, python=python_there))

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(NothingMeasured) as raised, on_ray.nodes_as_load_machines(1, "127.0.0.2:6379"):
        pass
    said = str(raised.value)
    assert "the Ray cluster at 127.0.0.2:6379 cannot be used" in said
    assert (
        f"it has Ray 2.9.0 and Python {python_there}, and this command Ray {ray_here} and Python 3.11.7"
        in said
    )
    assert advice in said
    assert ("pip install" in said) == (ray_here != "2.9.0")


def test_what_else_ray_says_is_passed_on(on):
    on_ray, _ = on(node(1))
    assert on_ray.version_mismatch("Could not connect.") is None
    # Were it worded in another way some day, it would be passed on as it is.
    assert on_ray.version_mismatch("Version mismatch: Ray 2.9.0 and 2.60.0") is None
