"""`loadcurve load postgresql://…`: loads on a database that runs already, and what it may remove there."""

import functools
import json
import os
import shutil
import signal
import subprocess
import time
from urllib.parse import urlsplit

import pytest

from support.databases import require_postgresql, running_database
from support.sandbox import finish, wait_until

WORKLOAD = ("--workload", "a", "-t", "2")


@pytest.fixture(scope="module")
def database():
    """Start PostgreSQL for the tests of this file."""
    require_postgresql()
    with running_database("postgresql") as server:
        yield server


@pytest.fixture
def ask(database):
    """Return a function that puts a question to the database by another client than ours."""
    if shutil.which("psql") is None:
        pytest.skip("needs psql, which is not installed; on Debian: apt-get install postgresql-client")
    yield functools.partial(answer_of, database)
    answer_of(database, "drop schema if exists loadcurve, theirs cascade")


def answer_of(database, question):
    command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", database.url, "-c", question]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


def load(sandbox, database, *arguments):
    return sandbox.run("load", database.url, *WORKLOAD, *arguments)


def result_of(sandbox, database, *arguments):
    finished = load(sandbox, database, *arguments, "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_records_are_loaded_and_stay_for_the_run_phase(sandbox, database, ask):
    loaded = result_of(sandbox, database, "--phase", "load", "--records", "30", "--batch", "7")
    assert (loaded["requests"]["ok"], loaded["load"]["phase"]) == (30, "load")
    assert ask("select count(*) from loadcurve.usertable") == "30"
    ran = result_of(sandbox, database, "--records", "30", "-n", "200")
    assert (ran["requests"]["ok"], ran["load"]["threads"]) == (200, 2)
    assert database.url not in json.dumps(ran)
    again = result_of(sandbox, database, "--phase", "load", "--records", "10", "--drop")
    assert again["requests"]["ok"] == 10
    assert ask("select count(*) from loadcurve.usertable") == "10"


@pytest.mark.parametrize("option", ["--password-file", "--password-env"])
def test_a_password_that_is_kept_apart_opens_the_database(sandbox, database, ask, monkeypatch, option):
    address = urlsplit(database.url)
    file = sandbox.write("password", address.password)
    file.chmod(0o600)
    monkeypatch.setenv("DATABASE_PASSWORD", address.password)
    url = database.url.replace(f":{address.password}@", "@")
    given = file if option == "--password-file" else "DATABASE_PASSWORD"
    arguments = (
        "load",
        url,
        option,
        given,
        *WORKLOAD,
        "--phase",
        "load",
        "--records",
        "10",
        "--drop",
        "--json",
    )
    finished = sandbox.run(*arguments)
    assert finished.returncode == 0, finished.stderr
    assert address.password not in finished.stdout + finished.stderr
    assert ask("select count(*) from loadcurve.usertable") == "10"
    refused = sandbox.run(*arguments, "--password-env", "NO_SUCH_VARIABLE", "--password-file", "none")
    assert refused.returncode == 2
    assert "keep one of the two" in refused.stderr


def test_a_table_of_another_is_neither_written_to_nor_dropped_unless_named(sandbox, database, ask):
    ask("create schema loadcurve; create table loadcurve.usertable (theirs int); "
        "insert into loadcurve.usertable values (1)")  # fmt: skip
    for arguments in (["--phase", "load"], ["--phase", "load", "--drop"], ["-n", "5"]):
        finished = load(sandbox, database, *arguments)
        assert finished.returncode == 2
        assert "was not created by Loadcurve" in finished.stderr
    assert ask("select theirs from loadcurve.usertable") == "1"
    dropping = load(sandbox, database, "--phase", "load", "--records", "5", "--drop-table", "usertable")
    assert dropping.returncode == 0, dropping.stderr
    assert ask("select count(*) from loadcurve.usertable") == "5"


def tiny_study(url, namespace="loadcurve"):
    """Five records and five operations on a database that runs already."""
    return f"""\
title = "Tiny"
[load]
model = "ycsb"
workload = "a"
records = 5
operations = 5
namespace = "{namespace}"
[sweep]
threads = [1]
[trials]
count = 1
[servers.there]
use = "url"
url = "{url}"
"""


def test_a_study_refuses_a_running_database_with_the_table_of_another(sandbox, database, ask):
    ask("create schema theirs; create table theirs.usertable (theirs int)")
    sandbox.write("theirs.toml", tiny_study(database.url, namespace="theirs"))
    refused = sandbox.run("run", "theirs.toml", "--out", "refused")
    assert refused.returncode == 2
    assert "theirs.toml:14: servers.there.url: theirs.usertable already exists" in refused.stderr
    assert not (sandbox.work / "refused").exists()
    # A password may also be among the options.
    user, _, place = database.url.removeprefix("postgresql://").rpartition("@")
    name, _, password = user.partition(":")
    sandbox.write("ours.toml", tiny_study(f"postgresql://{place}?user={name}&password={password}"))
    finished = sandbox.run("run", "ours.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    assert ask("select count(*) from pg_tables where schemaname = 'loadcurve'") == "0"
    assert password not in (sandbox.work / "run" / "run.json").read_text()
    assert password not in (sandbox.work / "run" / "trials.jsonl").read_text()
    assert password not in (sandbox.work / "run" / "study.toml").read_text()


def test_a_password_with_characters_that_should_be_encoded_is_in_no_file_of_a_run(sandbox, database, ask):
    ask("create role slashed superuser login password 'Xq7/Vt:Zw9'")
    place = database.url.rpartition("@")[2]
    sandbox.write("slashed.toml", tiny_study(f"postgresql://slashed:Xq7/Vt:Zw9@{place}"))
    finished = sandbox.run("run", "slashed.toml", "--out", "run")
    ask("drop role slashed")
    assert finished.returncode in {0, 3}, finished.stderr
    files = {path.name: path.read_text() for path in (sandbox.work / "run").iterdir()}
    assert {"run.json", "study.toml", "trials.jsonl", "report.html"} <= set(files)
    texts = {**files, "stdout": finished.stdout, "stderr": finished.stderr}
    assert [name for name, text in texts.items() if "Xq7" in text or "Zw9" in text] == []
    assert f"postgresql://{place}" in files["study.toml"]


def test_a_wrong_password_is_reported_as_such_and_not_shown(sandbox, database):
    user, _, rest = database.url.partition("@")
    wrong = f"{user.rpartition(':')[0]}:mistaken@{rest}"
    finished = sandbox.run("load", wrong, *WORKLOAD)
    assert finished.returncode == 4
    assert "password" in finished.stderr
    assert "mistaken" not in finished.stderr


def test_a_database_that_is_not_there_is_reported(sandbox):
    for url in ("mongodb://127.0.0.1:1", "postgresql://me@127.0.0.1:1/test"):
        finished = sandbox.run("load", url, *WORKLOAD, "--timeout", "2s")
        assert finished.returncode == 4, finished.stderr
        assert finished.stdout == ""


def test_a_database_that_answers_with_errors_in_mid_run_is_reported_in_its_own_words(sandbox, database, ask):
    load(sandbox, database, "--phase", "load", "--records", "30")
    asking = sandbox.start(
        "load", database.url, *WORKLOAD, "--records", "30", "-n", "3000", "-R", "1000", "--json"
    )
    wait_until_it_writes(database)
    ask("drop table loadcurve.usertable")
    finished = finish(asking)
    assert finished.returncode == 3
    result = json.loads(finished.stdout)
    requests = result["requests"]
    assert requests["ok"] > 0
    assert result["errors"]["rejected"] == requests["failed"] > 0
    assert sum(one["count"] for one in result["error_messages"]) == requests["failed"]
    assert all('relation "loadcurve.usertable" does not exist' in one["text"]
               for one in result["error_messages"])  # fmt: skip
    assert {one["operation"] for one in result["error_messages"]} == {"read", "update"}


@pytest.mark.needs("psql")
def test_what_was_measured_before_a_database_went_away_is_kept(sandbox):
    require_postgresql()
    with running_database("postgresql") as server:
        load(sandbox, server, "--phase", "load", "--records", "30")
        asking = sandbox.start("load", server.url, *WORKLOAD, "--records", "30", "-d", "60s", "--json")
        wait_until_it_writes(server)
        os.kill(server.pid, signal.SIGQUIT)
        # So long nobody answers, at least.
        time.sleep(1)
        asking.send_signal(signal.SIGINT)
        finished = finish(asking)
    assert finished.returncode == 130
    result = json.loads(finished.stdout)
    requests = result["requests"]
    assert requests["ok"] > 0
    assert requests["failed"] > 0
    ended = (requests[name] for name in ("answered", "failed", "unanswered", "never_sent"))
    assert requests["due"] == sum(ended)
    assert result["errors"]["connect_refused"] > 0
    # Few operations failed, as a client rests between attempts; that nothing was answered is reported, too.
    assert "errors" in {reason["code"] for reason in result["verdict"]["reasons"]}
    assert result["silences"][0]["length_ms"] > 500


def wait_until_it_writes(database):
    """Wait until a load that was started just now has changed a hundred records."""

    def transactions():
        """The number of the next transaction that changes something."""
        return int(answer_of(database, "select pg_snapshot_xmax(pg_current_snapshot())"))

    before = transactions()
    wait_until(lambda: transactions() >= before + 100, "the load changes records")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--records", "0"], "records"),
        (["-p", "readproportion=0", "-p", "updateproportion=0"], "proportion"),
        (["-p", "fieldcount=ten"], "fieldcount"),
        (["-p", "readproportoin=1"], "readproportion"),
    ],
)
def test_a_workload_that_cannot_be_is_refused_before_anything_is_asked(sandbox, arguments, named):
    finished = sandbox.run("load", "postgresql://127.0.0.1:1/test", "--workload", "a", *arguments)
    assert finished.returncode == 2, finished.stderr
    assert named in finished.stderr
    assert finished.stdout == ""


def test_a_file_of_properties_with_an_unknown_one_is_refused_with_its_line(sandbox):
    sandbox.write("mine.properties", "recordcount=10\nreadproportion=1\nfeildcount=3\n")
    finished = sandbox.run("load", "postgresql://127.0.0.1:1/test", "--workload", "mine.properties")
    assert finished.returncode == 2, finished.stderr
    assert "mine.properties:3: " in finished.stderr
    assert "fieldcount" in finished.stderr
