"""The plan of a load on a database, as the engine reads it."""

import json

import pytest

from loadcurve.run.database_plan import DatabasePlans, records_inserted
from support.read_study import read_study

COMMON = 'model = "ycsb"\nworkload = "a"\nthreads = 4\n'


def load_of(folder, load):
    path = folder / "s.toml"
    path.write_text(f'title = "x"\n[load]\n{COMMON}{load}\n[sweep]\ntimeout = [2]\n[servers.ferretdb]\n')
    return read_study(path).load_at({"timeout": 2})


def plans(driver=None, cpus=(2, 3)):
    return DatabasePlans("mongodb://127.0.0.1:27017", driver or {}, cpus)


def test_the_run_phase_asks_in_the_mix_until_its_end(tmp_path):
    load = load_of(tmp_path, 'operations = 50\nwarmup = "1s"\nbatch = 5')
    plan = json.loads(plans().run_phase(load, 7).to_json())
    assert (plan["phase"], plan["batch"]) == ("run", 1)
    assert plan["stop"] == {"requests_total": 50}
    assert (plan["threads"], plan["warmup_s"], plan["timeout_s"], plan["seed"]) == (4, 1.0, 2.0, 7)
    assert (plan["namespace"], plan["table"]) == ("loadcurve", "usertable")
    assert (plan["workload_name"], plan["workload"]["mix"]["read"]) == ("a", 0.5)
    assert "rate_rps" not in plan
    assert "arrivals" not in plan


def test_the_load_phase_inserts_the_records_once_without_warm_up_or_rate(tmp_path):
    load = load_of(tmp_path, "records = 30\noperations = 50\nrate = 10\nbatch = 5")
    plan = json.loads(plans().load_phase(load, 7).to_json())
    assert (plan["phase"], plan["stop"], plan["batch"]) == ("load", {"requests_total": 30}, 5)
    assert plan["workload"]["records"] == 30
    assert plan["warmup_s"] == 0
    assert "rate_rps" not in plan


def test_a_load_phase_that_is_measured_keeps_to_its_rate(tmp_path):
    load = load_of(tmp_path, 'phase = "load"\nrate = 10\narrivals = "poisson"')
    plan = json.loads(plans().load_phase(load, 7).to_json())
    assert (plan["rate_rps"], plan["arrivals"]) == (10.0, "poisson")


def test_an_open_loop_has_its_rate_and_arrivals(tmp_path):
    load = load_of(tmp_path, 'rate = "10-20:1s"\nduration = "5s"')
    plan = json.loads(plans().run_phase(load, 7).to_json())
    assert plan["rate_rps"] == [{"length_s": 1.0, "from_rps": 10.0, "to_rps": 20.0}]
    assert (plan["arrivals"], plan["stop"]) == ("constant", {"duration_s": 5.0})


@pytest.mark.parametrize(
    ("keys", "cpus", "generator_threads"),
    [("", (2, 3), 2), ("", range(8), 4), ("generator_threads = 1\n", (2, 3), 1)],
)
def test_clients_share_a_thread_for_each_cpu_of_the_load(tmp_path, keys, cpus, generator_threads):
    load = load_of(tmp_path, f"{keys}operations = 1")
    plan = plans(cpus=tuple(cpus)).run_phase(load, 0)
    assert (plan.generator_threads, plan.cpus) == (generator_threads, tuple(cpus))


def test_settings_of_the_driver_are_told_in_words(tmp_path):
    plan = plans({"write_concern": 1, "journal": True}).run_phase(load_of(tmp_path, "operations = 1"), 0)
    assert plan.settings == {"write_concern": "1", "journal": "true"}


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
    assert records_inserted(plans().load_phase(load, 0).workload) == inserted
