"""Findings over synthetic records: each with its cause planted, and none without."""

import dataclasses
import math
import random

import pytest
from pydantic import ValidationError

from loadcurve.errors import BadInput
from loadcurve.explain import odd_trial
from loadcurve.explain.all import findings
from loadcurve.explain.finding import WEIGHTS, Finding
from loadcurve.explain.listen_queue import syn_moments_s
from loadcurve.explain.process_changes import throughput_beside_neighbours
from loadcurve.explain.subject import subjects
from loadcurve.result.records import LimitsRecord, PointRecord
from support import synthetic_run as synthetic
from support.explained_run import CONNECTIONS, Data, Setup, evidence, found, planted_run, series


def encoded_ms(times_ms: list[float]) -> str:
    return synthetic.encode([round(time * 1e6) for time in times_ms])


def distribution_of(times_ms: list[float]) -> Data:
    return synthetic.distribution(sorted(times_ms))


def test_a_run_in_which_nothing_is_odd_has_no_finding():
    assert found() == {}


def test_a_run_in_which_nothing_was_measured_has_no_finding():
    run = planted_run(setup=Setup(trials=0))
    assert findings(run) == []


# --- SYNs sent again


def retried_connects(record: Data, times_ms: list[float], overflows: int | None) -> None:
    load = record["load"]
    load["connect_ms"] = distribution_of(times_ms)
    load["histograms"]["connect"] = encoded_ms(times_ms)
    load["kernel"] |= {"syn_retransmits": 7, "listen_overflows": overflows}


def test_the_moments_of_syns_are_those_of_the_kernels_documentation():
    # RFC 6298 doubles from 1 s on; with 4 linear timeouts the waits are 1, 1, 1, 1, 1, 2, 4 s (ip-sysctl).
    assert syn_moments_s(0)[:4] == [1, 3, 7, 15]
    assert syn_moments_s(4) == [1, 2, 3, 4, 5, 7, 11]
    assert set(syn_moments_s(None)) >= {1, 2, 3, 4, 5, 7, 15}


def test_connections_made_after_1_and_3_s_are_told_with_the_queue_that_overflowed():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections >= 50:
            times_ms = [0.1] * 490 + [1003.0] * 8 + [3010.0] * 2
            retried_connects(record, times_ms, overflows=12)

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("listen_queue_overflow", "shown")
    assert [point["connections"] for point in finding.points] == [50, 100]
    assert (finding.trials, finding.trials_measured) == ([0, 1, 2, 3, 4], 5)
    shown = evidence(finding)
    assert shown["overflows of listen queues"] == 12
    assert shown["connections made about 1 s after their first SYN"] == 8
    assert shown["connections made about 3 s after their first SYN"] == 2
    assert shown["backlog of the server's listen queue"] == 511
    # 10 requests at each of 2 points in each of 5 trials.
    assert "100 requests waited about 1, 3 s" in finding.seen


def test_two_seconds_are_a_moment_only_where_the_kernel_waits_linearly():
    def plant(record: Data, trial: int, connections: float) -> None:
        retried_connects(record, [0.1] * 490 + [2005.0] * 10, overflows=3)

    assert found(plant) == {}
    linear = {"sysctls": {"net.ipv4.tcp_syn_linear_timeouts": "4"}}
    assert set(found(plant, Setup(host=linear))) == {"listen_queue_overflow"}


def test_syns_lost_without_an_overflow_are_only_likely_the_networks():
    def plant(record: Data, trial: int, connections: float) -> None:
        retried_connects(record, [0.1] * 490 + [1005.0] * 10, overflows=0)

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("connections_retried", "likely")


def test_a_server_elsewhere_is_not_accused_by_the_counters_of_this_machine():
    def plant(record: Data, trial: int, connections: float) -> None:
        retried_connects(record, [0.1] * 490 + [1005.0] * 10, overflows=5)

    assert set(found(plant, Setup(server={"catalog_entry": "url"}))) == {"connections_retried"}


def test_slow_connects_without_a_syn_sent_again_are_no_sign_of_a_listen_queue():
    def plant(record: Data, trial: int, connections: float) -> None:
        retried_connects(record, [0.1] * 490 + [1005.0] * 10, overflows=5)
        record["load"]["kernel"]["syn_retransmits"] = 0

    assert found(plant) == {}


def test_a_histogram_that_cannot_be_decoded_is_named():
    def plant(record: Data, trial: int, connections: float) -> None:
        retried_connects(record, [0.1] * 490 + [1005.0] * 10, overflows=5)
        record["load"]["histograms"]["connect"] = "not a histogram"

    with pytest.raises(
        BadInput, match=r"trial 0 \(nginx\) .*connections.* in trials.jsonl cannot be decoded"
    ):
        found(plant)


def test_overflows_that_no_measured_request_met_are_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["kernel"] |= {"syn_retransmits": 20, "listen_overflows": 20}

    assert found(plant) == {}


# --- the rig


def say(record: Data, code: str, status: str = "suspect") -> None:
    reasons = [*record["load"]["verdict"]["reasons"], {"code": code, "text": code}]
    record["load"]["verdict"] = {"status": status, "reasons": reasons, "notes": []}


def test_a_saturated_generator_is_the_limit_with_its_share_of_the_cpu():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections == 100:
            say(record, "generator_saturated")
            record["load"]["generator"] |= {"cpu_user_s": 0.9, "cpu_system_s": 1.05}

    [finding] = found(plant).values()
    assert (finding.code, finding.weight, finding.certainty) == ("rig_limit", "invalidates", "likely")
    # 1.95 s of a window of 2 s.
    assert evidence(finding)["CPU of each of the generator's threads"] == pytest.approx(0.975)


def test_a_generator_that_was_late_is_shown_by_its_lateness():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 2 and connections == 5:
            say(record, "generator_late")
            record["load"]["generator"]["lateness_ms"] = {"p50": 0.1, "p99": 4, "p99_9": 5, "max": 6}

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty, finding.trials) == ("rig_limit", "shown", [2])
    assert evidence(finding)["lateness of the generator, p99"] == 4


# --- the server's processor time


def use_cpus(record: Data, cpus: float, **server: object) -> None:
    record["probe"]["server"] |= {"cpu_share": cpus, **server}


def test_a_server_that_uses_all_its_cpus_is_at_their_limit():
    def plant(record: Data, trial: int, connections: float) -> None:
        use_cpus(record, 1.95 if connections == 100 else 1.2)

    [finding] = found(plant).values()
    assert (finding.code, [p["connections"] for p in finding.points]) == ("cpu_limit", [100])
    assert evidence(finding)["CPUs that it may use"] == 2
    assert "1.95 of the 2 CPUs" in finding.seen


def test_its_limit_counts_and_not_the_cpus_that_it_is_bound_to():
    limits = {"limits": LimitsRecord(cpus=0.5, memory_bytes=None)}
    assert set(found(lambda record, *_: use_cpus(record, 0.49), Setup(server=limits))) == {"cpu_limit"}
    assert found(lambda record, *_: use_cpus(record, 0.49)) == {}


@pytest.mark.parametrize(("throttled", "codes"), [(8, {"cpu_throttled"}), (0, {"cpu_limit"})])
def test_a_throttled_server_is_told_as_such_and_not_as_a_busy_one(throttled: int, codes: set[str]):
    def plant(record: Data, trial: int, connections: float) -> None:
        use_cpus(record, 0.5)
        use = {"periods": 20, "throttled_periods": throttled, "throttled_s": 0.3}
        record["probe"]["throttling"] = use

    limits = {"limits": LimitsRecord(cpus=0.5, memory_bytes=None)}
    by_code = found(plant, Setup(server=limits))
    assert set(by_code) == codes
    if throttled:
        # 8 of 20 periods.
        assert evidence(by_code["cpu_throttled"])["periods with waiting"] == 0.4


def test_one_thread_on_two_cpus_is_bound_to_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        counts = {"min": 1, "max": 1}
        use_cpus(record, 0.98, processes=counts, threads=counts)

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("one_thread", "shown")


def test_the_busiest_thread_tells_which_one_is_the_limit():
    def plant(record: Data, trial: int, connections: float) -> None:
        thread = {"pid": 7, "thread": 7, "name": "node", "cpu_share": 0.97}
        use_cpus(record, 1.3, busiest_thread=thread)

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("one_thread", "shown")
    assert "node" in finding.cause
    assert evidence(finding)["CPU of its busiest thread"] == 0.97


def test_two_threads_that_are_both_busy_are_not_one():
    thread = {"pid": 7, "thread": 7, "name": "nginx", "cpu_share": 0.93}
    assert found(lambda record, *_: use_cpus(record, 1.75, busiest_thread=thread)) == {}


def test_one_worker_with_helper_threads_is_likely_bound_to_one():
    settings = {"workers": 1}
    [finding] = found(lambda record, *_: use_cpus(record, 1.02), Setup(settings=settings)).values()
    assert (finding.code, finding.certainty) == ("one_thread", "likely")


def test_a_server_of_several_threads_may_use_one_cpu_without_being_bound_to_it():
    assert found(lambda record, *_: use_cpus(record, 1.0)) == {}


# --- connections that the server closes


def close_after(record: Data, replies: float) -> None:
    connections = record["load"]["load"]["connections"]
    record["load"]["connections"] |= {
        "opened": connections + 50,
        "replies_per_connection": replies,
    }


def test_a_limit_of_requests_for_each_connection_is_named_as_the_cause_of_reconnects():
    settings = {"keepalive_requests": 100}
    [finding] = found(lambda record, *_: close_after(record, 98.0), Setup(settings=settings)).values()
    assert (finding.code, finding.certainty) == ("reconnects", "shown")
    assert "after 100 requests" in finding.cause
    assert evidence(finding)["connections made again"] == 50


def test_reconnects_that_no_setting_explains_are_told_as_likely_a_rule_of_the_server():
    [finding] = found(lambda record, *_: close_after(record, 40.0)).values()
    assert (finding.code, finding.certainty) == ("reconnects", "likely")


def test_an_idle_timeout_explains_connections_that_lived_as_long():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 40.0)
        record["load"]["connections"]["lifetime_ms"] = distribution_of([5100.0] * 20)

    [finding] = found(plant, Setup(settings={"keepalive_timeout": 5})).values()
    assert finding.certainty == "shown"
    assert "idle for 5 s" in finding.cause


def test_connections_that_the_load_itself_closes_are_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 10.0)
        record["load"]["load"]["calls"] = 10

    assert found(plant) == {}


def test_connections_replaced_after_failures_are_told_as_errors_and_not_as_closed():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 10.0)
        # The warm-up has failures of its own, which no figure counts.
        record["load"]["requests"]["failed"] = 40
        record["load"]["errors"]["closed_early"] = 40

    assert set(found(plant)) == {"wrong_answers"}


def test_a_close_after_a_thousand_requests_is_too_rare_to_matter():
    assert found(lambda record, *_: close_after(record, 1000.0)) == {}


# --- wrong answers


def test_fast_errors_are_told_with_the_rate_of_the_good_answers():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections == 100:
            load = record["load"]
            load["rate_rps"]["answered"] = 40_000
            load["requests"]["ok"] = 250
            load["status"] |= {"2xx": 250, "5xx": 250}

    [finding] = found(plant, Setup(trials=2)).values()
    assert (finding.code, finding.weight) == ("wrong_answers", "invalidates")
    shown = evidence(finding)
    # Half of 500 answers.
    assert shown["requests without a right answer"] == 0.5
    assert (shown["answers"], shown["good answers"]) == (40_000, 20_000)


def test_short_bodies_are_wrong_answers():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"] |= {"answered": 400, "ok": 400, "failed": 100}
        load["errors"]["mismatch"] = 100

    [finding] = found(plant).values()
    assert finding.code == "wrong_answers"
    assert evidence(finding)["bodies of another length than the verified one"] == 100


def test_a_single_reset_among_thousands_is_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"] |= {"due": 5001, "answered": 5000, "ok": 5000, "failed": 1}
        load["errors"]["reset"] = 1

    assert found(plant) == {}


# --- ports and descriptors


def test_time_wait_that_holds_the_ports_explains_requests_without_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["errors"]["address_unavailable"] = 25
        sockets = {"established_max": 10, "time_wait_max": 28_000, "orphaned_max": 0, "by_state_max": None}
        record["probe"]["sockets"] = sockets

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("ports_exhausted", "shown")
    # 32768 to 60999, both included.
    assert evidence(finding)["local ports"] == 28_232


def test_want_of_ports_without_time_wait_is_not_blamed_on_it():
    [finding] = found(lambda r, *_: r["load"]["errors"].update(address_unavailable=25)).values()
    assert (finding.code, finding.certainty) == ("ports_exhausted", "likely")


def test_want_of_open_files_is_told_with_their_limit():
    [finding] = found(lambda r, *_: r["load"]["errors"].update(fd_unavailable=5)).values()
    assert finding.code == "descriptors_exhausted"
    assert evidence(finding)["limit of open files of a process"] == 4096


def test_a_server_with_fewer_places_than_connections_turns_them_away():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections > 64:
            record["load"]["errors"]["reset"] = 30

    by_code = found(plant, Setup(settings={"workers": 2, "worker_connections": 32}))
    assert set(by_code) == {"wrong_answers", "server_connections_exhausted"}
    assert evidence(by_code["server_connections_exhausted"])["connections by the server's settings"] == 64


# --- processes


def test_a_process_started_at_a_load_is_told_with_the_bump_of_the_throughput_there():
    def plant(record: Data, trial: int, connections: float) -> None:
        counts = {"min": 3, "max": 4} if connections == 25 else {"min": 4, "max": 4}
        if connections < 25:
            counts = {"min": 3, "max": 3}
        record["probe"]["server"]["processes"] = counts
        # Along a power law, on which the polynomial through the neighbours lies, and 10 % above it at 25.
        bump = 1.10 if connections == 25 else 1.0
        noise = math.exp(0.003 * (trial - 2))
        record["load"]["rate_rps"]["answered"] = 1000 * math.sqrt(connections) * bump * noise

    [finding] = found(plant).values()
    assert finding.code == "processes_changed"
    assert [point["connections"] for point in finding.points] == [25]
    assert "from 3 to 4" in finding.seen
    assert "10 % above" in finding.seen
    moved = finding.evidence[-1]
    assert moved.value == pytest.approx(1.10, rel=1e-9)
    assert moved.spread == "interval"


def test_a_change_without_effect_says_that_the_throughput_did_not_move():
    def plant(record: Data, trial: int, connections: float) -> None:
        processes = 3 if connections < 25 else 4
        record["probe"]["server"]["processes"] = {"min": processes, "max": processes}

    [finding] = found(plant).values()
    assert finding.code == "processes_changed"
    assert "did not move" in finding.seen


def test_a_curve_that_bends_is_no_bump():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["rate_rps"]["answered"] = connections / (connections + 9)

    [subject] = subjects(planted_run(plant))
    beside = throughput_beside_neighbours(subject, CONNECTIONS.index(25))
    # A straight line between the two neighbours alone would lie 6 % below it.
    assert beside.value == pytest.approx(1, abs=0.005)


def test_at_the_ends_of_the_sweep_nothing_is_expected():
    [subject] = subjects(planted_run())
    assert throughput_beside_neighbours(subject, 0) is None
    assert throughput_beside_neighbours(subject, len(CONNECTIONS) - 1) is None


def test_a_single_thread_that_comes_and_goes_is_no_change():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["probe"]["server"]["threads"] = {"min": 7, "max": 8}

    assert found(plant) == {}


# --- memory


def test_memory_for_each_connection_is_told_with_its_interval():
    def plant(record: Data, trial: int, connections: float) -> None:
        bytes_each = 256 * 1024 * (1 + 0.01 * (trial - 2))
        record["probe"]["server"]["memory_mean_bytes"] = 8 * 2**20 + bytes_each * connections

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("memory_per_connection", "shown")
    each = finding.evidence[0]
    assert each.value == pytest.approx(256 * 1024)
    # s = 1.5811 % of it, t(0.975, 4) = 2.776445, over the root of 5.
    assert each.high - each.value == pytest.approx(
        2.776445 * 0.01581139 / math.sqrt(5) * 256 * 1024, rel=1e-5
    )


def test_memory_that_jumps_about_is_not_blamed_on_connections():
    def plant(record: Data, trial: int, connections: float) -> None:
        memory = 64 if (trial + int(connections)) % 2 else 16
        record["probe"]["server"]["memory_mean_bytes"] = memory * 2**20

    assert found(plant) == {}


def leak(bytes_per_request: float) -> list[float]:
    rate = synthetic.SERVERS["nginx"].throughput_rps(50)
    return [16 * 2**20 + bytes_per_request * rate * 0.1 * sample for sample in range(20)]


def test_memory_that_grows_with_requests_is_told_by_the_bytes_of_each():
    def plant(record: Data, trial: int, rate: float) -> None:
        record["probe"]["series"] = series(memory_bytes=leak(512))

    [finding] = found(plant, Setup(key="rate", values=(100, 200, 300))).values()
    assert finding.code == "memory_grows_with_requests"
    # The rate differs between trials by a percent.
    assert finding.evidence[0].value == pytest.approx(512, rel=0.02)


def test_memory_that_comes_to_a_level_is_no_leak():
    level = [16 * 2**20 + 8 * 2**20 * min(sample, 8) / 8 for sample in range(20)]
    assert found(lambda record, *_: record["probe"].update(series=series(memory_bytes=level))) == {}


def test_memory_that_is_given_back_is_no_leak():
    teeth = [16 * 2**20 + 4 * 2**20 * (sample % 5) + sample * 2**18 for sample in range(20)]
    assert found(lambda record, *_: record["probe"].update(series=series(memory_bytes=teeth))) == {}


def test_a_server_that_grows_at_its_first_points_only_is_warming_up():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections < 50:
            record["probe"]["series"] = series(memory_bytes=leak(512))

    assert found(plant) == {}


def test_growth_in_some_trials_only_is_no_leak():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial:
            record["probe"]["series"] = series(memory_bytes=leak(512))

    assert found(plant) == {}


# --- odd trials


def test_a_burp_is_told_with_the_counter_that_its_siblings_do_not_have():
    def plant(record: Data, trial: int, connections: float) -> None:
        if (trial, connections) == (3, 25):
            record["load"]["rate_rps"]["answered"] *= 0.7
            record["probe"]["throttling"] = {"periods": 20, "throttled_periods": 0, "throttled_s": 0.0}
            record["load"]["kernel"]["retransmits"] = 40

    [finding] = found(plant).values()
    assert (finding.code, finding.trials, finding.points) == ("odd_trial", [3], [{"connections": 25}])
    assert finding.trials_measured == 5
    assert "segments sent again" in finding.cause


def test_a_burp_that_no_counter_shows_is_not_explained_by_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        if (trial, connections) == (3, 25):
            record["load"]["rate_rps"]["answered"] *= 0.7

    [finding] = found(plant).values()
    assert "No counter" in finding.cause


def test_a_trial_that_is_slow_at_every_point_does_not_hide_in_its_own_spread():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 2:
            record["load"]["rate_rps"]["answered"] *= 0.5

    [finding] = found(plant).values()
    assert (finding.code, finding.trials, len(finding.points)) == ("odd_trial", [2], 5)


def test_a_small_difference_is_none_to_care_about_however_significant():
    def plant(record: Data, trial: int, connections: float) -> None:
        exact = 1000.0 * connections
        record["load"]["rate_rps"]["answered"] = exact * (0.97 if (trial, connections) == (3, 25) else 1)

    assert found(plant) == {}


def with_throughput(record: PointRecord, rps: float) -> PointRecord:
    rate = record.load.rate_rps.model_copy(update={"answered": rps})
    return record.model_copy(update={"load": record.load.model_copy(update={"rate_rps": rate})})


@pytest.mark.parametrize("trials", [3, 5, 20])
def test_equal_trials_are_called_odd_in_at_most_a_twentieth_of_the_studies(trials: int):
    base, studies = planted_run(setup=Setup(trials=trials, values=(5, 10, 25, 50))), 400
    drawn = random.Random(trials)

    def alarms() -> bool:
        # A deviation of 6 % makes many trials differ by more than the 5 % that matter in practice.
        records = [with_throughput(one, 1000 * math.exp(drawn.gauss(0, 0.06))) for one in base.points]
        [subject] = subjects(dataclasses.replace(base, records=records))
        return bool(odd_trial.find(subject))

    share = sum(alarms() for _ in range(studies)) / studies
    # 5 % and twice the standard error of so many studies.
    assert share <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)


# --- steal


def test_steal_is_told_and_burst_credits_where_the_machine_has_them():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 1:
            cpu = {"cpu": 0, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.12}
            record["probe"]["cpus"] = [cpu]

    [finding] = found(plant).values()
    assert (finding.code, finding.trials) == ("steal", [1])
    assert "credit" not in finding.cause
    [finding] = found(plant, Setup(host={"machine_product": "t3.large"})).values()
    assert "credit" in finding.cause


def test_a_single_tick_of_steal_in_a_short_window_is_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["duration_s"] = 0.3
        cpu = {"cpu": 0, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.033}
        record["probe"]["cpus"] = [cpu]

    assert found(plant) == {}


def test_steal_of_a_cpu_that_neither_side_uses_does_not_matter():
    def plant(record: Data, trial: int, connections: float) -> None:
        cpu = {"cpu": 9, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.5}
        record["probe"]["cpus"] = [cpu]

    assert found(plant) == {}


# --- stalls


def slow(due_s: float, latency_ms: float, connection: int, **more: object) -> Data:
    return {
        "operation": "GET /1k.txt",
        "due_s": due_s,
        "connect_ms": None,
        "first_byte_ms": latency_ms,
        "service_time_ms": latency_ms,
        "latency_ms": latency_ms,
        "error": None,
        "syn_retransmits": 0,
        "retransmits": 0,
        "connection": connection,
    } | more


def stall(record: Data, **more: object) -> None:
    """Nothing is answered from 0.9 s to 1.5 s, and requests that fell due before it wait for its end."""
    record["load"]["silences"] = [
        {"start_s": 0.9, "length_ms": 600},
        {"start_s": 0.2, "length_ms": 150},
        {"start_s": 0.1, "length_ms": 4},
    ]
    record["load"]["slowest"] = [slow(0.895 + 0.001 * n, 605 - n, n, **more) for n in range(10)]


@pytest.mark.parametrize(("cpu_in_stall", "cause"), [(0.0, "did nothing"), (0.5, "worked all the time")])
def test_a_stall_is_told_with_what_the_server_did_in_it(cpu_in_stall: float, cause: str):
    # The samples at 1.05 s to 1.45 s lie in the stall with their whole time.
    shares = [cpu_in_stall if 10 <= sample <= 14 else 0.25 for sample in range(20)]

    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        record["probe"]["series"] = series(cpu_user_share=shares, cpu_system_share=shares)

    [finding] = found(plant).values()
    assert finding.code == "stall"
    assert "600 ms, from 0.90 s on, nothing was answered" in finding.seen
    assert cause in finding.cause
    shown = evidence(finding)
    assert shown["stretches without an answer as long as a stall"] == 2
    assert shown["slowest requests that were held up"] == 10
    assert shown["CPU of the server in the stall"] == 2 * cpu_in_stall


def test_a_throttled_stall_is_told_as_that():
    throttled = [0.1 if 10 <= sample <= 14 else 0.0 for sample in range(20)]

    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        record["probe"]["series"] = series(throttled_s=throttled)

    [finding] = found(plant).values()
    assert "used up its share" in finding.cause


def test_slow_requests_while_others_are_answered_are_no_stall():
    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        record["load"]["silences"] = [{"start_s": 0.9, "length_ms": 30}]

    assert found(plant) == {}


def test_a_silence_in_which_nothing_was_under_way_is_no_stall():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["silences"] = [{"start_s": 0.9, "length_ms": 600}]

    assert found(plant) == {}


def test_silence_between_few_requests_is_no_stall():
    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        # One every 50 ms.
        record["load"]["rate_rps"]["answered"] = 20.0

    assert found(plant) == {}


def test_connections_that_wait_for_a_lost_syn_are_no_stall():
    assert found(lambda record, *_: stall(record, syn_retransmits=1)) == {}


def test_a_generator_that_stood_still_itself_accuses_no_server():
    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        record["load"]["generator"]["lateness_ms"] = {"p50": 0.1, "p99": 0.2, "p99_9": 1, "max": 580}

    assert found(plant) == {}


# --- what a closed loop hides


def open_load(record: Data, latency_p99_ms: float, service_p99_ms: float) -> None:
    record["load"]["load"] |= {"model": "open", "rate_rps": 1000.0, "arrivals": "constant"}
    record["load"]["latency_ms"]["p99"] = latency_p99_ms
    record["load"]["service_time_ms"]["p99"] = service_p99_ms


def test_a_tail_that_a_closed_loop_would_have_hidden_is_told():
    [finding] = found(lambda record, *_: open_load(record, 120, 3)).values()
    assert finding.code == "hidden_tail"
    assert "p99 of 3 ms, instead of 120 ms" in finding.seen


def test_without_waiting_for_a_connection_both_loops_agree():
    assert found(lambda record, *_: open_load(record, 3.4, 3)) == {}


def test_a_wait_that_is_the_generators_own_is_not_told_of_the_server():
    def plant(record: Data, trial: int, connections: float) -> None:
        open_load(record, 120, 3)
        record["load"]["generator"]["lateness_ms"] = {"p50": 1, "p99": 100, "p99_9": 110, "max": 120}

    assert found(plant) == {}


# --- what holds for all


def everything(record: Data, trial: int, connections: float) -> None:
    """Plant many causes at once."""
    retried_connects(record, [0.1] * 490 + [1003.0] * 10, overflows=4)
    say(record, "generator_saturated")
    use_cpus(record, 1.95)
    record["load"]["errors"]["fd_unavailable"] = 3
    if connections == 10:
        record["load"]["status"]["5xx"] = 400


def test_every_finding_has_evidence_and_the_weightiest_come_first():
    found_here = findings(planted_run(everything))
    assert {one.code for one in found_here} >= {
        "rig_limit",
        "wrong_answers",
        "cpu_limit",
        "listen_queue_overflow",
    }
    assert all(one.evidence for one in found_here)
    weights = [WEIGHTS.index(one.weight) for one in found_here]
    assert weights == sorted(weights)


def test_a_finding_without_evidence_cannot_be_made():
    one = findings(planted_run(everything))[0]
    with pytest.raises(ValidationError, match="evidence"):
        Finding.model_validate(one.model_dump() | {"evidence": []})


def test_neighbouring_points_and_trials_are_one_finding_and_distant_ones_are_two():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections in {1, 2, 100}:
            use_cpus(record, 1.9)

    values = (1, 2, 5, 10, 25, 50, 100)
    parts = [one.points for one in findings(planted_run(plant, Setup(values=values)))]
    assert sorted([[p["connections"] for p in points] for points in parts]) == [[1, 2], [100]]
