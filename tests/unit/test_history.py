"""A history: runs are added once, merged without a conflict, and never joined with what is different."""

import gc
import hashlib
import io
import json
import math
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from loadcurve import units
from loadcurve.analysis.history import conditions_digest, entry_of, studies_of
from loadcurve.analysis.numbers import analysis_of
from loadcurve.cli.history import _commit_of, add_command
from loadcurve.errors import BadInput
from loadcurve.report.charts.history import history_figure
from loadcurve.report.history import changes_in_words, commit_words, history_json, history_lines
from loadcurve.report.history_page import render_history
from loadcurve.result.checksum import sealed
from loadcurve.result.history import HistoryEntry, HistoryFigure, HistoryMachine, add_entry, read_history
from loadcurve.result.records import SearchRecord
from support import schemas
from support import synthetic_run as synthetic
from support.measured_noise import MEASURED

MACHINE = HistoryMachine(fingerprint="a" * 64, name="a processor, 2 CPUs, 8 GiB", kernel="6.1")


def entry(number: int, value: float = 100.0, **changed: Any) -> HistoryEntry:
    """The entry of a run with one figure, the number being its minute."""
    figure = HistoryFigure(
        arm="nginx", point={"connections": 10.0}, measure="throughput_rps",
        value=value, low=value * 0.99, high=value * 1.01, n=3,
    )  # fmt: skip
    known: dict[str, Any] = {
        "format": "loadcurve-history/1", "run": f"{number:064x}", "folder": "run", "loadcurve_version": "1",
        "started_at": f"2026-03-14T{number // 60:02}:{number % 60:02}:00Z", "commit": f"commit{number}",
        "title": "a study", "study_sha256": None, "conditions": "c", "machine": MACHINE,
        "servers": {"nginx": "1.26"}, "figures": [figure],
    }  # fmt: skip
    return HistoryEntry.model_validate(known | changed)


def test_a_run_is_added_with_the_figures_of_every_point_and_arm(tmp_path: Path):
    folder = synthetic.write_run(tmp_path / "run").parent / "run"
    made = entry_of(folder, "1a2b3c", tmp_path / "history")
    add_entry(tmp_path / "history", made)
    (read,) = read_history(tmp_path / "history").entries
    schemas.validate(json.loads((tmp_path / "history" / f"{made.run}.json").read_text()), "history")
    assert (read.commit, read.started_at) == ("1a2b3c", "2026-03-14T09:26:53Z")
    truth = synthetic.SERVERS["nginx"].throughput_rps(50)
    figures = [one for one in read.figures if (one.arm, one.point) == ("nginx", {"connections": 50.0})]
    by_measure = {one.measure: one for one in figures}
    assert by_measure["throughput_rps"].value == pytest.approx(truth)
    assert by_measure["throughput_rps"].high == pytest.approx(truth * synthetic.REACH)
    assert {"latency_p50_ms", "latency_p90_ms", "latency_p99_ms"} <= set(by_measure)


def test_a_copy_of_a_run_is_the_same_run(tmp_path: Path):
    synthetic.write_run(tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    first, second = (entry_of(tmp_path / name, None, tmp_path / "history") for name in ("run", "copy"))
    assert first.run == second.run
    assert add_entry(tmp_path / "history", first) == "added"
    assert add_entry(tmp_path / "history", second) == "already there"


def test_two_writers_who_add_different_runs_merge_to_both(tmp_path: Path):
    add_entry(tmp_path / "one", entry(1))
    add_entry(tmp_path / "other", entry(2))
    add_entry(tmp_path / "other", entry(1))
    for file in (tmp_path / "one").iterdir():
        merged = tmp_path / "other" / file.name
        assert merged.read_bytes() == file.read_bytes()
    assert [one.run for one in read_history(tmp_path / "other").entries] == [entry(1).run, entry(2).run]


def test_an_entry_is_never_changed_by_another_commit(tmp_path: Path):
    add_entry(tmp_path, entry(1))
    with pytest.raises(BadInput, match="with the commit commit1 and not another"):
        add_entry(tmp_path, entry(1, commit="another"))
    assert read_history(tmp_path).entries == (entry(1),)


def test_a_run_that_was_added_before_it_was_resumed_and_after_is_one_run(tmp_path: Path):
    def of_trials(count: int, digit: str) -> HistoryEntry:
        figures = [one.model_copy(update={"n": count}) for one in entry(1).figures]
        return entry(1, run=digit * 64, figures=figures)

    whole = of_trials(9, "b")
    # Neither the order of the digests decides, nor is a load of another server, begun at once, the same run.
    other_load = entry(1, run="d" * 64, servers={"caddy": "2"})
    for one in (entry(0), of_trials(3, "a"), whole, of_trials(6, "c"), other_load, entry(2)):
        add_entry(tmp_path, one)
    assert read_history(tmp_path).entries == (entry(0), whole, other_load, entry(2))
    [study] = studies_of(read_history(tmp_path).entries)
    assert len(study.series[0].entries) == 4


def test_a_damaged_file_is_named_and_the_others_are_read(tmp_path: Path):
    for number in (1, 2):
        add_entry(tmp_path, entry(number))
    file = tmp_path / f"{entry(1).run}.json"
    file.write_bytes(file.read_bytes().replace(b"100.0", b"900.0", 1))
    found = read_history(tmp_path)
    assert found.entries == (entry(2),)
    assert len(found.damage) == 1
    assert f"{file} was changed" in found.damage[0]


def test_reading_a_history_leaves_the_collector_of_cycles_as_it_was(tmp_path: Path):
    add_entry(tmp_path, entry(1))
    for was_enabled in (False, True):
        (gc.enable if was_enabled else gc.disable)()
        try:
            read_history(tmp_path)
            assert gc.isenabled() == was_enabled
        finally:
            gc.enable()


def test_a_file_under_the_name_of_another_run_is_named(tmp_path: Path):
    add_entry(tmp_path, entry(1))
    (tmp_path / f"{entry(1).run}.json").rename(tmp_path / "renamed.json")
    assert "is the entry of another run" in read_history(tmp_path).damage[0]


def test_a_history_of_a_newer_version_is_refused(tmp_path: Path):
    newer = entry(1).model_dump_json().replace("loadcurve-history/1", "loadcurve-history/2")
    (tmp_path / f"{entry(1).run}.json").write_bytes(sealed(newer))
    with pytest.raises(BadInput, match="has the format loadcurve-history/2"):
        read_history(tmp_path)


def test_where_there_is_no_history_the_error_says_how_one_begins(tmp_path: Path):
    with pytest.raises(BadInput, match="loadcurve history add"):
        read_history(tmp_path / "none")


def test_a_run_that_cannot_be_read_leaves_the_history_as_it_was(tmp_path: Path):
    synthetic.write_run(tmp_path / "run")
    with pytest.raises(BadInput):
        add_command([tmp_path / "run", tmp_path / "none"], tmp_path / "history", None)
    assert not (tmp_path / "history").exists()


STEP = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 120.0, 121.0, 119.0, 120.4, 119.6, 120.1]


def test_a_step_is_named_by_its_commit_and_its_size():
    (study,) = studies_of([entry(number, value) for number, value in enumerate(STEP)])
    (series,) = study.series
    (words,) = changes_in_words(series)
    assert "since commit6" in words
    # 120.02 over 100.03.
    assert "+20.0 % (" in words


def test_no_change_is_smaller_than_the_machines_own_noise():
    steady = [entry(number, 100.0 if number < 10 else 110.0) for number in range(20)]
    assert studies_of(steady)[0].series[0].changes.points
    noisy = [
        one.model_copy(update={"figures": [one.figures[0].model_copy(update={"noise": 0.15})]})
        for one in steady
    ]
    changes = studies_of(noisy)[0].series[0].changes
    assert (changes.points, changes.noise) == ((), pytest.approx(0.15))


def test_an_entry_has_the_noise_of_the_machine_for_as_many_trials(tmp_path: Path):
    record = synthetic.run_record().model_copy(update={"noise": MEASURED})
    made = entry_of(synthetic.write_run(tmp_path / "run", record), None, tmp_path / "history")
    by_measure = {one.measure: one for one in made.figures}
    throughput = by_measure["throughput_rps"]
    # A ratio of two trials spreads by 0.02, and so one trial by 0.02 / √2.
    sd = 0.02 / math.sqrt(2) / math.sqrt(throughput.n)
    assert throughput.noise == pytest.approx(math.exp(1.96 * sd) - 1, rel=1e-3)
    assert by_measure["latency_p50_ms"].noise is None


def test_runs_of_different_machines_are_never_joined():
    other = MACHINE.model_copy(update={"fingerprint": "b" * 64})
    entries = [
        entry(number, value, machine=other if value > 110 else MACHINE) for number, value in enumerate(STEP)
    ]
    (study,) = studies_of(entries)
    assert [len(one.entries) for one in study.series] == [6, 6]
    assert all(one.changes is not None and not one.changes.points for one in study.series)


def test_machines_of_one_name_are_shown_by_the_beginning_of_their_fingerprints(tmp_path: Path):
    other = MACHINE.model_copy(update={"fingerprint": "b" * 64})
    for number in range(4):
        add_entry(tmp_path, entry(number, machine=other if number % 2 else MACHINE))
    found = read_history(tmp_path)
    console = Console(file=io.StringIO(), width=80)
    console.print(history_lines(found, studies_of(found.entries)))
    page = render_history(found, studies_of(found.entries))
    for part in ("aaaaaaaa", "bbbbbbbb"):
        assert f"on {MACHINE.name} ({part})" in console.file.getvalue().splitlines()
        assert f"{MACHINE.name} ({part})" in page


def test_runs_of_different_loads_are_never_joined():
    entries = [entry(number, value, conditions=str(value > 110)) for number, value in enumerate(STEP)]
    assert [len(study.series[0].entries) for study in studies_of(entries)] == [6, 6]


def test_an_option_that_a_newer_version_knows_and_is_off_does_not_end_a_series(tmp_path: Path):
    run = synthetic.write_run(tmp_path / "run")
    load, content = (analysis_of(run).run.conditions[name] for name in ("load", "content"))
    today = entry_of(run, None, tmp_path)
    # Digests were made of all options, and before that of those without "sockets".
    without = load | {"extension": None, "answer_id": None}
    forms = [without | {"sockets": None}, without]
    canonical = [
        json.dumps({"content": content, "load": one}, sort_keys=True, separators=(",", ":")) for one in forms
    ]
    before = [hashlib.sha256(one.encode()).hexdigest() for one in canonical]
    entries = [entry(number, conditions=conditions) for number, conditions in enumerate(before)]
    assert len(studies_of(entries)) == 2
    joined = today.model_copy(update={"figures": entry(2).figures, "machine": MACHINE})
    [study] = studies_of([*entries, joined])
    assert (study.conditions, len(study.series[0].entries)) == (today.conditions, 3)


@pytest.mark.parametrize(
    ("option", "is_same"),
    [
        ({"sockets": None, "early_data": 0.0, "tls": {}, "body": "", "full_handshakes": 1.0}, True),
        ({"sockets": "thread"}, False),
        ({"full_handshakes": 0.0}, False),
        ({"tls": {"verify": False}}, False),
        ({"headers": {"Accept": ""}}, False),
    ],
)
def test_options_that_are_off_are_no_part_of_the_conditions(tmp_path: Path, option, is_same: bool):
    analysis = analysis_of(synthetic.write_run(tmp_path / "run"))
    before = conditions_digest(analysis)
    analysis.run.conditions["load"].update(option)
    assert (conditions_digest(analysis) == before) == is_same


def test_runs_of_unknown_machines_are_shown_and_not_searched():
    unknown = MACHINE.model_copy(update={"fingerprint": None})
    (study,) = studies_of([entry(number, value, machine=unknown) for number, value in enumerate(STEP)])
    assert "the machine is unknown" in next(changes_in_words(study.series[0]))


def test_a_new_kernel_does_not_end_a_series():
    newer = MACHINE.model_copy(update={"kernel": "6.2"})
    entries = [
        entry(number, value, machine=newer if value > 110 else MACHINE) for number, value in enumerate(STEP)
    ]
    (study,) = studies_of(entries)
    assert len(study.series[0].entries) == len(STEP)


def history_of(folder: Path, values: list[float]):
    for number, value in enumerate(values):
        add_entry(folder, entry(number, value))
    found = read_history(folder)
    return found, studies_of(found.entries)


def test_the_terminal_has_a_line_for_each_series_within_80_columns_and_its_change(tmp_path: Path):
    console = Console(file=io.StringIO(), width=80)
    console.print(
        history_lines(*history_of(tmp_path, [100.0, 101, 99, 100, 101, 99, 100, 130, 131, 129, 130]))
    )
    printed = console.file.getvalue()
    [line] = [one for one in printed.splitlines() if one.startswith("  requests/s")]
    assert "nginx, connections = 10" in printed.splitlines()
    assert line.endswith("1 change")
    assert "throughput of nginx at connections = 10: +" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert "loadcurve gate runs both" in printed


def test_what_would_confirm_a_change_is_only_said_where_there_is_one(tmp_path: Path):
    console = Console(file=io.StringIO(), width=80)
    console.print(history_lines(*history_of(tmp_path, [100.0, 101, 99, 100, 101, 99, 100, 101])))
    assert "loadcurve gate" not in console.file.getvalue()


@pytest.mark.parametrize(("runs", "said"), [(5, "after 6 runs of a study"), (6, "No change is shown.\n")])
def test_a_history_that_is_too_short_for_a_change_says_how_long_one_is(tmp_path: Path, runs: int, said: str):
    console = Console(file=io.StringIO(), width=200)
    history = history_of(tmp_path, [100.0] * runs)
    console.print(history_lines(*history))
    assert said in console.file.getvalue()
    assert said.strip() in render_history(*history)


def test_the_page_has_a_figure_by_the_measures_heading_and_the_change(tmp_path: Path):
    page = render_history(*history_of(tmp_path, [100.0, 101, 99, 100, 101, 99, 100, 130, 131, 129, 130]))
    assert "requests/s</p>" in page.lower()
    assert "since commit7" in page


def lines_of(folder: Path, *versions: str) -> list[str]:
    """Where the figure of a history of runs with these versions has lines, in words."""
    for number, version in enumerate(versions):
        add_entry(folder, entry(number, servers={"nginx": version}))
    [study] = studies_of(read_history(folder).entries)
    rows = history_figure(study.series[0]).specification["datasets"].values()
    return [row["said"] for some in rows for row in some if "said" in row]


def test_runs_without_a_figure_are_gaps_and_the_last_figure_is_not_shown_as_todays(tmp_path: Path):
    for number in range(12):
        is_gap = number in {4, 10, 11}
        figures = [] if is_gap else entry(number, 100.0 + number).figures
        add_entry(tmp_path, entry(number, figures=figures))
    found = read_history(tmp_path)
    [study] = studies_of(found.entries)
    [series] = study.series
    assert (len(series.runs), len(series.entries), series.missing) == (12, 9, 2)
    console = Console(file=io.StringIO(), width=80)
    console.print(history_lines(found, [study]))
    printed = console.file.getvalue()
    assert printed.startswith("12 runs (3 without any figure), ")
    assert "nginx, connections = 10: no figure in the last 2 runs" in printed
    [line] = [one for one in printed.splitlines() if one.startswith("  requests/s")]
    # 100 to 109 in eight levels, without the fifth, and no number for today.
    assert line.split()[:4] == ["requests/s", units.ABSENT, "▁▂▃▃", "▅▆▆▇█"]
    [shown] = history_json(found, [study])["studies"][0]["series"]
    assert [one["value"] is None for one in shown["runs"]] == [one in {4, 10, 11} for one in range(12)]
    page = render_history(found, [study])
    assert "no figure in the last 2 runs" in page
    assert "12 runs (3 without any figure)" in page
    figure = history_figure(series)
    assert figure.alternative.startswith("requests/s over 12 runs, 3 without a figure: ")
    rows = [row for some in figure.specification["datasets"].values() for row in some if "y" in row]
    assert {(row["x"], row["part"]) for row in rows} == {
        *((number + 1, 0) for number in range(4)),
        *((number + 1, 1) for number in range(5, 10)),
    }


def test_a_study_that_never_had_a_figure_says_so(tmp_path: Path):
    for number in range(3):
        add_entry(tmp_path, entry(number, figures=[]))
    found = read_history(tmp_path)
    studies = studies_of(found.entries)
    console = Console(file=io.StringIO(), width=80)
    console.print(history_lines(found, studies))
    assert "no figure in 3 runs" in console.file.getvalue()
    assert "no figure in 3 runs" in render_history(found, studies)


def test_a_run_that_was_not_to_measure_a_point_is_no_gap_of_it():
    other = [entry(0).figures[0].model_copy(update={"point": {"connections": 20.0}})]
    entries = [
        entry(0),
        entry(1, study_sha256="2" * 64, figures=other),
        entry(2, servers={"caddy": "2"}, figures=[]),
        entry(3),
        entry(4, figures=other),
    ]
    [study] = studies_of(entries)
    of_ten = next(one for one in study.series if one.point == {"connections": 10.0})
    # The last run has the study of those with the figure, and the other two another sweep or arm.
    assert [one.run for one in of_ten.runs] == [entries[0].run, entries[3].run, entries[4].run]
    assert of_ten.missing == 1


def test_a_change_is_drawn_at_the_run_that_it_is_of_beside_gaps(tmp_path: Path):
    values = [100.0, 101, 99, None, 100, 101, 99, None, 130, 131, 129, 130]
    for number, value in enumerate(values):
        add_entry(tmp_path, entry(number, value) if value else entry(number, figures=[]))
    [study] = studies_of(read_history(tmp_path).entries)
    rows = history_figure(study.series[0]).specification["datasets"].values()
    # The ninth run is the first after the step, counted with the gaps.
    assert [row["x"] for some in rows for row in some if "said" in row] == [8.5]


def test_a_run_without_a_figure_is_added_with_words_for_it(tmp_path: Path, capsys):
    record = synthetic.run_record()
    synthetic.write_run(tmp_path / "run", record, [])
    add_command([tmp_path / "run"], tmp_path / "history", None)
    assert "has no valid point" in " ".join(capsys.readouterr().err.split())
    [added] = read_history(tmp_path / "history").entries
    assert added.figures == []


def test_a_line_marks_where_a_server_is_another_one(tmp_path: Path):
    assert lines_of(tmp_path, "1", "1", "1", "2", "2", "2") == ["nginx 1 → 2"]


def test_a_history_of_releases_has_no_line_at_each_run(tmp_path: Path):
    assert lines_of(tmp_path, "1", "2", "3", "4", "5", "6") == []


def test_an_interval_that_is_wide_does_not_stretch_the_axis_of_a_figure(tmp_path: Path):
    wide = HistoryFigure(
        arm="nginx", point={"connections": 10.0}, measure="latency_p50_ms", value=1, low=0.01, high=90, n=2
    )
    for number in range(8):
        add_entry(tmp_path, entry(number, figures=[wide]))
    [study] = studies_of(read_history(tmp_path).entries)
    [series] = study.series
    assert '"domain": [0.9, 1.1]' in json.dumps(history_figure(series).specification)


@pytest.mark.parametrize(
    ("commit", "shown"),
    [
        ("1a2b3c4d5e6f" + "0" * 28, "1a2b3c4d5e6f ("),
        ("1a2b3c4d5e6f, changed", "1a2b3c4d5e6f, changed ("),
        ("v1.10.0-114-g1a2b3c4d5e6f", "v1.10.0-114-g1a2b3c4d5e6f ("),
    ],
)
def test_only_a_bare_digest_is_shortened(commit: str, shown: str):
    assert commit_words(entry(1, commit=commit)).startswith(shown)


@pytest.mark.parametrize(("day", "is_known"), [(13, True), (15, False)])
def test_a_commit_after_the_run_is_not_what_was_measured(tmp_path: Path, day: int, is_known: bool):
    moment = f"2026-03-{day}T00:00:00Z"
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "x")):
        environment = {**os.environ, "GIT_COMMITTER_DATE": moment}
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, env=environment)
    record = synthetic.run_record().model_copy(update={"study_file": str(tmp_path / "study.toml")})
    assert (_commit_of(record) is not None) == is_known


def test_a_load_that_another_search_did_not_choose_is_no_gap(tmp_path: Path):
    search = SearchRecord(key="connections", low=1, high=200, slo="p99 < 10ms")
    base = synthetic.run_record()
    first = base.model_copy(update={"search": search, "points": []})
    second = first.model_copy(update={"started_at": "2026-03-15T09:26:53Z"})
    every = synthetic.trial_records(base)
    fewer = [one for one in every if one.point["connections"] != 50]
    runs = [
        synthetic.write_run(tmp_path / "1", first, every),
        synthetic.write_run(tmp_path / "2", second, fewer),
    ]
    studies = studies_of([entry_of(run, None, tmp_path) for run in runs])
    assert {one.missing for study in studies for one in study.series} == {0}
