"""A suite: its studies in turn, those that are left when it is resumed, and what is not here left out."""

import json
import tomllib
from pathlib import Path

import pytest

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID
from loadcurve.runs.planned import not_installed_record
from loadcurve.runs.prepare import checked_studies
from loadcurve.server.catalog import load_catalog
from loadcurve.server.install import Packages
from loadcurve.study.bundled import bundled_suites
from loadcurve.study.estimate import TRIAL_START_S, estimated_duration_s
from loadcurve.study.find import find_study
from loadcurve.study.suite import find_suite, read_suite
from support import synthetic_run as synthetic
from support.command import Command
from support.read_study import read_study
from support.tiny_study import study_text, write_missing_server

SHORT_FORM_S = 600
NIGHT_S = 8 * 3600
ROOM_FOR_REPEATS = 1.5
"""A point is measured again where the machine was disturbed, and each run has a report."""


@pytest.fixture
def ranking():
    return bundled_suites()["ranking"]


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path)


@pytest.fixture
def ran(monkeypatch):
    """What was run of each study, in place of a measurement that ends with 0."""
    found: list[tuple[str, str | None]] = []

    def run(argument, options, _followers, resumed=None, **_):
        found.append((Path(argument).stem, resumed and resumed.name))
        return codes.get(Path(argument).stem, EXIT_DONE)

    codes: dict[str, int] = {}
    run.codes, run.found = codes, found
    monkeypatch.setattr("loadcurve.cli.suite.run_command", run)
    return run


def write_suite_of(command: Command, servers: dict[str, str], more: str = "") -> Path:
    for name, text in servers.items():
        command.write(f"mine/{name}.toml", study_text(text))
    names = json.dumps(list(servers))
    command.write("mine/suite.toml", f'title = "Mine"\nstudies = {names}\n{more}')
    return command.work / "mine"


def test_every_study_of_the_ranking_is_one_that_a_run_accepts(ranking):
    catalog = load_catalog()
    suite = read_suite(ranking)
    assert {
        name for file in suite.studies.values() for name in checked_studies(file, catalog)[0].servers
    } <= {entry.name for entry in catalog}
    files = {file.stem for file in ranking.parent.glob("ranking-*.toml")}
    assert set(suite.studies) == files


def test_every_profile_of_the_ranking_is_measured_in_a_closed_loop_and_at_fixed_rates(ranking):
    models = {name: read_study(file).load.model for name, file in read_suite(ranking).studies.items()}
    closed = {name for name, model in models.items() if model == "closed"}
    assert closed == {f"ranking-{name}" for name in ("static", "json", "tls", "http2", "http3", "database")}
    assert {name for name, model in models.items() if model == "open"} == {f"{name}-rate" for name in closed}


def test_no_server_of_the_ranking_has_to_be_there_and_both_loads_of_a_profile_are_put_on_the_same(ranking):
    studies = {name: read_study(file) for name, file in read_suite(ranking).studies.items()}
    assert all(server.optional for study in studies.values() for server in study.servers.values())
    for name, study in studies.items():
        if not name.endswith("-rate"):
            assert list(study.servers) == list(studies[f"{name}-rate"].servers)


def test_the_profile_of_http_3_has_every_server_of_the_catalogue_that_speaks_it(ranking):
    speaking = [entry for entry in load_catalog() if "http3" in entry.description.settings]
    # Those with an application behind them are the same servers again.
    names = {entry.name for entry in speaking if not entry.name.startswith(("caddy-", "nginx-"))}
    assert set(read_study(read_suite(ranking).studies["ranking-http3"]).servers) == names


def test_the_short_form_of_the_ranking_with_all_its_servers_ends_within_ten_minutes(ranking):
    total_s = 0.0
    for file in read_suite(ranking, quick=True).studies.values():
        quick = read_study(file).quick()
        length_s = estimated_duration_s(quick, dict.fromkeys(quick.arms, quick.trials.most))
        assert length_s is not None
        # Each server is also started once before the first trial.
        total_s += length_s + len(quick.arms) * TRIAL_START_S
    assert total_s * ROOM_FOR_REPEATS <= SHORT_FORM_S


def test_a_suite_is_found_by_its_name_its_folder_and_its_file(command, ranking):
    folder = write_suite_of(command, {"one": "[servers.limit]"})
    assert find_suite("ranking") == ranking
    assert find_suite(str(folder)) == find_suite(str(folder / "suite.toml")) == folder / "suite.toml"
    assert find_suite("quickstart") is None


def test_a_command_that_takes_a_single_study_names_those_of_the_suite():
    with pytest.raises(BadInput, match=r"ranking is a suite of several studies.*: ranking-static, "):
        find_study("ranking")
    assert find_study("ranking-tls").name == "ranking-tls.toml"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ('["one", "tow"]', ':2: studies: found "tow"; expected a study in this folder'),
        ('["one", "one"]', ':2: studies: found "one" again'),
        ('["one"]\nquick = ["two"]', ':3: quick: found "two"; expected one of the studies'),
    ],
)
def test_a_suite_that_names_what_is_not_there_is_refused_at_its_line(command, names, said):
    command.write("mine/one.toml", study_text())
    command.write("mine/two.toml", study_text())
    file = command.write("mine/suite.toml", f'title = "Mine"\nstudies = {names}\n')
    with pytest.raises(BadInput) as refused:
        read_suite(file)
    assert said in str(refused.value)


def test_the_plan_comes_first_and_each_study_is_run_in_its_own_folder(command, ran):
    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.limit]"})
    done = command.run("run", "mine", "--out", "out", "--trials", "4")
    assert done.returncode == EXIT_DONE, done.stderr
    assert ran.found == [("one", None), ("two", None)]
    assert done.stderr.index("servers  about") < done.stderr.index("1 of 2: Tiny")
    assert "publish out --to results" in done.stderr
    record = json.loads((command.work / "out" / "suite.json").read_text())
    assert (record["name"], record["options"]) == ("mine", ["--trials", "4"])


def test_a_study_without_any_server_here_is_left_out_and_the_others_are_run(command, ran):
    write_missing_server(command.work / "catalog", "gone")
    write_suite_of(command, {"none": "[servers.gone]\noptional = true", "one": "[servers.limit]"})
    done = command.run("run", "mine", "--out", "out", "--catalog", "catalog")
    assert done.returncode == EXIT_DONE, done.stderr
    assert "left out: none of its servers is installed" in done.stderr
    assert "left out, not installed: gone" in done.stderr
    assert ran.found == [("one", None)]


def test_a_suite_of_which_nothing_is_here_ends_as_a_run_that_measured_nothing(command, ran):
    write_missing_server(command.work / "catalog", "gone")
    write_suite_of(command, {"none": "[servers.gone]\noptional = true"})
    done = command.run("run", "mine", "--out", "out", "--catalog", "catalog")
    assert done.returncode == 4
    assert "no study of the suite could be measured" in done.stderr
    assert not ran.found


def test_an_interrupted_suite_says_how_to_resume_it_and_does_not_go_on(command, ran):
    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.limit]"})
    ran.codes["one"] = EXIT_INTERRUPTED
    done = command.run("run", "mine", "--out", "out")
    assert done.returncode == EXIT_INTERRUPTED
    assert ran.found == [("one", None)]
    assert "run mine/suite.toml --resume out" in done.stderr


def test_an_error_of_one_study_ends_the_suite_which_can_be_resumed(command, ran, monkeypatch):
    def refused(*_, **__):
        raise BadInput("the disk is full")

    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.limit]"})
    monkeypatch.setattr("loadcurve.cli.suite.run_command", refused)
    done = command.run("run", "mine", "--out", "out")
    assert done.returncode == 2
    assert "run mine/suite.toml --resume out" in done.stderr
    assert done.stderr.endswith("loadcurve: the disk is full\n")


def test_a_study_all_trials_of_which_fail_is_no_success_and_the_next_one_is_run(command, ran, monkeypatch):
    def run(argument, options, *_, **__):
        if Path(argument).stem == "two":
            return EXIT_DONE
        synthetic.write_run(options.out)
        raise NothingMeasured("no point could be measured")

    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.limit]"})
    monkeypatch.setattr("loadcurve.cli.suite.run_command", run)
    done = command.run("run", "mine", "--out", "out")
    assert done.returncode == EXIT_INVALID
    assert "\nno point could be measured\n" in done.stderr
    assert "2 of 2 studies measured" in done.stderr


def test_a_resumed_suite_runs_what_is_left_with_the_options_that_it_began_with(command, ran):
    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.limit]"})
    command.run("run", "mine", "--out", "out", "--seed", "7")
    record = synthetic.run_record()
    synthetic.write_run(command.work / "out" / "one", record, synthetic.trial_records(record))
    ran.found.clear()
    done = command.run("run", "mine", "--resume", "out")
    assert done.returncode == EXIT_DONE, done.stderr
    assert "measured already: out/one" in done.stderr
    assert ran.found == [("two", None)]
    unnamed = command.run("run", "--resume", "out")
    assert unnamed.returncode == 2
    assert "out has the runs of a suite: name it" in unnamed.stderr


def test_a_suite_ends_with_the_code_of_a_study_that_is_not_in_order(command, ran):
    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.limit]"})
    ran.codes["one"] = EXIT_INVALID
    assert command.run("run", "mine", "--out", "out").returncode == EXIT_INVALID
    assert ran.found == [("one", None), ("two", None)]


def test_a_profile_is_measured_alone_and_others_follow_in_the_same_folder(command, ran):
    profiles = '[profiles]\nquiet = ["one"]\nloud = ["two"]\n'
    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.limit]"}, profiles)
    first = command.run("run", "mine", "--out", "out", "--profile", "quiet", "--seed", "7")
    assert (first.returncode, ran.found) == (EXIT_DONE, [("one", None)])
    record = synthetic.run_record()
    synthetic.write_run(command.work / "out" / "one", record, synthetic.trial_records(record))
    ran.found.clear()
    assert command.run("run", "mine", "--resume", "out", "--profile", "loud").returncode == EXIT_DONE
    assert ran.found == [("two", None)]
    refused = command.run("run", "mine", "--profile", "lout")
    assert refused.returncode == 2
    assert "has no such profile; expected one of quiet, loud" in refused.stderr
    single = command.run("run", "mine/one.toml", "--profile", "loud")
    assert (single.returncode, "expected a suite" in single.stderr) == (2, True)


def test_every_study_of_the_ranking_is_in_one_profile(ranking):
    profiles = tomllib.loads(ranking.read_text())["profiles"]
    assert sorted(name for names in profiles.values() for name in names) == sorted(
        read_suite(ranking).studies
    )


def test_the_long_form_of_the_ranking_with_all_its_servers_takes_half_a_night(ranking):
    studies = [read_study(file) for file in read_suite(ranking).studies.values()]
    lengths_s = [estimated_duration_s(one, dict.fromkeys(one.arms, one.trials.most)) for one in studies]
    assert sum(length_s or 0.0 for length_s in lengths_s) * ROOM_FOR_REPEATS <= NIGHT_S


def test_a_dry_run_says_how_long_what_is_left_takes_and_measures_nothing(command, ran):
    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.limit]"})
    planned = command.run("run", "mine", "--dry-run", "--trials", "20")
    assert planned.returncode == EXIT_DONE
    assert not ran.found
    command.run("run", "mine", "--out", "out", "--trials", "20")
    record = synthetic.run_record()
    synthetic.write_run(command.work / "out" / "one", record, synthetic.trial_records(record))
    left = command.run("run", "mine", "--dry-run", "--resume", "out")
    assert "measured" in left.stdout
    # Both studies are alike, and one is measured.
    assert (total_s(left.stdout), len(ran.found)) == (total_s(planned.stdout) / 2, 2)
    alone = command.run("run", "mine/one.toml", "--dry-run")
    assert (alone.returncode, "in full: " in alone.stdout) == (EXIT_DONE, True)
    refused = command.run("run", "mine/one.toml", "--dry-run", "--resume", "out/one")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--dry-run: it shows a single study in full and with --quick" in refused.stderr


def total_s(printed: str) -> float:
    """The seconds of the line ``about M:SS in all``."""
    minutes, seconds = printed.partition("\nabout ")[2].partition(" ")[0].split(":")
    return 60 * float(minutes) + float(seconds)


def test_only_one_server_is_measured_where_a_study_has_it(command, ran):
    write_suite_of(command, {"one": "[servers.limit]", "two": "[servers.simple]"})
    assert command.run("run", "mine", "--out", "out", "--only", "simple").returncode == EXIT_DONE
    assert ran.found == [("two", None)]
    refused = command.run("run", "mine", "--out", "other", "--only", "smple")
    assert (refused.returncode, (command.work / "other").exists()) == (2, False)
    assert "--only smple: no study of the suite has such a server" in refused.stderr


def test_a_used_folder_is_refused_before_anything_is_run(command, ran):
    write_suite_of(command, {"one": "[servers.limit]"})
    command.write("out/mine.txt", "mine")
    assert command.run("run", "mine", "--out", "out").returncode == 2
    assert not ran.found


def test_the_command_that_installs_what_is_missing_is_for_no_server_that_it_does_not_install(monkeypatch):
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "debian"})
    of_system, by_itself = Packages(debian=["a", "b"]), Packages(everywhere="loadcurve servers install c")
    both = not_installed_record({"c": by_itself, "a": of_system})
    assert (both.servers, both.installable, both.install) == (["c", "a"], ["a"], "apt-get install a b")
    one = not_installed_record({"c": by_itself})
    assert (one.installable, one.install) == (["c"], "loadcurve servers install c")


def test_a_suite_is_checked_and_copied_as_a_study_is(command):
    assert command.run("studies", "copy", "ranking", "mine").returncode == 0
    names = tomllib.loads((command.work / "mine" / "suite.toml").read_text())["studies"]
    checked = command.run("studies", "check", "mine")
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.count("in full: ") == len(names)
