"""`loadcurve load --out`, `--html`, `--watch`: one load as a run, which everything reads like any other."""

import json
import time
import tomllib

import pytest

from loadcurve.cli import load as load_module
from loadcurve.cli import watched_load
from loadcurve.errors import NothingMeasured
from loadcurve.generate.generator import LoadInterrupted, Progress
from loadcurve.result.folder import read_run
from loadcurve.server.target import Reached
from loadcurve.study.model import Study
from loadcurve.watch.feed import Feed
from loadcurve.watch.progress import PROGRESS_FILE
from loadcurve.watch.status import status
from support.command import Command
from support.limit_server import limit_server
from support.scripted_run import answered

URL = "http://127.0.0.1:9/"


class Scripted:
    """A generator with one result, which looks at its load once."""

    def __init__(self, ends_by=None):
        self.ends_by = ends_by

    def run(self, plan, observe):
        observe(Progress(elapsed_s=0.1, answered=1))
        if self.ends_by is not None:
            raise self.ends_by(answered(plan))
        return answered(plan)


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.setattr(load_module, "reached", lambda *_: Reached("127.0.0.1:9"))
    monkeypatch.setattr(watched_load, "CHOSEN", Scripted())
    return Command(tmp_path)


def test_a_load_is_kept_as_the_run_of_one_point_with_the_same_result(command, tmp_path):
    finished = command.run("load", URL, "-c", 7, "-d", "3s", "--json", "--out", "kept", "--html", "page.html")
    assert finished.returncode == 0
    assert finished.stderr.splitlines()[-2:] == ["kept/report.html", "page.html"]
    run = read_run(tmp_path / "kept")
    assert run.complete
    assert (run.load_model, run.sweep_points) == ("closed", [{"connections": 7}])
    [record] = run.points
    assert (record.server, record.point) == ("server", {"connections": 7})
    # stdout is one JSON object, and that of the record.
    assert json.loads(finished.stdout) == json.loads(record.load.model_dump_json(by_alias=True))
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "kept/report.html").read_bytes()
    assert not (tmp_path / "kept" / PROGRESS_FILE).exists()


def test_the_path_of_the_report_is_the_last_line_where_people_read(command):
    finished = command.run("load", URL, "--out", "kept")
    assert finished.stdout.splitlines()[-1] == "kept/report.html"


@pytest.mark.parametrize(
    ("options", "point"),
    [
        (["-c", 50], {"connections": 50}),
        (["-R", "2k"], {"rate": 2000}),
        (["-R", "100-1000:30s", "-c", 20], {"connections": 20}),
        (["--connection-rate", "5", "--calls", "3"], {"connection_rate": 5}),
        (["--connection-rate", "5-50:9s", "--calls", "3"], {"calls": 3}),
    ],
)
def test_its_point_lies_along_the_key_of_its_model_that_is_a_number(
    command, tmp_path, monkeypatch, options, point
):
    class Refusing:
        def run(self, *_):
            raise NothingMeasured("no load can be started")

    monkeypatch.setattr(watched_load, "CHOSEN", Refusing())
    assert command.run("load", URL, *options, "--out", "kept").returncode == 4
    # What was to be measured is in the folder before the load.
    assert read_run(tmp_path / "kept").run.points == [point]


def test_its_study_can_be_read_as_any_other_and_asks_for_the_same_load(command, tmp_path):
    urls = command.write("paths.txt", "/one\n/two\n")
    options = ["--urls", "paths.txt", "-R", 5, "-c", 3, "--warmup", "2s", "--http", "1.0", "--timeout", "3s"]
    assert command.run("load", URL, *options, "--out", "kept").returncode == 0
    text = (tmp_path / "kept/study.toml").read_text()
    study = Study.model_validate(tomllib.loads(text), context={"folder": tmp_path / "kept"})
    load = study.load
    assert (load.connections, load.warmup_s, load.http, load.timeout_s) == (3, 2.0, "1.0", 3.0)
    assert study.sweep == {"rate": [5]}
    assert str(urls) in text, "a path counts from another folder there"


def test_what_may_be_secret_is_in_none_of_its_files(command, tmp_path):
    options = ["-H", "X-Key: s3cret-value", "-X", "POST", "--body", "b0dy-of-mine", "--html", "page.html"]
    assert command.run("load", URL, *options, "--out", "kept").returncode == 0
    files = [*(tmp_path / "kept").iterdir(), tmp_path / "page.html"]
    assert len(files) > 5
    assert not [
        file for file in files if b"s3cret-value" in (found := file.read_bytes()) or b"b0dy-of" in found
    ]


def test_the_page_of_a_run_follows_a_load_while_it_lasts(command, tmp_path, monkeypatch):
    seen = []

    class Looking(Scripted):
        def run(self, plan, observe):
            seen.append(status(Feed(tmp_path / "kept").look().seen, time.monotonic()))
            return super().run(plan, observe)

    monkeypatch.setattr(watched_load, "CHOSEN", Looking())
    options = ["-c", 7, "--warmup", "2s", "-d", "3s", "--out", "kept"]
    assert command.run("load", URL, *options).returncode == 0
    [now] = seen
    assert (now["phase"], now["title"]) == ("going", "One load on http://127.0.0.1:9/")
    assert now["load"]["point"] == "connections = 7"
    assert (now["load"]["warmup_s"], now["load"]["measured_s"]) == (2.0, 3.0)


def test_an_interrupted_load_is_kept_as_far_as_it_was_measured(command, tmp_path, monkeypatch):
    monkeypatch.setattr(watched_load, "CHOSEN", Scripted(LoadInterrupted))
    assert command.run("load", URL, "--out", "kept").returncode == 130
    assert len(read_run(tmp_path / "kept").points) == 1
    assert (tmp_path / "kept/report.html").exists()


def test_it_has_what_the_processes_of_its_server_have_used(tmp_path):
    (tmp_path / "1k.txt").write_bytes(bytes(1024))
    with limit_server(tmp_path) as address:
        url = f"http://{address}/1k.txt"
        finished = Command(tmp_path).run("load", url, "-c", 2, "-d", "300ms", "--json", "--out", "kept")
    # What a busy machine does to the verdict is not looked at here.
    assert finished.returncode in {0, 3}
    run = read_run(tmp_path / "kept")
    [record] = run.points
    assert json.loads(finished.stdout)["requests"] == record.load.requests.model_dump()
    # `limit` uses CPU time for each answer.
    assert record.probe.server is not None
    assert record.probe.server.cpu_share is not None
    assert record.probe.server.cpu_share > 0
    assert run.run.servers["server"].binary is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--html", "missing/page.html"], "--html missing/page.html: there is no folder"),
        (["--html", "."], "--html .: is a folder"),
        (["--watch-address", "127.0.0.1:0"], "--watch-address: says where the page of --watch listens"),
        (["--watch", "--watch-address", "nowhere"], "found nowhere as the address of the page"),
        (["--out", "used"], "used is not empty: a run requires a new or empty folder"),
    ],
)
def test_a_place_that_cannot_be_used_is_refused_before_the_load(
    command, tmp_path, monkeypatch, options, said
):
    command.write("used/file.txt", "mine")
    monkeypatch.setattr(watched_load, "CHOSEN", None)
    finished = command.run("load", URL, *options)
    assert finished.returncode == 2
    assert said in finished.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["used"]
