"""The plan of a load on a database, as the engine reads it."""

import json

import pytest

from loadcurve.runs.plan import DatabasePlans
from support.read_study import read_study

COMMON = 'model = "ycsb"\nworkload = "a"\nthreads = 4\n'


def load_of(folder, load):
    path = folder / "s.toml"
    path.write_text(f'title = "x"\n[load]\n{COMMON}{load}\n[sweep]\ntimeout = [2]\n[servers.ferretdb]\n')
    return read_study(path).arms["ferretdb"].load_at({"timeout": 2})


def plans(driver=None, cpus=(2, 3)):
    return DatabasePlans("mongodb://127.0.0.1:27017", driver or {}, cpus)


def test_the_run_phase_asks_in_the_mix_until_its_end(tmp_path):
    load = load_of(tmp_path, 'operations = 50\nwarmup = "1s"\nbatch = 5')
    plan = json.loads(plans().run_phase(load, 7).to_json())["ycsb"]
    work = plan["work"]
    assert (work["phase"], work["batch"]) == ("run", 1)
    assert (plan["model"], plan["stop"]) == ({"closed": {"connections": 4}}, {"requests_total": 50})
    assert (plan["warmup_s"], plan["timeout_s"], plan["seed"]) == (1.0, 2.0, 7)
    assert (work["namespace"], work["table"]) == ("loadcurve", "usertable")
    assert work["workload"]["mix"]["read"] == 0.5


def test_the_load_phase_inserts_the_records_once_without_warm_up_or_rate(tmp_path):
    load = load_of(tmp_path, "records = 30\noperations = 50\nrate = 10\nbatch = 5")
    plan = json.loads(plans().load_phase(load, 7).to_json())["ycsb"]
    work = plan["work"]
    assert (work["phase"], plan["stop"], work["batch"]) == ("load", {"requests_total": 30}, 5)
    assert work["workload"]["records"] == 30
    assert (plan["model"], plan["warmup_s"]) == ({"closed": {"connections": 4}}, 0)


def test_a_load_phase_that_is_measured_keeps_to_its_rate(tmp_path):
    load = load_of(tmp_path, 'phase = "load"\nrate = 10\narrivals = "poisson"')
    plan = json.loads(plans().load_phase(load, 7).to_json())["ycsb"]
    assert plan["model"] == {"open": {"connections": 4, "rate_rps": 10.0, "arrivals": "poisson"}}


def test_an_open_loop_has_its_rate_and_arrivals(tmp_path):
    load = load_of(tmp_path, 'rate = "10-20:1s"\nduration = "5s"')
    plan = json.loads(plans().run_phase(load, 7).to_json())["ycsb"]
    stretches = [{"length_s": 1.0, "from_rps": 10.0, "to_rps": 20.0}]
    assert plan["model"] == {"open": {"connections": 4, "rate_rps": stretches, "arrivals": "constant"}}
    assert plan["stop"] == {"duration_s": 5.0}


@pytest.mark.parametrize(
    ("keys", "cpus", "generator_threads"),
    [("", (2, 3), 2), ("", range(8), 4), ("generator_threads = 1\n", (2, 3), 1)],
)
def test_clients_share_a_thread_for_each_cpu_of_the_load(tmp_path, keys, cpus, generator_threads):
    load = load_of(tmp_path, f"{keys}operations = 1")
    plan = plans(cpus=tuple(cpus)).run_phase(load, 0)
    assert (plan.threads, plan.cpus) == (generator_threads, tuple(cpus))


def test_settings_of_the_driver_are_reported_in_words(tmp_path):
    plan = plans({"write_concern": 1, "journal": True}).run_phase(load_of(tmp_path, "operations = 1"), 0)
    assert dict(plan.settings) == {"write_concern": "1", "journal": "true"}


@pytest.mark.parametrize(
    ("properties", "inserted"),
    [
        ("recordcount = 9", 9),
        ("recordcount = 9, insertstart = 2", 7),
        ("recordcount = 9, insertcount = 3", 3),
    ],
)
def test_the_records_that_are_inserted_are_those_of_ycsb(tmp_path, properties, inserted):
    load = load_of(tmp_path, f"operations = 1\nproperties = {{ {properties} }}")
    assert plans().load_phase(load, 0).requests_total == inserted
