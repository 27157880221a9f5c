"""Soaks: a trial at an interval, on servers that live from their first trial to the end of the run."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.runs import soak
from loadcurve.runs.soak import Soak
from loadcurve.runs.study import RunOptions
from loadcurve.server.failure import ServerFailure
from support.scripted_run import ScriptedRun, watched
from support.tiny_study import study_text

LIMIT = "[servers.limit]"
HOURLY = Soak(every_s=3600, for_s=3 * 3600)
START = ["start limit", "verify limit", "stop limit"]
"""What the look at a server before the first trial does."""
TRIAL = ["verify limit", "load limit", "load limit"]


class Clock:
    """A time that passes only by sleeping, and by what takes it."""

    def __init__(self):
        self.now_s = 1000.0
        self.slept_s = []

    def monotonic(self):
        return self.now_s

    def time(self):
        return self.now_s

    def sleep(self, time_s):
        self.slept_s.append(time_s)
        self.now_s += time_s

    def strftime(self, *_):
        return ""


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(soak, "time", clock)
    return clock


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    return ScriptedRun(tmp_path, monkeypatch)


def begins_of_loads(scripted, clock, lasting_s=0.0):
    begins = []

    def load(plan, observe):
        begins.append(clock.now_s - 1000)
        clock.now_s += lasting_s
        return watched(plan, observe)

    scripted.script.loads["limit"] = load
    return begins


def test_a_trial_begins_at_each_interval_on_a_server_that_is_started_once(scripted, clock):
    begins = begins_of_loads(scripted, clock, lasting_s=600)
    assert scripted.measure(study_text(LIMIT, trials=1, restart=None), soak=HOURLY) == 6
    assert scripted.script.events == [*START, "start limit", *TRIAL * 3, "stop limit"]
    assert begins == [0, 600, 3600, 4200, 7200, 7800]
    [started] = {record.server_started_at for record in scripted.run.points}
    assert started is not None


def test_a_trial_that_takes_longer_than_the_interval_is_followed_at_once_and_said_once(scripted, clock):
    begins = begins_of_loads(scripted, clock, lasting_s=2000)
    scripted.measure(study_text(LIMIT, trials=1, restart=None), soak=HOURLY)
    assert begins == [0, 2000, 4000, 6000, 8000, 10000]
    assert scripted.talk.count("a trial of each server takes longer than the interval of 1:00:00") == 1


def test_a_server_that_dies_is_started_anew_in_the_next_trial(scripted, clock):
    loads = []

    def load(plan, observe):
        loads.append(plan)
        if len(loads) == 3:
            scripted.script.dead["limit"] = ServerFailure("died", "it has died")
        return watched(plan, observe)

    scripted.script.loads["limit"] = load
    assert scripted.measure(study_text(LIMIT, trials=1, restart=None), soak=HOURLY) == 4
    assert [(one.trial, one.reason.code) for one in scripted.run.failures] == [(1, "died")]
    assert scripted.script.events.count("start limit") == 3
    assert scripted.script.alive == []
    assert [record.trial for record in scripted.run.points] == [0, 0, 2, 2]


def test_a_study_that_starts_its_servers_anew_keeps_that_in_a_soak(scripted, clock):
    assert scripted.measure(study_text(LIMIT, trials=1, restart="sweep"), soak=HOURLY) == 6
    assert scripted.script.events.count("stop limit") == 4
    assert {record.server_started_at for record in scripted.run.points} == {None}


def test_the_run_records_the_soak_and_how_it_is_repeated(scripted, clock):
    scripted.measure(study_text(LIMIT, trials=1, restart=None), soak=HOURLY)
    record = scripted.run.run
    assert record.study["trials"]["every_s"] == 3600
    assert record.options == ["--repeat-every", "3600s", "--for", "10800s"]
    assert RunOptions.of_run(scripted.folder, record).soak == HOURLY


def test_the_last_trial_begins_before_the_end():
    """Of 24 h in steps of 7 h: at 0, 7, 14 and 21 h."""
    given = {"--repeat-every": ["7h"], "--for": ["24h"]}
    assert Soak.of_words(given) == Soak(7 * 3600, 24 * 3600)


def test_a_soak_of_weeks_is_read_again_from_its_options():
    weeks = Soak(every_s=3600, for_s=15 * 86_400)
    every, every_s, whole, whole_s = weeks.words()
    assert Soak.of_words({every: [every_s], whole: [whole_s]}) == weeks


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"--repeat-every": ["1h"]}, "--repeat-every and --for belong together"),
        ({"--for": ["1h"]}, "--repeat-every and --for belong together"),
        ({"--repeat-every": ["2h"], "--for": ["1h"]}, "not longer than the whole"),
        ({"--repeat-every": ["0s"], "--for": ["1h"]}, "an interval above 0"),
        ({"--repeat-every": ["hourly"], "--for": ["1h"]}, '"hourly" is not a duration'),
    ],
)
def test_intervals_that_make_no_soak_are_refused(given, refused):
    with pytest.raises(BadInput, match=refused):
        Soak.of_words(given)
