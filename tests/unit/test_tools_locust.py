"""Tables of six versions of locust, whose names and numbers differ, say what they, or locust's text, say."""

import csv
import re
from pathlib import Path

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "locust"
TABLES = [
    "0.11.0_requests.csv", "0.14.6_stats.csv", "1.0.3_stats.csv", "1.6.0_stats.csv", "2.17.0_stats.csv",
    "2.47.0_stats.csv",
]  # fmt: skip
HISTORIES = [
    "0.14.6_stats_history.csv", "1.0.3_stats_history.csv", "1.6.0_stats_history.csv",
    "2.17.0_stats_history.csv", "2.47.0_stats_history.csv",
]  # fmt: skip
ROUNDED = TABLES[:3]
"""Those whose last line has no end."""


def figures(name: str) -> ToolFigures:
    return read_figures(Source(DATA / name), None)[0]


def columns(name: str) -> list[list[str]]:
    """The lines behind the names, as another reader of CSV gives them."""
    with (DATA / name).open(newline="") as file:
        return list(csv.reader(file))[1:]


def text_of_all(name: str) -> dict[str, float]:
    """What the text that locust prints at its end says of all requests."""
    text = (DATA / f"{name.partition('_')[0]}.txt").read_text()
    first, *_ = re.findall(r"^ +(?:Aggregated|Total) +(.+)$", text, re.MULTILINE)
    percentiles = re.findall(r"^ +(?:None +)?(?:Aggregated|Total) +(.+)$", text, re.MULTILINE)[-1].split()
    requests, _, *rest = re.split(r"[\s|]+", first)
    found = {"requests": float(requests), "rate": float(rest[-2] if len(rest) > 1 else rest[-1])}
    if len(rest) > 1:
        found |= dict(zip(("mean", "min", "max", "median"), map(float, rest), strict=False))
    has_count = name < "1.6"
    return found | {"p50": float(percentiles[has_count]), "p90": float(percentiles[has_count + 4])}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_any_version_is_recognised_and_says_what_stands_in_its_last_line(name: str):
    assert format_of(Source(DATA / name), None).name == "locust-csv"
    found, last = figures(name), columns(name)[-1]
    assert (found.answered, found.failed) == (int(last[2]), int(last[3]))
    assert found.answered / found.duration_s == pytest.approx(float(last[9]))
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.count, latency.mean, latency.min, latency.max) == (
        int(last[2]), float(last[5]), float(last[6]), float(last[7]),
    )  # fmt: skip
    assert latency.p50 == float(last[11] if len(last) > 11 else last[4])


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_what_locust_printed_at_its_end(name: str):
    """Locust writes its table once in a second or two, so the last requests may lack there."""
    found, text = figures(name), text_of_all(name)
    assert found.latency is not None
    latency = found.latency.distribution
    assert 0 <= text["requests"] - found.answered <= 10
    assert found.answered / found.duration_s == pytest.approx(text["rate"], rel=0.1)
    for ours, theirs in ((latency.min, "min"), (latency.max, "max"), (latency.mean, "mean")):
        if theirs in text:
            # The text cuts times off to whole milliseconds.
            assert int(ours) == pytest.approx(text[theirs], abs=1)
    assert latency.p50 == pytest.approx(text["p50"], abs=1)


@pytest.mark.parametrize("name", TABLES)
def test_each_kind_of_request_has_its_own_line(name: str):
    assert [(one.operation, one.answered, one.failed) for one in figures(name).operations] == [
        (f"{line[0]} {line[1]}", int(line[2]), int(line[3])) for line in columns(name)[:-1]
    ]


@pytest.mark.parametrize(
    "name",
    ["0.14.6-404_stats.csv", "1.0.3-404_stats.csv", "2.17.0-404_stats.csv"],
)
def test_failures_are_among_the_requests_of_versions_since_0_12_and_their_times_among_those_of_answers(
    name: str,
):
    found, lines = figures(name), columns(name)
    of_path = {line[1]: (int(line[2]), int(line[3])) for line in lines}
    (good, _), (missing, missed) = of_path["/1k.txt"], of_path["/none.txt"]
    assert (found.answered, found.failed) == (good, missed)
    assert missing == missed > 0
    assert found.latency is None


def test_failures_of_the_oldest_tables_are_refused_as_they_may_be_among_the_requests_or_not():
    with pytest.raises(Unreadable, match=r"line 4: found \d+ failures; expected none, or .* 0.12 or later"):
        figures("0.11.0-404_requests.csv")


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_counts_from_its_first_line_to_its_last_one(name: str):
    assert format_of(Source(DATA / name), None).name == "locust-history"
    with (DATA / name).open(newline="") as file:
        lines = list(csv.DictReader(file))
    (time,), (count,) = (
        [column for column in lines[0] if column.lower().endswith(end)]
        for end in ("timestamp", "requests" if name[0] == "0" else "request count")
    )
    first, last = lines[0], lines[-1]
    found = figures(name)
    assert found.answered == int(last[count]) - int(first[count])
    assert found.duration_s == int(last[time]) - int(first[time])
    assert found.began_unix_s == int(first[time])
    table = figures(name.replace("_history", ""))
    # Both are of one run.
    assert found.answered / found.duration_s == pytest.approx(table.answered / table.duration_s, rel=0.1)
    if found.latency is None:
        assert int(first[count]) > 0, "times of requests before the first line are among them"
    else:
        assert found.latency.distribution.max == pytest.approx(table.latency.distribution.max, abs=1)


def written(folder: Path, text: str) -> Source:
    path = folder / "table.csv"
    path.write_text(text)
    return Source(path)


@pytest.mark.parametrize("name", ROUNDED)
def test_a_table_whose_last_line_has_no_end_is_refused_where_that_is_cut_off(name: str, tmp_path: Path):
    whole = (DATA / name).read_text()
    for length in range(len(whole)):
        with pytest.raises(Unreadable):
            read_figures(written(tmp_path, whole[:length]), "locust-csv")


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("0.11.0_requests.csv", "# failures", "failed", "line 1: found no column failure count"),
        ("0.14.6_stats.csv", "# requests", "Name", "line 1: found no column request count"),
        ("0.11.0_requests.csv", "4.80", "10.80", "moments in whole seconds, and 9.6 s"),
        ("1.0.3_stats.csv", ",4.92,", ",0.04,", "line 4: found 0.04 requests/s"),
        ("2.47.0_stats.csv", "Request Count", "Requests", "line 1: found no column request count"),
    ],
)  # fmt: skip
def test_a_table_of_a_version_that_nobody_knows_is_refused(
    name: str, old: str, new: str, said: str, tmp_path: Path
):
    text = (DATA / name).read_text()
    assert old in text
    with pytest.raises(Unreadable, match=re.escape(said)):
        read_figures(written(tmp_path, text.replace(old, new)), "locust-csv")


def test_a_time_below_a_millisecond_that_locust_cut_off_to_0_is_none(tmp_path: Path):
    text = (DATA / "0.14.6_stats.csv").read_text()
    head, _, last = text.rpartition("\n")
    fast = re.sub(r",8,10,2,97,", ",0,0,0,97,", last)
    assert fast != last
    latency = read_figures(written(tmp_path, f"{head}\n{fast}"), None)[0].latency
    assert latency is not None
    assert (latency.distribution.mean, latency.distribution.min, latency.distribution.max) == (None, None, 97)


def test_a_history_whose_counts_begin_anew_is_refused(tmp_path: Path):
    lines = (DATA / "2.47.0_stats_history.csv").read_text().splitlines(keepends=True)
    moment = lines[10].partition(",")[0]
    fewer = ",".join([moment, *lines[2].split(",")[1:]])
    with pytest.raises(Unreadable, match=r"line 11: found request count .* after .* of one load"):
        read_figures(written(tmp_path, "".join([*lines[:10], fewer, *lines[11:]])), None)
    with pytest.raises(Unreadable, match=r"line 11: found timestamp .* after .* of one load"):
        read_figures(written(tmp_path, "".join([*lines[:10], lines[2], *lines[10:]])), None)


def test_a_short_history_is_refused_as_its_moments_are_whole_seconds(tmp_path: Path):
    lines = (DATA / "2.47.0_stats_history.csv").read_text().splitlines(keepends=True)
    with pytest.raises(Unreadable, match="moments in whole seconds"):
        read_figures(written(tmp_path, "".join(lines[:10])), None)


def test_the_users_of_a_history_are_its_load():
    found = figures("users-made_stats_history.csv")
    # 1,200 requests from the first line to the last, 30 s later, by 20 users.
    assert (found.answered, found.duration_s, found.asked.connections, found.notes) == (1_200, 30, 20, [])
    assert figures("2.47.0_stats_history.csv").asked.connections == 2


def test_users_that_changed_are_said(tmp_path: Path):
    text = (DATA / "users-made_stats_history.csv").read_text().replace("015,20,", "015,10,")
    found = read_figures(written(tmp_path, text), None)[0]
    assert found.asked.connections == 20
    assert "from 10 to 20 users" in found.notes[0].text


@pytest.mark.parametrize("name", TABLES)
def test_what_a_table_lacks_of_its_run_is_said(name: str):
    assert any("between the last time and the end of the run" in note.text for note in figures(name).notes)


@pytest.mark.parametrize(
    ("longest_ms", "step_ms"),
    [(60, 1.0), (99, 1.0), (100, 10.0), (990, 10.0), (1_000, 100.0), (9_900, 100.0), (10_000, 1_000.0)],
)
def test_the_step_of_times_is_that_of_the_longest_percentile(longest_ms: int, step_ms: float, tmp_path: Path):
    """Locust rounds times to 1 ms below 100 ms, to 10 ms below 1 s, to 100 ms below 10 s, and then to 1 s."""
    with (DATA / "2.47.0_stats.csv").open(newline="") as file:
        names, *rows = csv.reader(file)
    last = rows[-1]
    last[names.index("99%")] = str(longest_ms)
    for later in ("99.9%", "99.99%", "100%"):
        last[names.index(later)] = "N/A"
    text = "".join(",".join(row) + "\r\n" for row in (names, last))
    latency = read_figures(written(tmp_path, text), None)[0].latency
    assert latency is not None
    assert latency.resolution_ms == step_ms
