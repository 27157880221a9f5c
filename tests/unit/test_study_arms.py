"""Arms: servers whose own tables override keys of the study's load, and what is refused of them."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.runs.capacity import SearchOptions, search_document
from loadcurve.runs.prepare import served_content
from loadcurve.stats.slo import parse_objective
from loadcurve.study.estimate import TRIAL_START_S, estimated_duration_s
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from support.cases import cases, changed
from support.good_study import problems_in, write
from support.read_study import read_study

HEAD = """\
title = "Sessions"
content.a = 1
content.b = 1
[load]
model = "sessions"
requests = ["/a"]
connection_rate = 10
num_connections = 100
threads = 4
warmup = 0
[sweep]
calls = [10, 20]
[servers.persistent]
[servers.simple.load]
"""
TABLE_LINE = HEAD.count("\n")
FIRST_LINE = TABLE_LINE + 1


def study(folder: Path, own: str) -> Study:
    return read_study(write(folder, HEAD + own))


def problems(folder: Path, own: str) -> list[str]:
    return problems_in(folder, HEAD + own)


def test_an_arm_has_the_studys_load_but_for_the_keys_of_its_own_table(tmp_path):
    arms = study(tmp_path, "connection_rate = 1000\nnum_connections = 1000").arms
    loads = {name: arm.load_at({"calls": 10}) for name, arm in arms.items()}
    assert {name: (load.connection_rate_cps, load.connections_total) for name, load in loads.items()} == {
        "persistent": (10, 100),
        "simple": (1000, 1000),
    }
    assert [(load.calls, load.threads, load.requests) for load in loads.values()] == [(10, 4, ["/a"])] * 2


@pytest.mark.parametrize(
    ("model", "such_as"),
    [
        ('model = "closed"\nduration = "1s"', "connections = 10"),
        ('model = "open"\nconnections = 5\nduration = "1s"', None),
        ('model = "open"\nduration = "1s"', "rate = 1000"),
    ],
)
def test_a_sweep_of_a_setting_alone_names_the_load_that_it_lacks(tmp_path, model, such_as):
    text = HEAD.partition("[load]")[0] + f'[load]\n{model}\nrequests = ["/a"]\n[sweep]\nworkers = [1, 2]\n'
    said = "\n".join(problems_in(tmp_path, text + "[servers.nginx]\n"))
    assert ("found only what is compared (workers), and no load at which" in said) == (such_as is not None)
    assert such_as is None or f"such as {such_as}, or a list of numbers here" in said


def test_an_arm_verifies_the_paths_of_its_own_requests(tmp_path):
    arms = study(tmp_path, 'requests = ["/b"]').arms
    assert [arm.paths_to_verify(0) for arm in arms.values()] == [["/a"], ["/b"]]


def test_a_file_of_requests_is_read_from_the_folder_of_the_study(tmp_path):
    (tmp_path / "paths").write_text("/b\n/a\n")
    assert study(tmp_path, 'requests = "paths"').arms["simple"].load.requests == ["/b", "/a"]


def test_the_quick_form_shortens_the_load_of_every_arm(tmp_path):
    text = HEAD.replace("num_connections = 100", 'duration = "2s"').replace("warmup = 0", 'warmup = "3s"')
    quick = read_study(write(tmp_path, text + 'duration = "9s"')).quick()
    assert [(arm.load.warmup_s, arm.load.duration_s) for arm in quick.arms.values()] == [(0.2, 0.4)] * 2


def test_the_estimate_counts_the_trials_of_each_arm_at_its_own_load(tmp_path):
    # At both points 100 connections at 10 per second take 10 s, and 100 at 50 per second take 2 s.
    estimate_s = estimated_duration_s(study(tmp_path, "connection_rate = 50"), {"persistent": 1, "simple": 3})
    assert estimate_s == (2 * 10 + TRIAL_START_S) + 3 * (2 * 2 + TRIAL_START_S)


def test_a_search_along_a_key_takes_the_place_of_every_arms_own_value(tmp_path):
    document = TomlDocument.read(write(tmp_path, HEAD.replace("[10, 20]", "[10]") + "connection_rate = 9"))
    options = SearchOptions(parse_objective("p99 < 10ms"), "connection_rate", 1, 100)
    arms = search_document(document, options).to_model(Study).arms
    loads = [arm.load_at({"calls": 10, "connection_rate": 7}) for arm in arms.values()]
    assert [load.connection_rate_cps for load in loads] == [7, 7]


PROBLEMS = r"""
calls = 1
    :15: servers.simple.load.calls: set here and in [sweep]; keep one of the two
model = "closed"
    :15: servers.simple.load.model: found "closed"; expected "sessions": all servers have the model of
    [load]
arrivals = 1
    :15: servers.simple.load.arrivals: found 1; expected "constant" or "poisson"
threads = 2\nburst = 15
    :16: servers.simple.load.burst: found 15; expected no more than the calls per connection; the lowest
    point has 10
requests = ["/c"]
    :15: servers.simple.load.requests: found "/c", which is not in [content]; expected one of /a, /b
pick = "weighted"
    :14: servers.simple.load.weights: missing; pick = "weighted" requires one weight per request
num_connections = 2
    :14: servers.simple.load: with load.threads: found 4; expected no more threads than connections; the
    lowest point has 2
duration = "1s"
    :14: servers.simple.load: with load.num_connections: cannot be combined with a duration; keep one of
    the two
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS))
def test_what_keeps_an_arm_from_its_load_is_reported_at_its_own_table(tmp_path, change, problem):
    assert problems_in(tmp_path, changed(HEAD, change)) == [problem]


def test_a_key_that_the_model_does_not_have_is_reported_with_the_nearest_one(tmp_path):
    [problem] = problems(tmp_path, "conection_rate = 1")
    assert problem.startswith(
        f":{FIRST_LINE}: servers.simple.load.conection_rate: unknown key; expected one of "
    )
    assert problem.endswith('did you mean "connection_rate"?')


def test_a_value_of_the_sweep_that_one_arm_cannot_take_is_reported_at_its_table(tmp_path):
    text = HEAD.replace("threads = 4\n", "").replace("calls = [10, 20]", "threads = [1, 4]")
    [problem] = problems_in(tmp_path, text + "num_connections = 3")
    assert problem == (
        f":{TABLE_LINE - 1}: servers.simple.load: with sweep.threads: found 4; "
        "expected no more threads than connections; the lowest point has 3"
    )


def test_what_is_wrong_with_the_studys_load_is_reported_once_and_there(tmp_path):
    text = HEAD.replace("threads = 4", "threads = 400")
    [problem] = problems_in(tmp_path, text + "connection_rate = 20")
    assert problem.startswith(":9: load.threads: found 400")


def test_a_study_whose_own_load_cannot_be_read_has_that_problem_alone(tmp_path):
    text = HEAD.replace("threads = 4", "threads = 0")
    assert problems_in(tmp_path, text + "connection_rate = 20") == [
        ":9: load.threads: found 0; expected a positive whole number"
    ]


def test_a_key_that_every_arm_gives_may_be_missing_in_the_studys_load(tmp_path):
    text = HEAD.replace("connection_rate = 10\n", "").replace(
        "[servers.persistent]", "[servers.persistent]\nload.connection_rate = 5"
    )
    arms = read_study(write(tmp_path, text + "connection_rate = 20")).arms
    assert [arm.load.connection_rate_cps for arm in arms.values()] == [5, 20]


def test_a_load_that_is_no_table_is_refused(tmp_path):
    text = HEAD.replace("[servers.simple.load]", "[servers.simple]\nload = 3")
    assert problems_in(tmp_path, text) == [f":{FIRST_LINE}: servers.simple.load: found 3; expected a table"]


def test_a_request_that_a_folder_lacks_is_reported_at_the_arm_that_asks_for_it(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("x")
    head = HEAD.replace("content.a = 1\ncontent.b = 1", '[content]\nfolder = "site"')
    document = TomlDocument.read(write(tmp_path, head + 'requests = ["/b"]'))
    with (
        pytest.raises(BadInput, match=rf":{FIRST_LINE}: servers\.simple\.load\.requests: found \"/b\"; "),
        served_content(document.to_model(Study), document, 0),
    ):
        pass


def test_databases_may_differ_in_their_load_too(tmp_path):
    text = """\
title = "x"
load = { model = "ycsb", workload = "a", threads = 2 }
[sweep]
operations = [5]
[servers.ferretdb]
[servers.busy]
use = "ferretdb"
load = { workload = "c", threads = 9 }
"""
    arms = read_study(write(tmp_path, text)).arms
    loads = [arm.load_at({"operations": 5}) for arm in arms.values()]
    assert [(load.threads, load.workload.name) for load in loads] == [(2, "a"), (9, "c")]


OWN_SWEEP = HEAD.replace("[servers.simple.load]\n", "[servers.simple.sweep]\n")


def test_an_arm_has_values_of_its_own_at_each_value_of_the_sweep(tmp_path):
    text = f"{OWN_SWEEP}calls = [1, 1]\nconnection_rate = [1000, 2000]\nnum_connections = [1000, 2000]\n"
    measured = read_study(write(tmp_path, text))
    loads = {name: [arm.load_at(point) for point in measured.points()] for name, arm in measured.arms.items()}
    shown = {
        name: [(load.calls, load.connection_rate_cps, load.connections_total) for load in along]
        for name, along in loads.items()
    }
    assert shown == {
        "persistent": [(10, 10, 100), (20, 10, 100)],
        "simple": [(1, 1000, 1000), (1, 2000, 2000)],
    }


def test_a_shortened_study_keeps_an_arms_values_at_the_points_that_stay(tmp_path):
    values = list(range(1, 30))
    text = OWN_SWEEP.replace("[10, 20]", str(values))
    measured = read_study(
        write(tmp_path, f"{text}num_connections = {[100 * one for one in values]}\n")
    ).quick()
    kept = [point["calls"] for point in measured.points()]
    assert len(kept) == 8
    assert [measured.arms["simple"].load_at({"calls": one}).connections_total for one in kept] == [
        100 * one for one in kept
    ]


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        (
            "calls = [1]\n",
            "servers.simple.sweep.calls: found 1 values; expected 2, one for each value of [sweep]",
        ),
        ("calls = [1, 0]\n", "servers.simple.sweep.calls: found 0; expected a positive whole number"),
        ("call = [1, 1]\n", "servers.simple.sweep.call: unknown key; expected one of"),
        ("calls = 1\n", "servers.simple.sweep.calls: found 1; expected a list of numbers"),
    ],
)
def test_values_of_an_arm_that_do_not_go_with_the_sweep_are_refused(tmp_path, own, problem):
    found = problems_in(tmp_path, OWN_SWEEP + own)[-1]
    assert problem in found
    assert found.startswith(f":{FIRST_LINE}: ")


def test_a_search_refuses_values_of_an_arm_at_those_of_the_sweep(tmp_path):
    document = TomlDocument.read(write(tmp_path, f"{OWN_SWEEP}calls = [1, 1]\n"))
    with pytest.raises(BadInput, match=r"s\.toml:14: servers\.simple\.sweep: a search chooses its own loads"):
        search_document(document, SearchOptions(parse_objective("p99 < 1ms"), "connection_rate", 1, 9))


def test_values_of_an_arm_need_a_sweep_of_one_key(tmp_path):
    two = OWN_SWEEP.replace("calls = [10, 20]", "calls = [10, 20]\nconnections = [5, 6]") + "calls = [1, 1]\n"
    (found,) = problems_in(tmp_path, two)
    assert "expected a [sweep] of one key, whose values these go with; it has calls, connections" in found
