"""Samples of JMeter are requests by JMeter's own judgement, each counted once, in each of its forms."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "jmeter"
CSV = ["5.6.3.csv", "5.6.3-parent.csv", "5.6.3-tabs.csv", "5.6.3-bare.csv"]
"""Of one test plan: with sums behind or before their samples, with tabs and times of day, without names."""
NAMES = [
    "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success",
    "failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Latency", "IdleTime",
    "Connect",
]  # fmt: skip
STATUS_MIN, ERROR_STATUS_MIN = 100, 400


def figures(name: str) -> ToolFigures:
    return read_figures(Source(DATA / name), None)[0]


def written(folder: Path, text: str) -> Source:
    path = folder / "samples.jtl"
    path.write_text(text, newline="")
    return Source(path)


def read(folder: Path, text: str) -> ToolFigures:
    return read_figures(written(folder, text), None)[0]


def notes(found: ToolFigures) -> str:
    assert {note.code for note in found.notes} <= {"rows_left_out", "figures_left_out"}
    return "; ".join(note.text for note in found.notes)


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows of a CSV, as another reader gives them."""
    with (DATA / name).open(newline="") as file:
        first = file.readline()
        file.seek(0)
        separator = "\t" if "\t" in first else ","
        names = None if "timeStamp" in first else NAMES
        return list(csv.DictReader(file, names, delimiter=separator))


def leaves_of(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return those that are requests, by the names in the test plan."""
    names = {row["label"] for row in rows}
    return [row for row in rows if row["label"] != "Visit" and f"{row['label']}-0" not in names]


def outcomes_of(rows: list[dict[str, str]]) -> tuple[Counter[str], int, int]:
    """Answers by the class of their status, answers without one, and failures, as JMeter judged each."""
    statuses: Counter[str] = Counter()
    without_status = failed = 0
    for row in rows:
        code = int(row["responseCode"]) if row["responseCode"].isdecimal() else 0
        if code >= STATUS_MIN and (row["success"] == "true" or code >= ERROR_STATUS_MIN):
            statuses[f"{code // 100}xx"] += 1
        elif row["success"] == "true":
            without_status += 1
        else:
            failed += 1
    return statuses, without_status, failed


@pytest.mark.parametrize("name", CSV)
def test_requests_are_the_samples_without_parts_of_each_form(name: str):
    found = figures(name)
    rows = leaves_of(rows_of(name))
    statuses, without_status, failed = outcomes_of(rows)
    # An assertion on a sample with redirects judges the whole, of which the last part is no right answer.
    wholes = [row for row in rows_of(name) if row["label"] == "StartChecked"]
    assert all(row["success"] == "false" for row in wholes)
    statuses["2xx"] -= len(wholes)
    assert found.status == {**dict.fromkeys(found.status or (), 0), **statuses}
    assert (found.answered, found.failed) == (
        statuses.total() + without_status,
        failed + len(wholes),
    )
    assert found.errors["check_failed"] == found.failed
    assert {one.operation: one.answered + one.failed for one in found.operations} == Counter(
        row["label"] for row in rows
    )


@pytest.mark.parametrize("name", ["5.6.3.csv", "5.6.3-parent.csv", "5.6.3-bare.csv"])
def test_the_window_is_from_the_first_begin_to_the_last_end(name: str):
    rows = leaves_of(rows_of(name))
    begin = min(int(row["timeStamp"]) for row in rows)
    end = max(int(row["timeStamp"]) + int(row["elapsed"]) for row in rows)
    assert figures(name).duration_s == pytest.approx((end - begin) / 1e3)
    assert figures(name).began_unix_s == pytest.approx(begin / 1e3, abs=1e-6)


def test_times_of_day_are_of_an_unknown_clock():
    assert figures("5.6.3-tabs.csv").began_unix_s is None
    assert figures("5.6.3-tabs.csv").duration_s > 0


@pytest.mark.parametrize("name", [*CSV, "5.6.3.xml"])
def test_samples_that_are_sums_are_counted_in_a_note(name: str):
    said = notes(figures(name))
    # Two threads have sent Start, Page and StartChecked, each with parts, and Visit.
    assert re.search(r"6 rows of samples whose parts .* left out", said)
    assert re.search(r"2 rows of transaction controllers.* left out", said)


@pytest.mark.parametrize("name", ["5.6.3.xml", "4.0.xml"])
def test_a_sample_of_xml_that_contains_others_is_no_request(name: str):
    root = ElementTree.parse(DATA / name).getroot()
    samples = [one for one in root.iter() if one.tag in {"httpSample", "sample"}]
    leaves = [one for one in samples if not any(part.tag == "httpSample" for part in one)]
    requests = [one for one in leaves if not one.get("rm", "").startswith("Number of samples")]
    found = figures(name)
    assert format_of(Source(DATA / name), None).name == "jmeter-xml"
    assert found.answered + (found.failed or 0) == len(requests)
    assert found.asked.threads == 2
    begins = [int(one.get("ts", "")) for one in requests]
    ends = [int(one.get("ts", "")) + int(one.get("t", "")) for one in requests]
    assert found.duration_s == pytest.approx((max(ends) - min(begins)) / 1e3)


def test_version_4_has_no_parts_in_its_csv_so_a_sample_with_redirects_is_one_request():
    found = figures("4.0.csv")
    rows = [row for row in rows_of("4.0.csv") if row["label"] != "Visit"]
    statuses, without_status, failed = outcomes_of(rows)
    assert (found.answered, found.failed) == (statuses.total() + without_status, failed)
    assert found.status == {**dict.fromkeys(found.status or (), 0), **statuses}


def test_sums_without_their_samples_are_said_and_their_time_is_in_the_window():
    found, rows = figures("5.6.3-parent-alone.csv"), rows_of("5.6.3-parent-alone.csv")
    requests = [row for row in rows if row["label"] != "Visit"]
    assert found.answered + (found.failed or 0) == len(requests)
    assert "2 rows of transaction controllers were left out, and with them 4 samples" in notes(found)
    begin = min(int(row["timeStamp"]) for row in rows)
    end = max(int(row["timeStamp"]) + int(row["elapsed"]) for row in rows)
    assert found.duration_s == pytest.approx((end - begin) / 1e3)


@pytest.mark.parametrize(
    ("name", "counts", "duration_s", "mean_ms"),
    [
        # Figures that follow from the lines of these files by hand.
        ("failed-assertion.jtl", (2, 2), 0.361, 125.0),
        ("formatted-time.jtl", (2, 0), 0.28, 125.0),
        ("no-final-newline.jtl", (2, 0), 0.33, 125.0),
        ("parent-samples-only.jtl", (1, 0), 0.72, 40.0),
        ("semicolons.jtl", (2, 0), 0.33, 125.0),
        ("subresults.jtl", (4, 0), 0.58, 145.0),
        ("success-without-http-status.jtl", (3, 0), 0.142, 127 / 3),
        ("transactions-without-message.jtl", (4, 0), 0.7, 150.0),
        ("xml.jtl", (2, 0), 0.33, 125.0),
    ],
)
def test_small_files_say_what_stands_in_their_lines(
    name: str, counts: tuple[int, int], duration_s: float, mean_ms: float
):
    found = figures(name)
    assert (found.answered, found.failed) == counts
    assert found.duration_s == pytest.approx(duration_s)
    assert found.latency is not None
    assert found.latency.distribution.mean == pytest.approx(mean_ms)


HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,Latency,Connect\n"


def line(begin: int, elapsed: int, label: str, code: str = "200", *, success: bool = True) -> str:
    return f"{begin},{elapsed},{label},{code},said,Shop 1-1,{str(success).lower()},1,0\n"


@pytest.mark.parametrize(
    ("code", "success", "counts", "errors"),
    [
        ("200", True, (1, 1, 0), {}),
        ("404", True, (1, 0, 0), {}),
        ("404", False, (1, 0, 0), {}),
        ("302", False, (0, 0, 1), {"check_failed": 1}),
        ("200", False, (0, 0, 1), {"check_failed": 1}),
        ("", True, (1, 1, 0), {}),
        ("OK", True, (1, 1, 0), {}),
        ("0", False, (0, 0, 1), {}),
        ("Non HTTP response code: java.net.SocketTimeoutException", False, (0, 0, 1), {"timeout": 1}),
    ],
)
def test_the_judgement_of_jmeter_counts_and_then_the_status(
    code: str, success: bool, counts: tuple[int, int, int], errors: dict[str, int], tmp_path: Path
):
    found = read(tmp_path, HEAD + line(1_000, 10, "one", code, success=success))
    right = found.ok
    if right is None:
        assert found.status is not None
        right = found.answered - found.status["4xx"] - found.status["5xx"]
    assert (found.answered, right, found.failed) == counts
    assert {name: count for name, count in found.errors.items() if count} == errors


def test_samples_that_are_only_called_as_parts_are_requests(tmp_path: Path):
    text = HEAD + line(1_000, 100, "Login") + line(1_100, 50, "Login-0") + line(1_150, 60, "Login-1")
    found = read(tmp_path, text)
    assert (found.answered, found.notes) == (3, [])


def test_parts_without_the_names_of_threads_look_like_samples(tmp_path: Path):
    text = (HEAD + line(1_000, 100, "Shop") + line(1_000, 50, "Shop-0")).replace(",threadName", "")
    with pytest.raises(Unreadable, match="the column threadName"):
        read(tmp_path, text.replace(",Shop 1-1", ""))


def test_without_messages_and_threads_it_is_said_that_sums_may_be_counted(tmp_path: Path):
    text = (HEAD + line(1_000, 100, "Shop")).replace(",responseMessage,threadName", "")
    found = read(tmp_path, text.replace(",said,Shop 1-1", ""))
    assert "cannot be distinguished from requests" in notes(found)


def test_a_pause_within_a_sum_before_its_samples_is_no_reason_to_miss_them(tmp_path: Path):
    message = '"Number of samples in transaction : 1, number of failing samples : 0"'
    head = HEAD.replace("Connect", "Connect,IdleTime")
    text = (
        head
        + f"1000,100,Visit,200,{message},Shop 1-1,true,1,0,5000\n"
        + line(6_000, 100, "open").replace("\n", ",0\n")
    )
    found = read(tmp_path, text)
    assert (found.answered, found.duration_s) == (1, 0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "03.03.2026 09:00:00,1,a,200,OK,Shop 1-1,true,1,0\n", "timestamp_format"),
        (
            HEAD + "2026/20/20 09:00:00.250,1,a,200,OK,Shop 1-1,true,1,0\n",
            "line 2: found timeStamp '2026/20/20",
        ),
        (HEAD.replace("success,", "") + "1,1,a,200,OK,Shop 1-1,1,0\n", "no column success"),
        (HEAD + "2026/03/03 09:00:00,1,a,200,OK,Shop 1-1,true,1,0\n", "moments in whole seconds"),
    ],
)
def test_what_is_not_known_is_refused_with_what_to_do(text: str, said: str, tmp_path: Path):
    with pytest.raises(Unreadable, match=said):
        read_figures(written(tmp_path, text), "jmeter-csv")


@pytest.mark.parametrize(
    "begin",
    ["2026/03/03 09:00:00", "2026-03-03 09:00:00", "2026-03-03T09:00:00"],
    ids=lambda text: text[4:11],
)
def test_times_of_day_of_each_form_have_the_length_of_the_load(begin: str, tmp_path: Path):
    rows = "".join(
        line(0, elapsed, "one").replace("0,", f"{begin}.{ms:03d},", 1)
        for ms, elapsed in ((250, 120), (400, 130))
    )
    assert read(tmp_path, HEAD + rows).duration_s == pytest.approx(0.28)


def test_samples_of_xml_in_a_namespace_are_the_same(tmp_path: Path):
    text = (DATA / "xml.jtl").read_text()
    in_one = text.replace("<testResults", '<testResults xmlns="urn:results"')
    assert in_one != text
    assert read(tmp_path, in_one) == read(tmp_path, text)


def test_xml_that_ends_early_has_the_samples_before_its_end(tmp_path: Path):
    whole = (DATA / "xml.jtl").read_text()
    cut = read(tmp_path, whole[: whole.index("</testResults>") - 30])
    assert (cut.answered, cut.duration_s) == (1, 0.12)
    assert "cut off" in notes(cut)
    with pytest.raises(Unreadable, match="line 3"):
        read(tmp_path, whole.replace('t="120"', "t=120"))


@pytest.mark.parametrize("character", ["&#x0;", "&#27;", "&#xFFFF;", "&#xd800;", "\x1b", "&#x110000;"])
@pytest.mark.parametrize("before", [0, 16_370, 16_380, 32_760])
def test_characters_that_xml_cannot_have_cost_no_sample(character: str, before: int, tmp_path: Path):
    """JMeter writes those of an answer so; blocks that are read end anywhere among them."""
    whole = (DATA / "xml.jtl").read_text()
    place = whole.index("</testResults>")
    data = f"<!--{'x' * before}--><sample><responseData>{character}&amp;</responseData></sample>"
    with_answer = (
        whole[:place]
        + data.replace("<sample>", '<sample ts="1760000000100" t="1" rc="200" s="true">')
        + whole[place:]
    )
    assert read(tmp_path, with_answer).answered == read(tmp_path, whole).answered + 1


def test_the_dashboard_has_its_counts_and_its_rate():
    statistics = json.loads((DATA / "5.6.3-statistics.json").read_text())
    found, total = figures("5.6.3-statistics.json"), statistics["Total"]
    # Visit is no part of Total, but Start, Page and StartChecked are, beside their parts.
    samples = sum(line["sampleCount"] for name, line in statistics.items() if name not in {"Total", "Visit"})
    sums = sum(statistics[name]["sampleCount"] for name in ("Start", "Page", "StartChecked"))
    assert samples == total["sampleCount"]
    assert found.answered + (found.failed or 0) == samples - sums
    assert found.failed == total["errorCount"]
    assert found.duration_s == pytest.approx(samples / total["throughput"])
    assert (found.latency, found.operations) == (None, [])
    assert "of errors, too" in notes(found)


def test_operations_of_a_csv_are_the_lines_of_the_dashboard_of_the_same_run():
    statistics = json.loads((DATA / "5.6.3-statistics.json").read_text())
    operations = {one.operation: one for one in figures("5.6.3.csv").operations}
    lines = {name: line for name, line in statistics.items() if name in operations and not line["errorCount"]}
    # The second part of StartChecked, too, whose page alone is an error there.
    assert lines.keys() == operations.keys() - {"Text", "Missing"}
    for name, line in lines.items():
        one = operations[name]
        assert one.answered + one.failed == line["sampleCount"]
        if not one.failed:
            latency = one.latency_ms
            assert latency.mean == pytest.approx(line["meanResTime"])
            assert (latency.min, latency.max) == (line["minResTime"], line["maxResTime"])


def test_a_dashboard_without_errors_and_sums_has_latencies(tmp_path: Path):
    line = json.loads((DATA / "5.6.3-statistics.json").read_text())["Java"]
    found = read(tmp_path, json.dumps({"Java": line, "Total": line | {"transaction": "Total"}}))
    assert found.latency is not None
    assert found.latency.distribution.mean == line["meanResTime"]
    assert found.latency.distribution.max == line["maxResTime"]
    assert [(one.operation, one.answered) for one in found.operations] == [("Java", line["sampleCount"])]


OLD_SUMMARY = """\
2014/07/14 19:15:00 INFO  - jmeter.reporters.Summariser: summary +     13 in    14s =    0.9/s Avg:   136 \
Min:   117 Max:   188 Err:     0 (0.00%) Active: 1 Started: 1 Finished: 0
2014/07/14 19:15:00 INFO  - jmeter.reporters.Summariser: summary =    154 in   190s =    0.8/s Avg:   148 \
Min:    44 Max:   766 Err:     0 (0.00%)
"""
"""As JMeter 2.11 has logged it."""


def test_a_printed_summary_says_what_the_samples_of_the_same_load_say():
    # Its JTL has 6,000 samples of 45.15 ms on average, from 1 to 83 ms, in 68.02 s.
    found = figures("5.6.3-summary.txt")
    assert (found.answered, found.failed) == (6000, 0)
    assert 0 <= found.duration_s - 68.02 < 0.5
    assert found.latency is not None
    times = found.latency.distribution
    assert (times.mean, times.min, times.max) == (45, 1, 83)
    assert not found.contradictions
    assert not found.notes


def test_a_printed_summary_of_a_run_that_may_have_gone_on_says_so(tmp_path):
    lines = (DATA / "5.6.3-summary.txt").read_text().splitlines(keepends=True)
    sums = [number for number, line in enumerate(lines) if line.startswith("summary =")]
    found = read(tmp_path, "".join(lines[: sums[-2] + 1]))
    # As that line has it: 5,782 of the 6,000 samples.
    assert (found.answered, [note.code for note in found.notes]) == (5782, ["figures_left_out"])


def test_a_printed_summary_with_failures_has_no_times_of_answers():
    # 120 of the 6,000 samples of its JTL have failed; their times are in the mean.
    found = figures("5.6.3-summary-failures.txt")
    assert (found.answered, found.failed, found.latency) == (5880, 120, None)
    assert "failures" in found.not_measured[0]


def test_an_old_summary_behind_the_prefix_of_a_log_has_its_time_in_seconds(tmp_path):
    found = read(tmp_path, OLD_SUMMARY)
    assert (found.answered, found.failed, found.duration_s) == (154, 0, pytest.approx(190, abs=1))


def test_a_summary_that_is_cut_off_or_of_two_loads_is_not_read(tmp_path):
    text = (DATA / "5.6.3-summary.txt").read_text()
    lines = text.splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if line.startswith("summary ="))
    with pytest.raises(Unreadable, match="truncated"):
        read(tmp_path, "".join(lines[:last]))
    with pytest.raises(Unreadable, match="fewer samples"):
        read(tmp_path, text + text)
