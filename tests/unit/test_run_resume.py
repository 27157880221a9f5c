"""Which runs can be resumed, what must be as it was, and which records figures are computed from."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.errors import BadInput
from loadcurve.report.ending import trials_in_words
from loadcurve.result.folder import RunFolder, read_run
from loadcurve.result.outcomes import Caveat
from loadcurve.result.records import BurstRecord, LimitsRecord, ResumedRecord, RunRecord, SearchRecord
from loadcurve.result.run_files import RUN_FILE, STUDY_FILE, TRIALS_FILE
from loadcurve.runs.own_runs import BEGUN_RUNS, has_begun, remember_begun
from loadcurve.runs.resume import interrupted_run, require_as_before
from loadcurve.runs.study import RunOptions
from loadcurve.watch.following import FollowedRun
from support import synthetic_run as synthetic

WHOLE_BLOCK = 3 * len(synthetic.CONNECTIONS)
RESUMED = ResumedRecord(kind="resumed", block=1, started_at="2026-03-14T11:00:00Z")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this user's state."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "loadcurve" / BEGUN_RUNS


def interrupted(folder: Path, *, records: int = WHOLE_BLOCK + 5, **changes: Any) -> Path:
    """Write a run of this user's that was interrupted after some records, with its study beside it."""
    received(folder, records=records, **changes)
    remember_begun(folder, (folder / RUN_FILE).read_bytes())
    return folder


def received(folder: Path, *, records: int = WHOLE_BLOCK + 5, **changes: Any) -> Path:
    """Write such a run of somebody else's."""
    record = synthetic.run_record()
    study = folder.with_name("given.toml")
    study.write_text(synthetic.study_text(synthetic.Texts()))
    record = record.model_copy(update={"study_file": str(study), **changes})
    return synthetic.write_run(folder, record, synthetic.trial_records(record)[:records])


def append(folder: Path, *lines: Any) -> None:
    with RunFolder.reopen(folder) as writer:
        for line in lines:
            writer.append(line)


def test_a_run_is_resumed_at_the_first_block_that_is_not_whole(tmp_path: Path):
    found = interrupted_run(interrupted(tmp_path / "run"), None)
    assert (found.first_block, found.study_file) == (1, tmp_path / "given.toml")


def test_a_run_that_was_interrupted_before_its_first_record_is_resumed_at_its_begin(tmp_path: Path):
    assert interrupted_run(interrupted(tmp_path / "run", records=0), None).first_block == 0


def test_no_figure_is_computed_from_an_abandoned_block(tmp_path: Path):
    folder = interrupted(tmp_path / "run")
    before = read_run(folder).records
    anew = synthetic.trial_records(read_run(folder).run)[WHOLE_BLOCK:]
    append(folder, RESUMED, *anew)
    run = read_run(folder)
    assert run.records == [*before[:WHOLE_BLOCK], *anew]
    assert run.complete
    assert len((folder / TRIALS_FILE).read_text().splitlines()) == len(before) + 1 + len(anew)
    [gap] = run.gaps
    assert (gap.block, gap.abandoned) == (1, len(before) - WHOLE_BLOCK)
    followed = FollowedRun(folder).read()
    assert followed is not None
    assert ([one.trial for one in followed.records], followed.gaps) == (
        [one.trial for one in run.records],
        run.gaps,
    )


def test_a_run_can_be_resumed_again_within_the_block_that_it_was_resumed_at(tmp_path: Path):
    folder = interrupted(tmp_path / "run")
    rest = synthetic.trial_records(read_run(folder).run)[WHOLE_BLOCK:]
    append(folder, RESUMED, *rest[:2])
    append(folder, RESUMED, *rest)
    run = read_run(folder)
    assert run.complete
    assert [gap.abandoned for gap in run.gaps] == [5, 2]


@pytest.mark.parametrize("rest", [b'{"kind":"poi', "é".encode()[:-1]], ids=["a line", "a character"])
def test_a_record_that_a_kill_cut_off_is_skipped_in_a_resumed_run_too(tmp_path: Path, rest: bytes):
    folder = interrupted(tmp_path / "run")
    trials = folder / TRIALS_FILE
    whole = trials.read_bytes()
    trials.write_bytes(whole + rest)
    append(folder, RESUMED)
    assert trials.read_bytes().startswith(whole + rest + b"\n")
    run = read_run(folder)
    assert (len(run.records), run.cut_off) == (WHOLE_BLOCK, False)
    followed = FollowedRun(folder).read()
    assert followed is not None
    assert len(followed.records) == WHOLE_BLOCK


def test_a_damaged_line_elsewhere_is_not_taken_for_one_that_was_cut_off(tmp_path: Path):
    folder = interrupted(tmp_path / "run")
    append(folder, RESUMED)
    trials = folder / TRIALS_FILE
    lines = trials.read_text().splitlines(keepends=True)
    trials.write_text("".join([lines[0][:50] + "\n", *lines[1:]]))
    (damage,) = read_run(folder).damage
    assert damage.startswith("Line 1 of trials.jsonl is not a record")


def test_records_of_an_abandoned_block_are_not_used_where_the_place_of_resumption_is_damaged(tmp_path: Path):
    folder = interrupted(tmp_path / "run")
    anew = synthetic.trial_records(read_run(folder).run)[WHOLE_BLOCK:]
    append(folder, RESUMED, *anew)
    before = read_run(folder)
    trials = folder / TRIALS_FILE
    trials.write_bytes(trials.read_bytes().replace(b'"resumed"', b'"rerumed"'))
    damaged = read_run(folder)
    assert damaged.records == before.records
    assert len(damaged.damage) == 1


def test_a_damaged_run_is_not_resumed(tmp_path: Path):
    folder = interrupted(tmp_path / "run")
    trials = folder / TRIALS_FILE
    trials.write_bytes(trials.read_bytes().replace(b'"kind"', b'"kynd"', 1))
    with pytest.raises(BadInput, match=r"cannot be resumed: Line 1 .* loadcurve report"):
        interrupted_run(folder, None)


def test_the_report_shows_the_gap_and_what_is_not_used(tmp_path: Path):
    folder = interrupted(tmp_path / "run")
    caveat = Caveat.of("not_alone", "another run was in progress")
    append(folder, RESUMED.model_copy(update={"caveats": (caveat,)}))
    sentences = trials_in_words(analyse(read_run(folder)))
    assert sentences[0] == (
        "The run was interrupted after its last record (2026-03-14 09:27 UTC), and resumed at 2026-03-14 "
        "11:00 UTC with block 1 from its start; 5 records of its first attempt are not used."
    )
    assert sentences[1] == "From then on another run was in progress."


def test_the_study_of_a_run_that_somebody_else_began_must_be_named(tmp_path: Path):
    folder = received(tmp_path / "run", options=["--catalog", "/their/catalog"])
    said = rf"a study runs commands.* loadcurve run STUDY.toml --resume {folder} --catalog DIR$"
    with pytest.raises(BadInput, match=said):
        interrupted_run(folder, None)
    found = interrupted_run(folder, str(tmp_path / "given.toml"))
    assert (found.study_file, found.is_own) == (tmp_path / "given.toml", False)


def test_a_record_that_was_changed_is_not_taken_for_that_of_the_own_run(tmp_path: Path):
    folder = interrupted(tmp_path / "run")
    record = folder / RUN_FILE
    record.write_text(record.read_text().replace("given.toml", "other.toml"))
    (tmp_path / "given.toml").rename(tmp_path / "other.toml")
    with pytest.raises(BadInput, match="is not one that you started"):
        interrupted_run(folder, None)


def test_the_own_run_is_known_wherever_its_folder_is_moved(tmp_path: Path):
    moved = interrupted(tmp_path / "run").rename(tmp_path / "moved")
    assert interrupted_run(moved, None).is_own


@pytest.mark.parametrize("mode", [0o660, 0o606, 0o644])
def test_what_others_may_read_or_write_does_not_say_which_runs_are_own(
    tmp_path: Path, state: Path, mode: int
):
    folder = interrupted(tmp_path / "run")
    (file,) = state.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(mode)
    assert not has_begun(folder)


def test_what_was_noted_of_a_run_that_is_not_resumed_is_kept_for_a_year(tmp_path: Path, state: Path):
    interrupted(tmp_path / "killed")
    (old,) = state.iterdir()
    day_s = 24 * 3600
    os.utime(old, (time.time() - 364 * day_s,) * 2)
    interrupted(tmp_path / "next", started_at="2026-03-14T12:00:00Z")
    assert old.exists()
    os.utime(old, (time.time() - 366 * day_s,) * 2)
    newest = interrupted(tmp_path / "newest", started_at="2026-03-14T13:00:00Z")
    assert not old.exists()
    assert has_begun(newest)


def test_a_link_or_another_users_file_does_not_say_which_runs_are_own(
    tmp_path: Path, state: Path, monkeypatch
):
    folder = interrupted(tmp_path / "run")
    (file,) = state.iterdir()
    with monkeypatch.context() as other:
        other.setattr("os.geteuid", lambda: os.getuid() + 1)
        assert not has_begun(folder)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert not has_begun(folder)


def test_of_a_run_that_somebody_else_began_only_the_catalogs_that_are_given_are_used():
    record = synthetic.run_record().model_copy(update={"options": ["--quick", "--catalog", "/theirs"]})
    assert RunOptions.of_run(Path("run"), record, ()).catalogs == ()
    assert RunOptions.of_run(Path("run"), record, [Path("/mine")]).catalogs == (Path("/mine"),)
    assert RunOptions.of_run(Path("run"), record, ()).quick


@pytest.mark.parametrize("count", ["", "0", "-1", "many", "1000000000000"])
def test_a_number_of_trials_that_does_not_give_the_recorded_ones_is_refused(count: str):
    record = synthetic.run_record().model_copy(update={"options": ["--trials", count]})
    with pytest.raises(BadInput, match=rf'which the recorded option --trials "{count}" does not give\.'):
        RunOptions.of_run(Path("run"), record)


def gone_study(folder: Path) -> None:
    folder.with_name("given.toml").unlink()


def changed_study(folder: Path) -> None:
    with folder.with_name("given.toml").open("a") as study:
        study.write("# changed\n")


def changed_copy(folder: Path) -> None:
    with (folder / STUDY_FILE).open("a") as study:
        study.write("# changed\n")


def linked_records(folder: Path) -> None:
    trials = folder / TRIALS_FILE
    trials.rename(folder.with_name("elsewhere"))
    trials.symlink_to(folder.with_name("elsewhere"))


def changed_server(record: RunRecord, **changes: Any) -> RunRecord:
    nginx = record.servers["nginx"].model_copy(update=changes)
    return record.model_copy(update={"servers": {**record.servers, "nginx": nginx}})


def record_changed(**changes: Any):
    def change(folder: Path) -> None:
        interrupted(folder, **changes)

    return change


SEARCH = SearchRecord(key="connections", low=1, high=10, slo="p99 < 10ms")
KEPT_CREDITS = LimitsRecord(
    cpus=1.0,
    memory_bytes=None,
    burst=BurstRecord(credits=1.0, baseline_share=0.1, restarted=False),
)
REFUSALS = {
    "credits": (
        record_changed(servers=changed_server(synthetic.run_record(), limits=KEPT_CREDITS).servers),
        "the CPU credits of nginx last from one trial to the next .* Start it again: loadcurve run",
    ),
    "ended": (record_changed(records=72), "is complete: there is nothing to resume"),
    "search": (record_changed(search=SEARCH, points=[]), "is a search for a capacity.* Start it again"),
    "version": (
        record_changed(loadcurve_version="0.0.9"),
        "started by version 0.0.9 .*Resume it with the version",
    ),
    "format": (record_changed(format="loadcurve-run/1"), "with the format loadcurve-run/1"),
    "no study": (record_changed(study_file=None), "does not record where .* run STUDY.toml --resume"),
    "gone study": (gone_study, "is no longer at .*given.toml. Give a copy of it"),
    "changed study": (changed_study, "is not the study that the run in .* Undo the changes"),
    "changed copy": (changed_copy, "is not the study that the run in"),
    "records elsewhere": (linked_records, "it is a link"),
}


@pytest.mark.parametrize(("change", "said"), REFUSALS.values(), ids=REFUSALS)
def test_a_run_that_cannot_be_resumed_is_refused_with_what_to_do(tmp_path: Path, change, said: str):
    folder = interrupted(tmp_path / "run")
    change(folder)
    remember_begun(folder, (folder / RUN_FILE).read_bytes())
    before = (folder / TRIALS_FILE).read_bytes()
    with pytest.raises(BadInput, match=said):
        interrupted_run(folder, None)
    assert (folder / TRIALS_FILE).read_bytes() == before


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="is not a run folder"):
        interrupted_run(tmp_path, None)


def test_a_run_under_way_is_refused(tmp_path: Path):
    record = synthetic.run_record()
    with (
        RunFolder.create(tmp_path / "run", record, ""),
        pytest.raises(BadInput, match=r"is still in progress.* loadcurve watch"),
    ):
        interrupted_run(tmp_path / "run", None)


def test_a_study_that_was_moved_can_be_named(tmp_path: Path):
    folder = interrupted(tmp_path / "run")
    moved = folder.with_name("given.toml").rename(tmp_path / "moved.toml")
    assert interrupted_run(folder, str(moved)).study_file == moved


CHANGES = {
    "kernel": (lambda run: run.model_copy(update={"host": {**run.host, "kernel": "Linux 6.2.0"}}),
               "host.kernel: it was Linux 6.1.0, and is Linux 6.2.0"),
    "cpus of the load": (lambda run: run.model_copy(update={"host": {**run.host, "load_cpus": [3]}}),
                         r"host.load_cpus: it was None, and is \[3\]"),
    "version": (lambda run: changed_server(run, version="1.2.4"),
                "servers.nginx.version: it was 1.2.3, and is 1.2.4"),
    "program": (lambda run: changed_server(run, binary_sha256="1" * 64), "servers.nginx.binary_sha256"),
    "configuration": (lambda run: changed_server(run, configuration={"nginx.conf": "workers 2;"}),
                      "servers.nginx.configuration.nginx.conf"),
    "no longer installed": (lambda run: changed_server(run, status="missing"),
                            "servers.nginx.status: it was found, and is missing"),
    "content": (lambda run: run.model_copy(update={"content": {}}), "content.1k.txt.bytes"),
    "study": (lambda run: run.model_copy(update={"study": {**run.study, "title": "Other"}}), "study.title"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "said"), CHANGES.values(), ids=CHANGES)
def test_what_has_changed_since_is_named(change, said: str):
    before = synthetic.run_record()
    with pytest.raises(BadInput, match=f"cannot be resumed(?s:.*){said}(?s:.*)Restore these"):
        require_as_before(Path("run"), before, change(before))


def test_before_any_server_is_tried_all_is_compared_but_what_only_a_start_shows():
    before = synthetic.run_record()
    untried = changed_server(before, settings={}, configuration={})
    require_as_before(Path("run"), before, untried, tried=False)
    with pytest.raises(BadInput, match=r"servers.nginx.configuration"):
        require_as_before(Path("run"), before, untried)
    for change in ("kernel", "version", "program", "content", "study"):
        with pytest.raises(BadInput, match=r"cannot be resumed"):
            require_as_before(Path("run"), before, CHANGES[change][0](untried), tried=False)


def test_what_no_figure_depends_on_may_change():
    before = synthetic.run_record()
    other = {"host": {**before.host, "python": "3.14"}, "started_at": "2027-01-01T00:00:00Z"}
    require_as_before(Path("run"), before, before.model_copy(update=other))


def test_the_options_of_a_run_are_those_that_it_was_begun_with():
    given = RunOptions(Path("out"), 3, ("nginx", "limit"), quick=True, seed=7, catalogs=(Path("/c"),))
    record = synthetic.run_record().model_copy(update={"options": given.changes(), "seed": 7})
    assert RunOptions.of_run(Path("out"), record) == replace(given, study_name=record.study_name)
