"""A run folder holds what its run was given: a copy of it repeats the run where the originals are gone."""

import dataclasses
import shutil
import tomllib
from pathlib import Path

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.errors import BadInput
from loadcurve.redaction import study_without_secrets, without_passwords_in
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.section import Report
from loadcurve.result.folder import read_run, read_run_record
from loadcurve.result.inputs import digests_of
from loadcurve.result.records import RunRecord
from loadcurve.runs import prepare
from loadcurve.runs.inputs import RunInputs
from loadcurve.runs.study import RunOptions, StudyRun
from loadcurve.server.catalog import load_catalog
from loadcurve.server.found import Overrides, find_server
from loadcurve.study.bundled import bundled_studies
from loadcurve.study.inputs import files_of, renamed
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from support.scripted_run import ScriptedRun

STUDY = """\
title = "All kinds of inputs"   # and "body.json" in a comment
claims = "../shared/claims.toml"
[content]
folder = "site"
[load]
model = "closed"
requests = ["/index.html"]
method = "POST"
body = "@body.json"
warmup = "50ms"
duration = "100ms"
tls = { verify = "tls/ca.pem", certificate = "tls/client.pem", key = "tls/client.key" }
[load.headers]
Authorization = { file = "token" }
[sweep]
connections = [1, 2]
[trials]
count = 2
repeat_disturbed = 0
[published]
file = "published.toml"
servers = { A = "own" }
[servers.own]
tls = true
start = ["python3", "{study}/serve.py", "--root={content}"]
[servers.listed]
use = "limit"
load = { requests = 'list.txt' }
"""
OF_DATABASES = """\
title = "Two databases"
[load]
model = "ycsb"
workload = "a"
records = 10
duration = "1s"
[sweep]
threads = [1]
[trials]
count = 2
[servers.pg]
use = "url"
url = "{url}"
[servers.m]
use = "url"
url = "{mongodb}"
"""
CLAIMS = """\
[[claims]]
text = "One is faster."
kind = "greater"
servers = ["own", "listed"]
"""
PUBLISHED = """\
source = "A paper"
[[figures]]
title = "Figure 1"
axis = "connections"
values = [1, 2]
measure = "throughput"
unit = "requests/s"
series = { A = [10, 20] }
"""
KEPT = {
    "claims": "inputs/claims.toml",
    "content.folder": "inputs/site",
    "load.body": "inputs/body.json",
    "load.tls.verify": "inputs/tls/ca.pem",
    "load.tls.certificate": "inputs/tls/client.pem",
    "published.file": "inputs/published.toml",
    "servers.own.start": "inputs/serve.py",
    "servers.listed.load.requests": "inputs/list.txt",
    "--catalog": "inputs/catalog-1/entries",
}
LEFT_OUT = {"load.tls.key": "private key", "load.headers.Authorization": "secret"}


@pytest.fixture
def found_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each server of the catalogue be found, as the one that Loadcurve has itself."""
    here = find_server(load_catalog()["limit"], {}, Overrides())
    monkeypatch.setattr(prepare, "_find", lambda entry, *_, **__: dataclasses.replace(here, entry=entry))


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A folder with a study of its own and all that it names, and a catalogue beside it."""
    folder = tmp_path / "original"
    limit = load_catalog()["limit"].folder
    shutil.copytree(limit, folder / "basis")
    shutil.copytree(limit.parent / "shared", folder / "shared")
    files = {
        "study/study.toml": STUDY,
        "study/body.json": '{"a": 1}',
        "study/list.txt": "/index.html\n",
        "study/published.toml": PUBLISHED,
        "study/serve.py": "print('serving')\n",
        "study/site/index.html": "hello",
        "study/tls/ca.pem": "the authority",
        "study/tls/client.pem": "a certificate",
        "study/tls/client.key": "PRIVATE KEY",
        "study/token": "s3cret-token",
        "shared/claims.toml": CLAIMS,
        "entries/own/server.toml": 'base = "../../basis/server.toml"\ntitle = "My own server"\n',
        "entries/own/target/huge": "made from the rest",
        "entries/unused/server.toml": 'base = "../../basis/server.toml"\n',
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "study" / "token").chmod(0o600)
    return folder


def begun(study: Path, scripted: ScriptedRun, folder: Path, **options: object) -> list[RunRecord]:
    """Begin a run of a study as far as its folders are written; return what they record."""
    run = StudyRun(study, RunOptions(out=folder, seed=1, **options), scripted.display())
    for part in run.parts:
        with part.content() as served, part.opened_folder(served, ()):
            pass
    return [read_run_record(part.folder)[0] for part in run.parts]


def measured(study: Path, scripted: ScriptedRun, out: Path, catalog: Path) -> int:
    """Run a study with a catalogue of the person's own; return how many points got an answer."""
    display = scripted.display()
    run = StudyRun(study, RunOptions(out=out, seed=1, catalogs=[catalog]), display)
    display.begins(run.studies, run.order)
    return run.measure()


def moved(folder: Path, original: Path) -> Path:
    """Return a copy of a run folder where nothing else is left."""
    copy = folder.parent / "elsewhere" / "copy"
    shutil.copytree(folder, copy)
    shutil.rmtree(original, ignore_errors=True)
    shutil.rmtree(folder)
    return copy


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    made = ScriptedRun(tmp_path, monkeypatch)
    # With catalogues of a person's own.
    monkeypatch.setattr("loadcurve.runs.study.load_catalog", load_catalog)
    return made


@pytest.mark.usefixtures("found_anyway")
def test_a_run_with_every_kind_of_input_is_repeated_from_a_copy_of_its_folder(
    original: Path, scripted: ScriptedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    study_file, entries = original / "study" / "study.toml", original / "entries"
    assert measured(study_file, scripted, scripted.folder, entries) == 8
    before = scripted.run.run
    assert {one.key: one.kept_as for one in before.inputs if one.kept_as} == KEPT
    assert {one.key: one.left_out for one in before.inputs if one.left_out} == LEFT_OUT
    assert not {"client.key", "token", "huge", "unused"} & {one.name for one in scripted.folder.rglob("*")}

    key, token = (str(original / "study" / name) for name in ("tls/client.key", "token"))
    copy = moved(scripted.folder, original)
    for name in (key, token):
        # What is private is brought by hand.
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch(mode=0o600)
        Path(name).write_text("s3cret-token")
    text = (copy / "study.toml").read_text()
    assert 'body = "@inputs/body.json"' in text
    assert '# and "body.json" in a comment' in text
    assert (tomllib.loads(text)["load"]["tls"]["key"], before.repeating[3:5]) == (key, ["--seed", "1"])

    monkeypatch.chdir(copy)
    command, study, *_, option, catalog = before.repeating[1:]
    assert (command, study, option, catalog) == ("run", "study.toml", "--catalog", KEPT["--catalog"])
    assert measured(Path(study), scripted, tmp_path / "again", Path(catalog)) == 8
    after = read_run(tmp_path / "again").run
    assert digests_of(after.inputs) == digests_of(before.inputs)
    for record in (before, after):
        # Where a secret was read is said as the study says it.
        record.study["load"].pop("headers")
    assert (after.study["load"], after.study["published"]) == (
        before.study["load"],
        before.study["published"],
    )
    assert after.servers["own"].title == before.servers["own"].title == "My own server"
    assert (tmp_path / "again" / "study.toml").read_text() == text


@pytest.mark.usefixtures("found_anyway")
@pytest.mark.parametrize("name", bundled_studies())
def test_a_bundled_study_is_repeated_from_a_copy_of_its_run_folder(name, scripted, tmp_path):
    study = tmp_path / "original" / bundled_studies()[name].name
    source = bundled_studies()[name]
    if source.name == "study.toml":
        shutil.copytree(source.parent, study.parent)
    else:
        study.parent.mkdir()
        shutil.copy(source, study)
    before = begun(study, scripted, tmp_path / "run", quick=True)
    folder = tmp_path / "run"
    copy = moved(folder, study.parent)
    for record in before:
        place = copy if len(before) == 1 else copy / "web"
        [after, *_] = begun(place / "study.toml", scripted, tmp_path / "again", quick=True)
        assert after.study.keys() == record.study.keys()
        assert digests_of(after.inputs) == digests_of(record.inputs)
        break


def test_what_a_run_folder_lacks_is_said_where_it_says_how_to_repeat_it(original, scripted, found_anyway):
    measured(original / "study" / "study.toml", scripted, scripted.folder, original / "entries")
    analysis = analyse(scripted.run)
    assert analysis.run.inputs_missing == [
        "load.tls.key: tls/client.key (a private key)",
        "load.headers.Authorization: token (a secret)",
    ]
    text = markdown_bytes(Report(scripted.run, analysis)).decode()
    assert "Not in the run folder, and needed:" in text
    assert "tls/client.key" in text


def test_the_files_of_a_databases_url_are_inputs_but_for_its_keys(tmp_path, monkeypatch):
    study = tmp_path / "my study" / "study.toml"
    study.parent.mkdir()
    for name in ("ca.pem", "client.pem", "client.key", "m.pem"):
        (study.parent / name).write_text(name)
    url = "postgresql://me:s3cret@db/app?sslmode=verify-full&sslrootcert={}&sslcert={}&sslkey={}"
    # A path may be absolute and percent-encoded.
    encoded = f"{tmp_path}/my%20study/client.pem"
    mongodb = "mongodb://db/?tls=true&tlsCAFile=ca.pem&tlsCertificateKeyFile=m.pem"
    text = OF_DATABASES.format(url=url.format("ca.pem", encoded, "client.key"), mongodb=mongodb)
    study.write_text(text)
    # The files are found wherever the command is run.
    monkeypatch.chdir("/")
    document = TomlDocument.read(study)
    inputs = RunInputs(document)
    assert [(one.key, one.name, one.kept_as, one.left_out) for one in inputs.records] == [
        ("servers.pg.url", "ca.pem", "inputs/ca.pem", None),
        ("servers.pg.url", f"{tmp_path}/my study/client.pem", "inputs/client.pem", None),
        ("servers.pg.url", "client.key", None, "private key"),
        ("servers.m.url", "ca.pem", "inputs/ca.pem", None),
        ("servers.m.url", "m.pem", None, "private key"),
    ]
    folder = tmp_path / "run"
    inputs.copy_into(folder)
    assert sorted(one.name for one in folder.rglob("*.*")) == ["ca.pem", "client.pem"]
    kept = tomllib.loads(inputs.study_text(study_without_secrets(text)))["servers"]
    recorded = inputs.recorded(without_passwords_in(document.to_model(Study).model_dump(mode="json")))
    for servers in (kept, recorded["servers"]):
        pg, m = servers["pg"]["url"], servers["m"]["url"]
        assert pg.startswith("postgresql://db/app?sslmode=verify-full&")
        assert "&sslrootcert=inputs/ca.pem&sslcert=inputs/client.pem" in pg
        assert "tlsCAFile=inputs/ca.pem" in m
        assert not [secret for secret in ("s3cret", "client.key") if secret in pg]


def test_the_certificates_that_the_machine_trusts_are_no_file(tmp_path):
    study = tmp_path / "study.toml"
    url = "postgresql://db/app?sslrootcert=system&sslmode=verify-full"
    study.write_text(OF_DATABASES.format(url=url, mongodb="mongodb://db/"))
    document = TomlDocument.read(study)
    assert RunInputs(document).records == []
    assert document.to_model(Study).servers["pg"].url == url


def test_a_body_that_a_run_folder_hides_is_not_sent_as_it_is_there(original):
    study = original / "study" / "study.toml"
    study.write_text(STUDY.replace("@body.json", "(hidden)"))
    with pytest.raises(BadInput, match="has in place of a body; expected the body"):
        TomlDocument.read(study).to_model(Study)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("load.body = '@a.json'\n", 'load.body = "@NEW"\n'),
        ('[load]\nbody = "@a.json" # "@a.json"\n', '[load]\nbody = "@NEW" # "@a.json"\n'),
        (
            '[servers."x y"]\nload = { requests = "l\\u002etxt" }\n',
            '[servers."x y"]\nload = { requests = "NEW" }\n',
        ),
        (
            '[servers.x]\nstart = ["./run", "{study}/a", "--c={study}/b.conf", "{study}"]\n',
            '[servers.x]\nstart = ["NEW", "NEW", "--c=NEW", "NEW"]\n',
        ),
        ('[load]\nworkload = "a"\nbody = "plain"\n[load.tls]\nverify = "system"\n', None),
        ('[loads."é"]\nrequests = "ü.txt"\n', '[loads."é"]\nrequests = "NEW"\n'),
    ],
)
def test_names_of_files_are_changed_where_they_are_and_nothing_else_is(tmp_path, text, expected):
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    files = files_of(TomlDocument.read(tmp_path / "study.toml"))
    assert renamed(text, files, lambda _: "NEW") == (text if expected is None else expected)
