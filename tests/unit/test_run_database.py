"""What a trial does with a database: its table is made, filled, counted, put under load, and removed."""

import pytest

from loadcurve.generate.engine import ENGINE
from loadcurve.runs import database as database_module
from loadcurve.runs.database import DatabaseUnderLoad
from loadcurve.runs.plan import DatabasePlans
from loadcurve.server.failure import ServerFailure
from support.fake_database import FakeEngine
from support.read_study import read_study

TABLE = "loadcurve.usertable"
RUN = "threads = 4\noperations = 50"


@pytest.fixture
def engine(monkeypatch):
    fake = FakeEngine()
    fake.install(monkeypatch, database_module)
    return fake


class FakeServer:
    """A server that was started, and may have died since."""

    def __init__(self, failure=None):
        self.failure = failure

    def verify(self):
        if self.failure is not None:
            raise self.failure


def under_load(folder, load, server=None):
    path = folder / "s.toml"
    head = 'title = "x"\n[load]\nmodel = "ycsb"\nworkload = "a"\n'
    path.write_text(f"{head}{load}\n[sweep]\ntimeout = [1, 2]\n[servers.ferretdb]\n")
    plans = DatabasePlans("mongodb://127.0.0.1:1", {}, (0,))
    return DatabaseUnderLoad("ferretdb", server or FakeServer(), read_study(path).load, plans, ENGINE)


def measured(database, points=1):
    return [at_point(database, {"timeout": at + 1}) for at in range(points)]


def at_point(database, point):
    prepared = database.prepare(point, 0, lambda _: None)
    result = ENGINE.run(database.plan(point, 0), lambda _: None)
    return {**prepared, "load": database.checked(point, result)}


def test_every_point_begins_with_fresh_records_and_the_table_is_gone_at_the_end(engine, tmp_path):
    with under_load(tmp_path, RUN) as database:
        points = measured(database, 2)
        assert engine.tables == {TABLE: 1000}
    assert engine.tables == {}
    loads = [call for call in engine.calls if call.split()[0] in ("create", "remove", "load", "count", "run")]
    one = ["create", "load 4", "count", "run 4"]
    assert loads == [*one, "remove", *one, "remove"]
    assert [point["loading"].load.phase for point in points] == ["load", "load"]
    assert [point["load"].load.phase for point in points] == ["run", "run"]


def test_records_are_loaded_once_in_a_trial_where_the_study_says_so(engine, tmp_path):
    with under_load(tmp_path, f'{RUN}\nreload = "trial"') as database:
        first, second = measured(database, 2)
    assert engine.calls.count("load 4") == 1
    assert ([*first], [*second]) == (["loading", "load"], ["load"])


def test_the_load_phase_is_what_is_measured_where_it_is_asked_for(engine, tmp_path):
    with under_load(tmp_path, 'threads = 4\nphase = "load"') as database:
        [point] = measured(database)
    assert {name: one.load.phase for name, one in point.items()} == {"load": "load"}
    assert "run 4" not in engine.calls


def test_a_table_that_lacks_records_fails_its_point_with_both_numbers(engine, tmp_path):
    engine.lost = 3
    with under_load(tmp_path, RUN) as database, pytest.raises(ServerFailure) as raised:
        measured(database)
    assert raised.value.code == "records_missing"
    assert "the table holds 997 records, but 1,000 should have been loaded" in raised.value.text
    assert "run 4" not in engine.calls
    assert engine.tables == {}


def test_a_load_phase_that_loses_records_is_kept_and_invalid(engine, tmp_path):
    engine.lost = 3
    with under_load(tmp_path, 'threads = 4\nphase = "load"') as database:
        [point] = measured(database)
    assert point["load"].verdict.status == "invalid"
    assert [reason.code for reason in point["load"].verdict.reasons] == ["records_missing"]


def test_a_load_phase_that_cannot_be_counted_is_kept_with_the_reason(engine, tmp_path):
    engine.uncountable = "no answer within the timeout"
    with under_load(tmp_path, 'threads = 4\nphase = "load"') as database:
        [point] = measured(database)
    verdict = point["load"].verdict
    assert (verdict.status, [reason.code for reason in verdict.reasons]) == ("suspect", ["records_uncounted"])
    assert "(timeout: no answer within the timeout)" in verdict.reasons[0].text


def test_operations_follow_a_load_phase_that_cannot_be_counted(engine, tmp_path):
    engine.uncountable = "no answer within the timeout"
    with under_load(tmp_path, RUN) as database:
        [point] = measured(database)
    assert [reason.code for reason in point["loading"].verdict.reasons] == ["records_uncounted"]
    assert point["load"].load.phase == "run"


def test_a_database_that_has_died_before_it_could_be_counted_is_reported_as_its_death(engine, tmp_path):
    engine.uncountable = "connection refused"
    server = FakeServer(ServerFailure("died", "ferretdb was ended by SIGKILL"))
    with under_load(tmp_path, RUN, server) as database, pytest.raises(ServerFailure) as raised:
        measured(database)
    assert raised.value.code == "died"


def test_a_table_of_ours_that_a_killed_run_has_left_is_made_anew(engine, tmp_path):
    engine.tables, engine.ours = {TABLE: 5}, {TABLE}
    with under_load(tmp_path, RUN) as database:
        measured(database)
        assert engine.tables == {TABLE: 1000}


def test_a_refusal_of_the_database_is_a_failure_in_its_words(engine, tmp_path):
    engine.refuses = "not authorized on loadcurve"
    with under_load(tmp_path, RUN) as database, pytest.raises(ServerFailure) as raised:
        measured(database)
    assert raised.value.code == "database_failed"
    assert "ferretdb: access_denied: not authorized on loadcurve." in raised.value.text


def test_a_refusal_of_a_database_that_has_died_is_reported_as_its_death(engine, tmp_path):
    engine.refuses = "connection refused"
    server = FakeServer(ServerFailure("died", "ferretdb was ended by SIGKILL"))
    with under_load(tmp_path, RUN, server) as database, pytest.raises(ServerFailure) as raised:
        measured(database)
    assert raised.value.code == "died"


def test_a_database_is_verified_before_it_is_measured(engine, tmp_path):
    server = FakeServer(ServerFailure("wrong_answer", "it gave back something else"))
    with under_load(tmp_path, RUN, server) as database, pytest.raises(ServerFailure, match="something else"):
        database.verify(0)
    assert engine.calls == []
