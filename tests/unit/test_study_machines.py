"""Other machines in a study."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.runs.machines import agents_of
from loadcurve.runs.prepare import chosen_cpus, require_known_types, server_record
from loadcurve.server.catalog import load_catalog
from loadcurve.server.found import MissingServer
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from support.read_study import problems_of, read_study

STUDY = """\
title = "x"
content.a = 1
load = { model = "closed", requests = ["/a"], duration = "1s" }
sweep.connections = [5]
[servers.nginx]
"""


def written(folder: Path, more: str) -> Path:
    path = folder / "s.toml"
    path.write_text(f"{STUDY}{more}", encoding="utf-8")
    return path


def at_top(folder: Path, more: str) -> Path:
    """A study with keys of further tables, by their whole names."""
    path = folder / "s.toml"
    path.write_text(f"{more}\n{STUDY}", encoding="utf-8")
    return path


def test_a_study_names_the_machine_of_its_servers(tmp_path):
    table = 'ssh = "bench@web.example"\naddress = "10.0.0.5"\n'
    study = read_study(written(tmp_path, f'[host]\nserver_machine = "web"\n[machines.web]\n{table}'))
    name, table = study.server_machine
    assert (name, table.ssh, table.address) == ("web", "bench@web.example", "10.0.0.5")


def test_servers_are_swept_over_machines_as_an_arm_on_each(tmp_path):
    more = """
        sweep.server_machine = ["small", "here"]
        machines.small.ssh = "small"
        machines.large.ssh = "large"
        servers.alone = { use = "nginx", server_machine = "large" }
    """
    study = read_study(at_top(tmp_path, more))
    places = {name: place and place[0] for name in study.arms for place in [study.server_machine_of(name)]}
    assert places == {"alone": "large", "nginx-small": "small", "nginx-here": None}
    assert {arm.server.use for arm in study.arms.values()} == {"nginx"}
    assert study.points() == [{"connections": 5}]


@pytest.mark.parametrize("values", ["[]", "[1]", '"small"', '["small", 2]'])
def test_a_sweep_over_machines_takes_names(tmp_path, values):
    (problem,) = problems_of(at_top(tmp_path, f"sweep.server_machine = {values}"))
    assert ":1: sweep.server_machine: found" in problem
    assert 'expected names of [machines], such as ["small", "large"]' in problem


def test_a_swept_machine_that_the_study_does_not_have_is_named_with_the_nearest(tmp_path):
    more = 'sweep.server_machine = ["smal"]\nmachines.small.ssh = "small"'
    assert "small" in problems_of(at_top(tmp_path, more))[0]


def test_a_study_gives_the_speed_of_a_link_that_no_driver_knows(tmp_path):
    study = read_study(written(tmp_path, '[machines.web]\nssh = "web"\nlink_speed = "2.5Gbit"\n'))
    assert study.machines["web"].link_speed_bits_per_s == 2_500_000_000


def test_servers_can_have_places_of_their_own_so_that_machines_are_compared(tmp_path):
    more = """
        host.server_machine = "small"
        machines.small.ssh = "small"
        machines.large.ssh = "large"
        servers.on-large = { use = "nginx", server_machine = "large" }
        servers.near = { use = "nginx", server_machine = "here" }
        servers.attached = { use = "url", url = "http://127.0.0.1:1/" }
    """
    study = read_study(at_top(tmp_path, more))
    places = {name: study.server_machine_of(name) for name in study.servers}
    assert {name: place and place[0] for name, place in places.items()} == {
        "nginx": "small",
        "on-large": "large",
        "near": None,
        "attached": None,
    }


class OnCpus:
    def __init__(self, cpus):
        self.cpus = cpus


def test_the_load_has_the_same_cpus_whatever_machine_its_server_is_on(tmp_path):
    more = """
        host.server_machine = "small"
        host.load_cpus = [0]
        machines.small.ssh = "small"
        machines.large.ssh = "large"
        servers.bound = { use = "nginx", cpus = [1] }
        servers.on-large = { use = "nginx", server_machine = "large" }
        servers.bound-on-large = { use = "nginx", server_machine = "large", cpus = [63] }
    """
    document = TomlDocument.read(at_top(tmp_path, more))
    study = document.to_model(Study)
    small, large = OnCpus([0, 1]), OnCpus(range(64))
    machines = dict.fromkeys(study.servers, small) | {"on-large": large, "bound-on-large": large}
    usual, by_server = chosen_cpus(study, document, machines)
    assert (usual.server, usual.load) == ((0, 1), (0,))
    assert {name: cpus.server for name, cpus in by_server.items()} == {
        "nginx": (0, 1),
        "bound": (1,),
        "on-large": (*range(64),),
        "bound-on-large": (63,),
    }
    assert all(cpus.load == (0,) and cpus.apart and not cpus.overlap for cpus in by_server.values())
    with pytest.raises(BadInput, match=r"servers\.bound-on-large\.cpus: found 63; expected .* 0, 1"):
        chosen_cpus(study, document, {**machines, "bound-on-large": small})


def test_a_study_names_the_machines_that_send_its_load(tmp_path):
    named = '[host]\nload_machines = ["here", "left", "left"]\n[machines.left]\nssh = "left"\n'
    study = read_study(written(tmp_path, named))
    assert study.host.load_machines == ["here", "left", "left"]
    assert {name: table.ssh for name, table in study.load_machines.items()} == {"left": "left"}
    none = read_study(written(tmp_path, ""))
    assert (none.host.load_machines, none.load_machines) == (None, {})


def test_a_server_may_have_its_load_from_other_machines_than_the_rest(tmp_path):
    more = """
        host = { load_machines = ["here"] }
        machines.left = { ssh = "left", cpus = [2] }
        machines.right.ssh = "right"
        servers.two = { use = "nginx", load_machines = ["here", "left"] }
    """
    study = read_study(at_top(tmp_path, more))
    assert study.sending_machines_of("nginx") == ["here"]
    assert study.sending_machines_of("two") == ["here", "left"]
    assert list(study.load_machines) == ["left"]
    # Each of its connections needs a machine, and each machine a connection.
    [problem] = problems_of(at_top(tmp_path, more.replace('"here", "left"', ", ".join(['"left"'] * 6))))
    assert "expected at least 6, one for each of 6 load machines" in problem


def test_agents_are_shared_by_arms_and_each_name_of_a_list_has_one():
    agents = {"here": ["here-1", "here-2"], "left": ["left"]}
    assert agents_of(["here", "left", "here"], agents) == ["here-1", "left", "here-2"]
    assert agents_of(["here"], agents) == ["here-1"]


def test_a_study_has_its_load_sent_by_nodes_of_ray(tmp_path):
    study = read_study(written(tmp_path, '[host]\nload_machines = "ray"\nload_nodes = 4\n'))
    assert (study.host.load_machines, study.host.load_nodes, study.load_machines) == ("ray", 4, {})
    assert study.sending_machines_of("nginx") == ["ray-1", "ray-2", "ray-3", "ray-4"]
    assert study.is_loaded_by_ray("nginx")


def test_a_machine_has_cpus_for_the_load_that_it_sends(tmp_path):
    named = '[host]\nload_machines = ["left"]\n[machines.left]\nssh = "left"\ncpus = [2, 3]\n'
    assert read_study(written(tmp_path, named)).load_machines["left"].cpus == [2, 3]


def test_every_load_machine_needs_a_connection_for_each_of_its_threads(tmp_path):
    """Seven machines at a point of five connections; three with two threads each."""
    file = written(tmp_path, '[host]\nload_machines = ["here", "here"]\n')
    text = file.read_text()
    assert read_study(file).host.load_machines == ["here", "here"]
    file.write_text(text.replace('"here", "here"', ", ".join(['"here"'] * 7)))
    [problem] = problems_of(file)
    assert "sweep.connections: found 5 at the lowest point; expected at least 7, one for each of 7" in problem
    file.write_text(text.replace('["here", "here"]', '"ray"\nload_nodes = 7'))
    assert problems_of(file) == [problem]
    file.write_text(text.replace("requests =", "threads = 3, requests ="))
    [problem] = problems_of(file)
    assert "found 5 at the lowest point; expected at least 6" in problem
    assert "2 load machines with 3 threads each" in problem


def test_a_study_that_names_none_has_its_servers_here(tmp_path):
    assert read_study(written(tmp_path, '[machines.web]\nssh = "web"\n')).server_machine is None


def test_the_price_of_a_server_follows_from_the_type_of_its_machine_and_limits_nothing(tmp_path):
    more = """
        host.server_machine = "small"
        machines.small = { ssh = "small", type = "t2.micro" }
        machines.large = { ssh = "large", type = "t2.large" }
        machines.own.ssh = "own"
        servers.on-large = { use = "nginx", server_machine = "large" }
        servers.imitated = { use = "nginx", server_machine = "large", machine = "t2.small" }
        servers.on-own = { use = "nginx", server_machine = "own" }
        servers.here = { use = "nginx", server_machine = "here" }
    """
    study = read_study(at_top(tmp_path, more))
    found = MissingServer(load_catalog()["nginx"], "not installed", None)
    records = {name: server_record(study, name, found, None, None) for name in study.servers}
    prices = {
        name: record.machine and (record.machine.name, record.machine.price_usd_per_hour)
        for name, record in records.items()
    }
    # As published, see test_machines.py.
    assert prices == {
        "nginx": ("t2.micro", 0.0116),
        "on-large": ("t2.large", 0.0928),
        "imitated": ("t2.small", 0.023),
        "on-own": None,
        "here": None,
    }
    assert [name for name, record in records.items() if record.limits is not None] == ["imitated"]


def test_an_unknown_type_of_a_machine_is_reported_with_its_line(tmp_path):
    file = written(tmp_path, '[machines.web]\nssh = "web"\ntype = "t2.mikro"\n')
    document = TomlDocument.read(file)
    with pytest.raises(BadInput, match=r's\.toml:8: machines\.web\.type: .*did you mean "t2\.micro"'):
        require_known_types(document.to_model(Study), document)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            '[host]\nserver_machine = "wbe"\n[machines.web]\nssh = "web"\n',
            'host.server_machine: found "wbe"; expected here, or a name from [machines]; did you mean "web"?',
        ),
        (
            '[host]\nload_machines = ["here", "lfet"]\n[machines.left]\nssh = "left"\n',
            'load_machines: found "lfet"; expected here, or a name from [machines]; did you mean "left"?',
        ),
        (
            'server_machine = "wbe"\n[machines.web]\nssh = "web"\n',
            'servers.nginx.server_machine: found "wbe"; expected here, or a name from [machines]',
        ),
        (
            '[servers.url]\nurl = "http://127.0.0.1:1/"\nserver_machine = "here"\n',
            "servers.url.server_machine: cannot be combined with url, which says where the server runs",
        ),
        (
            'load_machines = ["lfet"]\n[machines.left]\nssh = "left"\n',
            'servers.nginx.load_machines: found "lfet"; expected here, or a name from [machines];',
        ),
        (
            'load_machines = "ray"\n',
            'servers.nginx.load_machines: found "ray"; expected a list of names, such as ["here", "left"]',
        ),
        (
            'load_machines = ["here"]\n[trials]\nbetween_points = "continue"\n',
            'found "continue"; expected "pause", because load machines start each point anew',
        ),
        ("[host]\nload_machines = []\n", 'expected a list of names, such as ["here", "left"], or "ray"'),
        (
            '[host]\nload_machines = "rya"\n',
            'found "rya"; expected a list of names, such as ["here", "left"], or',
        ),
        (
            '[host]\nload_machines = "ray"\n',
            'load_machines: found "ray", which requires load_nodes, the number of its nodes',
        ),
        (
            "[host]\nload_nodes = 4\n",
            'host.load_nodes: requires load_machines = "ray", whose nodes it counts',
        ),
        ('[host]\nload_machines = "ray"\nload_nodes = 0\n', "host.load_nodes: found 0"),
        (
            '[host]\nserver_machine = "web"\n[machines.web]\nssh = "web"\ncpus = [1]\n',
            "machines.web.cpus: only for a machine that sends load",
        ),
        (
            '[machines.web]\nssh = "web"\nsource_addresses = ["10.0.0.9"]\n',
            "machines.web.source_addresses: only for a machine that sends load",
        ),
        (
            'load = { source_addresses = ["10.0.0.7"] }\nload_machines=["left"]\n[machines.left]\nssh="l"\n',
            "servers.nginx.load.source_addresses: not used: these are addresses of this machine",
        ),
        ('[machines.web]\nssh = "web"\ncpus = [-1]\n', "machines.web.cpus"),
        ('[machines.here]\nssh = "web"\n', "machines.here: here is this machine, which has no table"),
        ('[machines.web]\nssh = "-oProxyCommand=rm"\n', "expected an ssh destination"),
        ('[machines.web]\naddress = "10.0.0.5"\n', "machines.web.ssh: missing"),
        ('[machines.web]\nssh = "web"\naddress = "web"\n', 'expected a numeric address, such as "10.0.0.5"'),
        (
            '[machines.web]\nssh = "web"\naddress = "fe80::1"\n',
            "an IPv6 address, which is not supported yet",
        ),
        ('[machines.web]\nssh = "web"\nlink_speed = 1000\n', 'such as "100Mbit" or "2.5Gbit"'),
    ],
)
def test_what_is_wrong_is_reported(tmp_path, more, problem):
    problems = problems_of(written(tmp_path, more))
    assert any(problem in one for one in problems), problems
