"""The environment of servers and builds: what is listed, what the study adds, and nothing else."""

import os

import pytest

from loadcurve.server.environment import PASSED_ON, environment_of_builds
from loadcurve.server.location import THIS_MACHINE
from support.read_study import read_study
from support.tiny_study import study_text

HARNESS = {
    "AWS_SECRET_ACCESS_KEY": "Xq7VtZw9Kp",
    "DATABASE_URL": "postgresql://me:Xq7VtZw9Kp@one/app",
    "LD_PRELOAD": "",
    "CARGO_REGISTRY_TOKEN": "Xq7VtZw9Kp",
    "CARGO_TARGET_DIR": "/target",
    "https_proxy": "http://proxy:3128",
}


@pytest.fixture(autouse=True)
def _environment_of_the_harness(monkeypatch):
    for name, value in HARNESS.items():
        monkeypatch.setenv(name, value)


def test_a_program_of_a_server_gets_the_variables_that_are_listed_and_its_own():
    printed = THIS_MACHINE.output_of(["env"], 10, environment={"MODE": "fast"}).stdout.decode()
    variables = dict(line.split("=", 1) for line in printed.splitlines())
    assert variables == {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {
        "MODE": "fast"
    }


def test_a_build_gets_the_variables_of_its_tools_but_no_token():
    assert environment_of_builds().keys() & HARNESS.keys() == {"CARGO_TARGET_DIR", "https_proxy"}


def environment_of(tmp_path, table):
    file = tmp_path / "study.toml"
    file.write_text(study_text(f"[servers.limit]\nenvironment = {table}\n"), encoding="utf-8")
    return read_study(file).servers["limit"]


def test_a_study_adds_variables_and_its_record_has_the_value_of_none_that_is_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("KEY_OF_MINE", "Jf4HmRb2Ls")
    server = environment_of(
        tmp_path, '{ MODE = "fast", API_TOKEN = "Xq7VtZw9Kp", SALT = { env = "KEY_OF_MINE" } }'
    )
    assert {name: one.text for name, one in server.environment.items()} == {
        "MODE": "fast",
        "API_TOKEN": "Xq7VtZw9Kp",
        "SALT": "Jf4HmRb2Ls",
    }
    assert server.model_dump(mode="json")["environment"] == {
        "MODE": "fast",
        "API_TOKEN": "(hidden)",
        "SALT": {"env": "KEY_OF_MINE"},
    }


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('{ LC_ALL = "de" }', 'LC_ALL", which Loadcurve sets itself'),
        ('{ "A B" = "c" }', 'found "A B"; expected the name of a variable'),
        ("{ A = 1 }", 'environment.A: expected a text in quotes, { env = "VARIABLE" }'),
    ],
)
def test_a_variable_that_cannot_be_set_is_refused(tmp_path, table, problem):
    with pytest.raises(Exception, match="environment") as refusal:
        environment_of(tmp_path, table)
    assert problem in str(refusal.value)
