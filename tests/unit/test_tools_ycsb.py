"""YCSB puts a load on a database exactly as it is asked for, or not at all; its logs have the window."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from loadcurve.loads.plan import DatabasePlan
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable
from loadcurve.result.generator import Kernel
from loadcurve.result.histograms import decoded
from loadcurve.tools.catalog import tool_named
from loadcurve.tools.driver import DatabaseToolRequest, Output, Refused
from loadcurve.tools.exact_database import require_exact_on_database
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import read_figures
from loadcurve.tools.mongodb_url import in_database
from loadcurve.tools.process import CpuTime
from loadcurve.tools.results import Seen, result_of
from loadcurve.tools.source import Source
from support.tool_record import WRK

ASKED: dict[str, Any] = {
    "model": "ycsb", "workload": "a", "threads": 4, "operations": 3000, "warmup": "0s", "generator": "ycsb",
}  # fmt: skip
URL = "postgresql://me%40home:se%25cret%2F%40%3A1%5C@127.0.0.1:5433/a%3Bb"
DATA = Path(__file__).parents[1] / "data" / "tools"
RATE = {"operations": None, "duration": "2s", "warmup": "1s", "rate": 200}
TOOL = tool_named("ycsb")


def load_of(**changes: Any) -> DatabaseLoad:
    given = {key: value for key, value in (ASKED | changes).items() if value is not None}
    return DatabaseLoadTable.model_validate(given).with_values({}, DatabaseLoad)


def wanted_of(folder: Path, *, phase: str = "run", **changes: Any) -> DatabaseToolRequest:
    load = load_of(**changes)
    require_exact_on_database(TOOL, load, "postgresql", {})
    asked = load.loading() if phase == "load" else load.asking()
    return DatabaseToolRequest(load=asked, url=URL, threads=2, files=folder)


def properties_of(wanted: DatabaseToolRequest) -> dict[str, str]:
    """Return what YCSB is asked for on its command line."""
    words = TOOL.driver.arguments(wanted)
    private = str(wanted.files / "private.properties")
    assert list(words[:5]) == [wanted.load.phase, "jdbc", "-s", "-P", private]
    assert set(words[5::2]) == {"-p"}
    return dict(word.split("=", 1) for word in words[6::2])


def test_the_workload_stands_in_the_command_under_the_names_of_ycsb(tmp_path):
    asked = properties_of(wanted_of(tmp_path, workload="e"))
    expected = {
        "workload": "site.ycsb.workloads.CoreWorkload", "threadcount": "4", "operationcount": "3000",
        "recordcount": "1000", "readproportion": "0.0", "scanproportion": "0.95", "insertproportion": "0.05",
        "requestdistribution": "zipfian", "fieldcount": "10", "fieldlength": "100", "maxscanlength": "100",
        "minscanlength": "1", "scanlengthdistribution": "uniform", "insertorder": "hashed",
        "measurementtype": "hdrhistogram", "hdrhistogram.fileoutput": "true", "measurement.interval": "op",
    }  # fmt: skip
    assert expected.items() <= asked.items()
    assert not {"target", "maxexecutiontime"} & set(asked)


def test_a_rate_is_that_of_all_clients_and_latencies_count_from_when_operations_were_due(tmp_path):
    asked = properties_of(wanted_of(tmp_path, **RATE))
    assert (asked["target"], asked["measurement.interval"]) == ("200", "both")
    # It counts from its start: the time to connect and the rest of a second are added.
    assert int(asked["maxexecutiontime"]) > 3
    assert int(asked["operationcount"]) == 2**31 - 1


def test_records_are_loaded_by_the_same_tool_as_fast_as_it_can(tmp_path):
    asked = properties_of(wanted_of(tmp_path, phase="load", **RATE))
    # Without a number of operations its workload does not begin, although it loads records.
    assert (asked["recordcount"], asked["operationcount"], "target" in asked) == ("1000", "1000", False)


def test_the_distributions_and_lengths_of_ycsb_are_its_own(tmp_path):
    workload = {
        "mix": {"read": 1}, "request_distribution": "hotspot", "hotspot_records": 0.1,
        "hotspot_operations": 0.9, "field_bytes": "200B", "field_bytes_min": "20B",
        "field_bytes_distribution": "uniform",
    }  # fmt: skip
    asked = properties_of(wanted_of(tmp_path, workload=workload))
    expected = {
        "hotspotdatafraction": "0.1", "hotspotopnfraction": "0.9", "fieldlength": "200",
        "minfieldlength": "20", "fieldlengthdistribution": "uniform",
    }  # fmt: skip
    assert expected.items() <= asked.items()


def test_who_logs_in_and_where_is_in_a_private_file_that_java_reads(tmp_path):
    words = TOOL.driver.arguments(wanted_of(tmp_path, table='of "mine"'))
    assert not any(secret in " ".join(words) for secret in ("cret", "me@", "mine"))
    file = tmp_path / "private.properties"
    assert file.stat().st_mode & 0o777 == 0o600
    # The parts of the URL as its driver takes them apart, and what Java would change as its code.
    assert file.read_text().splitlines() == [
        "db.driver=org.postgresql.Driver",
        "db.url=jdbc:postgresql://127.0.0.1:5433/a%3Bb?sslmode=disable",
        r"db.user=me\u0040home",
        r"db.passwd=se%cret/\u0040:1\u005c",
        r'table="loadcurve"."of\u0020""mine"""',
        f"hdrhistogram.output.path={tmp_path}/",
    ]


def test_of_mongodb_the_namespace_is_in_a_private_url_and_nothing_is_sent_twice(tmp_path):
    asked = load_of(namespace="mine-1", table="t").asking()
    url = "mongodb://me:se%40cret@127.0.0.1:27017/users"
    words = TOOL.driver.arguments(DatabaseToolRequest(load=asked, url=url, threads=2, files=tmp_path))
    assert words[:2] == ["run", "mongodb"]
    assert "cret" not in " ".join(words)
    file = tmp_path / "private.properties"
    assert file.stat().st_mode & 0o777 == 0o600
    options = "authSource=users&maxPoolSize=4&retryReads=false&retryWrites=false"
    expected = f"mongodb.url=mongodb://me:se%40cret@127.0.0.1:27017/mine-1?{options}"
    written = file.read_text().replace("\\u0040", "@").replace("\\u0026", "&")
    assert written.splitlines()[:2] == [expected, "table=t"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mongodb://a:1,b:2", "mongodb://a:1,b:2/db"),
        ("mongodb://a/?x=1", "mongodb://a/db?x=1"),
        ("mongodb://a?x=1", "mongodb://a/db?x=1"),
        ("mongodb://me:it@a", "mongodb://me:it@a/db?authSource=admin"),
        ("mongodb://me:it@a/users?x=1", "mongodb://me:it@a/db?x=1&authSource=users"),
        ("mongodb://me:it@a/users?authSource=b", "mongodb://me:it@a/db?authSource=b"),
    ],
)
def test_who_logs_in_is_known_where_the_url_says_whatever_the_database(url, expected):
    assert in_database(url, "db") == expected


@pytest.mark.parametrize("namespace", ["admin", "a b", "a/b", "ä"])
def test_a_namespace_that_a_url_of_mongodb_would_change_is_refused(namespace, tmp_path):
    asked = load_of(namespace=namespace).asking()
    wanted = DatabaseToolRequest(load=asked, url="mongodb://a", threads=2, files=tmp_path)
    with pytest.raises(Refused, match="the namespace in a URL") as refused:
        TOOL.driver.arguments(wanted)
    assert refused.value.key == "namespace"


def test_the_folder_of_a_release_comes_before_the_path(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ycsb.sh"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("YCSB_HOME", str(tmp_path))
    assert TOOL.program == program


@pytest.mark.parametrize(
    ("changes", "key", "reason"),
    [
        ({"workload": "f"}, "workload", "counts the read and the update of a read-modify-write"),
        ({"workload": {"mix": {"delete": 1}}}, "workload", "deletes no records"),
        ({"properties": {"readallfields": False}}, "workload", "reads all fields of PostgreSQL"),
        ({"verify_values": True}, "verify_values", "not those of the window"),
        ({"workload": {"mix": {"read": 1}, "field_prefix": "f"}}, "workload", "remove the prefix"),
        ({"rate": 99.5}, "rate", "whole operations per second; found 99.5"),
        ({"rate": 1}, "rate", "at most 2 s between two operations of a client"),
        ({"rate": 100, "arrivals": "poisson"}, "arrivals", "default of arrivals"),
        ({"warmup": "1s"}, "warmup", "counts its operations from its start"),
        ({"operations": None, "duration": "1500ms"}, "duration", "whole seconds; found 1.5 s"),
        ({"operations": None, "duration": "2s", "workload": "e"}, "duration", "how many records"),
        ({"operations": 2**31}, "operations", "expected 2147483647 or less"),
        ({"operations": 3}, "operations", "expected 4 or more"),
    ],
)  # fmt: skip
def test_what_ycsb_cannot_do_is_refused_with_its_key_and_the_reason(changes, key, reason):
    with pytest.raises(Refused, match=reason) as refused:
        require_exact_on_database(TOOL, load_of(**changes), "postgresql", {})
    assert refused.value.key == key
    assert str(refused.value).startswith("ycsb ")


@pytest.mark.parametrize("workload", ["a", "b", "c", "d", "e"])
def test_the_other_core_workloads_are_sent(workload):
    require_exact_on_database(TOOL, load_of(workload=workload), "postgresql", {"layout": "columns"})


def test_one_field_is_asked_of_mongodb_and_not_of_postgresql():
    one_field = load_of(properties={"readallfields": False})
    require_exact_on_database(TOOL, one_field, "mongodb", {})
    with pytest.raises(Refused, match="reads all fields of PostgreSQL"):
        require_exact_on_database(TOOL, one_field, "postgresql", {})


def output_in(folder: Path, name: str) -> Output:
    shutil.copytree(DATA / name, folder, dirs_exist_ok=True)
    return Output("ycsb", Path("ycsb"), folder / "output.txt", folder)


def figures_in(folder: Path, name: str, **changes: Any) -> ToolFigures:
    return TOOL.driver.figures(wanted_of(folder, **changes), output_in(folder, name))


def said(name: str, figure: str) -> float:
    """Return a figure of YCSB's own summary."""
    found = re.search(
        rf"^{re.escape(figure)}, (\S+)$", (DATA / name / "output.txt").read_text(), re.MULTILINE
    )
    assert found
    return float(found[1])


def shown(name: str, second: int, operation: str, figure: str = "Count") -> int:
    """Return what YCSB showed of the last second while it ran."""
    [line] = re.findall(rf"^.* {second} sec: .*$", (DATA / name / "status.txt").read_text(), re.MULTILINE)
    found = re.search(rf"\[{operation}: [^]]*?{figure}=(\d+)", line)
    assert found
    return int(found[1])


def interval_ends_s(log: Path) -> list[float]:
    """Return when a log began, and when each of its intervals ended."""
    text = log.read_text()
    start = re.search(r"StartTime: ([\d.]+) ", text)
    assert start
    spans = [tuple(map(float, span)) for span in re.findall(r"^([\d.]+),([\d.]+),", text, re.MULTILINE)]
    return [
        float(start[1]) + moment for moment in [spans[0][0], *(begin + length for begin, length in spans)]
    ]


def test_operations_count_as_ycsb_has_returned_them(tmp_path):
    found = figures_in(tmp_path, "ycsb-closed")
    of = {one.operation: (one.answered, one.failed) for one in found.operations}
    assert of == {
        "read": (said("ycsb-closed", "[READ], Return=OK"), 0),
        "update": (said("ycsb-closed", "[UPDATE], Return=OK"), 0),
    }
    assert (found.answered, found.failed, found.basis) == (3000, 0, "send")
    longest_us = max(said("ycsb-closed", f"[{name}], MaxLatency(us)") for name in ("READ", "UPDATE"))
    shortest_us = min(said("ycsb-closed", f"[{name}], MinLatency(us)") for name in ("READ", "UPDATE"))
    # A time is known within its bucket of three digits.
    assert found.latency.distribution.max == pytest.approx(longest_us / 1e3, rel=1e-3)
    assert found.latency.distribution.min == pytest.approx(shortest_us / 1e3, rel=1e-2)
    assert found.latency.completeness == "complete"


def test_a_load_of_operations_lasts_from_the_first_one_to_the_last_status(tmp_path):
    found = figures_in(tmp_path, "ycsb-closed")
    moments = [interval_ends_s(DATA / "ycsb-closed" / f"{name}.hdr") for name in ("READ", "UPDATE")]
    begin_s = min(one[0] for one in moments)
    assert found.began_unix_s == pytest.approx(begin_s, abs=1e-6)
    # The last interval is of the time in which it writes its summary.
    assert found.duration_s == pytest.approx(max(one[-2] for one in moments) - begin_s, abs=0.05)


def test_the_window_of_a_duration_is_whole_seconds_behind_the_warm_up(tmp_path):
    found = figures_in(tmp_path, "ycsb-rate", **RATE)
    # It answered first in its 2nd second, so the 3rd is the warm-up's, and two follow.
    counted = {
        name: sum(shown("ycsb-rate", second, f"Intended-{name}") for second in (4, 5))
        for name in ("READ", "UPDATE", "UPDATE-ERROR")
    }
    of = {one.operation: (one.answered, one.failed) for one in found.operations}
    assert of == {"read": (counted["READ"], 0), "update": (counted["UPDATE"], counted["UPDATE-ERROR"])}
    assert found.answered == counted["READ"] + counted["UPDATE"]
    assert found.duration_s == pytest.approx(2, abs=0.05)


def test_at_a_rate_latencies_count_from_due_and_service_times_from_sent(tmp_path):
    found = figures_in(tmp_path, "ycsb-rate", **RATE)
    assert found.basis == "due"
    for times, prefix in ((found.latency, "Intended-"), (found.service, "")):
        parts = [(second, f"{prefix}{name}") for second in (4, 5) for name in ("READ", "UPDATE")]
        assert times.distribution.count == sum(shown("ycsb-rate", *part) for part in parts)
        longest_us = max(shown("ycsb-rate", *part, "Max") for part in parts)
        assert times.distribution.max == pytest.approx(longest_us / 1e3, rel=1e-3)
        assert decoded(times.histogram).total == times.distribution.count, "no time is left out"


def test_the_series_of_a_duration_has_what_ycsb_showed_of_each_second(tmp_path):
    series = figures_in(tmp_path, "ycsb-rate", **RATE).series
    assert [(one.t_s, one.width_s) for one in series] == [(0, 1), (1, pytest.approx(1, abs=0.05))]
    for one, second in zip(series, (4, 5), strict=True):
        of = {name: shown("ycsb-rate", second, f"Intended-{name}") for name in ("READ", "UPDATE")}
        assert (one.answered, one.latency_ms.count) == (sum(of.values()), sum(of.values()))
        assert one.failed == shown("ycsb-rate", second, "Intended-UPDATE-ERROR")
        longest_us = max(shown("ycsb-rate", second, f"Intended-{name}", "Max") for name in of)
        assert one.latency_ms.max == pytest.approx(longest_us / 1e3, rel=1e-3)
        assert decoded(one.latency_histogram).total == one.answered


def test_a_load_of_operations_has_no_series_as_its_ends_are_at_no_whole_second(tmp_path):
    assert figures_in(tmp_path, "ycsb-closed").series == []


def result_at_a_rate(folder: Path):
    plan = DatabasePlan(
        load=load_of(**RATE).asking(), url=URL, settings={}, address="postgresql://127.0.0.1:5433/test",
        protocol="postgresql", threads=2, cpus=(0, 1), seed=7,
    )  # fmt: skip
    seen = Seen(
        began_s=100.0, interrupted=False, cpu=CpuTime(0.05, 0.0), threads=2, cpus=2, waits_busily=False,
        withheld={"steal_share": None, "throttling": None},
        kernel=Kernel(syn_retransmits=0, retransmits=0, listen_overflows=0, listen_drops=0),
    )  # fmt: skip
    figures = figures_in(folder, "ycsb-rate", **RATE)
    return result_of(plan, figures, WRK.model_copy(update={"name": "ycsb"}), seen)


def test_the_record_of_a_rate_has_both_times_and_what_was_asked(tmp_path):
    result = result_at_a_rate(tmp_path)
    assert (result.rate_rps.asked, result.load.rate_rps, result.load.seed) == (200, 200, None)
    assert result.latency_ms.mean > result.service_time_ms.mean
    assert None not in (result.histograms.latency, result.histograms.service_time)
    assert result.errors["rejected"] is None, "it gives no reasons"
    assert result.verdict.status == "invalid", "a tenth has failed, and was not answered at the rate"


REFUSED = (
    "site.ycsb.DBException: org.postgresql.util.PSQLException: Connection to 127.0.0.1:1 refused. Check that "
    "the hostname and port are correct and that the postmaster is accepting TCP/IP connections.\n"
)
"""What YCSB printed with the port 1; its other clients go on."""


def test_an_operation_of_which_none_was_answered_has_no_time(tmp_path):
    found = figures_in(tmp_path, "ycsb-refused", operations=100)
    of = {one.operation: (one.answered, one.failed) for one in found.operations}
    refused = said("ycsb-refused", "[UPDATE], Return=ERROR")
    assert of == {"read": (said("ycsb-refused", "[READ], Return=OK"), 0), "update": (0, refused)}
    assert next(one for one in found.operations if one.operation == "update").latency_ms.mean is None


def test_failures_of_one_status_are_failures_where_the_text_is_imported():
    found, _ = read_figures(Source(DATA / "ycsb-refused" / "output.txt"), None)
    assert (found.answered, found.failed) == (
        said("ycsb-refused", "[READ], Return=OK"),
        said("ycsb-refused", "[UPDATE], Return=ERROR"),
    )
    assert {one.operation: (one.answered, one.failed) for one in found.operations} == {
        "read": (found.answered, 0),
        "update": (0, found.failed),
    }


def changed(folder: Path, name: str, change) -> Output:
    output = output_in(folder, "ycsb-closed")
    file = folder / name
    file.write_text(change(file.read_text()))
    return output


@pytest.mark.parametrize(
    ("file", "change", "expected"),
    [
        ("READ.hdr", lambda text: "".join(text.splitlines(keepends=True)[:-3]), "expected 1,493"),
        ("output.txt", lambda text: text.split("[READ]")[0], "jaxb-api"),
        ("output.txt", lambda text: text.replace("[CLEANUP], Operations, 4", "[CLEANUP], Operations, 3"),
         "expected 4, one for each client"),
        ("output.txt", lambda text: REFUSED + text,
         "line 1: found 'PSQLException: Connection to 127.0.0.1:1 refused.*; expected a connection for each"),
        ("output.txt", lambda text: re.sub(r".*, Return=OK.*\n", "", text), "Return=OK"),
    ],
)  # fmt: skip
def test_output_that_lacks_something_is_refused(file, change, expected, tmp_path):
    output = changed(tmp_path, file, change)
    with pytest.raises(Unreadable, match=expected):
        TOOL.driver.figures(wanted_of(tmp_path), output)


def test_a_log_that_was_counted_and_not_written_is_missed(tmp_path):
    output = output_in(tmp_path, "ycsb-closed")
    (tmp_path / "UPDATE.hdr").unlink()
    with pytest.raises(Unreadable, match=r"UPDATE\.hdr, which ycsb writes at its end"):
        TOOL.driver.figures(wanted_of(tmp_path), output)


def test_a_window_that_ycsb_ended_before_is_no_result(tmp_path):
    output = output_in(tmp_path, "ycsb-rate")
    with pytest.raises(Unreadable, match="11 after it has begun"):
        TOOL.driver.figures(wanted_of(tmp_path, **RATE | {"duration": "10s"}), output)


def imported(folder: Path, text: str) -> ToolFigures:
    file = folder / "ycsb.txt"
    file.write_text(text)
    return read_figures(Source(file), "ycsb")[0]


def test_operations_that_all_failed_are_failures():
    found, _ = read_figures(Source(DATA / "ycsb-all-failed-made.txt"), None)
    assert (found.answered, found.failed, found.duration_s, found.latency) == (0, 8, 0.9, None)
    assert [(one.operation, one.answered, one.failed) for one in found.operations] == [("insert", 0, 8)]


def test_a_read_modify_write_is_one_operation():
    found, _ = read_figures(Source(DATA / "ycsb-rmw-made.txt"), None)
    # As its throughput says: 1,000 a second for 10 s.
    assert (found.answered, found.failed, found.duration_s) == (10_000, 0, 10.0)
    both = next(one for one in found.operations if one.operation == "read_modify_write")
    assert (both.answered, both.latency_ms.mean, both.latency_ms.p95, both.latency_ms.p99) == (
        5_000,
        1.15,
        2.1,
        4.5,
    )
    assert "5,000 operations were a read and an update" in found.notes[0].text


def test_a_read_modify_write_is_one_operation_in_what_ycsb_wrote():
    """Of 2,000 operations in 79 ms, 990 are a read and an update, which YCSB lists once more."""
    found, _ = read_figures(Source(DATA / "ycsb-rmw.txt"), None)
    assert (found.answered, found.failed, found.duration_s) == (2_000, 0, 0.079)
    assert found.answered / found.duration_s == pytest.approx(25316.45569620253)
    assert {one.operation: one.answered for one in found.operations} == {
        "read": 2_000,
        "update": 990,
        "read_modify_write": 990,
    }


def test_failures_that_only_a_status_counts_are_not_answered(tmp_path: Path):
    """Until 0.1.4 all are among the operations, and their times among the latencies."""
    text = (
        "[OVERALL], RunTime(ms), 1000.0\n[OVERALL], Throughput(ops/sec), 10.0\n[READ], Operations, 10\n"
        "[READ], AverageLatency(ms), 2.5\n[READ], Return=0, 7\n[READ], Return=1, 3\n[READ], 0, 10\n"
    )
    found = imported(tmp_path, text)
    assert (found.answered, found.failed, found.latency) == (7, 3, None)
    assert "latencies of read are of failed operations, too" in found.notes[0].text
    right = imported(
        tmp_path, text.replace("Return=0, 7", "Return=0, 10").replace("[READ], Return=1, 3\n", "")
    )
    assert (right.answered, right.failed) == (10, 0)
    assert right.latency is not None
    assert (right.latency.distribution.mean, right.latency.resolution_ms) == (2.5, 1.0)


@pytest.mark.parametrize(
    ("words", "threads", "rate_rps"),
    [
        ("-db site.ycsb.BasicDB -P workloads/workloada -threads 16 -target 500 -t", 16, 500.0),
        ("-p threadcount=8 -p target=0 -t", 8, None),
        ("-P workloads/workloada -t", None, None),
    ],
)
def test_the_command_line_says_its_load(
    words: str, threads: int | None, rate_rps: float | None, tmp_path: Path
):
    text = (DATA / "ycsb-rmw-made.txt").read_text()
    asked = imported(tmp_path, f"Command line: {words}\n{text}").asked
    assert (asked.threads, asked.rate_rps) == (threads, rate_rps)
