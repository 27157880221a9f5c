"""Revisions of a repository in worktrees, built, and gone afterwards."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from loadcurve.cli import gate
from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.runs.gate import GateOptions
from loadcurve.runs.study import RunOptions
from loadcurve.runs.worktrees import built_revisions
from loadcurve.server.interrupts import INTERRUPTS


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, `old` and `new`, with a study in a folder; the sources say which they are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "repository"
    (folder / "bench").mkdir(parents=True)
    git(folder, "init", "--quiet")
    for name in ("old", "new"):
        (folder / "source").write_text(name)
        (folder / "bench" / "study.toml").write_text(f"# {name}\n")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", name)
        git(folder, "tag", name)
    return folder


BOTH = {"--base-rev": "old", "--head-rev": "new"}


def worktrees(repository: Path) -> int:
    return git(repository, "worktree", "list", "--porcelain").count("worktree ")


def test_each_revision_is_built_in_a_folder_of_its_own_and_gone_afterwards(repository: Path):
    study = repository / "bench" / "study.toml"
    with built_revisions(study, BOTH, "cp source built") as found:
        folders = {option: folder for option, (_, folder) in found.items()}
        built = {option: (folder.parent / "built").read_text() for option, folder in folders.items()}
        assert built == {"--base-rev": "old", "--head-rev": "new"}
        assert {option: one.commit for option, (one, _) in found.items()} == {
            option: git(repository, "rev-parse", name) for option, name in BOTH.items()
        }
        assert (folders["--base-rev"] / "study.toml").read_text() == "# old\n"
    assert not any(folder.exists() for folder in folders.values())
    assert worktrees(repository) == 1
    assert git(repository, "status", "--porcelain") == ""


def test_a_build_that_fails_is_named_with_its_last_lines(repository: Path):
    with (
        pytest.raises(
            NothingMeasured, match=r"--base-rev old \(.* does not build: .*\n  no rule to make it$"
        ),
        built_revisions(repository / "bench" / "study.toml", BOTH, "echo no rule to make it; exit 2"),
    ):
        pass
    assert worktrees(repository) == 1


def test_an_interrupt_ends_the_build_and_leaves_no_worktree(repository: Path):
    before = {number: signal.getsignal(number) for number in INTERRUPTS}
    raise_on_interrupts()
    try:
        with (
            pytest.raises(KeyboardInterrupt),
            built_revisions(repository / "bench" / "study.toml", BOTH, f"kill -INT {os.getpid()}; sleep 600"),
        ):
            pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert worktrees(repository) == 1


def test_what_is_no_revision_is_refused(repository: Path, tmp_path: Path):
    study = repository / "bench" / "study.toml"
    with (
        pytest.raises(BadInput, match=r"--base-rev older: the repository .* has no such commit"),
        built_revisions(study, {"--base-rev": "older"}, None),
    ):
        pass
    outside = tmp_path / "study.toml"
    outside.write_text("")
    with (
        pytest.raises(BadInput, match="lies in no Git repository"),
        built_revisions(outside, {"--base-rev": "old"}, None),
    ):
        pass


def test_what_git_ignores_is_named_where_a_program_of_a_worktree_is_missing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    def missing(_study: Path, options: GateOptions, *_: object) -> int:
        raise NothingMeasured(f"there is no program {options.base}/.venv/bin/gunicorn")

    monkeypatch.setattr(gate, "_gate", missing)
    study = str(repository / "bench" / "study.toml")
    for build, said in ((None, r"gunicorn\nThe worktree of a commit .* --build"), ("true", r"gunicorn$")):
        given = gate.GateGiven(None, None, base_revision="old", head_revision="new", build=build)
        with pytest.raises(NothingMeasured, match=said):
            gate.gate_command(study, given, RunOptions())
