"""The databases of the catalogue, through a whole life: started empty, asked, seen by the probe, and gone."""

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from server_support import (
    CATALOG,
    found,
    give_port_first,
    is_root,
    kill_owner,
    marked_processes,
    own_place,
    processes_using,
    results_of_each,
    server_of,
    servers,
    start_owner,
    user_of,
    version_checked_by_nobody,
    wait_until,
)

from loadcurve.server.attached import AttachedServer
from loadcurve.server.build import build_of
from loadcurve.server.check import check_server
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, Overrides, find_server
from loadcurve.server.here import Server
from loadcurve.server.ledger import clean_up_after_killed_runs
from loadcurve.server.running import RunningServer, find_running_server
from loadcurve.server.settings import UnusableSetting
from support.probed_load import load_of

INTERVAL_S = 0.02
PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def ferretdb():
    """Build FerretDB, which takes a minute or two where Go's own cache does not have it."""
    if shutil.which("go") is None:
        pytest.skip("needs go, which is not installed; on Debian: apt-get install golang")
    build = build_of(CATALOG["ferretdb"])
    assert build is not None
    build.run(print)
    return build.folder / "loadcurve-ferretdb"


@pytest.fixture(params=["postgresql", "ferretdb"])
def entry(request):
    if request.param == "ferretdb":
        request.getfixturevalue("ferretdb")
    elif isinstance(missing := find_server(CATALOG[request.param], {}), MissingServer):
        pytest.skip(str(missing.failure()))
    return CATALOG[request.param]


def database_of(entry, **settings):
    return server_of(entry, None, **settings)


def answer_of_psql(url, statement):
    command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", statement, url]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_database_is_started_empty_each_time_verified_and_gone_after_the_block(entry, state):
    for _ in range(2):
        with database_of(entry) as server:
            server.verify()
            assert server.url.startswith(f"{entry.description.protocol}://")
            assert (
                server.url.rpartition("@")[2].startswith(f"{server.address}/") or server.address in server.url
            )
    assert processes_using(state / "tmp") == set()
    assert list((state / "tmp").iterdir()) == []


def test_a_check_of_a_database_needs_no_content(entry):
    checked = check_server(entry)
    assert checked.content == {}
    assert re.fullmatch(r"\d+\.\d[\d.]*", checked.found.version)


def test_a_database_that_says_that_its_port_is_taken_gets_another(entry, monkeypatch):
    with socket.socket() as other:
        # As it does not listen, nobody sees it but a server that wants the same port.
        other.bind(("127.0.0.1", 0))
        taken = other.getsockname()[1]
        give_port_first(monkeypatch, taken)
        with database_of(entry) as server:
            assert server.port != taken


def test_the_module_for_a_database_keeps_its_contract_on_the_real_server(entry):
    url_variable = f"LOADCURVE_TEST_{entry.description.protocol.upper()}_URL"
    # The packages and the profile of the first command of `make test-rust`: nothing is compiled once more.
    tests = [
        "cargo",
        "test",
        "--profile",
        os.environ.get("TEST_PROFILE", "dev"),
        "--workspace",
        "--exclude",
        "loadcurve-python",
        "--exclude",
        "loadcurve-wire",
        "--locked",
        "--test",
        "databases",
    ]
    # What is skipped says so, where the output of tests that pass is shown.
    command = [*tests, "--", "--nocapture"]
    with database_of(entry) as server:
        server.verify()
        environment = {**os.environ, url_variable: server.url}
        ended = subprocess.run(
            command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
        )
    assert ended.returncode == 0, ended.stdout[-4000:]
    assert url_variable not in ended.stdout + ended.stderr, "the tests of this database were left out"


@servers("postgresql")
@is_root
def test_an_ordinary_user_can_check_postgresql(name):
    assert version_checked_by_nobody(name) == found(CATALOG[name]).version


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    """Run PostgreSQL as it comes for the tests that only look at it."""
    if isinstance(missing := find_server(CATALOG["postgresql"], {}), MissingServer):
        pytest.skip(str(missing.failure()))
    with own_place(tmp_path_factory) as place, database_of(CATALOG["postgresql"]) as server:
        yield server, place


@is_root
def test_what_root_starts_of_postgresql_is_another_users(postgresql):
    server, _ = postgresql
    assert user_of(server.pid) != 0


@servers("postgresql")
@pytest.mark.needs("psql")
def test_the_settings_of_postgresql_are_those_that_it_runs_with(name):
    changed = {
        "max_connections": 17,
        "shared_buffers": "32MiB",
        "work_mem": "2MiB",
        "max_wal_size": "64MiB",
        "fsync": False,
        "synchronous_commit": "off",
        "full_page_writes": False,
        "autovacuum": False,
    }
    expected = {
        **dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes", "autovacuum"), "off"),
        "max_connections": "17",
        "shared_buffers": "32MB",
        "work_mem": "2MB",
        "max_wal_size": "64MB",
    }
    with database_of(CATALOG[name], **changed) as server:
        assert {key: answer_of_psql(server.url, f"SHOW {key}") for key in changed} == expected


@pytest.mark.needs("psql")
def test_the_defaults_of_postgresql_are_its_own(postgresql):
    server, _ = postgresql
    differing = answer_of_psql(
        server.url,
        "SELECT name FROM pg_settings WHERE source = 'configuration file' AND setting <> boot_val "
        "AND name NOT IN ('listen_addresses', 'port', 'unix_socket_directories')",
    )
    assert differing == ""


@pytest.mark.needs("psql")
def test_nobody_gets_into_postgresql_without_the_password_that_nothing_shows(postgresql):
    server, place = postgresql
    password = re.search(r":([^:@]+)@", server.url)[1]
    with pytest.raises(subprocess.CalledProcessError) as refused:
        answer_of_psql(server.url.replace(password, "wrong"), "SELECT 1")
    assert "password authentication failed" in refused.value.stderr
    assert password not in str(server.configuration) + str(server.settings)
    commands = results_of_each(
        lambda pid: Path(f"/proc/{pid}/cmdline").read_bytes(), processes_using(place / "tmp")
    )
    assert len(commands) > 1
    assert not any(password.encode() in command for command in commands)


LOSE_WHAT_IS_INSERTED = """
CREATE FUNCTION lose() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE (
        SELECT format('CREATE RULE lose AS ON INSERT TO %s DO INSTEAD NOTHING', object_identity)
        FROM pg_event_trigger_ddl_commands() WHERE command_tag = 'CREATE TABLE'
    );
END $$;
CREATE EVENT TRIGGER lose ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION lose();
"""


@servers("postgresql")
@pytest.mark.needs("psql")
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (LOSE_WHAT_IS_INSERTED, "of 10 records were"),
        ("ALTER DATABASE postgres SET default_transaction_read_only = on", "read-only transaction"),
    ],
)
def test_a_database_that_does_not_keep_what_it_is_given_is_not_measured(fault, said, name):
    with database_of(CATALOG[name]) as server:
        answer_of_psql(server.url, fault)
        with pytest.raises(ServerFailure) as caught:
            server.verify()
    assert caught.value.code == "wrong_answer"
    assert said in caught.value.text


@pytest.mark.needs("psql")
def test_a_verified_database_holds_nothing_more_than_before(postgresql):
    server, _ = postgresql
    everything = "SELECT count(*) FROM pg_class"
    before = answer_of_psql(server.url, everything)
    server.verify()
    assert answer_of_psql(server.url, everything) == before


@servers("postgresql")
def test_a_value_that_postgresql_does_not_accept_is_reported_in_its_own_words(name):
    with pytest.raises(ServerFailure) as caught, database_of(CATALOG[name], shared_buffers="1KiB"):
        pass
    failure = caught.value
    assert failure.code == "config_rejected"
    assert "shared_buffers" in failure.log_tail


@pytest.mark.alone
@servers("postgresql")
@pytest.mark.needs("psql")
def test_the_probe_sees_the_process_that_postgresql_makes_for_each_client(name):
    with database_of(CATALOG[name]) as server:
        # At its least, as the processes of clients that were here before may be about to end.
        alone = observed(server).server.processes.min
        sleepers = [
            subprocess.Popen(["psql", "--quiet", "--command", "SELECT pg_sleep(600)", server.url])
            for _ in range(3)
        ]
        try:
            asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            wait_until(lambda: answer_of_psql(server.url, asleep) == "3")
            assert observed(server).server.processes.min == alone + 3
        finally:
            for sleeper in sleepers:
                sleeper.kill()
                sleeper.wait()


def observed(server):
    with server.probe(os.sched_getaffinity(0), INTERVAL_S) as probe:
        time.sleep(20 * INTERVAL_S)
        return probe.observed(load_of(18 * INTERVAL_S))


@servers("postgresql")
@pytest.mark.parametrize("also_main_process", [False, True])
def test_a_killed_run_takes_postgresql_along(name, also_main_process, state):
    owner, pid = start_owner(CATALOG[name].folder)
    kill_owner(owner, also=pid if also_main_process else None)
    if not also_main_process:
        wait_until(lambda: processes_using(state / "tmp") == set())
    (cleaned,) = clean_up_after_killed_runs()
    assert cleaned.remaining_pids == ()
    assert processes_using(state / "tmp") == marked_processes(state) == set()


@servers("postgresql")
@pytest.mark.needs("psql")
def test_a_client_that_stays_does_not_delay_the_stop_until_postgresql_is_killed(name):
    with database_of(CATALOG[name]) as server:
        sleeper = subprocess.Popen(["psql", "--command", "SELECT pg_sleep(600)", server.url], stderr=-3)
        asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        wait_until(lambda: answer_of_psql(server.url, asleep) == "1")
        before = time.monotonic()
        server.stop()
        assert time.monotonic() - before < server.found.entry.description.stop.timeout_s
        assert sleeper.wait() != 0


# What the imitation runs is in the cache of who runs the tests, which may be closed to others.
STAYS_ROOTS = "root" if os.geteuid() == 0 else None

MONGOD = """#!/bin/sh
# An imitation of mongod: it reads its configuration file as mongod does, and is FerretDB.
[ "$1" = --version ] && {{ echo "db version v7.0.14"; echo "Build Info: {{}}"; exit; }}
value() {{ sed -n "s/^ *$1: *//p" "$2" | tr -d '"'; }}
exec "{ferretdb}" --listen "$(value bindIp "$2"):$(value port "$2")" --data "$(value dbPath "$2")"
"""


@pytest.fixture
def mongod(ferretdb, tmp_path):
    program = tmp_path / "mongod"
    program.write_text(MONGOD.format(ferretdb=ferretdb))
    program.chmod(0o755)
    return program


def test_an_imitation_of_mongod_is_started_by_its_configuration_and_verified(mongod):
    looked_for = find_server(
        CATALOG["mongodb"], {"cache_mib": 512}, Overrides(binary=mongod, user=STAYS_ROOTS)
    )
    assert looked_for.version == "7.0.14"
    with Server(looked_for, None, {}) as server:
        server.verify()
        (text,) = server.configuration.values()
    assert "cacheSizeGB: 0.5" in text
    assert "commitIntervalMs: 100" in text
    assert "enabled: false" not in text.partition("storage:")[2]


def test_mongod_without_a_journal_is_configured_so(mongod):
    looked_for = find_server(
        CATALOG["mongodb"], {"journal": False}, Overrides(binary=mongod, user=STAYS_ROOTS)
    )
    with Server(looked_for, None, {}) as server:
        (text,) = server.configuration.values()
    assert "  journal:\n    enabled: false\n" in text


def test_without_go_ferretdb_is_missing_and_it_is_said_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = find_server(CATALOG["ferretdb"], {})
    assert isinstance(missing, MissingServer)
    assert "built from source with go, which was not found" in missing.reason
    assert missing.install == "apt-get install golang"


def running_at(url, version=None):
    return find_running_server(CATALOG["url"], {}, Overrides(url=url, version=version))


def test_a_database_that_runs_already_is_used_by_its_url(entry):
    with database_of(entry) as server:
        running = running_at(server.url)
        assert isinstance(running, RunningServer)
        assert running.protocol == entry.description.protocol
        with AttachedServer(running, None) as attached:
            attached.verify()
            assert attached.url == server.url
            assert "@" not in attached.settings["url"]
        server.verify()


def test_a_database_that_does_not_let_us_in_is_a_fault_of_its_trials(postgresql):
    server, _ = postgresql
    password = re.search(r":([^:@]+)@", server.url)[1]
    missing = running_at(server.url.replace(password, "guessed"))
    assert missing.fault.code == "not_ready"
    assert "password authentication failed" in missing.reason
    assert "guessed" not in missing.reason


def test_a_url_that_no_driver_understands_is_bad_input():
    with pytest.raises(UnusableSetting):
        running_at("mongodb://127.0.0.1:not-a-port/")


def test_where_no_database_runs_that_is_a_fault_of_its_trials():
    missing = running_at("mongodb://127.0.0.1:1/")
    assert isinstance(missing, MissingServer)
    assert isinstance(missing.fault, ServerFailure)
    assert missing.fault.code == "not_ready"
    assert "mongodb://127.0.0.1:1/" in missing.reason
