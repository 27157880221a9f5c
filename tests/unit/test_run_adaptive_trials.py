"""A run that repeats its trials until the intervals are narrow; only the measuring itself is made up."""

import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.ending import ending
from loadcurve.cli.display import RunDisplay
from loadcurve.errors import BadInput
from loadcurve.report.ending import trials_in_words
from loadcurve.result.folder import Run, RunFolder, read_run
from loadcurve.result.records import PlannedTrial, PointRecord
from loadcurve.result.run_files import TRIALS_FILE
from loadcurve.runs import study as run_study
from loadcurve.runs.resume import interrupted_run
from loadcurve.runs.servers_of_start import Member
from loadcurve.runs.study import RunOptions, StudyRun
from loadcurve.server.found import NATIVE_FOLDER
from support import synthetic_run as synthetic
from support.tiny_study import study_text


class MadeUpTrials:
    """Takes a trial without a load; each block measures what ``factors`` says of the truth."""

    factors: tuple[float, ...] = ()

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def run(self, _: PlannedTrial, members: Sequence[Member]) -> Generator[list[PointRecord]]:
        [trial] = [member.trial for member in members]
        factor = self.factors[trial.block]
        record = PointRecord.model_validate(
            {"kind": "point", **trial.model_dump(), "point": {"connections": 1}, "limit_use": None}
            | {"started_at": "2026-03-14T09:27:00Z"}
            | {"measurements": {"load": synthetic.load_result("nginx", 1, factor)}}
            | {"probe": synthetic.probe_record("nginx", 1, factor)}
        )
        yield [record]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The server's program, as a script that a test can replace."""
    script = tmp_path / "server"
    script.write_text(f'#!/bin/sh\nexec {NATIVE_FOLDER}/loadcurve-server "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture
def run_study_of(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(factors: tuple[float, ...], *, trials: int | None = None) -> tuple[Run, str]:
        monkeypatch.setattr(run_study, "TrialRunner", MadeUpTrials)
        monkeypatch.setattr(MadeUpTrials, "factors", factors)
        study = tmp_path / "study.toml"
        servers = f'[servers.limit]\nbinary = "{program}"'
        text = study_text(servers, connections="[1]").replace("count = 2", 'until = "3 %"\nat_most = 10')
        study.write_text(text)
        with (tmp_path / "talk").open("w") as talk:
            display = RunDisplay(Console(file=talk, width=200), live=False)
            if (tmp_path / "run").exists():
                measured = StudyRun.resume(interrupted_run(tmp_path / "run", None), display)
            else:
                measured = StudyRun(study, RunOptions(out=tmp_path / "run", trials=trials, seed=1), display)
            display.begins(measured.studies, measured.order, measured.first_block)
            measured.measure()
        return read_run(tmp_path / "run"), (tmp_path / "talk").read_text()

    return run


def test_a_run_ends_after_the_least_number_of_trials_if_they_agree(run_study_of):
    run, talk = run_study_of((1.0,) * 10)
    assert len(run.points) == 8
    assert (ending(run).reason, ending(run).blocks, ending(run).points_expected) == ("narrow", 8, 8)
    assert len(run.run.order) == 10
    assert "at most 10 trials of 1 point" in talk
    assert "after 8 trials of each server: every interval of the throughput is within ± 3.0 %" in talk
    [sentence] = trials_in_words(analyse(run))
    assert sentence.startswith("It ended after 8 trials of each server, because every interval")


def test_a_run_goes_on_while_an_interval_is_wide(run_study_of):
    # Of 8 trials one at 0.9 gives s = 0.1054 / √8 and t(0.975, 7) = 2.365: ± 3.2 %; of 9 trials ± 2.7 %.
    run, talk = run_study_of((0.9, *[1.0] * 9))
    assert (ending(run).reason, len(run.points)) == ("narrow", 9)
    assert (
        "after 8 trials of each server: the interval of the throughput is not within ± 3.0 % for limit"
        in talk
    )


def test_a_run_that_stays_wide_ends_with_the_most_trials(run_study_of):
    run, _ = run_study_of((0.8, 1.2) * 5)
    ended = ending(run)
    assert (ended.reason, len(run.points)) == ("at_most", 10)
    assert [(one.server, one.point) for one in ended.wide] == [("limit", {"connections": 1})]


def test_a_number_of_trials_on_the_command_line_is_exactly_that(run_study_of):
    run, _ = run_study_of((0.8, 1.2, 1.0), trials=3)
    assert (ending(run).reason, len(run.points)) == ("count", 3)


def test_an_interrupt_while_a_record_is_written_waits_until_it_is_safe(run_study_of, monkeypatch, tmp_path):
    with interrupted_at_record(1, monkeypatch):
        run_study_of((1.0,) * 3, trials=3)
    assert len(read_run(tmp_path / "run").points) == 1


@contextmanager
def interrupted_at_record(number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Expect that what is run inside the block is interrupted while it writes the ``number``-th record."""
    append, written = RunFolder.append, []

    def append_interrupted(folder, record):
        written.append(record)
        if len(written) == number:
            signal.raise_signal(signal.SIGINT)
        append(folder, record)

    monkeypatch.setattr(RunFolder, "append", append_interrupted)
    with pytest.raises(KeyboardInterrupt):
        yield
    monkeypatch.setattr(RunFolder, "append", append)


def test_a_resumed_run_ends_by_the_trials_of_all_its_parts(run_study_of, monkeypatch):
    # As above: 8 trials do not suffice, 9 do; five of them are measured before the interrupt.
    factors = (0.9, *[1.0] * 9)
    with interrupted_at_record(5, monkeypatch):
        run_study_of(factors)
    run, talk = run_study_of(factors)
    assert (ending(run).reason, len(run.points), [gap.block for gap in run.gaps]) == ("narrow", 9, [5])
    assert "resumed at trial 6 of at most 10 trials" in talk


def test_a_run_whose_server_was_replaced_is_not_resumed_and_nothing_is_written(
    run_study_of, program, monkeypatch, tmp_path
):
    with interrupted_at_record(1, monkeypatch):
        run_study_of((1.0,) * 3, trials=3)
    before = (tmp_path / "run" / TRIALS_FILE).read_bytes()
    program.write_text(program.read_text().replace("exec", "exec nice"))
    with pytest.raises(BadInput, match=r"servers\.limit\.binary_sha256"):
        run_study_of((1.0,) * 3)
    assert (tmp_path / "run" / TRIALS_FILE).read_bytes() == before
