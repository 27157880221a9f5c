"""The verdict of the machine: by its own figures, and none of the server's."""

import pytest

from loadcurve.result.cpu_time import CpuTime, ProgramTime
from loadcurve.result.machine import disturbance, explained_percentiles, is_disturbed, judged, share_taken
from support.disturbed import SERVER_CPUS, cpus, load, paused_for, pauses, probe


def codes(result):
    return [reason.code for reason in result.verdict.reasons]


def test_on_a_quiet_machine_nothing_is_doubted():
    result = judged(load({"pauses": paused_for(0), "steal_share": 0.0}), probe(), SERVER_CPUS)
    assert (result.verdict.status, result.verdict.reasons, result.verdict.notes) == ("valid", [], [])
    assert not is_disturbed(result)


def test_a_record_without_these_figures_is_judged_by_those_that_it_has():
    assert judged(load()).verdict.status == "valid"


@pytest.mark.parametrize(
    ("share", "status"), [(0.04, "valid"), (0.05, "suspect"), (0.24, "suspect"), (0.7, "invalid")]
)
def test_steal_of_a_cpu_of_the_server_counts_by_its_share_of_the_window(share, status):
    result = judged(load(), probe(cpus=cpus(share, 0.9)), SERVER_CPUS)
    assert (result.verdict.status, codes(result)) == (status, ["steal"] if status != "valid" else [])


def test_steal_of_the_loads_cpus_counts_alike_and_claims_no_cause():
    [reason] = judged(load({"steal_share": 0.6})).verdict.reasons
    assert "for 60 % of the measurement the host did not run a CPU of the load that had work" in reason.text
    assert "another" not in reason.text.replace("at another time", "")


@pytest.mark.parametrize(
    ("paused_s", "status"), [(0.08, "valid"), (0.1, "suspect"), (0.98, "suspect"), (1.0, "invalid")]
)
@pytest.mark.parametrize("side", ["generator", "server"])
def test_pauses_of_either_side_count_by_their_share_of_the_window(paused_s, status, side):
    found = paused_for(paused_s)
    result = (
        judged(load({"pauses": found}), probe(pauses=None), SERVER_CPUS)
        if side == "generator"
        else judged(load(), probe(pauses=found.model_dump()), SERVER_CPUS)
    )
    code = "generator_paused" if side == "generator" else "platform_paused"
    assert (result.verdict.status, codes(result)) == (status, [code] if status != "valid" else [])


def test_in_a_short_window_a_single_pause_is_no_reason_for_doubt():
    short = load({"pauses": pauses((10, 50))}).model_copy(update={"duration_s": 0.2})
    assert judged(short).verdict.status == "valid"


@pytest.mark.parametrize(("paused_ms", "status"), [(490, "valid"), (500, "suspect")])
def test_half_a_second_at_once_is_a_reason_for_doubt_however_long_the_window_is(paused_ms, status):
    found = load({"pauses": pauses((1_000, 1_000 + paused_ms))}).model_copy(update={"duration_s": 100.0})
    assert judged(found).verdict.status == status


def test_what_is_invalid_stays_so_where_something_suspect_comes_behind_it():
    result = judged(load({"pauses": paused_for(1.0)}), probe(cpus=cpus(0.05)), SERVER_CPUS)
    assert (result.verdict.status, codes(result)) == ("invalid", ["generator_paused", "steal"])


def test_a_generator_that_its_limit_held_back_is_no_measure_of_the_server():
    held_back = {"periods": 100, "throttled_periods": 60, "throttled_s": 3.0}
    result = judged(load({"throttling": held_back}))
    assert (result.verdict.status, codes(result)) == ("invalid", ["generator_throttled"])
    assert "for 3 s of 10 s" in result.verdict.reasons[0].text


@pytest.fixture
def others_count(monkeypatch):
    """Other programs are a reason for doubt, as they are unless somebody expects them."""
    monkeypatch.delenv("LOADCURVE_OTHER_PROGRAMS", raising=False)


def taken(share: float, *, cpus: tuple[int, ...] = (0,), server: float | None = None, uncertain: float = 0.0):
    """Return a division of CPUs of which other programs took this share."""
    named = ProgramTime(name="yes", processes=1, pid=4711, cpu=cpus[0], cpu_share=share)
    return CpuTime(
        cpus=list(cpus),
        server=server,
        generator=None,
        kernel=0.0,
        host=0.0,
        others=share,
        idle=1 - share - (server or 0.0),
        softirq_share=0.0,
        uncertain=uncertain,
        programs=[named] if share else [],
    ).model_dump()


@pytest.mark.usefixtures("others_count")
@pytest.mark.parametrize(
    ("share", "status"),
    [(0.019, "valid"), (0.049, "valid"), (0.05, "suspect"), (0.199, "suspect"), (0.2, "invalid")],
)
@pytest.mark.parametrize("side", ["generator", "server"])
def test_what_other_programs_take_of_either_sides_cpus_counts_by_its_share(share, status, side):
    result = (
        judged(load({"cpu_time": taken(share)}), probe(), SERVER_CPUS)
        if side == "generator"
        else judged(load(), probe(cpu_time=taken(share)), SERVER_CPUS)
    )
    assert (result.verdict.status, codes(result)) == (status, ["cpu_taken"] if status != "valid" else [])
    notes = [note.code for note in result.verdict.notes]
    assert notes == (["cpu_taken_noted"] if 0.02 <= share < 0.05 else [])
    assert is_disturbed(result) == (status != "valid"), "the point is measured again"


@pytest.mark.usefixtures("others_count")
def test_the_reason_names_the_programs_and_the_cpus():
    [reason] = judged(load(), probe(cpu_time=taken(0.38, cpus=(0, 1, 2, 5))), SERVER_CPUS).verdict.reasons
    assert reason.text == (
        "other programs took 38 % of the time of the server's CPUs (CPUs 0-2,5): yes (process 4711) 38 % of "
        "a CPU, and others 114 %; end them, or bind them to other CPUs, and measure again; where they belong "
        "there, set LOADCURVE_OTHER_PROGRAMS=note"
    )


@pytest.mark.usefixtures("others_count")
def test_programs_that_nobody_saw_are_said_to_be_unseen():
    unseen = {**taken(0.38), "programs": []}
    [reason] = judged(load({"cpu_time": unseen})).verdict.reasons
    assert (
        "38 % of the time of the load's CPUs (CPU 0), which ended meanwhile or cannot be seen" in reason.text
    )


@pytest.mark.usefixtures("others_count")
def test_what_the_ticks_of_the_kernel_leave_open_is_held_against_nobody():
    assert judged(load(), probe(cpu_time=taken(0.06, uncertain=0.02)), SERVER_CPUS).verdict.status == "valid"
    assert (
        judged(load(), probe(cpu_time=taken(0.08, uncertain=0.02)), SERVER_CPUS).verdict.status == "suspect"
    )


@pytest.mark.usefixtures("others_count")
def test_in_a_short_window_the_share_decides_as_in_a_long_one_beyond_what_ticks_leave_open():
    # 80 % of 0.4 s is 0.32 s; the ticks of one CPU leave 30 ms of these open, which is 7.5 %.
    short = load({"cpu_time": taken(0.8, uncertain=0.075)}).model_copy(update={"duration_s": 0.4})
    assert judged(short).verdict.status == "invalid"
    little = load({"cpu_time": taken(0.25, uncertain=0.075)}).model_copy(update={"duration_s": 0.4})
    assert judged(little).verdict.status == "suspect"


@pytest.mark.usefixtures("others_count")
def test_in_a_short_window_a_few_ticks_are_no_reason_for_doubt():
    short = load({"cpu_time": taken(0.2)}).model_copy(update={"duration_s": 0.2})
    assert judged(short).verdict.status == "valid"


@pytest.mark.usefixtures("others_count")
def test_programs_beside_a_server_that_was_not_started_here_may_work_for_it():
    [reason] = (result := judged(load({"cpu_time": taken(0.6, server=0.3)}))).verdict.reasons
    assert result.verdict.status == "suspect"
    assert reason.text.endswith("unless they work for the server, end them and measure again")


def test_where_other_programs_are_expected_they_are_noted(monkeypatch):
    monkeypatch.setenv("LOADCURVE_OTHER_PROGRAMS", "note")
    result = judged(load(), probe(cpu_time=taken(0.6)), SERVER_CPUS)
    assert (result.verdict.status, is_disturbed(result)) == ("valid", False)
    assert [note.code for note in result.verdict.notes] == ["cpu_taken_noted"]


def test_what_others_took_is_known_whatever_the_verdict_rests_on():
    of_load, of_server = (CpuTime.model_validate(taken(*one)) for one in ((0.1,), (0.9,)))
    assert share_taken((of_load, of_server, None)) == 0.9
    assert share_taken((None,)) == 0


def test_of_two_attempts_the_one_with_less_taken_is_the_less_disturbed():
    of_server = [disturbance(load(), probe(cpu_time=taken(share)), SERVER_CPUS) for share in (0.1, 0.3)]
    of_load = [disturbance(load({"cpu_time": taken(share)}), probe(), SERVER_CPUS) for share in (0.1, 0.3)]
    assert of_server == of_load == pytest.approx([0.1, 0.3])


def test_a_machine_short_of_memory_is_suspect_and_not_measured_again_for_that():
    pressure = {**(probe().pressure.model_dump() if probe().pressure else {}), "memory_full_share": 0.02}
    whole = {
        name: pressure.get(name)
        for name in ("cpu_some_share", "memory_some_share", "io_some_share", "io_full_share")
    }
    result = judged(load(), probe(pressure={**whole, "memory_full_share": 0.02}), SERVER_CPUS)
    assert (result.verdict.status, codes(result)) == ("suspect", ["memory_pressure"])
    assert not is_disturbed(result)


OPEN = {"rate_rps": 1000.0, "arrivals": "constant", "model": "open"}
REPLAY = {"rate_rps": None, "arrivals": "recorded", "model": "open"}


def with_latencies(result, **latencies_ms):
    unknown = dict.fromkeys(("p90", "p95", "p99", "p99_9", "p99_99"))
    latency = result.latency_ms.model_copy(update={**unknown, **latencies_ms})
    return result.model_copy(update={"latency_ms": latency})


@pytest.mark.parametrize("schedule", [OPEN, REPLAY])
def test_on_a_schedule_a_percentile_is_explained_where_that_part_of_the_window_was_delayed_by_half_of_it(
    schedule,
):
    # 10 pauses of 30 ms in 10 s: 1 % of the moments, 10 ms of each pause, are delayed by more than 20 ms.
    found = pauses(*((1_000 * number, 1_000 * number + 30) for number in range(10)))
    plan = load().load.model_copy(update=schedule)
    for p99_ms, explained in ((39, ["p99"]), (41, [])):
        result = with_latencies(load({"pauses": found}).model_copy(update={"load": plan}), p99=p99_ms)
        assert explained_percentiles(result, None) == explained


def test_in_a_closed_loop_each_pause_delays_no_more_requests_than_there_are_clients():
    # 10 pauses with 10 clients delay 100 requests of 90,000 or of 5,000.
    found = pauses(*((1_000 * number, 1_000 * number + 30) for number in range(10)))
    for answered, explained in ((90_000, ["p99_9"]), (5_000, ["p99", "p99_9"])):
        result = load({"pauses": found})
        requests = result.requests.model_copy(update={"answered": answered})
        result = with_latencies(result.model_copy(update={"requests": requests}), p99=30, p99_9=31)
        assert explained_percentiles(result, None) == explained


def test_a_percentile_that_pauses_of_either_side_explain_is_reported_in_a_note():
    found = pauses(*((1_000 * number, 1_000 * number + 8) for number in range(10)))
    plan = load().load.model_copy(update=OPEN)
    result = with_latencies(load().model_copy(update={"load": plan}), p99_9=9)
    [note] = judged(result, probe(pauses=found.model_dump()), SERVER_CPUS).verdict.notes
    assert note.code == "pauses_explain"
    assert note.text.startswith("p99.9 of the latency")
