"""Recorded arrivals in a study: what they take, and the messages when something is wrong."""

import hashlib
import json

import pytest

from loadcurve.loads.http import RecordedLoad
from loadcurve.runs.plan import plan_at_point
from loadcurve.study.estimate import estimated_duration_s
from loadcurve.study.quick import QuickTable, shortened_load
from support.cases import cases, changed
from support.http_load_study import load_of, problems_in, study_file
from support.read_study import problems_of, read_study

LIST = "# as recorded\n/a @0\n/b @2.5\n/a @2.5\n/b @10\n"
REPLAY = (
    'model = "open"\nrequests = "recording.txt"\nconnections = 2\narrivals = "recorded"\nwarmup = "500ms"\n'
)


def replay(folder, more="", text=LIST):
    (folder / "recording.txt").write_text(text, encoding="utf-8")
    return REPLAY + more


def planned(load):
    """Return the plan as the engine reads it."""
    return json.loads(plan_at_point(load, "127.0.0.1:1", {}, (0,), 0).to_json())["http"]


def test_a_replay_needs_neither_a_rate_nor_an_end(tmp_path):
    load = load_of(tmp_path, replay(tmp_path))
    assert isinstance(load, RecordedLoad)
    assert (load.rate_rps, load.duration_s, load.speed) == (None, None, 1.0)
    plan = planned(load)
    assert plan["model"] == {"recorded": {"connections": 2, "speed": 1.0}}
    assert plan["stop"] == {"recording": None}
    assert plan["work"]["requests"]["listed"]["file"] == str(tmp_path / "recording.txt")


def test_a_replay_may_be_faster_and_end_sooner(tmp_path):
    plan = planned(load_of(tmp_path, replay(tmp_path, 'speed = 2.5\nduration = "3s"\n')))
    assert plan["model"] == {"recorded": {"connections": 2, "speed": 2.5}}
    assert plan["stop"] == {"duration_s": 3.0}
    counted = planned(load_of(tmp_path, replay(tmp_path, "requests_total = 2\n")))
    assert counted["stop"] == {"requests_total": 2}


def test_the_record_of_a_study_has_the_digest_of_the_list(tmp_path):
    load = load_of(tmp_path, replay(tmp_path))
    assert load.model_dump(mode="json")["requests"] == {
        "file": str(tmp_path / "recording.txt"),
        "count": 4,
        "recorded_s": 10.0,
        "sha256": hashlib.sha256(LIST.encode()).hexdigest(),
    }


def test_the_times_of_a_list_are_not_used_at_a_rate(tmp_path):
    load = load_of(tmp_path, replay(tmp_path).replace('arrivals = "recorded"', 'rate = 5\nduration = "1s"'))
    assert load.requests == ["/a", "/b", "/a", "/b"]


def test_speeds_may_be_swept(tmp_path):
    study = read_study(study_file(tmp_path, replay(tmp_path), sweep="speed = [1, 2.5]"))
    loads = [study.arms["nginx"].load_at(point) for point in study.points()]
    assert [load.speed for load in loads] == [1.0, 2.5]
    # The list takes 10 s and 4 s, and one start about a second.
    assert estimated_duration_s(study, {"nginx": 2}) == pytest.approx(2 * (10 + 4 + 1))


def test_a_first_look_ends_a_replay_after_a_moment(tmp_path):
    study = read_study(study_file(tmp_path, replay(tmp_path)))
    shortened = shortened_load(study.load, QuickTable())
    assert shortened.duration_s == 0.4
    counted = read_study(study_file(tmp_path, replay(tmp_path, "requests_total = 3\n")))
    assert shortened_load(counted.load, QuickTable()).duration_s is None


PROBLEMS = r"""
rate = 100
    :10: load.rate: cannot be combined with arrivals = "recorded", whose requests fall due when they were
    recorded; remove it, and use speed to replay them faster or slower
speed = 0
    :10: load.speed: found 0; expected a factor above 0 and at most 1,000,000; 2 is twice as fast as recorded
speed = -1
    :10: load.speed: found -1; expected a factor above 0 and at most 1,000,000; 2 is twice as fast as recorded
speed = 1e-6
    :10: load.speed: found 1e-06, at which the replay lasts 10,000,000 s; expected at most 1,000,000 s
speed = 100
    :9: load.warmup: found 0.5 s, but the last recorded request is due after 0.1 s; expected a shorter
    warm-up, such as "0s"
pick = "random"
    :10: load.pick: found "random"; expected "in-order", because each recorded request has its own time
duration = "1s"\nrequests_total = 5
    :11: load.requests_total: cannot be combined with a duration; keep one of the two
requests = "recording.txt" -> requests = ["/a"]
    :6: load.requests: found no file; recorded arrivals require a file with a time after each path, such as
    /a @1.25, in the order of the times; `loadcurve import --as recording` writes one from an access log
arrivals = "recorded" -> arrivals = "constant"\nrate = 1\nduration = "1s"\nspeed = 2
    :11: load.speed: only used with arrivals = "recorded"; set it as well, or remove it
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS))
def test_what_is_wrong_with_a_replay_is_reported_with_its_line(tmp_path, change, problem):
    assert problems_in(tmp_path, changed(replay(tmp_path), change)) == [problem]


def test_rates_cannot_be_swept_with_a_replay(tmp_path):
    (problem,) = problems_in(tmp_path, replay(tmp_path), sweep="rate = [10, 20]")
    assert 'sweep.rate: cannot be combined with arrivals = "recorded"' in problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("/a\n/b\n", "found {file} has no times; recorded arrivals require a file with a time after each"),
        ("/a @1\n/b @0.5\n", "{file}:2: found the time @0.5, which is before that of the previous request"),
        ("/a @1\n/b\n", "{file}:2: found no time, but the lines before have one; expected @ and seconds"),
        ("/a @soon\n", '{file}:1: found the time "@soon"; expected @ and the seconds from the start'),
    ],
)
def test_a_list_that_cannot_be_replayed_is_reported_with_its_line(tmp_path, text, problem):
    (found,) = problems_in(tmp_path, replay(tmp_path, text=text))
    assert problem.replace("{file}", str(tmp_path / "recording.txt")) in found


def test_a_replay_is_no_level_of_a_load_without_pauses(tmp_path):
    path = study_file(tmp_path, replay(tmp_path, 'duration = "1s"\n'), sweep="connections = [1, 2]")
    text = path.read_text().replace("connections = 2\n", "").replace("[servers.nginx]", "")
    path.write_text(f'{text}[trials]\nbetween_points = "continue"\n[servers.nginx]\n')
    assert any("not for recorded arrivals" in problem for problem in problems_of(path))
