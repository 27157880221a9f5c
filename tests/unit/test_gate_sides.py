"""The two sides of `loadcurve gate`: what may take the place of a study's server, and the record of it."""

from pathlib import Path
from typing import Any

import pytest

from loadcurve.errors import BadInput
from loadcurve.runs.gate import GateOptions, sides_of
from loadcurve.server.catalog import load_catalog
from loadcurve.toml.document import TomlDocument
from support.tiny_study import study_text


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sides(folder: Path, server: str, base: str, head: str) -> dict[str, Any]:
    """The tables of both sides, of a study in a folder."""
    file = folder / "study.toml"
    file.write_text(study_text(server))
    found = sides_of(TomlDocument.read(file), GateOptions(base, head), load_catalog())
    return {name: found.document.data["servers"][name] for name in (found.base, found.head)}


OWN = '[servers.mine]\nstart = "./server --port {port} --data {study}/data"\nversion = "1"'


def test_a_program_takes_the_place_of_the_studys(tmp_path: Path):
    program = tmp_path / "other"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = sides(tmp_path, OWN, "mine", str(program))
    assert found["base"]["start"] == "./server --port {port} --data {study}/data"
    assert found["head"]["start"] == [str(program), "--port", "{port}", "--data", "{study}/data"]
    assert found["head"]["use"] == "command"
    assert sides(tmp_path, "[servers.limit]", "limit", str(program))["head"]["binary"] == str(program)


def test_a_folder_takes_the_place_of_the_studys(tmp_path: Path):
    folder = tmp_path / "before"
    folder.mkdir()
    found = sides(tmp_path, OWN, str(folder), "mine")["base"]
    assert found["start"] == [f"{folder}/server", "--port", "{port}", "--data", f"{folder}/data"]
    assert found["cwd"] == str(folder)


def test_a_folder_without_the_working_folder_of_the_study_is_refused_by_its_option(tmp_path: Path):
    (tmp_path / "before/app").mkdir(parents=True)
    own = OWN + '\ncwd = "app"'
    assert sides(tmp_path, own, str(tmp_path / "before"), "mine")["base"]["cwd"] == f"{tmp_path}/before/app"
    with pytest.raises(
        BadInput, match=r'^--base .*/before/app: has no folder "app", which is the cwd of .*mine'
    ):
        sides(tmp_path, own, str(tmp_path / "before/app"), "mine")


def test_a_command_takes_the_place_of_the_studys(tmp_path: Path):
    found = sides(tmp_path, OWN, "mine", "server2 --listen '{port}' --quick")
    assert found["head"]["start"] == ["server2", "--listen", "{port}", "--quick"]


CONTAINER = '[servers.mine]\nuse = "limit"\nengine = "podman"\nimage = "localhost/mine:1"\n'


def test_an_image_takes_the_place_of_the_studys(tmp_path: Path):
    found = sides(tmp_path, CONTAINER, "mine", "localhost/mine:2")
    assert (found["base"]["image"], found["head"]["image"]) == ("localhost/mine:1", "localhost/mine:2")
    assert found["head"]["engine"] == "podman"


def test_a_root_filesystem_takes_the_place_of_an_image(in_folder: Path):
    (in_folder / "root.tar").touch()
    found = sides(in_folder, CONTAINER, "mine", "root.tar")
    assert found["head"]["rootfs"] == str(in_folder / "root.tar")
    assert "image" not in found["head"]


def test_the_name_of_an_image_is_recorded_as_it_is(in_folder: Path):
    assert "localhost/mine:2" in GateOptions("localhost/mine:1", "localhost/mine:2").words()


def test_a_budget_is_recorded_with_all_its_digits(in_folder: Path):
    assert GateOptions("a", "b", least=0.0123, budget_s=1_209_600).words()[-4:] == [
        *("--fail-on-regression", "1.23%"),
        *("--budget", "1209600s"),
    ]


@pytest.mark.parametrize(
    ("server", "base", "head", "words"),
    [
        (OWN, "mine", "localhost/mine:2", 'engine = "podman"'),
        (OWN, "mine", "./nowhere", "--head ./nowhere: there is no such file or folder"),
        (OWN, "study.toml", "mine", "is no program that this user may run"),
        ("[servers.limit]", ".", "limit", "takes nothing from a folder"),
        ("[servers.limit]\n[servers.persistent]", "limit", "persistant", 'did you mean "persistent"'),
        (OWN, "mine", "server '{port}", "not a command"),
    ],
)
def test_a_side_that_is_nothing_is_named(in_folder: Path, server: str, base: str, head: str, words: str):
    with pytest.raises(BadInput, match=words):
        sides(in_folder, server, base, head)


def test_what_is_required_of_the_server_that_both_are_made_of_is_required_of_the_head(tmp_path: Path):
    file = tmp_path / "study.toml"
    bounds = '[[require]]\nmeasure = "p50"\nbelow = "1ms"\n' * 2 + 'server = "mine"\n'
    file.write_text(f"{study_text(OWN)}\n{bounds}")
    found = sides_of(TomlDocument.read(file), GateOptions("old {port}", "new {port}"), load_catalog())
    assert [one["server"] for one in found.document.data["require"]] == ["head", "head"]
    file.write_text(file.read_text().replace('server = "mine"', 'server = "mien"'))
    with pytest.raises(BadInput, match=r'require\.server: found "mien"; expected one of mine'):
        sides_of(TomlDocument.read(file), GateOptions("old {port}", "new {port}"), load_catalog())
