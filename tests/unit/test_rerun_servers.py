"""Servers that a run to be measured again needs: installed where the person agrees, and named where not."""

import hashlib
from pathlib import Path

import pytest

from loadcurve.cli.rerun_servers import lacking_servers, provide_servers
from loadcurve.server.catalog import load_catalog
from loadcurve.server.installed.place import installed_server
from support.wheels import write_wheel

STUDY = """\
title = "Servers that are missing"
catalog = "catalog"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
duration = "1s"
[sweep]
connections = [1]
[trials]
count = 3
[servers.demo]
[servers.other]
use = "demo"
[servers.bare]
[servers.limit]
[servers.mine]
use = "command"
start = ["not-there", "{port}"]
version = "1"
[servers.given]
use = "demo"
binary = "/not/there"
[servers.boxed]
use = "demo"
engine = "podman"
image = "demo"
"""
ENTRY = """\
title = "NAME"
documentation = "https://NAME.example/"
binary = ["loadcurve-test-NAME"]
start = ["{binary}", "{port}"]
[version]
command = ["{binary}"]
pattern = '^NAME ([0-9.]+)'
"""
RECIPE = """\
[recipe]
name = "loadcurve-test-demo"
registry = "pypi"
machine = "any"
program = "bin/loadcurve-test-demo"
[[recipe.packages]]
name = "loadcurve-test-demo"
version = "1.2"
sha256 = "DIGEST"
"""


def wheel(folder: Path) -> str:
    """Write a wheel with one script, and return its digest."""
    script = {"loadcurve_test_demo-1.2.data/scripts/loadcurve-test-demo": "#!/bin/sh\necho demo 1.2\n"}
    file = write_wheel(folder, "loadcurve_test_demo", "1.2", script)
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of servers that are missing here: one can be installed, of one nothing is known."""
    monkeypatch.setenv("LOADCURVE_SERVERS", str(tmp_path / "servers"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    recipe = RECIPE.replace("DIGEST", wheel(tmp_path))
    for name, more in (("demo", recipe), ("bare", "")):
        entry = tmp_path / "catalog" / name / "server.toml"
        entry.parent.mkdir(parents=True)
        entry.write_text(ENTRY.replace("NAME", name) + more)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


def measured(*names: str) -> dict[str, str | None]:
    """The servers that were measured, each with its version."""
    return dict.fromkeys(names, "1.1")


ALL = ("demo", "other", "bare", "limit", "mine", "given", "boxed")


def test_only_what_was_measured_and_the_catalogue_starts_here_is_looked_for(study: Path):
    catalog = load_catalog([study.parent / "catalog"])
    assert [one.name for one in lacking_servers(study, measured(*ALL), catalog)] == ["demo", "other", "bare"]
    assert [one.name for one in lacking_servers(study, measured("other"), catalog)] == ["other"]


def test_with_agreement_what_can_be_had_is_installed_once_by_its_digest(
    study: Path, capsys: pytest.CaptureFixture[str]
):
    provide_servers(study, measured(*ALL), [], agrees=True)
    installed = installed_server("loadcurve-test-demo")
    assert installed is not None
    assert installed.packages == ("loadcurve-test-demo 1.2",)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("fetching demo …") == 1
    assert "bare (measured: 1.1) is missing here; see its documentation" in said.err
    provide_servers(study, measured("demo"), [], agrees=True)
    assert capsys.readouterr().err == ""


def test_without_agreement_nothing_is_installed_and_the_command_is_named(
    study: Path, capsys: pytest.CaptureFixture[str]
):
    provide_servers(study, measured(*ALL), [], agrees=False)
    assert installed_server("loadcurve-test-demo") is None
    said = capsys.readouterr().err
    assert "demo (measured: 1.1) is missing here; loadcurve servers install demo fetches" in said
    assert "To measure demo and other too, repeat the command with --yes or after: " in said
    assert said.endswith("loadcurve servers install demo\n")


def test_a_package_of_another_digest_is_refused_and_the_others_are_measured(
    study: Path, capsys: pytest.CaptureFixture[str]
):
    entry = study.parent / "catalog" / "demo" / "server.toml"
    digest = hashlib.sha256(next(study.parent.glob("*.whl")).read_bytes()).hexdigest()
    entry.write_text(entry.read_text().replace(digest, "0" * 64))
    provide_servers(study, measured("demo"), [], agrees=True)
    assert installed_server("loadcurve-test-demo") is None
    assert "demo cannot be installed" in capsys.readouterr().err
