"""Runs of several loads on one machine: alone and together in turn, each load in a separate run folder."""

import json

import pytest

from loadcurve.cli.report import report_command
from loadcurve.errors import BadInput
from loadcurve.report.runs import list_runs
from loadcurve.report.together import sentences
from loadcurve.result.folder import RunFolder, read_run
from loadcurve.result.several import read_loads
from loadcurve.runs.resume import interrupted_run
from loadcurve.runs.study import StudyRun
from loadcurve.server.failure import ServerFailure
from support.schemas import validate
from support.scripted_run import ScriptedRun, answered
from support.together import together_of

STUDY = """\
title = "Two at once"
question = "How much slower?"

[content]
"1k.txt" = "1KiB"

[loads.a]
model = "closed"
requests = ["/1k.txt"]
warmup = "50ms"
duration = "100ms"

[loads.b]
model = "closed"
requests = ["/1k.txt"]
warmup = "50ms"
duration = "100ms"

[sweep]
a.connections = [1, 2]
b.connections = [4]

[trials]
count = 3
repeat_disturbed = 0
restart = "sweep"

[servers.limit]
load = "a"

[servers.simple]
load = "b"
"""
RATES_RPS = {"limit": 1000.0, "simple": 2000.0}
SHARES = {"limit": 0.25, "simple": 0.5}
"""What each server answers beside the other, of what it answers alone."""


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    run = ScriptedRun(tmp_path, monkeypatch)

    def load(server):
        def answers(plan, _):
            share = SHARES[server] if len(run.script.alive) > 1 else 1.0
            # A server is faster by a tenth in each later trial, which pairs by block take out.
            later = 1.1 ** (plan.seed - 1)
            return answered(plan, rate_rps=RATES_RPS[server] * share * later)

        return answers

    run.script.loads = {server: load(server) for server in RATES_RPS}
    return run


def run_of(scripted, load):
    return read_run(scripted.folder / load)


def test_every_block_has_each_server_alone_and_all_together(scripted):
    assert scripted.measure(STUDY) == 3 * (2 + 2 + 4)
    for load, server, other in (("a", "limit", "simple"), ("b", "simple", "limit")):
        run = run_of(scripted, load)
        arms = [server, f"{server}-beside-{other}"]
        assert (sorted(run.run.servers), run.complete) == (arms, True)
        assert [trial.trial for trial in run.run.order] == list(range(6))
        assert {(one.block, one.server) for one in run.run.order} == {
            (block, arm) for block in range(3) for arm in arms
        }
        assert [run.run.servers[arm].beside for arm in arms] == [[], [other]]


def test_servers_together_are_started_before_any_load_and_stopped_after_the_last(scripted):
    scripted.measure(STUDY)
    events = scripted.script.events[6:]
    starts = [place for place, event in enumerate(events) if event.startswith("start")]
    both = next(place for place in starts if place + 2 in starts)
    first, second = (events[place].split()[1] for place in (both, both + 2))
    assert events[both : both + 10] == [
        f"start {first}",
        f"verify {first}",
        f"start {second}",
        f"verify {second}",
        *[f"load {first}", f"load {second}"] * 2,
        f"stop {second}",
        f"stop {first}",
    ]


def test_each_record_names_the_keys_of_its_own_load(scripted):
    scripted.measure(STUDY)
    assert run_of(scripted, "a").run.points == [{"connections": at, "b.connections": 4} for at in (1, 2)]
    assert run_of(scripted, "b").run.points == [{"a.connections": at, "connections": 4} for at in (1, 2)]
    at = [(one.point["a.connections"], one.load.load.connections) for one in run_of(scripted, "b").points]
    assert set(at) == {(1, 4), (2, 4)}


def test_the_interference_is_the_ratio_of_together_to_alone_wherever_it_is_shown(scripted, capsys):
    assert scripted.command(STUDY) == 0
    for load in together_of(scripted.folder).loads:
        share = SHARES[load.load.server]
        for one in (load.over_curve["throughput"], *load.at_points["throughput"]):
            # The blocks' ratios agree exactly, so the interval has no width.
            assert one.ratio.value == pytest.approx(share)
            assert (one.ratio.low, one.ratio.high) == pytest.approx((share, share))
            assert one.shown
    written = json.loads((scripted.folder / "interference.json").read_text())
    validate(written, "interference")
    validate(json.loads((scripted.folder / "loads.json").read_text()), "loads")
    assert [one["load"]["server"] for one in written["loads"]] == ["limit", "simple"]
    assert written["loads"][0]["ratios"][0]["value"] == pytest.approx(0.25)
    said = capsys.readouterr().out
    words = "limit: beside simple its throughput is 0.250 (0.250 to 0.250) times that alone"
    assert words in " ".join(said.split())
    assert said.splitlines()[-1] == str(scripted.folder / "report.html")
    page = (scripted.folder / "report.html").read_text()
    assert words in page
    assert page.count('class="chart"') == 4
    assert 'href="a/report.html"' in page
    assert (scripted.folder / "b" / "report.html").is_file()


def test_what_each_server_took_of_the_machine_stands_beside_what_it_took_alone(scripted, capsys):
    alone = {"cpu_share": 0.9, "run_delay_per_request_us": 10.0, "disk_read_bytes_per_s": 0.0}
    beside = {"cpu_share": 0.4, "run_delay_per_request_us": 320.0, "disk_read_bytes_per_s": 3.0 * 2**20}
    scripted.script.used["limit"] = lambda: beside if len(scripted.script.alive) > 1 else alone
    assert scripted.command(STUDY) == 0
    words = (
        "CPUs at the last point of the sweep: limit used 0.400 instead of 0.900 alone and waited 320 µs "
        "per request for a CPU instead of 10.0 µs; simple used "
    )
    assert words in " ".join(capsys.readouterr().out.split())
    page = (scripted.folder / "report.html").read_text()
    assert words in page
    heading = "waiting for a CPU per request, µs"
    assert (
        f'<th scope="col" class="number">{heading} alone</th><th scope="col" class="number">beside</th>'
        in page
    )
    assert '<td class="number">10.0</td><td class="number">320</td>' in page
    written = json.loads((scripted.folder / "interference.json").read_text())
    validate(written, "interference")
    of_limit = written["loads"][0]["taken"]
    reads = [one for one in of_limit if one["measure"] == "server_disk_read_mib_per_s"]
    assert [(one["alone"]["value"], one["together"]["value"]) for one in reads] == [(0, pytest.approx(3))] * 2
    assert {one["unit"] for one in reads} == {"MiB/s"}
    # What the probe did not measure has no place there.
    assert "machine_page_cache_mib" not in {one["measure"] for one in of_limit}
    assert "page cache of the machine, MiB" not in page


def test_commands_for_one_run_name_the_folders_of_the_loads(scripted):
    scripted.measure(STUDY)
    with pytest.raises(BadInput, match="has several loads at once: give one of the folders in it"):
        read_run(scripted.folder)


def test_the_list_of_runs_has_each_of_the_loads(scripted):
    scripted.measure(STUDY)
    names = {run.name for run in list_runs(scripted.folder.parent).runs}
    assert names == {f"{scripted.folder.name}/{load}" for load in ("a", "b")}


def test_loads_that_do_nothing_to_each_other_are_said_to_show_none(scripted, monkeypatch):
    monkeypatch.setitem(SHARES, "limit", 1.0)
    monkeypatch.setitem(SHARES, "simple", 1.0)
    scripted.measure(STUDY)
    for server, said in zip(RATES_RPS, sentences(together_of(scripted.folder)), strict=True):
        assert said.startswith(f"{server}: no interference is shown; beside ")


def test_a_server_that_fails_beside_others_fails_the_trial_of_all(scripted):
    scripted.script.failures["simple", "verify"] = ServerFailure("wrong_answer", "GET / was wrong")
    assert scripted.measure(STUDY) == 6
    failures = {load: run_of(scripted, load).failures for load in ("a", "b")}
    assert [one.server for one in failures["a"]] == ["limit-beside-simple"] * 3
    assert len(failures["b"]) == 6
    assert {one.reason.code for found in failures.values() for one in found} == {"wrong_answer"}


def test_an_interrupted_run_goes_on_at_the_block_that_any_of_its_loads_lacks(scripted, monkeypatch, tmp_path):
    append, written = RunFolder.append, []

    def append_some(folder, record):
        append(folder, record)
        written.append(record)
        # The first block has 8 records; the second is cut off between those of one point.
        if len(written) == 8 + 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "append", append_some)
    with pytest.raises(KeyboardInterrupt):
        scripted.measure(STUDY)
    monkeypatch.setattr(RunFolder, "append", append)
    interrupted = interrupted_run(scripted.folder, None)
    assert interrupted.first_block == 1
    display = scripted.display()
    resumed = StudyRun.resume(interrupted, display)
    display.begins(resumed.studies, resumed.order, resumed.first_block)
    resumed.measure()
    for load in ("a", "b"):
        run = run_of(scripted, load)
        assert (run.complete, len(run.points), [gap.block for gap in run.gaps]) == (True, 12, [1])


def test_a_complete_run_is_not_resumed(scripted):
    scripted.measure(STUDY)
    with pytest.raises(BadInput, match="is complete: there is nothing to resume"):
        interrupted_run(scripted.folder, None)


def test_a_folder_that_is_in_use_is_left_alone(scripted):
    scripted.folder.mkdir()
    (scripted.folder / "mine").write_text("x")
    with pytest.raises(BadInput, match="is not empty"):
        scripted.measure(STUDY)
    assert [one.name for one in scripted.folder.iterdir()] == ["mine"]


def test_a_link_in_a_received_folder_is_not_followed(scripted, tmp_path):
    scripted.measure(STUDY)
    mine = tmp_path / "mine"
    (scripted.folder / "a").rename(mine)
    (scripted.folder / "a").symlink_to(mine)
    before = sorted(mine.iterdir())
    with pytest.raises(BadInput, match="is a link"):
        report_command(scripted.folder, None)
    assert sorted(mine.iterdir()) == before
    assert {run.folder.name for run in list_runs(tmp_path).runs} == {"b", "mine"}


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_a_received_folder_leads_nowhere_else(scripted, name):
    scripted.measure(STUDY)
    file = scripted.folder / "loads.json"
    record = json.loads(file.read_text())
    record["loads"][0]["name"] = name
    file.write_text(json.dumps(record))
    with pytest.raises(BadInput, match="is not a folder in"):
        read_loads(scripted.folder)
