"""`loadcurve init` writes a commented study for the servers that are installed, and keeps what is there."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from loadcurve.cli import init_path
from loadcurve.cli.init import OwnApplication, chosen_text, study_text
from loadcurve.errors import BadInput
from loadcurve.loads.kinds import kind_of_protocol
from loadcurve.runs.own_paths import AnsweredPaths
from loadcurve.runs.prepare import checked_studies
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import CatalogRow, catalog_rows
from loadcurve.study.model import Study
from support.command import Command
from support.read_study import read_study
from support.tiny_study import write_entry


@pytest.fixture
def rows(tmp_path):
    """Two servers of one program, one of another, and one that is nowhere."""
    catalog = tmp_path / "catalog"
    for name, binary in {"cat-a": "cat", "cat-b": "cat", "env": "env", "gone": "no-such-program"}.items():
        write_entry(
            catalog / name, binary=binary, start='"{binary}"', more='[install]\neverywhere = "get it"'
        )
    entries = load_catalog([catalog])
    names = ["cat-a", "cat-b", "env", "gone", "limit", "simple"]
    return catalog_rows([entry for entry in entries if entry.name in names])


def test_each_program_that_is_installed_is_measured_once_beside_limit(rows, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(study_text("study.toml", rows))
    assert list(read_study(file).servers) == ["limit", "cat-a", "env"]


def found(name, protocol, binary, version):
    """A server of the catalogue that is installed."""
    description = SimpleNamespace(kind=kind_of_protocol(protocol), title=name, may_serve_files=True)
    program = SimpleNamespace(binary=Path("/usr/sbin") / binary, version=version)
    return CatalogRow(SimpleNamespace(name=name, description=description), "found", program, None, None)


def test_the_server_without_modules_stands_for_its_program(tmp_path):
    versions = {"apache-cgi": "2.4.71 perl 5.36.0", "apache-event": "2.4.71", "apache-php": "2.4.71 PHP/8.2"}
    apaches = [found(name, "http", "apache2", version) for name, version in versions.items()]
    text = study_text("study.toml", [*apaches, found("nginx", "http", "nginx", "1.22.1")])
    file = tmp_path / "study.toml"
    file.write_text(text)
    assert list(read_study(file).servers) == ["limit", "apache-event", "nginx"]
    assert re.findall(r"^# \[servers\.(apache.*?)\]", text, re.MULTILINE) == ["apache-cgi", "apache-php"]


def test_databases_that_are_installed_are_named_as_what_takes_another_study(tmp_path):
    text = study_text("study.toml", [found("postgresql", "postgresql", "postgres", "15.18")])
    assert re.search(
        r"^# Databases .*\n# Found here:\n# \[servers\.postgresql\] +# .* 15\.18$", text, re.MULTILINE
    )
    file = tmp_path / "study.toml"
    file.write_text(text)
    assert list(read_study(file).servers) == ["limit"]


def test_a_server_of_messages_is_named_as_what_takes_another_study(tmp_path):
    calls = found("grpc-go", "http", "loadcurve-grpc-go", "1.85.0")
    calls.entry.description.may_serve_files = False
    text = study_text("study.toml", [calls, found("nginx", "http", "nginx", "1.22.1")])
    assert re.search(r"^# Servers of messages .*\n# Found here:\n# \[servers\.grpc-go\]", text, re.MULTILINE)
    file = tmp_path / "study.toml"
    file.write_text(text)
    assert list(read_study(file).servers) == ["limit", "nginx"]


def test_the_servers_that_are_asked_for_are_those_of_the_study(rows, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(chosen_text("study.toml", rows, ["env", "cat-b", "env"]))
    assert list(read_study(file).servers) == ["env", "cat-b"]


def test_an_own_application_beside_them_is_asked_for_its_own_paths(rows, tmp_path):
    file = tmp_path / "study.toml"
    own = OwnApplication("MODE=fast app -w {workers} {port}", ("/items", "/items/7"))
    file.write_text(chosen_text("study.toml", rows, ["limit"], own))
    [study] = checked_studies(file, load_catalog())
    asked = [(list(arm.load.requests), arm.load.verify) for arm in study.arms.values()]
    # What is in braces has three values, and so three curves.
    assert asked == [(["/1k.txt"], "content"), *[(["/items", "/items/7"], "status")] * 3]


def test_every_example_in_the_comments_of_both_is_right(rows, tmp_path, monkeypatch):
    (tmp_path / "app").mkdir()
    monkeypatch.setenv("DATABASE_URL", "sqlite://")
    file = tmp_path / "study.toml"
    text = chosen_text("study.toml", rows, ["limit"], OwnApplication("app {port}"))
    servers = text[text.index("[servers.limit]") :]
    whole = re.sub(r'^# (?=\[|[a-z_"]+[a-z.]*"? = )', "", servers, flags=re.MULTILINE)
    file.write_text(text.replace(servers, whole))
    study = read_study(file)
    assert list(study.servers) == ["limit", "mine", "python-http-1-0", "running"]
    assert study.servers["mine"].ready == "/health"


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ("serve app:app {port}", [".venv/bin/serve", "app:app", "{port}"]),
        ("MODE=x serve {port}", [".venv/bin/serve", "{port}"]),
        ("/usr/bin/serve {port}", ["/usr/bin/serve", "{port}"]),
        ("other {port}", ["other", "{port}"]),
    ],
)
def test_a_program_of_the_environment_beside_the_study_is_the_one_that_starts_it(tmp_path, given, start):
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "serve").touch(mode=0o755)
    ended = Command(tmp_path).run("init", "--command", given, "--path", "/")
    read = read_study(tmp_path / "study.toml").servers["mine"].start
    assert [word.removeprefix(f"{tmp_path}/") for word in read] == start
    assert ("it is started by .venv/bin/serve" in ended.stderr) == start[0].startswith(".venv")


def test_the_command_writes_a_study_of_both(tmp_path):
    ended = Command(tmp_path).run("init", "--only", "limit", "--command", "app {port}", "--path", "/")
    assert (ended.returncode, ended.stdout) == (0, "study.toml\n")
    assert list(read_study(tmp_path / "study.toml").servers) == ["limit", "mine"]


def answering(monkeypatch, found):
    """Let an own application answer so, without a start."""

    def asked(document, *_):
        assert list(document.to_model(Study).servers) == ["mine"]
        return found

    monkeypatch.setattr(init_path, "answered_paths", asked)


def test_without_a_path_the_study_asks_for_one_that_the_application_answers(tmp_path, monkeypatch):
    answering(monkeypatch, AnsweredPaths(404, named=["/items", "/users"]))
    ended = Command(tmp_path).run("init", "--command", "app {port}")
    assert [*read_study(tmp_path / "study.toml").load.requests] == ["/items"]
    assert "GET / is answered with status 404, so the study asks for /items" in ended.stderr
    assert "/users would do, too (--path)" in ended.stderr


def test_it_says_which_file_names_the_path_where_the_application_describes_none(tmp_path, monkeypatch):
    answering(monkeypatch, AnsweredPaths(404, named=["/items"], named_by="app.py"))
    ended = Command(tmp_path).run("init", "--command", "app {port}")
    assert "so the study asks for /items, which app.py names" in ended.stderr


def test_an_application_that_answers_its_root_is_asked_for_that_without_a_word(tmp_path, monkeypatch):
    answering(monkeypatch, AnsweredPaths(200, named=["/items"]))
    ended = Command(tmp_path).run("init", "--command", "app {port}")
    assert [*read_study(tmp_path / "study.toml").load.requests] == ["/"]
    assert "/items" not in ended.stderr


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (AnsweredPaths(404), "with status 404, not 200"),
        (AnsweredPaths(302, leads_to="/shop?all"), "with status 302, which leads to /shop?all"),
        (AnsweredPaths(401), "headers = { Authorization"),
    ],
)
def test_where_no_path_is_known_nothing_is_written_and_the_command_to_repeat_is_whole(
    tmp_path, monkeypatch, found, said
):
    answering(monkeypatch, found)
    words = ["init", "own study.toml", "--only", "limit", "--command", "A='b c' app {port}"]
    ended = Command(tmp_path).run(*words)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert not (tmp_path / "own study.toml").exists()
    again = shlex.split(ended.stderr.splitlines()[-1])
    assert again[:-2] == ["loadcurve", *words]
    assert again[-2:] == ["--path", found.leads_to or "/PATH"]


def test_a_program_that_does_not_start_is_an_error_with_its_output_and_nothing_is_written(tmp_path):
    program = tmp_path / "app"
    program.write_text("#!/bin/sh\necho no such module >&2\nexit 7\n")
    program.chmod(0o755)
    ended = Command(tmp_path).run("init", "--command", f"{program} {{port}}")
    assert ended.returncode == 4
    assert "ended with status 7 before it was ready. Its output:\n    no such module" in ended.stderr
    assert "Nothing was written." in ended.stderr
    assert not (tmp_path / "study.toml").exists()


def test_a_file_that_is_there_is_named_before_anything_is_started(tmp_path, monkeypatch):
    answering(monkeypatch, None)
    (tmp_path / "study.toml").touch()
    ended = Command(tmp_path).run("init", "--command", "app {port}")
    assert "study.toml already exists and was not changed" in ended.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cat-c", r"no such server .* did you mean \"cat-[ab]\""),
        ("gone", "it cannot be measured here: .*get it"),
    ],
)
def test_a_server_that_is_asked_for_and_is_not_here_is_refused(rows, name, said):
    with pytest.raises(BadInput, match=said):
        chosen_text("study.toml", rows, [name])


def test_the_other_servers_are_comments_and_those_to_install_say_how(rows):
    comments = re.findall(r"^# \[servers\.(\S+)\]  # (.*)$", study_text("study.toml", rows), re.MULTILINE)
    assert comments == [("cat-b", "cat-b"), ("simple", "simple (Loadcurve's own)"), ("gone", "gone: get it")]


def test_every_example_in_the_comments_is_right(tmp_path):
    file = tmp_path / "study.toml"
    whole = re.sub(r'^# (?=\[|[a-z_"]+[a-z.]*"? = )', "", study_text("study.toml", []), flags=re.MULTILINE)
    # The folder takes the place of files by name, and `until` wants at least eight trials.
    file.write_text(re.sub(r"^folder = .*$", "", whole, flags=re.MULTILINE).replace("count = 5", "count = 8"))
    study = read_study(file)
    assert list(study.servers) == ["limit", "python-http-1-0", "mine", "running"]
    assert study.host.server_cpus == [0]
    assert (study.load.pipeline, study.trials.until_share) == (4, 0.05)


def test_a_file_that_is_there_stays_as_it_is(tmp_path):
    command = Command(tmp_path)
    command.write("study.toml", "mine")
    ended = command.run("init")
    assert ended.returncode == 2
    assert "study.toml already exists and was not changed" in ended.stderr
    assert (tmp_path / "study.toml").read_text() == "mine"


def test_a_folder_that_is_not_there_is_reported(tmp_path):
    ended = Command(tmp_path).run("init", "none/study.toml")
    assert ended.returncode == 2
    assert "none/study.toml cannot be written: there is no folder none" in ended.stderr


def test_the_path_is_the_result_and_what_to_do_with_it_is_said(tmp_path):
    ended = Command(tmp_path).run("init", "mine.toml")
    assert (ended.returncode, ended.stdout) == (0, "mine.toml\n")
    said, quick, whole = ended.stderr.splitlines()
    assert said == f"{len(read_study(tmp_path / 'mine.toml').servers)} servers; to measure them:"
    assert re.fullmatch(r"  loadcurve run mine.toml --quick  \(about \d+:\d\d, for a first look\)", quick)
    assert re.fullmatch(r"  loadcurve run mine.toml  \(about \d+:\d\d\)", whole)
    assert "limit" in read_study(tmp_path / "mine.toml").servers
