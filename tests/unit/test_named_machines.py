"""Machines that a command names: those of a study, or destinations of ssh."""

import pytest

from loadcurve.cli.machines import table_of
from loadcurve.errors import BadInput
from support.command import Command
from support.tiny_study import study_text

MACHINES = """
[machines.web]
ssh = "bench@web.example"
address = "10.0.0.5"
[machines.left]
ssh = "left"
cpus = [2, 3]
"""


@pytest.fixture
def command(tmp_path) -> Command:
    command = Command(tmp_path)
    command.write("s.toml", study_text(host='load_machines = ["left"]') + MACHINES)
    return command


def test_a_machine_of_a_study_has_its_table_and_another_is_a_destination(command):
    study = str(command.work / "s.toml")
    web, left = (table_of(name, study) for name in ("web", "left"))
    assert (web.ssh, web.address, left.cpus) == ("bench@web.example", "10.0.0.5", [2, 3])
    assert (table_of("web").ssh, table_of("web").address) == ("web", None)
    with pytest.raises(BadInput, match="expected an ssh destination"):
        table_of("-oProxyCommand=true")


@pytest.mark.parametrize("words", ["--machine wbe", "--machines here,wbe", "--machines here --machine wbe"])
def test_a_machine_that_the_study_does_not_have_is_reported_with_those_that_it_has(command, words):
    finished = command.run("doctor", "--study", "s.toml", *words.split())
    assert (finished.returncode, finished.stdout) == (2, "")
    assert (
        'has no machine wbe; expected a name from its [machines]: web, left; did you mean "web"?'
        in finished.stderr
    )


def test_a_study_without_machines_is_refused(command):
    command.write("none.toml", study_text())
    finished = command.run("doctor", "--study", "none.toml", "--machine", "web")
    assert finished.returncode == 2
    assert "none.toml defines no machine: expected a table such as [machines.web]" in finished.stderr
