"""go-ycsb puts a load on a database exactly as it is asked for, or not at all, and shows no password."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from loadcurve.loads.kinds import DATABASE
from loadcurve.loads.option import OtherTools, said_of
from loadcurve.loads.plan import DatabasePlan
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable
from loadcurve.result.generator import Kernel
from loadcurve.tools.catalog import driven_tools, tool_named
from loadcurve.tools.driver import DatabaseToolRequest, Output, Refused
from loadcurve.tools.exact_database import require_exact_on_database
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.mongodb_url import with_options
from loadcurve.tools.postgresql_url import PostgresqlUrl, postgresql_url
from loadcurve.tools.process import CpuTime
from loadcurve.tools.results import Seen, result_of
from support.tool_record import WRK

ASKED: dict[str, Any] = {
    "model": "ycsb", "workload": "a", "threads": 4, "operations": 300, "warmup": "1s",
    "generator": "go-ycsb",
}  # fmt: skip
PASSWORD = "se%cret/@:1\\"
URL = "postgresql://me%40home:se%25cret%2F%40%3A1%5C@127.0.0.1:5433/test"
DATA = Path(__file__).parents[1] / "data" / "tools" / "go-ycsb-postgresql.csv"
TOOL = tool_named("go-ycsb")


def load_of(**changes: Any) -> DatabaseLoad:
    given = {key: value for key, value in (ASKED | changes).items() if value is not None}
    return DatabaseLoadTable.model_validate(given).with_values({}, DatabaseLoad)


def wanted_of(folder: Path, url: str = URL, *, phase: str = "run", **changes: Any) -> DatabaseToolRequest:
    load = load_of(**changes)
    require_exact_on_database(TOOL, load, "postgresql", {})
    asked = load.loading() if phase == "load" else load.asking()
    return DatabaseToolRequest(load=asked, url=url, threads=2, files=folder)


def properties_of(wanted: DatabaseToolRequest) -> dict[str, str]:
    """Return what go-ycsb is asked for on its command line."""
    words = TOOL.driver.arguments(wanted)
    assert list(words[2:4]) == ["-P", str(wanted.files / "login.properties")]
    assert set(words[4::2]) == {"-p"}
    return dict(word.split("=", 1) for word in words[5::2])


def test_the_tools_for_databases_send_nothing_else():
    assert [*driven_tools(DATABASE)] == ["go-ycsb", "ycsb"]


def test_a_tool_says_nothing_of_databases_on_which_it_is_not_driven():
    for tool in driven_tools(DATABASE).values():
        can = tool.table.databases
        assert can is not None
        assert {*can.not_asked_of, *can.namespaces} <= {*tool.bindings}


def test_the_workload_stands_in_the_command_under_the_names_of_ycsb(tmp_path):
    asked = properties_of(wanted_of(tmp_path))
    expected = {
        "threadcount": "4", "operationcount": "300", "recordcount": "1000", "warmuptime": "1",
        "readproportion": "0.5", "updateproportion": "0.5", "insertproportion": "0.0",
        "requestdistribution": "zipfian", "fieldcount": "10", "fieldlength": "100",
        "readallfields": "true", "writeallfields": "false", "insertorder": "hashed",
        "table": '"loadcurve"."usertable"', "pg.host": "127.0.0.1", "pg.port": "5433", "pg.db": "test",
        "pg.sslmode": "disable", "measurementtype": "csv",
    }  # fmt: skip
    assert expected.items() <= asked.items()
    assert TOOL.driver.arguments(wanted_of(tmp_path))[0] == "run"


def test_only_records_that_there_are_can_be_asked_for(tmp_path):
    # Its range of a Zipfian distribution ends with the number of records instead of with the last record.
    assert properties_of(wanted_of(tmp_path))["insertcount"] == "999"
    assert "insertcount" not in properties_of(wanted_of(tmp_path, workload="d"))
    assert "insertcount" not in properties_of(wanted_of(tmp_path, phase="load"))


def test_records_are_loaded_by_the_same_tool_without_a_warm_up(tmp_path):
    wanted = wanted_of(tmp_path, phase="load")
    asked = properties_of(wanted)
    assert TOOL.driver.arguments(wanted)[0] == "load"
    assert (asked["recordcount"], asked["warmuptime"], "operationcount" in asked) == ("1000", "0", False)


def test_no_password_and_no_user_is_on_a_command_line_or_in_what_others_can_read(tmp_path, monkeypatch):
    monkeypatch.setattr("loadcurve.tools.catalog.Tool.require_installed", lambda _: Path("/bin/y"))
    command = TOOL.command(wanted_of(tmp_path))
    assert command[:4] == ["env", "GOMAXPROCS=2", f"PGPASSFILE={tmp_path}/password", "/bin/y"]
    shown = " ".join(command)
    assert not any(secret in shown for secret in ("se%", "cret", "me@", "me%40"))
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file
    # In the form of libpq's file of passwords; the properties, which go-ycsb prints, have none.
    assert (tmp_path / "password").read_text() == "*:*:*:*:se%cret/@\\:1\\\\\n"
    assert (tmp_path / "login.properties").read_text() == "pg.user=me%40home\n"


def test_names_of_tables_are_quoted_for_statements(tmp_path):
    asked = properties_of(wanted_of(tmp_path, namespace="a.b", table='of "mine"'))
    assert asked["table"] == '"a.b"."of ""mine"""'


def test_parts_of_a_url_are_those_that_libpq_would_use():
    found = postgresql_url(URL)
    assert (found.user, found.password, found.port) == ("me@home", PASSWORD, 5433)
    assert postgresql_url("postgres://me@[::1]?sslmode=disable") == PostgresqlUrl(
        host="[::1]", port=5432, database="me", user="me", password="", options={"sslmode": "disable"}
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://127.0.0.1/test",
        "postgresql://:pass@127.0.0.1/test",
        "postgresql://me:p@ss@127.0.0.1/test",
        "postgresql://me:pass@one,two/test",
        "postgresql://me:pass@%2Ftmp/test",
        "postgresql://me:pass@127.0.0.1:port/test",
        "postgresql://me:pass@127.0.0.1/test?sslmode=require",
        "postgresql://me:pass@127.0.0.1/test?options=-csearch_path%3Da",
    ],
)
def test_a_url_that_cannot_be_taken_apart_is_refused_without_repeating_it(url):
    with pytest.raises(Refused, match="takes a URL apart; expected") as refused:
        postgresql_url(url)
    assert not any(part in str(refused.value) for part in ("pass", "p@ss", "tmp", "path"))


WORKLOADS = {
    "e": "asks PostgreSQL for records from a key on in no order",
    "f": "counts the read and the update of a read-modify-write among all others",
}
MIX = {"mix": {"read": 0.5, "insert": 0.5}}


@pytest.mark.parametrize(
    ("changes", "key", "reason"),
    [
        *(({"workload": name}, "workload", reason) for name, reason in WORKLOADS.items()),
        ({"workload": {"mix": {"delete": 1}}}, "workload", "deletes no records"),
        ({"workload": MIX | {"request_distribution": "zipfian"}}, "workload", "not inserted yet"),
        ({"workload": MIX | {"request_distribution": "hotspot"}}, "workload", "and not with hotspot"),
        ({"workload": MIX | {"field_prefix": "f"}}, "workload", "remove the prefix"),
        ({"workload": MIX | {"field_bytes_distribution": "uniform"}}, "workload", "fields of one length"),
        ({"properties": {"insertstart": 10}}, "workload", "with all records"),
        ({"rate": 100}, "rate", "no schedule"),
        ({"warmup": "1500ms"}, "warmup", "whole seconds; found 1.5 s"),
        ({"timeout": "2s"}, "timeout", "default of timeout"),
        ({"batch": 10}, "batch", "default of batch"),
        ({"verify_values": True}, "verify_values", "does not count them"),
        ({"workload": "d", "reload": "trial"}, "reload", 'expected "point"'),
        ({"operations": 3}, "operations", "expected 4 or more"),
        ({"records": 3}, "records", "expected 4 or more"),
        ({"table": "a${b}"}, "table", "expected another name"),
    ],
)
def test_what_go_ycsb_cannot_do_is_refused_with_its_key_and_the_reason(changes, key, reason):
    with pytest.raises(Refused, match=reason) as refused:
        require_exact_on_database(TOOL, load_of(**changes), "postgresql", {})
    assert refused.value.key == key
    assert str(refused.value).startswith("go-ycsb ")


@pytest.mark.parametrize("workload", ["a", "b", "c", "d"])
def test_the_other_core_workloads_are_sent(workload):
    require_exact_on_database(TOOL, load_of(workload=workload), "postgresql", {"layout": "columns"})


@pytest.mark.parametrize(
    ("name", "protocol", "settings", "url", "reason"),
    [
        ("go-ycsb", "http", {}, None, "only driven on postgresql and mongodb, and not on http"),
        ("go-ycsb", "postgresql", {"layout": "jsonb"}, None, "driver's setting layout"),
        ("go-ycsb", "postgresql", {"synchronous_commit": "off"}, None, "setting synchronous_commit"),
        ("go-ycsb", "postgresql", {}, "postgresql://me@127.0.0.1/test", "expected sslmode=disable"),
        ("wrk", "postgresql", {}, None, "wrk puts loads only on web servers"),
    ],
)
def test_databases_that_a_tool_would_use_otherwise_are_refused(name, protocol, settings, url, reason):
    with pytest.raises(Refused, match=reason) as refused:
        require_exact_on_database(tool_named(name), load_of(), protocol, settings, url)
    assert refused.value.key == "generator"


MONGODB = "mongodb://me:se%25cret@127.0.0.1:27018"


@pytest.mark.parametrize("workload", ["a", "b", "c", "d", "e"])
def test_a_database_of_mongodb_is_also_scanned(workload):
    require_exact_on_database(TOOL, load_of(workload=workload, namespace="ycsb"), "mongodb", {}, MONGODB)


@pytest.mark.parametrize(
    ("namespace", "url", "key", "reason"),
    [
        ("loadcurve", MONGODB, "namespace", 'expected namespace = "ycsb"'),
        ("ycsb", f"{MONGODB}/?tls=true", "generator", "expected mongodb:// without tls"),
        ("ycsb", "mongodb+srv://example.org", "generator", "expected mongodb:// without tls"),
    ],
)
def test_a_database_of_mongodb_that_go_ycsb_would_use_otherwise_is_refused(namespace, url, key, reason):
    with pytest.raises(Refused, match=re.escape(reason)) as refused:
        require_exact_on_database(TOOL, load_of(namespace=namespace), "mongodb", {}, url)
    assert refused.value.key == key


def test_the_url_of_mongodb_is_in_a_private_file_and_not_on_the_command_line(tmp_path):
    load = load_of(namespace="ycsb").asking()
    wanted = DatabaseToolRequest(load=load, url=MONGODB, threads=2, files=tmp_path)
    words = TOOL.driver.arguments(wanted)
    assert [*words[:2], words[5]] == ["run", "mongodb", "table=usertable"]
    assert "cret" not in " ".join(words)
    file = tmp_path / "login.properties"
    # As many connections as clients, and no operation that is sent a second time.
    options = "maxPoolSize=4&retryReads=false&retryWrites=false"
    assert file.read_text() == f"mongodb.url={MONGODB}/?{options}\n"
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mongodb://a:1,b:2/test", "mongodb://a:1,b:2/test?x=1&y=2"),
        ("mongodb://a/?directConnection=true", "mongodb://a/?directConnection=true&x=1&y=2"),
        ("mongodb://a/?X=3", "mongodb://a/?X=3&y=2"),
        ("mongodb://a/?x=3&y=4", "mongodb://a/?x=3&y=4"),
        ("mongodb://a?", "mongodb://a?x=1&y=2"),
    ],
)
def test_options_of_the_person_hold_over_those_that_are_added(url, expected):
    assert with_options(url, {"x": "1", "y": "2"}) == expected


@pytest.mark.parametrize("url", ["mongodb://me:${a}@b", "mongodb://me:pa\\ss@b", "mongodb://b/?ssl=true"])
def test_a_url_of_mongodb_that_a_file_of_properties_would_change_is_refused(url):
    with pytest.raises(Refused, match="percent-encoded") as refused:
        with_options(url, {})
    assert "@" not in str(refused.value)


class LaterLoad(DatabaseLoad):
    """A load with an option about which nothing was decided for other tools."""

    later: int = 0


def test_an_option_of_which_nothing_was_decided_is_refused_unless_it_is_as_by_default():
    assert all(len(said_of(DatabaseLoad, name, OtherTools)) <= 1 for name in DatabaseLoad.model_fields)
    fields = dict(load_of())
    require_exact_on_database(TOOL, LaterLoad.model_construct(**fields), "postgresql", {})
    with pytest.raises(Refused, match="default of later"):
        require_exact_on_database(TOOL, LaterLoad.model_construct(**fields, later=1), "postgresql", {})


def lines() -> list[tuple[str, int, int]]:
    """Return the lines of the file, without those of all operations together."""
    with DATA.open(encoding="ascii") as file:
        rows = [(row[0], int(row[1]), int(row[2])) for row in [*csv.reader(file)][1:]]
    return [row for row in rows if row[0] != "TOTAL"]


def figures_in(folder: Path) -> ToolFigures:
    (folder / "operations.csv").write_bytes(DATA.read_bytes())
    output = Output("go-ycsb", Path("go-ycsb"), folder / "stdout", folder)
    return TOOL.driver.figures(wanted_of(folder, warmup="0s"), output)


def test_operations_count_as_go_ycsb_has_written_them(tmp_path):
    found, rows = figures_in(tmp_path), lines()
    failed = [row for row in rows if row[0] == "UPDATE_ERROR"]
    assert (found.answered, found.failed) == (len(rows) - len(failed), len(failed))
    assert found.answered + found.failed == 300, "as many as it was asked for"
    of = {one.operation: (one.answered, one.failed) for one in found.operations}
    assert of == {"read": (143, 0), "update": (118, 39)}
    begin, end = min(row[1] for row in rows), max(row[1] + row[2] for row in rows)
    assert found.duration_s == pytest.approx((end - begin) / 1e6)
    longest = max(latency for name, _, latency in rows if name != "UPDATE_ERROR")
    assert found.latency.distribution.max == pytest.approx(longest / 1e3)


def test_the_record_says_what_was_asked_and_who_has_drawn_it(tmp_path):
    plan = DatabasePlan(
        load=load_of().asking(), url=URL, settings={}, address="postgresql://127.0.0.1:5433/test",
        protocol="postgresql", threads=2, cpus=(0, 1), seed=7,
    )  # fmt: skip
    seen = Seen(
        began_s=100.0, interrupted=False, cpu=CpuTime(0.05, 0.0), threads=2, cpus=2, waits_busily=False,
        withheld={"steal_share": None, "throttling": None},
        kernel=Kernel(syn_retransmits=0, retransmits=0, listen_overflows=0, listen_drops=0),
    )  # fmt: skip
    result = result_of(plan, figures_in(tmp_path), WRK.model_copy(update={"name": "go-ycsb"}), seen)
    assert (result.load.model, result.load.workload_name, result.load.threads) == ("ycsb", "a", 4)
    assert (result.load.seed, result.load.io) == (None, None)
    assert (result.requests.answered, result.requests.failed, result.requests.due) == (261, 39, 300)
    assert result.rate_rps.asked is None
    assert result.histograms.latency is not None
    assert result.errors["rejected"] is None, "it gives no reasons"
    assert (result.generator.threads, result.verdict.status) == (2, "invalid"), "13 % have failed"


def window(folder: Path, interrupted_s: float | None, **changes: Any) -> ToolFigures:
    """Return the figures of the file for another load, interrupted so long after its first operation."""
    (folder / "operations.csv").write_bytes(DATA.read_bytes())
    at = None if interrupted_s is None else BEGIN_US / 1e6 + interrupted_s
    output = Output("go-ycsb", Path("go-ycsb"), folder / "stdout", folder, interrupted_unix_s=at)
    return TOOL.driver.figures(wanted_of(folder, **changes), output)


BEGIN_US = min(row[1] for row in lines())
DURATION = {"operations": None, "duration": "50ms", "warmup": "0s"}


def ended_within(window_us: int, begin_us: int = BEGIN_US) -> int:
    return sum(
        1 for name, at, latency in lines() if "ERROR" not in name and at + latency <= begin_us + window_us
    )


def test_a_duration_is_ended_by_an_interrupt_and_what_comes_later_does_not_count(tmp_path):
    assert int(properties_of(wanted_of(tmp_path, **DURATION))["operationcount"]) >= 10**12
    found = window(tmp_path, 0.1, **DURATION)
    assert found.duration_s == pytest.approx(0.05)
    assert 0 < found.answered == ended_within(50_000) < 261
    assert sum(one.answered for one in found.series) == found.answered


def test_a_window_ends_no_later_than_the_interrupt(tmp_path):
    found = window(tmp_path, 0.03, **DURATION)
    assert (found.duration_s, found.answered) == (pytest.approx(0.03, abs=1e-6), ended_within(30_000))


def test_a_window_behind_a_warm_up_begins_with_the_first_operation_that_ended_in_it(tmp_path):
    first_us = min(at + latency for _, at, latency in lines())
    found = window(tmp_path, 1.0, **DURATION | {"warmup": "1s"})
    assert found.began_unix_s == pytest.approx(first_us / 1e6, abs=1e-6)
    assert found.answered == ended_within(50_000, first_us)


def test_without_its_file_there_is_no_result(tmp_path):
    output = Output("go-ycsb", Path("go-ycsb"), tmp_path / "stdout", tmp_path)
    with pytest.raises(Unreadable, match=r"operations\.csv, which go-ycsb writes at its end"):
        TOOL.driver.figures(wanted_of(tmp_path), output)
