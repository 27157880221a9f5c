"""The workflow files of the documents: their structure, and every step of theirs on a small real study."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from loadcurve.analysis.history import studies_of
from loadcurve.report.site.build import build_site
from loadcurve.result.checksum import sealed
from loadcurve.result.history import read_history
from loadcurve.result.publication import PublishedRun, publish_run
from support import synthetic_run as synthetic
from support.published_pages import two_published_runs
from support.tiny_study import STAYS_OURS

PROJECT = Path(__file__).resolve().parents[2]
WORKFLOWS = PROJECT / "docs" / "workflows"
STUDY = """\
title = "A workflow"

[content]
"1k.txt" = "1KiB"

[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "20ms"
duration = "200ms"

[sweep]
connections = [2]

[trials]
count = 2

[servers.mine]
start = ["./server", "{port}", "{content}"]
STAYS_OURS
"""
SERVER = """\
import functools, http.server, sys

class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass

handler = functools.partial(Handler, directory=sys.argv[2])
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()
"""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Both files as PyYAML reads them, from its own environment."""
    environment = tmp_path_factory.mktemp("yaml") / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "pyyaml"], check=True)
    program = "import json, sys, yaml; print(json.dumps(yaml.load(sys.stdin, yaml.BaseLoader)))"
    return {
        path.stem: json.loads(
            subprocess.run([python, "-c", program], stdin=path.open(), capture_output=True, check=True).stdout
        )
        for path in WORKFLOWS.glob("*.yml")
    }


@pytest.mark.parametrize("name", ["github", "results"])
def test_every_step_of_github_uses_or_runs_something_and_each_name_is_known(
    parsed: dict[str, Any], name: str
):
    github = parsed[name]
    assert set(github["on"]) == {"pull_request", "push"}
    for job in github["jobs"].values():
        assert {"runs-on", "timeout-minutes", "steps"} <= set(job)
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert set(step) <= {"uses", "with", "run", "name", "if"}


def test_every_job_of_gitlab_has_a_script_and_rules(parsed: dict[str, Any]):
    jobs = {name: job for name, job in parsed["gitlab"].items() if name != "variables"}
    for job in jobs.values():
        assert {"script", "rules"} <= set(job) <= {
            "script", "rules", "after_script", "artifacts", "cache", "resource_group",
        }  # fmt: skip
        assert all(isinstance(line, str) for line in job["script"])


class Repository:
    """A repository with two commits of one server, its remote, and what a runner gives its steps."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.remote = folder / "checkout", folder / "remote.git"
        self.summary = folder / "summary.md"
        programs = folder / "bin"
        programs.mkdir()
        # What a step installs is here already.
        (programs / "pip").write_text("#!/bin/sh\nexit 0\n")
        (programs / "pip").chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(folder / "state"),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "STUDY": "performance/study.toml",
            "BUILD": "cp server.py performance/server",
            "LOADCURVE": "loadcurve[report]",
            "LOADCURVE_OTHER_PROGRAMS": "note",
        }
        self.summary.touch()
        (self.folder / "performance").mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch", "main")
        (self.folder / "performance" / "study.toml").write_text(STUDY.replace("STAYS_OURS", STAYS_OURS))
        server = self.folder / "server.py"
        server.write_text(f"#!{sys.executable}\n{SERVER}")
        server.chmod(0o755)
        self.commit("base")
        (self.folder / "README").write_text("documents alone")
        self.commit("head")
        subprocess.run(["git", "init", "--quiet", "--bare", self.remote], check=True)
        self.git("remote", "add", "origin", str(self.remote))
        base, head = (self.git("rev-parse", name) for name in ("HEAD~1", "HEAD"))
        self.environment |= {
            "BASE": base, "HEAD": head, "GITHUB_SHA": head, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
            "CI_COMMIT_SHA": head,
        }  # fmt: skip

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, name: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", name)

    def run(self, step: str) -> str:
        """Run a step as GitHub does with `shell: bash`, with a shorter budget."""
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.replace("10m", "1m")]
        done = subprocess.run(
            shell, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    tmp_path.chmod(0o755)
    return Repository(tmp_path)


def test_the_steps_of_github_gate_a_change_of_documents(parsed: dict[str, Any], repository: Repository):
    for step in parsed["github"]["jobs"]["gate"]["steps"]:
        if "run" in step:
            repository.run(step["run"])
    assert "## head beside base" in repository.summary.read_text()
    (suite,) = JUnitXml.fromfile(str(repository.folder / "performance-run" / "report-junit.xml"))
    assert suite.failures == 0
    assert [one for one in suite if one.name.startswith("throughput over the whole curve")]


def test_the_steps_of_github_add_each_run_to_the_history_of_the_branch(
    parsed: dict[str, Any], repository: Repository, tmp_path: Path
):
    steps = [step["run"] for step in parsed["github"]["jobs"]["history"]["steps"] if "run" in step]
    for step in steps:
        repository.run(step)
    repository.run(
        "rm -rf performance-run; git worktree remove --force history; git branch -D performance-history"
    )
    for step in steps:
        repository.run(step)
    repository.git("fetch", "--quiet", "origin", "performance-history")
    repository.git("worktree", "add", "--detach", "kept", "FETCH_HEAD")
    history = read_history(repository.folder / "kept" / "runs")
    assert len(history.entries) == 2
    assert {one.commit for one in history.entries} == {repository.environment["GITHUB_SHA"]}
    assert sorted(path.name for path in (repository.folder / "kept").iterdir()) == [".git", "runs"]
    assert studies_of(history.entries)


@pytest.mark.parametrize("job", ["performance gate", "performance history"])
def test_the_script_of_gitlab_runs(parsed: dict[str, Any], repository: Repository, job: str):
    for line in (*parsed["gitlab"][job]["script"], *parsed["gitlab"][job].get("after_script", ())):
        repository.run(line)
    kept = repository.folder / (
        "performance-run/report-junit.xml" if "gate" in job else "history/history.html"
    )
    assert kept.is_file()


GUIDE = PROJECT / "docs" / "guides" / "publishing.md"


def ignored_in_the_guide() -> str:
    """What the guide says that Git is to ignore."""
    return GUIDE.read_text(encoding="utf-8").partition("# .gitignore\n")[2].partition("```")[0]


class ResultsRepository:
    """A repository of published results with one run on its main branch, and what a runner gives steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        programs = folder / "bin"
        programs.mkdir(parents=True)
        (programs / "pip").write_text("#!/bin/sh\nexit 0\n")
        (programs / "pip").chmod(0o755)
        summary = folder / "summary.md"
        summary.touch()
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(summary),
            "RESULTS": "results",
            "LOADCURVE": "loadcurve[report]",
        }
        self.first, self.second = two_published_runs(synthetic.write_run(folder / "run"))
        self.folder.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")
        (self.folder / ".gitignore").write_text(ignored_in_the_guide())
        self.publish(self.first)
        self.environment["BASE"] = self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def publish(self, run: PublishedRun) -> None:
        """Add a run as a contributor does, who builds the pages, too."""
        publish_run(self.folder / "results", run)
        build_site(self.folder / "results")
        self.commit()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")

    def run(self, job: Any) -> subprocess.CompletedProcess[str]:
        """Run the steps of a job in turn, as GitHub does with `shell: bash`, up to the first that fails."""
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
        done = subprocess.CompletedProcess[str]([], 0)
        for step in (one["run"] for one in job["steps"] if "run" in one):
            done = subprocess.run(
                [*shell, step],
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                break
        return done


@pytest.fixture
def results(tmp_path: Path) -> ResultsRepository:
    return ResultsRepository(tmp_path)


def test_the_checks_of_results_pass_for_one_more_run_and_its_pages_are_built(
    parsed: dict[str, Any], results: ResultsRepository
):
    results.publish(results.second)
    assert results.run(parsed["results"]["jobs"]["check"]).returncode == 0
    results.git("clean", "--quiet", "--force", "-dX")
    assert not (results.folder / "results" / "index.html").exists()
    assert results.run(parsed["results"]["jobs"]["pages"]).returncode == 0
    assert "2 published runs" in (results.folder / "results" / "index.html").read_text()


def test_two_changes_that_each_add_a_run_are_merged_without_a_conflict(
    parsed: dict[str, Any], results: ResultsRepository
):
    for name, run in (("one", results.second), ("two", results.second.model_copy(update={"run": "e" * 64}))):
        results.git("switch", "--quiet", "--create", name, "main")
        results.publish(run)
    results.git("merge", "--quiet", "--no-edit", "one")
    assert results.run(parsed["results"]["jobs"]["check"]).returncode == 0


def test_what_is_built_conflicts_where_git_keeps_it_and_either_side_built_again_is_the_same(
    results: ResultsRepository,
):
    (results.folder / ".gitignore").unlink()
    results.commit()
    results.git("branch", "--force", "base")
    for name, run in (("one", results.second), ("two", results.second.model_copy(update={"run": "e" * 64}))):
        results.git("switch", "--quiet", "--create", name, "base")
        results.publish(run)
    with pytest.raises(subprocess.CalledProcessError):
        results.git("merge", "--quiet", "--no-edit", "one")
    in_conflict = results.git("diff", "--name-only", "--diff-filter=U").splitlines()
    assert "results/index.json" in in_conflict
    assert "results/index.html" in in_conflict
    assert not [path for path in in_conflict if path.endswith(".json") and "/results/" in path]
    built = []
    for side in ("--ours", "--theirs"):
        results.git("checkout", side, "--", *in_conflict)
        build_site(results.folder / "results")
        built.append([(results.folder / path).read_bytes() for path in in_conflict])
    assert built[0] == built[1]


def changed_seal(results: ResultsRepository) -> None:
    path = results.folder / "results" / results.first.place
    path.write_bytes(sealed(results.first.model_copy(update={"title": "Better"}).model_dump_json()))


def damaged(results: ResultsRepository) -> None:
    path = results.folder / "results" / results.first.place
    path.write_bytes(path.read_bytes().replace(b"nginx", b"xnign"))


def removed(results: ResultsRepository) -> None:
    results.publish(results.second)
    (results.folder / "results" / results.first.place).unlink()


def kept_pages(results: ResultsRepository) -> None:
    (results.folder / ".gitignore").unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed_seal, "neither changed nor removed"),
        (damaged, "was changed since it was published"),
        (removed, "neither changed nor removed"),
        (kept_pages, "remove them from Git"),
    ],
)
def test_the_checks_of_results_fail_and_say_why(
    parsed: dict[str, Any], results: ResultsRepository, change: Callable[[ResultsRepository], None], said: str
):
    change(results)
    results.commit()
    done = results.run(parsed["results"]["jobs"]["check"])
    assert done.returncode != 0
    assert said in " ".join((done.stdout + done.stderr).split())
