"""Studies that come with Loadcurve, and those of the person."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.study.bundled import study_name
from loadcurve.study.estimate import TRIAL_START_S, estimated_duration_s
from loadcurve.study.find import find_study
from support.good_study import GOOD
from support.read_study import problems_of, read_study

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


def test_a_url_is_refused_with_the_lines_of_a_study_of_it_and_without_its_password():
    with pytest.raises(BadInput, match="is a URL, and not a study") as refused:
        find_study("http://me:geheim@127.0.0.1:8080/")
    assert 'use = "url"\n  url = "http://' in str(refused.value)
    assert "geheim" not in str(refused.value)


def test_a_file_of_the_person_comes_before_one_that_comes_with_loadcurve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("quickstart.toml").write_text(GOOD)
    assert find_study("quickstart.toml") == Path("quickstart.toml")


def test_a_study_that_is_nowhere_is_reported_with_the_nearest_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r'quickstrt: there is no such file.*did you mean "quickstart"'):
        find_study("quickstrt")


def test_a_folder_with_a_study_is_found_as_its_file(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "study.toml").write_text(GOOD)
    found = find_study(str(tmp_path / "mine"))
    assert found == tmp_path / "mine" / "study.toml"
    assert study_name(found) == "mine"


EXPERIMENTS = [
    "A-backend", "A-database", "A-web", "B-instances", "B-platforms", "C-bound", "C-computed", "C-pages",
    "C-servers", "D-connections", "E-rate", "E-scale",
]  # fmt: skip


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_a_folder_with_its_claims_and_what_differs(name):
    file = find_study(name)
    assert study_name(file) == name
    study = read_study(file)
    assert study.question
    assert study.claims is not None
    assert {path.name for path in file.parent.iterdir()} >= {"README.md", "study.toml", "claims.toml"}
    text = (file.parent / "README.md").read_text()
    assert all(part in text for part in ("**Asked", "**Found then:**", "**Here:**"))


@pytest.mark.parametrize(
    "name",
    [
        *("A-backend", "A-credits", "C-bound", "C-computed", "C-pages", "C-servers", "D-connections"),
        *("E-rate", "E-scale"),
    ],
)
def test_an_experiment_has_a_first_look_of_less_than_two_minutes(name):
    quick = read_study(find_study(name)).quick()
    duration_s = estimated_duration_s(quick, dict.fromkeys(quick.arms, quick.trials.most))
    assert duration_s is not None
    assert duration_s <= 120


SLOWEST_RPS = 1000
"""What the slowest server of these answers per second, with a quarter of a CPU, on a machine of today."""


@pytest.mark.parametrize("name", ["A-database", "A-web", "B-instances", "B-platforms"])
def test_an_experiment_of_counted_requests_has_few_enough_for_two_minutes(name):
    quick = read_study(find_study(name)).quick()
    loads = [arm.load_at(point) for arm in quick.arms.values() for point in quick.points()]
    # Of a database the records are loaded, too.
    each = [
        (getattr(load, "requests_total", None) or 0)
        + (getattr(load, "operations", None) or 0)
        + (getattr(load, "records", None) or 0)
        for load in loads
    ]
    assert min(each) > 0
    starts_s = len(quick.arms) * quick.trials.most * TRIAL_START_S
    assert sum(each) * quick.trials.most / SLOWEST_RPS + starts_s <= 120


def test_a_shortened_study_keeps_what_its_table_names(tmp_path):
    text = GOOD.replace('duration = "1s"', "requests_total = 5000") + (
        '[quick]\nservers = ["other"]\nsweep = { connections = [10] }\ncount_max = 300\n'
    )
    (tmp_path / "s.toml").write_text(text)
    quick = read_study(tmp_path / "s.toml").quick()
    assert list(quick.arms) == ["other"]
    assert quick.points() == [{"connections": 10}]
    assert quick.load.requests_total == 300


def test_a_shortened_study_keeps_all_values_and_the_duration_that_its_table_names(tmp_path):
    loads = list(range(1, 13))
    text = GOOD.replace("connections = [1, 10]", f"connections = {loads}").replace(
        'duration = "1s"', 'duration = "30s"'
    )
    (tmp_path / "s.toml").write_text(
        f'{text}[quick]\nsweep = {{ connections = {loads[1:]} }}\nduration = "2s"\n'
    )
    quick = read_study(tmp_path / "s.toml").quick()
    assert [point["connections"] for point in quick.points()] == loads[1:]
    assert quick.load.duration_s == 2.0
    # A study whose loads are shorter does not become longer.
    (tmp_path / "s.toml").write_text(f'{GOOD}[quick]\nduration = "2s"\n')
    assert read_study(tmp_path / "s.toml").quick().load.duration_s == 1.0


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (
            'servers = ["othr"]',
            ':22: quick.servers: found "othr"; expected a server of this study; did you mean',
        ),
        (
            "sweep = { connections = [5] }",
            ":22: quick.sweep.connections: found 5; expected one of the values",
        ),
        ("sweep = { pipeline = [5] }", ":22: quick.sweep.pipeline: expected a key of [sweep]: connections"),
    ],
)
def test_a_table_that_does_not_fit_the_study_is_refused_at_its_line(tmp_path, table, problem):
    (tmp_path / "s.toml").write_text(f"{GOOD}[quick]\n{table}\n")
    (found,) = problems_of(tmp_path / "s.toml")
    assert found.startswith(problem)


def test_a_slip_in_the_name_of_a_file_is_answered_with_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("checkout.toml", "pyproject.toml"):
        Path(name).touch()
    with pytest.raises(
        BadInput, match=r"^chekout\.toml: there is no such file; did you mean checkout\.toml\?$"
    ):
        find_study("chekout.toml")
    with pytest.raises(BadInput, match="and no bundled study of this name"):
        find_study("orders.toml")
