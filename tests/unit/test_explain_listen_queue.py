"""Connections whose SYNs were sent again, and where these were lost."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.explain.listen_queue import syn_moments_s
from support.explained_run import Data, Setup, evidence, found, retried_connects, slow_request


def test_the_moments_of_syns_are_those_of_the_kernels_documentation():
    # RFC 6298 doubles from 1 s on; with 4 linear timeouts the waits are 1, 1, 1, 1, 1, 2, 4 s (ip-sysctl).
    assert syn_moments_s(0)[:4] == [1, 3, 7, 15]
    assert syn_moments_s(4) == [1, 2, 3, 4, 5, 7, 11]
    assert set(syn_moments_s(None)) >= {1, 2, 3, 4, 5, 7, 15}


def test_connections_made_after_1_and_3_s_are_reported_with_the_queue_that_overflowed():
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
    assert shown["connections established about 1 s after their first SYN"] == 8
    assert shown["connections established about 3 s after their first SYN"] == 2
    assert shown["backlog of the server's listen queue"] == 511
    # 10 connections at each of 2 points in each of 5 trials.
    assert finding.seen.startswith("100 connections took about 1, 3 s to establish")


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


@pytest.mark.parametrize(
    ("slowest", "max_ms"),
    [
        # Whose connections were open before the window.
        ([slow_request(0.1, 60.0)] * 10, 60.0),
        # One was as slow, and not for its connection.
        ([slow_request(0.1, 1500.0), slow_request(0.1, 60.0)], 1500.0),
        # Another generator tells no single requests.
        ([], 60.0),
    ],
)
def test_connections_that_no_request_of_the_window_waited_for_are_no_finding(slowest, max_ms):
    def plant(record: Data, trial: int, connections: float) -> None:
        retried_connects(record, [0.1] * 5 + [1010.0] * 25, overflows=88)
        record["load"]["slowest"] = slowest
        record["load"]["latency_ms"]["max"] = max_ms

    assert found(plant) == {}


def test_where_the_slowest_requests_do_not_tell_others_may_have_waited():
    def plant(record: Data, trial: int, connections: float) -> None:
        retried_connects(record, [0.1] * 5 + [1010.0] * 25, overflows=88)
        record["load"]["slowest"] = [slow_request(0.1, 1900.0)] * 10

    assert set(found(plant)) == {"listen_queue_overflow"}


def test_requests_that_timed_out_while_connecting_are_told_from_connections():
    def plant(record: Data, trial: int, connections: float) -> None:
        if (trial, connections) == (0, 100):
            retried_connects(record, [0.1] * 490 + [1003.0], overflows=12)
            load = record["load"]
            load["requests"] |= {"answered": 499, "ok": 499, "failed": 1}
            load["errors"]["connect_timeout"] = 1

    assert found(plant)["listen_queue_overflow"].seen.startswith(
        "1 connection took about 1 s to establish, the kernel's delays before it retransmits a SYN, and 1 "
        "request timed out before there was one"
    )


def test_clients_that_wait_for_a_connection_from_the_warm_up_on_are_missing_in_the_window():
    def plant(record: Data, trial: int, connections: float) -> None:
        retried_connects(record, [0.1] * 5 + [1010.0] * 25, overflows=88)
        record["load"]["load"]["calls"] = 1
        record["load"]["slowest"] = [slow_request(0.1, 60.0)] * 10
        record["load"]["latency_ms"]["max"] = 60.0

    assert set(found(plant)) == {"listen_queue_overflow"}
