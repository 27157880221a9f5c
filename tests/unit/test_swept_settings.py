"""Settings of servers with several values: an arm for each."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.runs.study_servers import with_own_programs
from loadcurve.server.catalog import load_catalog
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument

BEGIN = """
title = "t"
load = { model = "closed", requests = ["/"], duration = "1s" }
"""
COUNTED = """
title = "t"
load = { model = "closed", requests = ["/"], duration = "1s", connections = 5 }
"""


def read_study(folder: Path, text: str) -> Study:
    file = folder / "s.toml"
    file.write_text(text, encoding="utf-8")
    return TomlDocument.read(file).to_model(Study)


def settings_of(study: Study) -> dict[str, dict[str, object]]:
    return {name: arm.server.settings for name, arm in study.arms.items()}


def test_a_setting_in_the_sweep_gives_each_server_an_arm_for_each_value(tmp_path):
    more = """
        sweep = { workers = [1, 2], connections = [5, 10] }
        servers = { nginx = {}, slim = { use = "lighttpd" } }
    """
    study = read_study(tmp_path, BEGIN + more)
    assert settings_of(study) == {
        "nginx-workers-1": {"workers": 1},
        "nginx-workers-2": {"workers": 2},
        "slim-workers-1": {"workers": 1},
        "slim-workers-2": {"workers": 2},
    }
    assert [arm.server.use for arm in study.arms.values()] == ["nginx", "nginx", "lighttpd", "lighttpd"]
    assert study.points() == [{"connections": 5}, {"connections": 10}]


def test_lists_in_a_servers_table_give_every_combination_of_their_values(tmp_path):
    more = """
        sweep.connections = [5]
        servers.nginx = { workers = [1, 4], tls = [true, false], access_log = true }
    """
    assert settings_of(read_study(tmp_path, BEGIN + more)) == {
        f"nginx-workers-{workers}-tls-{str(tls).lower()}": {
            "workers": workers,
            "tls": tls,
            "access_log": True,
        }
        for workers in (1, 4)
        for tls in (True, False)
    }


def test_a_server_keeps_what_it_sets_itself_and_one_that_runs_already_has_no_settings(tmp_path):
    more = """
        sweep = { workers = [1, 2], connections = [5] }
        servers.fixed = { use = "nginx", workers = 8 }
        servers.running = { use = "url", url = "http://127.0.0.1:1/" }
    """
    assert settings_of(read_study(tmp_path, BEGIN + more)) == {"fixed": {"workers": 8}, "running": {}}


def test_values_that_no_name_can_hold_go_by_their_number(tmp_path):
    more = "sweep.connections = [5]\nservers.nginx = { root = ['a b', 'plain'] }"
    assert list(read_study(tmp_path, BEGIN + more).arms) == ["nginx-root-1", "nginx-root-plain"]


def test_where_only_settings_are_swept_the_curve_has_the_loads_own_point(tmp_path):
    study = read_study(tmp_path, COUNTED + "sweep.workers = [1, 2]\nservers.nginx = {}")
    assert study.points() == [{"connections": 5}]
    assert study.arms["nginx-workers-2"].load_at({"connections": 5}).connections == 5


@pytest.mark.parametrize("key", ["worker_connections", "worker_threads", "max_connections"])
def test_a_setting_whose_name_has_a_key_of_the_load_in_it_is_a_setting(tmp_path, key):
    more = f"sweep = {{ {key} = [64, 512] }}\nservers.nginx = {{}}"
    assert list(read_study(tmp_path, COUNTED + more).arms) == [f"nginx-{key}-64", f"nginx-{key}-512"]


def test_a_mistyped_key_of_the_load_is_taken_for_one(tmp_path):
    with pytest.raises(BadInput, match=r'sweep\.conections: .*did you mean "connections"'):
        read_study(tmp_path, BEGIN + "sweep.conections = [1, 2]\nservers.nginx = {}")


@pytest.mark.parametrize("values", ["[]", "2", "[1, 1]", "[[1]]"])
def test_a_setting_takes_different_values(tmp_path, values):
    with pytest.raises(BadInput, match=r"s.toml:\d: sweep.workers: .*expected different values of a setting"):
        read_study(
            tmp_path, BEGIN + f"sweep = {{ workers = {values}, connections = [5] }}\nservers.nginx = {{}}"
        )


def test_two_arms_of_one_name_are_refused(tmp_path):
    more = (
        "sweep.connections = [5]\nservers.nginx.workers = [1, 2]\nservers.nginx-workers-2 = { use = 'nginx' }"
    )
    with pytest.raises(BadInput, match=r"servers\.nginx-workers-2: is the name of an arm, too"):
        read_study(tmp_path, BEGIN + more)


def test_a_program_of_the_studys_own_has_the_settings_that_its_command_names(tmp_path):
    more = """
        sweep = { workers = [2, 4], connections = [5] }
        [servers.app]
        start = "gunicorn -w {workers} -b 127.0.0.1:{port} --{{workers}} app:app"
        environment = { WORKERS = "{workers}" }
    """
    study = with_own_programs(read_study(tmp_path, BEGIN + more), load_catalog())
    assert list(study.arms) == ["app-workers-2", "app-workers-4"]
    server = study.arms["app-workers-4"].server
    assert (server.use, server.settings) == ("command", {})
    assert server.start[1:5] == ["-w", "4", "-b", "127.0.0.1:{port}"]
    assert server.start[5] == "--{{workers}}"
    assert server.environment["WORKERS"].text == "4"


def test_empty_braces_in_the_command_of_a_program_without_settings_stay(tmp_path):
    more = """
        sweep.connections = [5]
        servers.app.start = ["sh", "-c", "echo {} {port}"]
    """
    study = with_own_programs(read_study(tmp_path, BEGIN + more), load_catalog())
    assert study.arms["app"].server.start == ["sh", "-c", "echo {} {port}"]
