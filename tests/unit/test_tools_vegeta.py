"""What three versions of vegeta wrote, with 7, 9 and 12 columns, says what their own reports of it say."""

import csv
import json
import re
from pathlib import Path

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "vegeta"
VERSIONS = ["7.0.3", "8.0.0", "12.8.4"]
_MS = {"µs": 1e-3, "ms": 1.0, "s": 1e3}


def figures(name: str) -> ToolFigures:
    return read_figures(Source(DATA / name), None)[0]


def printed(version: str, line: str) -> dict[str, str]:
    """A line of the text of ``vegeta report``, by the names that it gives in brackets."""
    text = (DATA / f"{version}-report.txt").read_text()
    found = re.search(rf"^{line} +\[(.+?)\] +(.+)$", text, re.MULTILINE)
    assert found is not None
    return dict(zip(found[1].split(", "), found[2].split(", "), strict=True))


def in_ms(text: str) -> float:
    found = re.fullmatch(r"([\d.]+)(µs|ms|s)", text)
    assert found is not None
    return float(found[1]) * _MS[found[2]]


@pytest.mark.parametrize(
    ("name", "format_name"),
    [(f"{version}.csv", "vegeta-csv") for version in VERSIONS]
    + [(f"{version}.jsonl", "vegeta-json") for version in VERSIONS[:2]]
    + [(f"{version}-report.json", "vegeta-report") for version in VERSIONS],
)
def test_each_form_of_each_version_is_recognised_and_says_what_vegeta_printed(name: str, format_name: str):
    assert format_of(Source(DATA / name), None).name == format_name
    version, found = re.split(r"-report|\.csv|\.jsonl", name)[0], figures(name)
    requests, duration = printed(version, "Requests"), printed(version, "Duration")
    assert found.answered == int(requests["total"])
    assert found.failed == 0
    assert found.duration_s * 1e3 == pytest.approx(in_ms(duration["total"]), rel=1e-5)
    assert found.status is not None
    counted = printed(version, "Status Codes")["code:count"].split()
    assert {f"{pair[0]}xx": int(pair.split(":")[1]) for pair in counted} == {
        name: count for name, count in found.status.items() if count
    }
    assert found.bytes_body == int(printed(version, "Bytes In")["total"])
    latencies, ours = printed(version, "Latencies"), found.latency
    assert ours is not None
    assert ours.distribution.mean == pytest.approx(in_ms(latencies["mean"]), rel=1e-3)
    assert ours.distribution.max == pytest.approx(in_ms(latencies["max"]), rel=1e-3)
    # Vegeta estimates percentiles.
    assert ours.distribution.p50 == pytest.approx(in_ms(latencies["50"]), rel=0.1)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_shortest_time_and_the_percentile_90_are_known_where_a_report_has_them(version: str):
    shown = json.loads((DATA / f"{version}-report.json").read_text())["latencies"]
    latency = figures(f"{version}-report.json").latency
    assert latency is not None
    for ours, theirs in ((latency.distribution.min, "min"), (latency.distribution.p90, "90th")):
        assert ours == (shown[theirs] / 1e6 if theirs in shown else None)


def test_refused_connections_of_an_old_version_have_their_class():
    with (DATA / "7.0.3-refused.csv").open(newline="") as file:
        count = sum("connection refused" in line[5] for line in csv.reader(file))
    found = figures("7.0.3-refused.csv")
    assert (found.answered, found.failed, found.errors["connect_refused"]) == (0, count, count)


@pytest.mark.parametrize("columns", [6, 8, 10, 13])
def test_a_csv_with_another_number_of_columns_is_refused(columns: int, tmp_path: Path):
    with (DATA / "8.0.0.csv").open(newline="") as file:
        lines = [(line + ["x"] * 4)[:columns] for line in csv.reader(file)]
    path = tmp_path / "vegeta.csv"
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    with pytest.raises(
        Unreadable, match=rf"line 1: found {columns} columns; expected .* of 7, 9 or 12 columns"
    ):
        read_figures(Source(path), "vegeta-csv")


def test_a_line_of_another_version_within_a_csv_is_refused(tmp_path: Path):
    path = tmp_path / "vegeta.csv"
    path.write_text((DATA / "7.0.3.csv").read_text() + (DATA / "8.0.0.csv").read_text())
    with pytest.raises(Unreadable, match="line 41: found 9 columns"):
        read_figures(Source(path), None)


TEXTS = [
    "vegeta/7.0.3-", "vegeta/8.0.0-", "vegeta/12.8.4-", "vegeta/12.12.0-half-", "vegeta/12.12.0-closed-",
    "vegeta/12.12.0-refused-",
]  # fmt: skip


@pytest.mark.parametrize("name", [*TEXTS, "vegeta-"])
def test_its_text_says_what_the_json_of_the_same_requests_says(name: str):
    text, report = (DATA.parent / f"{name}report.{form}" for form in ("txt", "json"))
    assert format_of(Source(text), None).name == "vegeta-text"
    ours, theirs = (read_figures(Source(path), None)[0] for path in (text, report))
    for count in ("answered", "failed", "status", "errors", "bytes_body"):
        assert getattr(ours, count) == getattr(theirs, count)
    # It rounds to three decimals of its unit.
    assert ours.duration_s == pytest.approx(
        theirs.duration_s, abs=5.1e-7 if theirs.duration_s < 1 else 5.1e-4
    )
    assert (ours.latency is None) == (theirs.latency is None)
    if ours.latency is not None and theirs.latency is not None:
        for figure in ("min", "mean", "p50", "p90", "p95", "p99", "max"):
            shown, exact = (getattr(one.latency.distribution, figure) for one in (ours, theirs))
            assert (shown is None) == (exact is None)
            assert shown is None or shown == pytest.approx(exact, abs=5.1e-4)


def test_a_text_of_failures_has_no_latency_of_answers():
    found = read_figures(Source(DATA / "12.12.0-closed-report.txt"), None)[0]
    assert (found.answered, found.failed, found.errors["closed_early"], found.latency) == (93, 7, 7, None)
    assert found.not_measured == ["latencies of answers: vegeta summarises those of failures with them"]


def test_a_text_whose_rate_does_not_fit_is_said(tmp_path: Path):
    text = (DATA / "12.12.0-half-report.txt").read_text()
    (tmp_path / "text").write_text(text.replace("100, 101.05", "100, 111.05"))
    [said] = read_figures(Source(tmp_path / "text"), None)[0].contradictions
    assert said == "100 requests in 0.989585 s are 101.1/s, and it says 111.05/s"


def test_a_text_that_is_cut_off_is_refused_or_lacks_nothing(tmp_path: Path):
    lines = (DATA / "12.12.0-half-report.txt").read_text().splitlines(keepends=True)
    whole = read_figures(Source(DATA / "12.12.0-half-report.txt"), None)[0]
    for count in range(1, len(lines)):
        (tmp_path / "cut").write_text("".join(lines[:count]))
        try:
            found = read_figures(Source(tmp_path / "cut"), "vegeta-text")[0]
        except Unreadable:
            continue
        assert found == whole, f"cut behind {lines[count - 1]!r}"


def test_a_line_of_statuses_without_spaces_is_refused_at_once(tmp_path: Path):
    text = (DATA / "12.12.0-half-report.txt").read_text()
    (tmp_path / "text").write_text(text.replace("200:52  404:48", "1:111" * 200 + "x"))
    with pytest.raises(Unreadable, match="Status Codes"):
        read_figures(Source(tmp_path / "text"), None)


def test_bodies_of_megabytes_change_nothing(tmp_path: Path):
    """vegeta writes the body of each answer, in base64, also beside a line that cannot be read."""
    rows = [
        row for _, row in zip(range(4), (DATA.parent / "vegeta.csv").read_text().splitlines(), strict=False)
    ]
    (tmp_path / "short").write_text("\n".join(rows) + "\n")
    body = "QUJD" * 500_000
    long = [",".join([*row.split(",")[:6], body, *row.split(",")[7:]]) for row in rows]
    (tmp_path / "long").write_text("\n".join(long) + "\n")
    (tmp_path / "odd").write_text("\n".join([*long[:2], "odd", *long[2:]]) + "\n")
    short, whole, beside = (
        read_figures(Source(tmp_path / name), None)[0] for name in ("short", "long", "odd")
    )
    assert short == whole
    assert beside.answered == short.answered == 4
