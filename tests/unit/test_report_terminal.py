"""The summary in the terminal."""

import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean

import pytest
from rich.console import Console, Group
from rich.text import Text

from loadcurve.analysis.analysis import analyse
from loadcurve.report.answer import answer_words
from loadcurve.report.column import NAMES, Column
from loadcurve.report.long_table import summary_table
from loadcurve.report.section import Report
from loadcurve.report.terminal import print_results, summary
from loadcurve.report.terminal_tables import CHARACTERS_MAX, as_it_is, bounded, column_table, point_column
from loadcurve.result.folder import read_run
from loadcurve.units import listing
from support import synthetic_run as synthetic
from support import terminal
from support.findings import finding


def printed(folder: Path) -> list[str]:
    return terminal.printed(summary(Report(read_run(folder), analyse(read_run(folder))))).splitlines()


def table_of(folder: Path) -> list[str]:
    """The lines before what the table leaves out."""
    lines = printed(folder)
    return lines[: next(place for place, line in enumerate(lines) if "are not in this table" in line)]


def test_each_server_has_at_most_six_points_with_the_first_and_the_last(tmp_path: Path):
    header, *lines = printed(synthetic.write_run(tmp_path))
    assert header.split()[:2] == ["server", "connections"]
    nginx = lines[: [line.startswith("apache") for line in lines].index(True)]
    assert len(nginx) == 6
    assert nginx[0].split() == ["nginx", "1", "4,200", "±", "5.0", "%", "0.215", "0.603", "valid"]
    assert nginx[-1].split()[:2] == ["200", "40,191"]


def test_a_missing_server_is_said_to_be_missing(tmp_path: Path):
    assert table_of(synthetic.write_run(tmp_path))[-1].split() == ["absent", "—", "—", "—", "—", "missing"]


def test_a_server_that_was_not_reached_is_not_shown_as_zero(tmp_path: Path):
    lines = printed(synthetic.write_run(tmp_path, records=[]))
    assert lines[1].split() == ["nginx", "—", "—", "—", "—", "not", "measured"]


@pytest.mark.parametrize("name", ["[red]x[/red]", "a-name-that-is-far-too-long-for-any-terminal-to-hold"])
def test_any_name_fits_80_columns_and_is_no_markup(tmp_path: Path, name: str):
    lines = printed(synthetic.write_renamed_run(tmp_path, "tiny", name))
    # The heading, three servers, the missing one, and how many points are left out.
    assert lines.index("") == 1 + 3 * 6 + 1 + 1
    short = name if len(name) <= 16 else f"{name[:8]}…{name[-7:]}"
    assert any(line.startswith(f"{short} ") for line in lines)


def test_what_a_run_prints_begins_with_the_answer_and_ends_with_the_curves(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    analysis = analyse(run)
    out = io.StringIO()
    print_results(Report(run, analysis), Console(file=out, width=80))
    title, *lines = out.getvalue().splitlines()
    assert title == "Answer"
    said = lines[: lines.index("")]
    assert " ".join(map(str.strip, said)) == answer_words(analysis)
    assert lines[len(said) + 1].split()[:2] == ["server", "connections"]
    assert "along connections, 1 to 200" in lines[-8:]


@pytest.mark.parametrize("with_findings", [False, True])
def test_the_parts_of_what_a_run_prints_are_one_empty_line_apart(tmp_path: Path, with_findings: bool):
    run = read_run(synthetic.write_run(tmp_path))
    found = [finding(1)] if with_findings else []
    out = io.StringIO()
    report = Report(run, replace(analyse(run), findings=found))
    print_results(report, Console(file=out, width=80))
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert ("Findings" in lines) == with_findings
    assert "along connections, 1 to 200" in lines
    assert [pair for pair in pairwise(lines) if pair == ("", "")] == []


def test_the_ranking_says_who_is_ahead_by_how_much_and_what_is_left_out(tmp_path: Path):
    words = " ".join(" ".join(printed(synthetic.write_run(tmp_path))).split())
    assert "ranking over the curve: 3 blocks, 8 points" in words
    apache, tiny = synthetic.SERVERS["apache"], synthetic.SERVERS["tiny"]
    ratio = geometric_mean(apache.throughput_rps(c) / tiny.throughput_rps(c) for c in synthetic.CONNECTIONS)
    assert f"apache has {ratio:.2f} ({ratio:.2f} to {ratio:.2f}) times the throughput of tiny" in words
    assert "left out: apache at connections = 50, 100 and 200: block 2 not measured" in words
    assert "left out: tiny at connections = 100: block 2 invalid" in words
    assert "The smallest difference over the curve that is detected" in words


def test_the_noise_of_a_run_is_said_to_come_from_servers_that_are_the_same(tmp_path: Path):
    run = synthetic.run_record()
    twin = run.servers["apache"]
    run = run.model_copy(update={"servers": dict.fromkeys(run.servers, twin)})
    words = " ".join(" ".join(printed(synthetic.write_run(tmp_path, run))).split())
    assert f"from {listing(list(run.servers))}, which are the same server" in words


def test_one_trial_is_said_to_have_no_interval_and_no_ranking(tmp_path: Path):
    record = synthetic.run_record()
    order = [planned for planned in record.order if planned.block == 0]
    records = [one for one in synthetic.trial_records(record) if one.block == 0]
    folder = synthetic.write_run(tmp_path, record.model_copy(update={"order": order}), records)
    words = " ".join(" ".join(printed(folder)).split())
    assert "With one usable trial of each server there is no interval, and no ranking." in words
    assert "one trial of each server has no interval, so they cannot be ranked" in words
    assert "±" not in words
    assert "smallest difference" not in words


@pytest.mark.parametrize(
    ("keys", "heading"),
    [
        (["connection_rate"], ["connection", "rate"]),
        (["connection_rate", "think"], ["connection", "rate,", "think (s)"]),
    ],
)
def test_the_heading_of_the_points_breaks_between_words_however_narrow_it_gets(keys, heading):
    table = column_table(["1"], [point_column(keys, str), Column("x" * 70, lambda _: "", NAMES)])
    lines = terminal.printed(table).splitlines()
    assert [line[:12].strip() for line in lines[: len(heading)]] == heading


def test_texts_that_nobody_reads_to_the_end_are_cut():
    words = "word " * 200_000
    shown = bounded(Group(Text(words), Text("short", style="bold"), Group(Text(words))))
    assert isinstance(shown, Group)
    long, short, inside = shown.renderables
    assert isinstance(inside, Group)
    assert short == Text("short", style="bold")
    for one in (long, *inside.renderables, as_it_is(words)):
        assert isinstance(one, Text)
        assert one.plain == f"{words[: CHARACTERS_MAX - 1]}…"
    assert as_it_is("short").plain == "short"


def test_a_row_whose_figures_are_of_some_trials_says_how_many_are_invalid(run):
    analysis = analyse(run)
    curve = next(one for one in analysis.curves if one.points[0].trials)

    def row_with(*verdicts):
        point = replace(curve.points[0], verdicts=list(verdicts))
        table = summary_table(replace(analysis, curves=[replace(curve, points=[point])]))
        return next(line for line in terminal.printed(table).splitlines() if line.startswith(curve.server))

    assert row_with("valid", "invalid", "suspect").endswith("1 of 3 invalid")
    assert row_with("invalid", "invalid").rstrip().endswith("  invalid")
    assert row_with("valid", "suspect").rstrip().endswith("suspect")


@pytest.mark.parametrize("figure", ["1,570 (factor above 1,000)", "1,234,570 (factor above 1,000)"])
def test_wide_figures_beside_limits_leave_a_verdict_its_room_in_80_columns(run, monkeypatch, figure):
    monkeypatch.setattr("loadcurve.report.text.short_estimate", lambda _: figure)
    monkeypatch.setattr("loadcurve.report.long_table.limits_words", lambda _: "1 of 2 held")
    monkeypatch.setattr("loadcurve.report.judged.Judged.__bool__", lambda _: True)
    analysis = analyse(run)
    curve = next(one for one in analysis.curves if one.points[0].trials)
    point = replace(curve.points[0], verdicts=["suspect"])
    text = terminal.printed(summary_table(replace(analysis, curves=[replace(curve, points=[point])])))
    assert "verdict" in text
    assert "suspect" in text
    assert all(word in text for word in figure.split())


@pytest.mark.parametrize(("answered", "is_said"), [(200, True), (5000, False)])
def test_a_percentile_without_a_figure_has_its_reason_below_the_table(run, answered, is_said):
    def without_p99(one):
        latency_ms = one.load.latency_ms.model_copy(update={"p99": None})
        counts = {"due": answered, "sent": answered, "answered": answered, "ok": answered}
        requests = one.load.requests.model_copy(update=counts)
        return synthetic.with_load(one, latency_ms=latency_ms, requests=requests)

    records = [without_p99(one) for one in run.points if one.server == "nginx"]
    changed = synthetic.with_records(run, records)
    shown = " ".join(terminal.printed(summary(Report(changed, analyse(changed)))).split())
    # At 0.025 on either side, log(0.025) / log(0.99) answers bound a p99.
    assert ("too few answers: p99 requires 368 in a trial" in shown) == is_said
