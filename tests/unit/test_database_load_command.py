"""``loadcurve load mongodb://…``: its options, what it refuses, and what it may remove."""

import json

import pytest
from typer.testing import CliRunner

from loadcurve.cli import database_load
from loadcurve.cli.main import app
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.loads.models import TABLES
from loadcurve.loads.table import attributes
from loadcurve.runs import database as database_module
from support.fake_database import FakeEngine

URL = "mongodb://127.0.0.1:1"
TABLE = "loadcurve.usertable"


@pytest.fixture
def engine(monkeypatch):
    fake = FakeEngine()
    fake.install(monkeypatch, database_module, database_load)
    return fake


def load(*arguments, url=URL):
    return CliRunner().invoke(app, ["load", url, *arguments])


def refused(*arguments, url=URL):
    finished = load(*arguments, url=url)
    assert isinstance(finished.exception, BadInput), finished.output
    return str(finished.exception)


def test_the_load_phase_makes_the_table_and_leaves_it_for_the_run_phase(engine):
    loaded = load("--workload", "a", "--phase", "load", "-t", "8", "--records", "20", "--json")
    assert loaded.exit_code == 0
    assert json.loads(loaded.stdout)["load"]["phase"] == "load"
    assert engine.tables == {TABLE: 20}
    ran = load("--workload", "a", "-t", "8", "-n", "50", "--json")
    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["load"]["phase"] == "run"
    assert engine.calls[-1] == "run 8"


def test_the_result_for_people_fits_80_columns_and_tells_operations_apart(engine):
    engine.tables, engine.ours = {TABLE: 1000}, {TABLE}
    shown = load("--workload", "a", "-n", "50").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "operations/s" in shown
    assert "request" not in shown
    for kind in ("read", "update"):
        assert any(line.startswith(kind) for line in shown.splitlines())


def test_a_file_of_properties_says_how_long_and_by_how_many(engine, tmp_path):
    engine.tables, engine.ours = {TABLE: 1000}, {TABLE}
    file = tmp_path / "workloadx"
    file.write_text("readproportion=1\nupdateproportion=0\nthreadcount=6\noperationcount=12\n")
    assert load("--workload", str(file)).exit_code == 0
    assert engine.calls[-1] == "run 6"


def test_an_unknown_property_of_a_file_is_reported_with_its_line(engine, tmp_path):
    file = tmp_path / "workloadx"
    file.write_text("# mine\nreadproporton=1\n")
    assert refused("--workload", str(file)).startswith(
        f"--workload: {file}:2: readproporton: unknown property"
    )
    assert refused("--workload", "a", "-p", "filedcount=3").startswith("-p filedcount: unknown property")
    assert engine.calls == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--workload: missing"),
        (["--workload", "g"], '--workload: found "g"; expected "a", "b"'),
        (["--workload", "a", "-c", "5"], "--connections: this option is for web servers"),
        (["--workload", "a", "--http", "1.1"], "--http: this option is for web servers"),
        (
            ["--workload", "a", "-n", "5", "-d", "1s"],
            "--operations: cannot be combined with a duration; keep one",
        ),
        (
            ["--workload", "a", "--phase", "load", "-n", "5"],
            "--operations: not used by the load phase, which ends when",
        ),
        (["--workload", "a", "--phase", "load", "--warmup", "1s"], "--warmup: not used by the load phase"),
        (["--workload", "a", "--batch", "5"], "--batch: only the load phase"),
        (["--workload", "a", "--set", "write_concern"], "--set write_concern: expected NAME=VALUE"),
        (["--workload", "a", "--generator", "go-ycsb"], "--generator: another generator has to load what"),
        (["--workload", "a", "--set", "wrong=1"], "mongodb has no setting wrong"),
        (["--workload", "a", "--drop-table", "other"], "expected the same name"),
        (["--workload", "a"], "loadcurve.usertable does not exist; insert its records first"),
    ],
)
def test_what_cannot_be_is_refused_by_name(engine, arguments, said):
    assert said in refused(*arguments)
    assert not any(call.startswith(("run", "load", "create", "remove")) for call in engine.calls)


@pytest.mark.parametrize("option", ["--workload=a", "--records=5", "--drop", "--phase=load", "--set=a=b"])
def test_an_option_for_databases_is_refused_with_a_web_server(option):
    name = option.partition("=")[0]
    assert refused(option, url="http://127.0.0.1:1/").startswith(f"{name}: this option is for databases")


@pytest.mark.parametrize(
    ("url", "fault"),
    [("mysql://me:secret@127.0.0.1", "the scheme is 'mysql'"), ("127.0.0.1:5432", "the scheme is missing")],
)
def test_a_url_of_nothing_that_is_known_is_reported_before_its_options(url, fault):
    said = refused("--workload", "a", url=url)
    assert fault in said
    assert "postgresql" in said
    assert "secret" not in said


def test_an_address_without_a_scheme_is_answered_with_the_url_that_may_be_meant():
    assert "expected a URL such as http://localhost:8000/a?b=1, with one of the schemes http" in refused(
        url="localhost:8000/a?b=1"
    )


@pytest.mark.parametrize("arguments", [["--phase", "load"], ["-n", "5"]])
def test_the_table_of_another_is_neither_filled_nor_changed(engine, arguments):
    engine.tables = {TABLE: 7}
    assert "was not created by Loadcurve" in refused("--workload", "a", *arguments)
    assert engine.tables == {TABLE: 7}


def test_the_table_of_another_goes_only_where_it_is_named(engine):
    engine.tables = {TABLE: 7}
    assert "--drop-table usertable" in refused("--workload", "a", "--phase", "load", "--drop")
    assert engine.tables == {TABLE: 7}
    dropping = load("--workload", "a", "--phase", "load", "--records", "20", "--drop-table", "usertable")
    assert dropping.exit_code == 0
    assert engine.tables == {TABLE: 20}


@pytest.mark.parametrize("arguments", [["--drop"], ["--drop-table", "usertable"]])
def test_the_run_phase_does_not_remove_the_records_that_it_asks_for(engine, arguments):
    engine.tables, engine.ours = {TABLE: 1000}, {TABLE}
    assert f"{arguments[0]}: the run phase" in refused("--workload", "a", "-n", "50", *arguments)
    assert engine.tables == {TABLE: 1000}


def test_records_are_not_inserted_twice_into_a_table(engine):
    engine.tables, engine.ours = {TABLE: 20}, {TABLE}
    said = refused("--workload", "a", "--phase", "load", "--records", "20")
    assert "holds 20 records already; start over with --drop" in said
    assert load("--workload", "a", "--phase", "load", "--records", "20", "--drop").exit_code == 0
    more = ("--workload", "a", "--phase", "load", "--records", "30", "-p", "insertstart=20")
    assert load(*more).exit_code == 0
    assert engine.tables == {TABLE: 30}


def test_records_behind_those_of_a_core_workload_can_be_inserted_into_a_larger_table(engine):
    engine.tables, engine.ours = {TABLE: 2000}, {TABLE}
    more = ("--workload", "a", "--phase", "load", "-p", "insertstart=2000")
    assert load(*more, "--records", "3000").exit_code == 0
    assert engine.tables == {TABLE: 3000}
    assert "-p insertstart: the first record is number 2000" in refused(*more, "--records", "1500")


def test_records_that_are_missing_make_the_load_invalid(engine):
    engine.lost = 1
    finished = load("--workload", "a", "--phase", "load", "--records", "20")
    assert finished.exit_code == 3
    assert "records_missing: the table holds 19 records" in " ".join(finished.stdout.split())


def test_records_that_cannot_be_counted_cost_no_figure(engine):
    engine.uncountable = "no answer within the timeout"
    finished = load("--workload", "a", "--phase", "load", "--records", "20")
    assert finished.exit_code == 0
    said = " ".join(finished.stdout.split())
    assert (
        "records_uncounted: the records of the table could not be counted after the load (timeout: no answer"
        in said
    )
    assert "ops/s" in said or "operations/s" in said


@pytest.mark.parametrize(
    ("error", "held", "hint"),
    [
        ("not_found", 20, "holds 20 records, but this load assumed 1,000"),
        ("rejected", 5_000, "holds 5,000 records, but"),
        ("rejected", 1_000, None),
        ("timeout", 20, None),
    ],
)
def test_failures_on_a_table_of_other_records_are_reported_with_the_count(engine, error, held, hint):
    engine.tables, engine.ours, engine.errors = {TABLE: held}, {TABLE}, {error: 3}
    said = " ".join(load("--workload", "a", "-n", "50").stderr.split())
    assert ("but this load assumed" not in said) if hint is None else (f"{TABLE} {hint}" in said)


def test_a_database_that_lets_nobody_in_is_reported_without_the_password(engine):
    engine.refuses = "access denied: authentication failed"
    finished = load("--workload", "a", url="mongodb://me:secret@127.0.0.1:1")
    assert isinstance(finished.exception, NothingMeasured)
    assert "authentication failed" in str(finished.exception)
    assert "secret" not in str(finished.exception)


def test_every_number_and_text_of_a_load_is_an_option_of_the_command():
    command = next(one for one in app.registered_commands if one.callback.__name__ == "load")
    options = set(command.callback.__annotations__)
    told_otherwise = {
        "model": "by the rates and the URL",
        "requests": "by the URL or --urls",
        "requests_total": "--requests",
        "operations": "--operations",
        "burst": "--pipeline",
        "properties": "--property",
        "headers": "--header",
        "weights": "in the file of --urls",
        "reload": "by the phase",
        "verify": "there is no content to compare answers with",
        "generator_threads": "by --cpus",
        "tls": "by the options of TLS",
        "grpc": "by --message and the other options of gRPC",
        "proxy_credentials": "by --proxy-credentials-env",
    }
    keys = {key for model in (*WEB.models, *DATABASE.models) for key in attributes(TABLES[model])}
    assert keys - options - told_otherwise.keys() == set()
