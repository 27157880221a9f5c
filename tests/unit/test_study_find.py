"""Studies that come with Loadcurve, and those of the person."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.study.estimate import estimated_duration_s
from loadcurve.study.find import find_study
from support.good_study import GOOD
from support.read_study import read_study

ALWAYS_THERE = {"limit", "persistent", "python-http"}


def test_the_quickstart_fits_into_a_coffee_break():
    study = read_study(find_study("quickstart"))
    full_s, quick_s = (
        estimated_duration_s(one, dict.fromkeys(one.arms, one.trials.most)) for one in (study, study.quick())
    )
    assert full_s <= 180
    assert quick_s <= 75


def test_the_quickstart_measures_servers_that_are_always_there_and_those_that_are_installed():
    servers = read_study(find_study("quickstart")).servers
    assert {name for name, server in servers.items() if not server.optional} == ALWAYS_THERE
    assert {name for name, server in servers.items() if server.optional} == {"nginx", "apache-event", "node"}


@pytest.mark.parametrize(
    "argument", ["quickstart", "quickstart.toml", "studies/quickstart", "studies/quickstart.toml"]
)
def test_a_study_that_comes_with_loadcurve_is_found_by_its_name(tmp_path, monkeypatch, argument):
    monkeypatch.chdir(tmp_path)
    assert find_study(argument).name == "quickstart.toml"


def test_a_file_of_the_person_comes_before_one_that_comes_with_loadcurve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("quickstart.toml").write_text(GOOD)
    assert find_study("quickstart.toml") == Path("quickstart.toml")


def test_a_study_that_is_nowhere_is_told_with_the_nearest_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r'quickstrt: there is no such file.*did you mean "quickstart"'):
        find_study("quickstrt")
