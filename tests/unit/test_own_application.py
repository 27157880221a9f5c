"""A study of one's own application: its command, where it works, what shows that it is ready, its version."""

import re
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from loadcurve.cli import init
from loadcurve.cli.init import OwnApplication, own_study_text
from loadcurve.errors import BadInput
from loadcurve.host.cgroups import NO_LIMITS, Limits
from loadcurve.runs.inputs import RunInputs
from loadcurve.runs.prepare import checked_studies
from loadcurve.runs.study_servers import overrides_of, programs_of
from loadcurve.server import reach
from loadcurve.server.catalog import load_catalog
from loadcurve.server.found import Overrides, ReadyQuestion, WorkingFolder, require_as_given
from loadcurve.server.location import THIS_MACHINE
from loadcurve.server.revision import revision_of
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.effects import effects_of
from loadcurve.study.inputs import files_of, with_working_folder
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.secret import SecretText

STUDY = """\
title = "Mine"
[load]
model = "closed"
requests = ["/first", "/second"]
duration = "1s"
[sweep]
connections = [1, 2]
[servers.mine]
"""


def own(folder: Path, server: str, *, before: str = "") -> TomlDocument:
    """The study of one application, in a folder."""
    file = folder / "mine.toml"
    file.write_text(before + STUDY + server)
    return TomlDocument.read(file)


def said_of(folder: Path, server: str, *, before: str = ""):
    """What is taken of the study when its server is looked for."""
    document = own(folder, server, before=before)
    [study] = checked_studies(document.path, load_catalog())
    arm = study.arms["mine"]
    return overrides_of(load_catalog()[arm.server.use], arm, study, folder, THIS_MACHINE)


def refusal(folder: Path, server: str) -> str:
    with pytest.raises(BadInput) as caught:
        said_of(folder, server)
    return str(caught.value)


@pytest.mark.parametrize(
    ("http", "over_quic", "announced_at"),
    [("1.1", False, None), ("3", True, None), ("3-by-alt-svc", False, "/first")],
)
def test_a_server_that_runs_is_looked_for_where_the_version_of_http_leads(
    tmp_path, http, over_quic, announced_at
):
    server = 'use = "url"\nurl = "https://127.0.0.1:9"\n'
    said = said_of(tmp_path, f'{server}load = {{ http = "{http}" }}\n')
    assert (said.way.is_over_quic, said.announced_at) == (over_quic, announced_at)


IN_A_CONTAINER = SimpleNamespace(is_this_machine=False, fixed_port=None, own_command=lambda: None)


@pytest.mark.parametrize(
    ("start", "variable", "location", "said"),
    [
        (
            "app {socket} {port}",
            "",
            THIS_MACHINE,
            "contains {socket} and {port}; expected the one to listen on",
        ),
        (
            "app",
            "{socket}:{port}",
            THIS_MACHINE,
            "contains {socket} and {port}; expected the one to listen on",
        ),
        ("app {socket}", "", IN_A_CONTAINER, "contains {socket}, which cannot be reached from outside of a"),
        (
            "app",
            "",
            THIS_MACHINE,
            "contains no {port}; expected it as the port to listen on, or {socket} for a",
        ),
        ("app {socket}", "", THIS_MACHINE, None),
        ("app", "{socket}", THIS_MACHINE, None),
    ],
)
def test_a_program_listens_on_a_port_or_on_a_socket_of_this_machine(start, variable, location, said):
    environment = {"AT": SecretText(variable)}
    overrides = Overrides(start=start.split(), environment=environment, location=location)
    is_refused = pytest.raises(UnusableSetting, match=re.escape(said)) if said else nullcontext()
    with is_refused:
        require_as_given(load_catalog()["command"], {}, overrides)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("app --port {port}", ["app", "--port", "{port}"]),
        ("app -b '127.0.0.1:{port}' \\\"two words\\\"", ["app", "-b", "127.0.0.1:{port}", "two words"]),
        ("bin/app {port} #1", ["{folder}/bin/app", "{port}", "#1"]),
        (
            "app --query a=1,b=2 http://x/?a=1 {port}",
            ["app", "--query", "a=1,b=2", "http://x/?a=1", "{port}"],
        ),
    ],
)
def test_a_command_in_one_text_is_divided_as_a_shell_does(tmp_path, text, words):
    found = said_of(tmp_path, f'start = "{text}"')
    assert list(found.start) == [word.replace("{folder}", str(tmp_path)) for word in words]


@pytest.mark.parametrize("text", ["cd app && run {port}", "run {port} | tee log", "run {port} > log"])
def test_what_only_a_shell_can_do_is_refused_with_how_to_name_one(tmp_path, text):
    said = refusal(tmp_path, f'start = "{text}"')
    assert "mine.toml:9: servers.mine.start: found " in said
    assert (
        'no shell runs it; expected one program and its arguments, or a shell that is named, such as ["sh"'
        in said
    )


def test_a_variable_in_front_of_the_program_is_refused_with_where_variables_are_set(tmp_path):
    said = refusal(tmp_path, 'start = "API_TOKEN=geheim run {port}"')
    assert "found API_TOKEN=… in front of the program: no shell sets it" in said
    assert 'environment = { API_TOKEN = "…" } beside start' in said
    assert "geheim" not in said


def test_a_slip_in_the_name_of_a_table_of_a_server_is_named(tmp_path):
    said = refusal(tmp_path, 'start = "run {port}"\nenviroment = { A = "1" }')
    assert (
        "servers.mine.enviroment: found a table; expected a text in quotes, a number, true or false" in said
    )
    assert said.strip().endswith('; did you mean "environment"?')


def test_a_quotation_without_end_is_no_command(tmp_path):
    assert "which is not a command: no closing quotation" in refusal(tmp_path, 'start = "run \'x {port}"')


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ([("app", "app {socket}"), ("proxy", "proxy {port} {app.socket}")], None),
        ([("app", "app {port} {proxy.socket}"), ("proxy", "proxy {port}")], "proxy.socket"),
        ([("proxy", "proxy {port} {app.socket}"), ("app", "app {socket} {port}")], "app.socket"),
        ([("app", "app {socket}"), ("proxy", "proxy {socket}")], "programs.start: contains no {port}"),
        ([("app", "app {socket} {port}"), ("proxy", "proxy {port}")], "contains {socket} and {port}"),
    ],
)
def test_the_socket_of_a_program_is_known_to_those_that_start_after_it(tmp_path, programs, said):
    tables = "".join(
        f'\n[[servers.mine.programs]]\nname = "{name}"\nstart = "{start}"' for name, start in programs
    )
    document = own(tmp_path, f'version = "1"{tables}')
    is_refused = pytest.raises(BadInput, match=re.escape(said)) if said else nullcontext()
    with is_refused:
        checked_studies(document.path, load_catalog())


def test_each_of_several_programs_has_its_own_limits(tmp_path):
    programs = "".join(
        f'\n[[servers.mine.programs]]\nname = "{name}"\nstart = "run {{port}}"\n{limits}'
        for name, limits in (("app", 'limits = { cpus = 0.5, memory = "64MiB" }'), ("proxy", ""))
    )
    document = own(tmp_path, programs)
    [study] = checked_studies(document.path, load_catalog())
    app, proxy = programs_of(load_catalog()["command"], study.arms["mine"], tmp_path)
    assert app.limits == Limits(cpus=0.5, memory_bytes=64 << 20)
    assert proxy.limits == NO_LIMITS


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ('start = "run {port}"', "say it of one of them"),
        ('binary = "run"', "the `start` of each names its program"),
        ('unit = "app.service"', "a server that runs already"),
        ("limits = { cpus = 0.5 }", "say it of each of them"),
        ('machine = "t2.micro"', "give each of them its own limits"),
        ('engine = "podman"', "run in no container"),
    ],
)
def test_what_several_programs_cannot_have_is_named_with_what_to_do(tmp_path, key, advice):
    programs = '\n[[servers.mine.programs]]\nname = "app"\nstart = "run {port}"'
    refused = refusal(tmp_path, key + programs)
    assert f"servers.mine.{key.split()[0]}: cannot be combined with programs: " in refused
    assert advice in refused


def test_several_programs_are_bound_to_cpus_together(tmp_path):
    programs = '\n[[servers.mine.programs]]\nname = "app"\nstart = "run {port}"'
    file = tmp_path / "two.toml"
    file.write_text(f'{STUDY}version = "1"\ncpus = [0]{programs}')
    [study] = checked_studies(file, load_catalog())
    assert list(study.servers["mine"].cpus) == [0]


def test_a_name_of_the_catalogue_keeps_its_entry_and_another_one_is_the_programs_own(tmp_path):
    text = STUDY.replace("[servers.mine]", '[content]\n"first" = "1KiB"\n"second" = "1KiB"\n[servers.mine]')
    file = tmp_path / "two.toml"
    file.write_text(text + 'start = "run {port}"\n[servers.limit]\nstart = "{binary} limit {port}"')
    [study] = checked_studies(file, load_catalog())
    assert {name: server.use for name, server in study.servers.items()} == {
        "mine": "command",
        "limit": "limit",
    }


def test_it_works_in_the_folder_of_the_study_unless_another_one_is_named(tmp_path):
    (tmp_path / "app").mkdir()
    assert said_of(tmp_path, 'start = "run {port}"').folder == WorkingFolder(tmp_path, is_given=False)
    named = said_of(tmp_path, 'start = "run {port}"\ncwd = "app"')
    assert named.folder == WorkingFolder(tmp_path / "app", is_given=True)
    assert "no such folder" in refusal(tmp_path, 'start = "run {port}"\ncwd = "gone"')


def test_a_server_of_the_catalogue_has_a_folder_of_its_own(tmp_path):
    text = '[content]\n"first" = "1KiB"\n"second" = "1KiB"\n'
    document = own(tmp_path, 'use = "limit"\ncwd = "."\n' + text)
    with pytest.raises(BadInput, match=r"mine.toml:10: servers.mine.cwd: not used: the server is one of the"):
        checked_studies(document.path, load_catalog())


def test_it_is_ready_by_the_first_request_of_its_load_or_by_the_path_that_is_named(tmp_path):
    assert said_of(tmp_path, 'start = "run {port}"').ready == ReadyQuestion("/first", 500)
    assert said_of(tmp_path, 'start = "run {port}"\nready = "/health"').ready == ReadyQuestion("/health", 400)
    assert "expected a path, such as" in refusal(tmp_path, 'start = "run {port}"\nready = "health"')
    with_files = '[content]\n"first" = "1KiB"\n"second" = "1KiB"\n'
    assert said_of(tmp_path, 'start = "run {port}"\n' + with_files).ready is None


def test_a_load_on_databases_is_refused_and_a_database_has_no_path_to_be_ready_by(tmp_path):
    file = tmp_path / "ycsb.toml"
    load = STUDY.replace('"closed"', '"ycsb"').replace('requests = ["/first", "/second"]', 'workload = "a"')
    load = load.replace('duration = "1s"', "operations = 10").replace("connections", "threads")
    for server, said in {
        '[servers.mine]\nstart = "run {port}"': "8: servers.mine: ",
        '[servers.postgresql]\nready = "/x"': "9: servers.postgresql.ready: not used: postgresql is a",
    }.items():
        file.write_text(load.replace("[servers.mine]\n", "") + server)
        with pytest.raises(BadInput, match=re.escape(said)):
            checked_studies(file, load_catalog())


def test_content_is_required_where_the_command_names_it(tmp_path):
    assert "content: missing; expected files or a folder" in refusal(
        tmp_path, 'start = "run {port} {content}"'
    )


def test_its_command_is_named_by_what_shows_what_a_study_runs(tmp_path):
    effects = effects_of(own(tmp_path, 'start = "run --port {port}"\ncwd = "app"').data)
    assert [(one.kind, one.name) for one in effects] == [("command", "run --port {port}"), ("file", "app")]


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def test_its_version_is_the_revision_of_its_folder(tmp_path):
    assert revision_of(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert revision_of(tmp_path) is None
    (tmp_path / "app.py").write_text("1")
    git(tmp_path, "add", "app.py")
    git(tmp_path, "commit", "-qm", "one")
    head = subprocess.run(
        ["git", "-C", str(tmp_path), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout
    assert revision_of(tmp_path) == f"git {head[:12]}"
    (tmp_path / "run").mkdir()
    assert revision_of(tmp_path / "run") == f"git {head[:12]}"
    (tmp_path / "app.py").write_text("2")
    assert revision_of(tmp_path) == f"git {head[:12]}, changed"
    git(tmp_path, "tag", "v1.2")
    assert revision_of(tmp_path) == "git v1.2, changed"


@pytest.mark.parametrize(
    ("table", "kept"),
    [
        ('[servers.mine]\nstart = "run"\n', '[servers.mine]\ncwd = "/the/folder"\nstart = "run"\n'),
        (
            '[servers]\nmine = { start = "run" }\n',
            '[servers]\nmine = { cwd = "/the/folder", start = "run" }\n',
        ),
        ('[servers.mine]\ncwd = "x"\nstart = "run"\n', '[servers.mine]\ncwd = "x"\nstart = "run"\n'),
    ],
)
def test_the_study_in_a_run_folder_says_where_its_program_works(table, kept):
    assert with_working_folder(table, ["mine"], Path("/the/folder")) == kept


def test_the_program_of_a_command_in_one_text_is_an_input(tmp_path):
    [found] = files_of(own(tmp_path, 'start = "bin/app --port {port}"'))
    assert (found.text[found.begin : found.end], found.file) == ("bin/app", tmp_path / "bin/app")


def test_the_folder_of_a_program_is_an_input_that_the_run_folder_does_not_hold(tmp_path):
    inputs = RunInputs(own(tmp_path, 'start = "run {port}"'), own_programs=["mine"])
    [record] = inputs.records
    assert (record.key, record.name, record.left_out) == ("servers.mine.cwd", str(tmp_path), "program")
    assert (
        RunInputs(own(tmp_path, 'start = "run {port}"\nengine = "podman"'), own_programs=["mine"]).records
        == []
    )


@pytest.mark.parametrize("has_revision", [True, False])
def test_init_writes_a_study_of_a_command_that_a_run_would_accept(tmp_path, has_revision):
    file = tmp_path / "own.toml"
    command = "run \"two words\" 'x' {port}"
    file.write_text(own_study_text("own.toml", OwnApplication(command, has_revision=has_revision)))
    [study] = checked_studies(file, load_catalog())
    assert study.servers["mine"].start == ["run", "two words", "x", "{port}"]
    assert study.servers["mine"].version == (None if has_revision else "1")


def test_the_mix_that_init_writes_as_a_comment_can_be_used(tmp_path):
    file = tmp_path / "own.toml"
    text = own_study_text("own.toml", OwnApplication("run {port}"))
    before, mix, after = re.split(r"^(# requests = \[.*?^# \]\n)", text, flags=re.MULTILINE | re.DOTALL)
    used = before.replace('requests = ["/"]', "#") + re.sub(r"^# ", "", mix, flags=re.MULTILINE) + after
    file.write_text(used)
    [study] = checked_studies(file, load_catalog())
    assert [(one.method, one.path, one.weight) for one in study.load.requests] == [
        (None, "/", 3),
        ("POST", "/orders", None),
    ]


@pytest.mark.parametrize(
    ("command", "curves"),
    [
        ("app {port}", 1),
        ("app --workers {workers} {port}", 3),
        ("app {threads} -w {workers} -t {threads} {port}", 9),
        ("MODE={mode} app {socket} {address}", 1),
    ],
)
def test_init_gives_what_a_command_names_in_braces_some_values_a_curve_for_each(tmp_path, command, curves):
    file = tmp_path / "own.toml"
    file.write_text(own_study_text("own.toml", OwnApplication(command)))
    [study] = checked_studies(file, load_catalog())
    assert len(study.arms) == curves


def test_init_takes_variables_in_front_of_the_program_as_its_environment(tmp_path):
    file = tmp_path / "own.toml"
    command = """PORT={port} GREETING='two words' EMPTY= node "my server.js" --x=1"""
    file.write_text(own_study_text("own.toml", OwnApplication(command)))
    [study] = checked_studies(file, load_catalog())
    assert study.servers["mine"].start == ["node", "my server.js", "--x=1"]
    variables = {"PORT": "{port}", "GREETING": "two words", "EMPTY": ""}
    environment = {name: SecretText(text) for name, text in variables.items()}
    assert study.servers["mine"].environment == environment


def test_init_asks_for_the_paths_that_it_is_given(tmp_path):
    file = tmp_path / "own.toml"
    paths = ("/items/7", "/search?q=a")
    file.write_text(own_study_text("own.toml", OwnApplication("run {port}", paths)))
    [study] = checked_studies(file, load_catalog())
    assert list(study.load.requests) == ["/items/7", "/search?q=a"]


def test_init_writes_that_what_root_alone_can_run_stays_roots(tmp_path, monkeypatch):
    program = tmp_path / "run"
    program.touch()
    nobody = SimpleNamespace(name="nobody")
    monkeypatch.setattr(init, "user_of_server", lambda _candidates, _asked: nobody)
    monkeypatch.setattr(reach, "closed_folder", lambda _user, _path: None)
    written = {}
    for may_run in (True, False):
        monkeypatch.setattr(reach, "may_run", lambda _user, _program, may_run=may_run: may_run)
        file = tmp_path / f"{may_run}.toml"
        init.init_command(file, (), init.InitGiven("./run {port}", paths=["/"]))
        [study] = checked_studies(file, load_catalog())
        written[may_run] = study.servers["mine"].user
    assert written == {True: None, False: "root"}


def test_init_refuses_a_command_that_is_not_given_its_port():
    with pytest.raises(BadInput, match=r"contains no \{port\}: .* such as \"gunicorn app:app -b 127"):
        own_study_text("own.toml", OwnApplication("gunicorn app:app"))
