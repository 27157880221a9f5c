"""YCSB, driven against databases: it counts what the database has done, and keeps to a rate."""

import re
import subprocess
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from driven_support import (
    INSERTS_AND_UPDATES,
    RECORDS,
    CommandLines,
    answer_of,
    answered,
    loaded_and_run,
    require_inserted_documents,
    under_load,
    updated_rows,
)
from server_support import CATALOG, server_of, wait_until

from loadcurve.cli.generators import check_command
from loadcurve.errors import NothingMeasured
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.result.folder import read_run
from loadcurve.runs.chosen import CHOSEN
from loadcurve.tools.catalog import tool_named
from support.command import Command
from support.databases import ferretdb_folder

pytestmark = [
    pytest.mark.needs("ycsb"),
    pytest.mark.needs("psql"),
    pytest.mark.needs_server("postgresql"),
]
GENERATOR = "ycsb"


def test_rows_are_inserted_and_updated_as_often_as_ycsb_says():
    with (
        server_of(CATALOG["postgresql"], None) as server,
        under_load(server, GENERATOR, workload=INSERTS_AND_UPDATES) as database,
    ):
        loading, result = loaded_and_run(database)
        of = answered(result)
        assert (loading.load.phase, answered(loading)) == ("load", {"insert": RECORDS})
        assert (result.requests.failed, sum(of.values())) == (0, 2000)
        counted = "SELECT n_tup_ins, n_tup_upd FROM pg_stat_user_tables WHERE relname = 'usertable'"
        wait_until(lambda: answer_of(server, counted) == [RECORDS + of["insert"], of["update"]])
        assert (result.tool.name, result.tool.latency_basis, result.load.seed) == ("ycsb", "send", None)
        assert result.latency_ms.count == 2000
        # Its script waits for the program that has done the work, whose time counts.
        assert result.generator.cpu_user_s > 0.1


def test_scans_begin_at_a_record_and_inserts_go_on_beside_them():
    changes = {"workload": "e", "operations": 400}
    with (
        server_of(CATALOG["postgresql"], None) as server,
        under_load(server, GENERATOR, **changes) as database,
    ):
        result = loaded_and_run(database)[1]
        of = answered(result)
        assert (result.requests.failed, of["scan"] + of["insert"]) == (0, 400)
        assert answer_of(server, "SELECT count(*) FROM loadcurve.usertable") == [RECORDS + of["insert"]]


def test_at_a_rate_operations_are_due_and_the_warm_up_does_not_count():
    changes = {"operations": None, "duration": "2s", "warmup": "1s", "rate": 200}
    with (
        server_of(CATALOG["postgresql"], None) as server,
        under_load(server, GENERATOR, **changes) as database,
    ):
        result = loaded_and_run(database)[1]
        assert (result.requests.failed, result.load.warmup_s, result.tool.warmup) == (0, 1.0, "own")
        assert result.duration_s == pytest.approx(2, abs=0.2)
        assert (result.rate_rps.asked, result.rate_rps.answered) == (200, pytest.approx(200, rel=0.1))
        assert result.tool.latency_basis == "due"
        assert result.latency_ms.mean >= result.service_time_ms.mean > 0
        wait_until(lambda: updated_rows(server) > answered(result)["update"])


def test_no_process_shows_the_password_while_ycsb_runs():
    lines = CommandLines()
    with server_of(CATALOG["postgresql"], None) as server, under_load(server, GENERATOR) as database:
        database.prepare({}, 0, lines.look)
        result = CHOSEN.run(database.plan({}, 0), lines.look)
        password = urlsplit(server.url).password
        assert password
        assert any("site.ycsb.Client" in line for line in lines.seen), "it was looked at"
        assert not any(password in line for line in [*lines.seen, result.model_dump_json()])


def test_the_check_of_ycsb_compares_its_inserts_with_the_records_of_postgresql(capsys):
    assert check_command("ycsb") == 0
    printed = capsys.readouterr().out
    inserted = re.search(r"inserts +([\d,]+) answered", printed)
    assert inserted
    assert re.search(rf"table +{inserted[1]} new records", printed)


def test_where_ycsb_loads_no_record_its_first_exception_says_why():
    with server_of(CATALOG["postgresql"], None) as server, under_load(server, GENERATOR) as database:
        plan = database.plan({}, 0)
        loading = plan.load.loading().model_copy(update={"table": "none"})
        expected = r'has loaded no record: \S+PSQLException: ERROR: relation "loadcurve.none" does not exist'
        with pytest.raises(NothingMeasured, match=expected):
            CHOSEN.run(replace(plan, load=loading), lambda _: None)


@pytest.fixture
def mongodb_binding():
    """Skip the test where YCSB lacks its binding of MongoDB, or that has a driver older than 4.0."""
    program = tool_named("ycsb").require_installed()
    asked = [program, "run", "mongodb", "-p", "workload=none"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    if not re.search(r"mongodb-driver-sync-[\d.]+\.jar", said.stdout + said.stderr):
        pytest.skip("needs YCSB's binding of MongoDB with a driver of 4.0 or later: build it from its source")


@pytest.mark.usefixtures("mongodb_binding")
def test_documents_of_mongodb_are_inserted_and_updated_as_often_as_ycsb_says():
    require_inserted_documents(GENERATOR)


@pytest.mark.usefixtures("mongodb_binding")
def test_our_engine_finds_the_documents_that_ycsb_has_inserted():
    ferretdb_folder()
    changes = {"records": 200, "operations": 400, "workload": "c"}
    with server_of(CATALOG["ferretdb"], None) as server, under_load(server, GENERATOR, **changes) as database:
        loading = database.prepare({}, 0, lambda _: None)["loading"]
        plan = database.plan({}, 0)
        ours = replace(plan, load=plan.load.model_copy(update={"generator": ENGINE_NAME}))
        result = CHOSEN.run(ours, lambda _: None)
        assert loading.requests.answered == 200
        assert (result.requests.answered, result.requests.failed) == (400, 0)


STUDY = """
title = "Two generators at a rate"
[load]
model = "ycsb"
workload = "b"
records = 500
duration = "1s"
warmup = "1s"
rate = 100
[sweep]
threads = [2]
[trials]
count = 2
repeat_disturbed = 0
[servers.postgresql]
"""


def test_a_study_is_cross_checked_at_the_same_rate_of_both(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    done = Command(tmp_path).run("crosscheck", "study.toml", "--generator", "ycsb", "--out", "run")
    assert done.returncode in (0, 3), done.stderr
    points = read_run(tmp_path / "run").points
    assert {record.server for record in points} == {"postgresql", "postgresql-ycsb"}
    for record in points:
        assert (record.load.tool and record.load.tool.name) == (
            "ycsb" if record.server.endswith("ycsb") else None
        )
        assert (record.load.rate_rps.asked, record.load.requests.failed) == (100, 0)
    assert "postgresql-ycsb over postgresql: ycsb" in " ".join(done.stdout.split())
