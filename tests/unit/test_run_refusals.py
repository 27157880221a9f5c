"""Studies that cannot be run are refused, each with the line of its mistake, before anything happens."""

import functools
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from loadcurve.errors import BadInput
from loadcurve.runs.capacity import SearchOptions
from loadcurve.runs.display import Display
from loadcurve.runs.prepare import checked_studies
from loadcurve.runs.study import RunOptions, StudyRun
from loadcurve.server.catalog import load_catalog
from loadcurve.stats.slo import parse_objective
from support.tiny_study import study_text

FIRST_KEY = 23
"""The line behind the name of the first server, which is the last table of a study."""


@pytest.fixture(autouse=True)
def _a_catalogue_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = catalog_of_the_package()
    monkeypatch.setattr("loadcurve.runs.study.load_catalog", lambda _: catalog)


@functools.cache
def catalog_of_the_package():
    return load_catalog()


def refusal_of(folder: Path, text: str, search: SearchOptions | None = None) -> list[str]:
    """What is said of a study, line by line, without the path in front of it."""
    file = folder / "tiny.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        StudyRun(file, RunOptions(out=folder / "run"), create_autospec(Display, instance=True), search)
    assert not (folder / "run").exists()
    return [line.replace(f"{file}:", "") for line in str(refused.value).splitlines()]


MISTAKES = {
    "unknown key": (
        study_text(load="conections = 3\nrequests_total = 10"),
        "conections = 3",
        ['did you mean "connections"?'],
    ),
    "unknown server": (
        study_text("[servers.ngnix]"),
        "[servers.ngnix]",
        ["servers.ngnix: ", 'did you mean "nginx"?'],
    ),
    "unknown server in use": (
        study_text('[servers.mine]\nuse = "limmit"'),
        'use = "limmit"',
        ["servers.mine.use: ", 'did you mean "limit"?'],
    ),
    "unknown setting that is swept": (
        study_text("[servers.limit]").replace("[sweep]", "[sweep]\ndelai = [1, 2, 3]"),
        "delai = [1, 2, 3]",
        ["sweep.delai: The server limit has no setting `delai`"],
    ),
    "limits without a sweep over a load": (
        'limits = "p99 < 20ms"\n'
        + study_text("[servers.limit]", connections="[1]\nlisten_backlog = [100, 200]"),
        'limits = "p99 < 20ms"',
        ["limits: requires a [sweep] over a load", "[[require]], with measure = "],
    ),
    "unknown setting": (
        study_text("[servers.limit]\nlisten_backlog = 1\ndelai = true"),
        "delai = true",
        ["servers.limit.delai: ", 'did you mean "delay"?'],
    ),
    "unfit setting": (
        study_text('[servers.limit]\nlisten_backlog = "many"'),
        'listen_backlog = "many"',
        ["servers.limit.listen_backlog: ", '"many": expected a whole number'],
    ),
    "missing CPU": (
        study_text(host="server_cpus = [0, 4096]"),
        "server_cpus = [0, 4096]",
        ["host.server_cpus: found 4096; expected CPUs that this process may use: "],
    ),
}


@pytest.mark.parametrize(("text", "wrong_line", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_the_study_is_named_with_its_line(text, wrong_line, said, tmp_path):
    place = f"{text.splitlines().index(wrong_line) + 1}: "
    [line] = [line for line in refusal_of(tmp_path, text) if line.startswith(place)]
    for words in said:
        assert words in line


@pytest.mark.parametrize(
    ("keys", "line", "problem"),
    [
        ('machine = "t2.micor"', 0, 'did you mean "t2.micro"?'),
        (
            'machine = "t2.micro"\nlimits = { cpus = 1 }',
            0,
            "cannot be combined with limits; keep one of the two",
        ),
        ("limits = { cpus = 0 }", 0, "a number of CPUs"),
        ("limits = {}", 0, "expected cpus, memory or both"),
        ('limits = { memory = "1KiB" }', 0, '"1MiB"'),
        ('image = "x"', 0, 'requires an engine: set engine = "podman" or engine = "docker"'),
        ('engine = "podmann"', 0, 'did you mean "podman"?'),
        (
            'engine = "podman"\nimage = "x"\nrootfs = "."',
            2,
            "cannot be combined with image; keep one of the two",
        ),
        ('engine = "podman"\nrootfs = "gone"', 1, "no such folder or file"),
        ('use = "command"\nengine = "podman"\nimage = "x"', -1, "expected the port that the image's command"),
        ('use = "command"\nengine = "podman"\nstart = ["x"]', -1, "missing; expected an image or a rootfs"),
        (
            'use = "url"\nengine = "podman"\nurl = "http://127.0.0.1"',
            1,
            "is already running and is not started",
        ),
        ('use = "postgresql"\nengine = "podman"', 1, "so it cannot run in a container"),
        ('unit = "nginx.service"', 0, 'is started by the run; expected use = "url" with it'),
        ("pid = [1, 1]", 0, "1 is in the list twice; keep one"),
        ("pid = 0", 0, "found 0; expected the id of a process, such as 1234"),
        ('unit = "-n"', 0, 'expected the name of a unit, such as "nginx.service"'),
        ('container = "--all"', 0, "expected the name or the id of a container"),
        ('engine = "podman"\nnetwork = "none"', 1, 'expected "host" or "private"'),
    ],
)
def test_limits_and_containers_that_cannot_be_are_refused_with_their_line(keys, line, problem, tmp_path):
    [said] = refusal_of(tmp_path, study_text(f"[servers.limit]\n{keys}"))
    assert said.startswith(f"{FIRST_KEY + line}: ")
    assert problem in said


@pytest.fixture
def _every_tool_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcurve.tools.catalog.Tool.require_installed", lambda _: Path("/bin/true"))


@pytest.mark.usefixtures("_every_tool_is_installed")
@pytest.mark.parametrize(
    ("servers", "load", "said"),
    [
        (
            "[servers.limit]\ntls = true",
            'duration = "1s"\ngenerator = "wrk"',
            "only driven over connections in",
        ),
        (
            '[servers.there]\nuse = "url"\nurl = "https://127.0.0.1:1/"',
            'duration = "1s"\ngenerator = "wrk"',
            "only driven over connections in clear text",
        ),
        (
            "[servers.limit]",
            'duration = "1s"\ngenerator = "h2load"\ntimeout = "2s"',
            "load.timeout: h2load has no timeout",
        ),
    ],
)
def test_what_a_tool_cannot_do_is_refused_before_any_server_starts(servers, load, said, tmp_path):
    [line] = refusal_of(tmp_path, study_text(servers, load=load))
    assert said in line


@pytest.mark.usefixtures("_every_tool_is_installed")
def test_a_search_by_a_tool_is_refused_like_a_study(tmp_path):
    search = SearchOptions(objective=parse_objective("p99 < 50ms"), key="connections", low=2, high=8)
    text = study_text(load='duration = "1s"\ngenerator = "wrk"\nthreads = 2')
    lines = refusal_of(tmp_path, text, search)
    assert any("load.threads: a search tries connections" in line for line in lines)
    text = study_text(load='duration = "1s"\ngenerator = "h2load"\ntimeout = "2s"')
    assert any("load.timeout" in line for line in refusal_of(tmp_path, text, search))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("", "22: servers.command.start: missing; expected the command that starts the server"),
        (
            "start = 5",
            "23: servers.command.start: found 5; expected a program and its arguments, as a text or",
        ),
        ('start = "sh"', "23: servers.command.start: contains no {port}; expected it as"),
        (
            'start = ["sh", "{prot}"]',
            "23: servers.command.start: start names {prot}, which is unknown there",
        ),
        ('start = ["sh"]', "23: servers.command.start: contains no {port}; expected it as"),
        ('start = ["{binary}", "{port}"]', "22: servers.command.binary: missing; expected the program"),
        (
            'start = ["sh", "{port}"]\nbinary = "sh"',
            "24: servers.command.binary: not used: start does not contain {binary}",
        ),
        (
            'start = ["sh", "{port}"]\nversion_command = ["sh", "{port}"]',
            "24: servers.command.version_command: version_command names {port}",
        ),
        ("workers = 2", "23: servers.command.workers: The server command has no setting `workers`"),
    ],
)
def test_a_program_that_is_named_badly_is_refused(keys, said, tmp_path):
    assert any(
        line.startswith(said) for line in refusal_of(tmp_path, study_text(f"[servers.command]\n{keys}"))
    )


def test_a_name_of_ones_own_in_a_command_is_refused_with_where_it_gets_its_values(tmp_path):
    keys = 'start = ["sh", "{port}", "{workers}"]'
    [said] = refusal_of(tmp_path, study_text(f"[servers.command]\n{keys}"))
    assert "start names {workers}, which is unknown there" in said
    assert (
        "a value in this table, such as workers = 2, or its values in [sweep], such as workers = [1" in said
    )


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('use = "url"\nurl = "http://127.0.0.1:1/path"', "servers.staging.url: found"),
        (
            'use = "url"\nurl = "ftp://127.0.0.1:1"',
            "servers.staging.url: ftp://127.0.0.1:1: the scheme is 'ftp'",
        ),
        ('use = "url"\nurl = "http://127.0.0.1:1"\nstart = ["sh"]', "servers.staging.start: not used"),
        ('use = "url"', "servers.staging.url: missing; expected"),
        (
            'use = "limit"\nurl = "http://127.0.0.1:1"',
            "servers.staging.url: not used: the server limit is started by the run",
        ),
    ],
)
def test_a_running_server_that_is_named_badly_is_refused(keys, said, tmp_path):
    assert any(said in line for line in refusal_of(tmp_path, study_text(f"[servers.staging]\n{keys}")))


def test_a_server_that_is_started_needs_content(tmp_path):
    text = study_text("[servers.limit]").replace('[content]\n"1k.txt" = "1KiB"\n', "")
    [said] = refusal_of(tmp_path, text)
    assert "content: missing; expected files or a folder for the server limit to serve" in said


def test_a_server_of_messages_needs_none(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(study_text("[servers.grpcio]").replace('[content]\n"1k.txt" = "1KiB"\n', ""))
    [study] = checked_studies(file, catalog_of_the_package())
    assert study.content is None


@pytest.mark.parametrize(
    ("connections", "options", "said"),
    [
        ("[1, 4]", {"key": "pipeline"}, "--key pipeline cannot be searched; expected one of"),
        ("[4]", {}, "found 4 to 4 as the range of connections; expected two loads above 0"),
        ("[1, 4]", {"low": 1.5}, "sweep.connections: found 1.5; expected a positive whole number"),
        (
            "[1, 4]\npipeline = [1, 2]",
            {},
            "a search varies one key, connections; expected a single value of pipeline",
        ),
    ],
)
def test_a_search_that_is_not_clear_is_refused(connections, options, said, tmp_path):
    search = SearchOptions(parse_objective("p50 < 1s"), **options)
    assert any(said in line for line in refusal_of(tmp_path, study_text(connections=connections), search))


DATABASE_STUDY = """\
title = "Tiny"
[load]
model = "ycsb"
workload = "a"
operations = 100
{load}
[sweep]
threads = [1, 2]
[servers.postgresql]
{server}
"""


@pytest.mark.usefixtures("_every_tool_is_installed")
@pytest.mark.parametrize(
    ("load", "server", "said"),
    [
        (
            'generator = "go-ycsb"\nproperties = { scanproportion = 0.5 }',
            "",
            "4: load.workload: go-ycsb asks PostgreSQL for records from a key on in no order",
        ),
        (
            "",
            'load = { generator = "go-ycsb", rate = 10 }',
            "10: servers.postgresql.load.rate: go-ycsb has a pace for each client",
        ),
        (
            "",
            'load = { generator = "wrk" }',
            "10: servers.postgresql.load.generator: wrk puts loads only on web servers",
        ),
        (
            'generator = "go-ycsb"',
            'use = "url"\nurl = "postgresql://me@127.0.0.1:1/test"',
            "6: load.generator: go-ycsb is only driven over connections in clear text; expected sslmode=",
        ),
        (
            'generator = "go-ycsb"',
            'use = "ferretdb"',
            '2: load.namespace: go-ycsb has all its tables in "ycsb"; expected namespace = "ycsb"',
        ),
    ],
)
def test_what_a_tool_cannot_ask_a_database_is_refused_before_it_starts(load, server, said, tmp_path):
    [line] = refusal_of(tmp_path, DATABASE_STUDY.format(load=load, server=server))
    assert line.startswith(said)
