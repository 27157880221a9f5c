"""go-ycsb, driven against PostgreSQL: it counts what the database has done, and shows no password."""

import re
import tempfile
from pathlib import Path
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
from loadcurve.result.folder import read_run
from loadcurve.runs.chosen import CHOSEN
from support.command import Command

pytestmark = [
    pytest.mark.needs("go-ycsb"),
    pytest.mark.needs("psql"),
    pytest.mark.needs_server("postgresql"),
]
GENERATOR = "go-ycsb"


def test_rows_are_inserted_and_updated_as_often_as_go_ycsb_says():
    with (
        server_of(CATALOG["postgresql"], None) as server,
        under_load(server, GENERATOR, workload=INSERTS_AND_UPDATES) as database,
    ):
        loading, result = loaded_and_run(database)
        of = answered(result)
        assert (loading.load.phase, answered(loading)) == ("load", {"insert": RECORDS})
        assert (result.requests.failed, sum(of.values())) == (0, 2000)
        assert answer_of(server, "SELECT count(*) FROM loadcurve.usertable") == [RECORDS + of["insert"]]
        # Every update has found its record: those that are not there are no rows.
        counted = "SELECT n_tup_ins, n_tup_upd FROM pg_stat_user_tables WHERE relname = 'usertable'"
        wait_until(lambda: answer_of(server, counted) == [RECORDS + of["insert"], of["update"]])
        # What a record says of the load.
        assert (result.tool.name, result.tool.latency_basis, result.load.seed) == ("go-ycsb", "send", None)
        assert result.latency_ms.count == 2000
    assert list(Path(tempfile.gettempdir()).glob("loadcurve-tool-*")) == []


def test_a_zipfian_distribution_asks_for_records_that_there_are():
    with server_of(CATALOG["postgresql"], None) as server, under_load(server, GENERATOR) as database:
        updates = answered(loaded_and_run(database)[1])["update"]
        # An update of a record that is not there would change no row, and count as answered.
        wait_until(lambda: updated_rows(server) == updates)


def test_the_warm_up_of_go_ycsb_does_not_count():
    with (
        server_of(CATALOG["postgresql"], None) as server,
        under_load(server, GENERATOR, warmup="1s") as database,
    ):
        result = loaded_and_run(database)[1]
        assert (result.tool.warmup, result.load.warmup_s) == ("own", 1.0)
        # One operation of each client may end as the warm-up does, and be counted by go-ycsb alone.
        assert 2000 - 4 <= result.requests.answered <= 2000
        wait_until(lambda: updated_rows(server) > answered(result)["update"])


def test_a_load_of_a_duration_has_no_failure_of_the_interrupt_that_ends_it():
    changes = {"operations": None, "duration": "1500ms", "threads": 8}
    with (
        server_of(CATALOG["postgresql"], None) as server,
        under_load(server, GENERATOR, **changes) as database,
    ):
        result = loaded_and_run(database)[1]
        assert (result.duration_s, result.requests.failed) == (1.5, 0)
        assert not result.interrupted
        wait_until(lambda: updated_rows(server) >= answered(result)["update"] > 0)


def test_no_process_shows_the_password_while_go_ycsb_runs():
    lines = CommandLines()
    with server_of(CATALOG["postgresql"], None) as server, under_load(server, GENERATOR) as database:
        database.prepare({}, 0, lines.look)
        result = CHOSEN.run(database.plan({}, 0), lines.look)
        password = urlsplit(server.url).password
        assert password
        assert any("go-ycsb run pg" in line for line in lines.seen), "it was looked at"
        assert not any(password in line for line in [*lines.seen, result.model_dump_json()])


def test_documents_of_mongodb_are_inserted_as_often_as_go_ycsb_says():
    require_inserted_documents(GENERATOR, namespace="ycsb")


def test_the_check_of_go_ycsb_compares_its_inserts_with_the_records_of_postgresql(capsys):
    assert check_command("go-ycsb") == 0
    printed = capsys.readouterr().out
    inserted = re.search(r"inserts +([\d,]+) answered", printed)
    assert inserted
    assert re.search(rf"table +{inserted[1]} new records", printed)
    assert printed.rstrip().endswith("the two agree")


STUDY = """
title = "Two generators"
[load]
model = "ycsb"
workload = "a"
records = 500
operations = 2000
warmup = "0s"
[sweep]
threads = [2]
[trials]
count = 2
repeat_disturbed = 0
[servers.postgresql]
"""


def test_a_study_is_cross_checked_on_records_that_each_generator_has_loaded(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    done = Command(tmp_path).run("crosscheck", "study.toml", "--generator", "go-ycsb", "--out", "run")
    assert done.returncode in (0, 3), done.stderr
    points = read_run(tmp_path / "run").points
    assert {record.server for record in points} == {"postgresql", "postgresql-go-ycsb"}
    for record in points:
        tools = {one.tool and one.tool.name for one in record.measurements.values()}
        assert tools == {"go-ycsb" if record.server.endswith("go-ycsb") else None}
        assert (record.load.requests.answered, record.load.requests.failed) == (2000, 0)
    assert "postgresql-go-ycsb over postgresql: go-ycsb" in " ".join(done.stdout.split())
