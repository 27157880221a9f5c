"""`loadcurve run` with databases: FerretDB, which speaks MongoDB's protocol, beside PostgreSQL."""

import json

import pytest

from loadcurve.watch.progress import read_progress
from support.databases import ferretdb_folder, require_postgresql, share_build
from support.sandbox import finish, wait_until

RECORDS = 50
OPERATIONS = 100


def study_text(servers, load=f"operations = {OPERATIONS}", threads="[1, 2]", trials=1, more=""):
    return f"""\
title = "Tiny"

[load]
model = "ycsb"
workload = "a"
records = {RECORDS}
warmup = "50ms"
{load}

[sweep]
threads = {threads}

[trials]
count = {trials}
{more}

{servers}
"""


@pytest.fixture
def databases(sandbox):
    """Give the test a sandbox in which both databases are found."""
    require_postgresql()
    share_build(sandbox, ferretdb_folder())
    return sandbox


def run_study(sandbox, text):
    """Run a study and return the records of its trials, whatever a busy machine did to their verdicts."""
    sandbox.write("tiny.toml", text)
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert finished.returncode in {0, 3}, finished.stderr
    return [json.loads(line) for line in (sandbox.work / "run" / "trials.jsonl").read_text().splitlines()]


def test_two_kinds_of_databases_stand_side_by_side_in_one_study(databases):
    records = run_study(databases, study_text("[servers.ferretdb]\n[servers.postgresql]", threads="[2]"))
    assert {one["server"] for one in records} == {"ferretdb", "postgresql"}
    for one in records:
        load, loading = one["measurements"]["load"], one["measurements"]["loading"]
        assert load["requests"]["due"] == load["requests"]["ok"] == OPERATIONS
        assert {operation["operation"] for operation in load["operations"]} == {"read", "update"}
        assert sum(operation["answered"] for operation in load["operations"]) == OPERATIONS
        assert load["load"]["threads"] == one["point"]["threads"]
        # MongoDB's driver may find that one connection is enough for both.
        fewest = 1 if one["server"] == "ferretdb" else load["load"]["threads"]
        assert fewest <= load["connections"]["concurrent_max"] <= load["load"]["threads"]
        assert load["connect_ms"]["count"] == load["connections"]["opened"]
        assert (loading["load"]["phase"], loading["requests"]["ok"]) == ("load", RECORDS)
        assert one["probe"]["server"]["cpu_share"] > 0
    kinds = {one["server"]: one["measurements"]["load"]["load"]["protocol"] for one in records}
    assert kinds == {"ferretdb": "mongodb", "postgresql": "postgresql"}
    page = (databases.work / "run" / "report.html").read_text()
    assert "Operations answered per second" in page
    assert "Loading the records" in page
    # No password is in any file of the run.
    assert all("@" not in one["measurements"]["load"]["load"]["address"] for one in records)
    record = json.loads((databases.work / "run" / "run.json").read_text())
    assert "loadcurve:" not in json.dumps(record["servers"]["postgresql"]["settings"])


@pytest.mark.parametrize(
    ("workload", "kinds"),
    [
        pytest.param("d", {"read", "insert"}, marks=pytest.mark.long),
        ("e", {"scan", "insert"}),
        pytest.param("f", {"read", "read-modify-write"}, marks=pytest.mark.long),
    ],
)
def test_workloads_that_insert_scan_and_modify_run_on_either_database(databases, workload, kinds):
    text = study_text("[servers.ferretdb]\n[servers.postgresql]")
    records = run_study(databases, text.replace('workload = "a"', f'workload = "{workload}"'))
    assert len(records) == 4
    for one in records:
        loading, load = one["measurements"]["loading"], one["measurements"]["load"]
        assert {operation["operation"] for operation in load["operations"]} == kinds
        assert (loading["requests"]["ok"], load["requests"]["ok"]) == (RECORDS, OPERATIONS)


def test_a_database_that_dies_in_mid_run_costs_its_trial_and_no_record(databases):
    text = study_text("[servers.ferretdb]", 'duration = "20s"', threads="[2]", trials=2)
    databases.write("tiny.toml", text.replace("[trials]", '[trials]\nrestart = "point"'))
    process = databases.start("run", "tiny.toml", "--out", "run", "--trials", "1")
    trials = databases.work / "run" / "trials.jsonl"

    def is_under_load():
        kept = read_progress(databases.work / "run")
        return kept is not None and kept.progress.point is not None

    wait_until(is_under_load, "the first point is under load")
    [server] = databases.processes(named="ferretdb")
    server.kill()
    finished = finish(process)
    assert finished.returncode == 4, finished.stderr
    [record] = [json.loads(line) for line in trials.read_text().splitlines()]
    assert (record["kind"], record["reason"]["code"]) == ("failure", "died")
