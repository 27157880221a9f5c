"""HTTP/3: what windows, buffers, sockets, losses and handshakes do to a load."""

from dataclasses import replace

import pytest

from loadcurve.explain import cold_arm
from loadcurve.explain.subject import subjects
from support.encrypted_run import tls_result
from support.explained_run import Data, distribution_of, evidence, found, planted_run, speak_http3


def test_a_load_over_http3_in_which_nothing_is_odd_has_no_finding():
    assert found(lambda record, *_: speak_http3(record)) == {}


@pytest.mark.parametrize(
    ("side", "code", "weight"),
    [("by_server", "server_udp_drops", "explains"), ("by_client", "client_udp_drops", "distorts")],
)
def test_a_buffer_that_overflows_is_a_finding_about_the_side_whose_it_is(side: str, code: str, weight: str):
    [finding] = found(lambda record, *_: speak_http3(record, dropped={side: 400})).values()
    assert (finding.code, finding.certainty, finding.weight) == (code, "shown", weight)
    assert 400 in evidence(finding).values()


@pytest.mark.parametrize("side", ["by_server", "by_client"])
def test_a_few_dropped_datagrams_are_none(side: str):
    assert found(lambda record, *_: speak_http3(record, dropped={side: 19})) == {}


def share_socket(record: Data, failed: int) -> None:
    speak_http3(record, sockets={"of_server": 1})
    requests = record["load"]["requests"]
    requests |= {"answered": requests["answered"] - failed, "unanswered": failed}


def test_one_udp_socket_for_several_processes_is_likely_a_cause_where_nothing_failed():
    # The server has three processes.
    [finding] = found(lambda record, *_: share_socket(record, 0)).values()
    assert (finding.code, finding.certainty) == ("one_udp_socket", "likely")
    assert evidence(finding)["processes"] == 3


def test_it_is_shown_where_requests_were_not_answered():
    finding = found(lambda record, *_: share_socket(record, 100))["one_udp_socket"]
    assert (finding.certainty, evidence(finding)["requests failed or unanswered"]) == ("shown", 100)


def test_a_server_of_one_process_may_have_one_socket():
    def plant(record: Data, *_: float) -> None:
        speak_http3(record, sockets={"of_server": 1})
        record["probe"]["server"] |= {"processes": {"min": 1, "max": 1}}

    assert found(plant) == {}


def test_a_program_behind_a_server_has_nothing_to_do_with_its_socket():
    def plant(record: Data, *_: float) -> None:
        share_socket(record, 100)
        record["probe"]["server"]["programs"] = [
            {"name": name, "cpu_share": 0.4, "cpu_per_request_us": 100} for name in ("envoy", "nginx")
        ]

    assert "one_udp_socket" not in found(plant)


@pytest.mark.parametrize(("received", "is_found"), [(20_000, True), (20_001, False)])
def test_long_answers_whose_datagrams_all_arrive_alone_are_a_finding(received: int, is_found: bool):
    def plant(record: Data, *_: float) -> None:
        calls = {"receives": 20_000, "received": received, "per_receive": received / 20_000}
        speak_http3(record, datagrams=calls, packets={"received_per_answer": 4.0})
        # The path carries datagrams of 1,452 bytes.
        record["load"]["bytes"]["body"] = record["load"]["requests"]["answered"] * 3 * 1452

    codes = found(plant)
    assert [*codes] == (["single_datagrams"] if is_found else [])


@pytest.mark.parametrize("per_answer", [2.0, 6.5], ids=["warm", "with a handshake for each answer"])
def test_answers_of_one_datagram_arrive_alone_without_a_finding(per_answer: float):
    parts = {
        "datagrams": {"receives": 10_000, "received": 10_000, "per_receive": 1.0},
        "packets": {"received_per_answer": per_answer},
    }
    assert found(lambda record, *_: speak_http3(record, **parts)) == {}


@pytest.mark.parametrize(
    ("key", "code", "least"),
    # A twentieth and a tenth of 5,000 answers.
    [("server_blocked", "client_quic_windows", 250), ("blocked", "server_quic_windows", 500)],
)
def test_windows_that_hold_a_side_up_often_are_a_finding_about_whose_they_are(
    key: str, code: str, least: int
):
    [finding] = found(lambda record, *_: speak_http3(record, windows={key: least})).values()
    assert (finding.code, finding.certainty) == (code, "shown")
    assert found(lambda record, *_: speak_http3(record, windows={key: least - 1})) == {}


def test_handshakes_with_requests_in_the_first_datagrams_among_others_are_a_finding():
    def plant(record: Data, early: int) -> None:
        times = {"early_accepted": distribution_of([0.1] * early), "full": distribution_of([2.0] * 20)}
        speak_http3(record, handshakes_ms=times)

    [finding] = found(lambda record, *_: plant(record, 20)).values()
    assert (finding.code, finding.weight) == ("mixed_handshakes", "distorts")
    assert evidence(finding)["median of full ones"] == 2.0
    assert found(lambda record, *_: plant(record, 19)) == {}


@pytest.mark.parametrize(
    ("accepted", "refused", "without", "asked", "cause"),
    [
        (90, 0, 10, 1.0, "no early data, or no request was due"),
        (0, 19, 1, 1.0, "refused early data that its tickets allow"),
        (44, 0, 56, 0.5, "no early data"),
        # Within five points, fewer than 20, and where none was asked for.
        (95, 5, 0, 1.0, None),
        (46, 0, 54, 0.5, None),
        (0, 10, 9, 1.0, None),
        (0, 0, 100, 0.0, None),
    ],
)
def test_less_early_data_than_a_load_asked_for_is_a_finding(
    accepted: int, refused: int, without: int, asked: float, cause: str | None
):
    def plant(record: Data, *_: float) -> None:
        counts = {"early_accepted": accepted, "early_rejected": refused, "resumed": without}
        speak_http3(
            record, handshakes_ms={name: distribution_of([2.0] * count) for name, count in counts.items()}
        )
        record["load"]["load"] |= {"early_data": asked, "full_handshakes": 0.0, "calls": 1}

    finding = found(plant).get("early_data_not_accepted")
    assert (finding is not None) == (cause is not None)
    if finding is not None and cause is not None:
        assert cause in finding.cause
        assert evidence(finding)["handshakes with refused early data"] == refused


@pytest.mark.parametrize(
    ("certificate_bytes", "group", "full", "is_found"),
    # RFC 9000 §8.1: three times 1,200 bytes, and of a client whose key takes two datagrams twice as much.
    [
        (3600, "x25519", 20, False),
        (3601, "x25519", 20, True),
        (3601, "x25519", 19, False),
        (7200, "X25519MLKEM768", 20, False),
        (7201, "X25519MLKEM768", 20, True),
    ],
)
def test_certificates_beyond_what_an_unknown_address_may_be_sent_are_a_finding(
    certificate_bytes: int, group: str, full: int, is_found: bool
):
    def plant(record: Data, *_: float) -> None:
        speak_http3(
            record,
            certificate_bytes={"max": certificate_bytes},
            handshakes_ms={"full": distribution_of([2.0] * full)},
        )
        record["load"]["tls"] = tls_result(full, 0, full_ms=[2.0] * full, resumed_ms=[])
        for agreed in record["load"]["tls"]["agreed"]:
            agreed["group"] = group

    findings = found(plant)
    assert [*findings] == (["long_chain"] if is_found else [])
    if is_found:
        seen = evidence(findings["long_chain"])
        assert (seen["bytes of certificates"], seen["full handshakes"]) == (certificate_bytes, 20)


def test_lost_packets_are_shown_to_be_the_servers_buffer_only_where_it_dropped_them():
    # 0.5 % of 10,000.
    [finding] = found(lambda record, *_: speak_http3(record, packets={"lost": 50})).values()
    assert (finding.code, finding.certainty, finding.weight) == ("quic_loss", "likely", "distorts")
    assert found(lambda record, *_: speak_http3(record, packets={"lost": 49})) == {}
    both = found(lambda record, *_: speak_http3(record, packets={"lost": 50}, dropped={"by_server": 25}))
    assert (both["quic_loss"].certainty, both["quic_loss"].weight) == ("shown", "explains")


def open_within(record: Data, within: int) -> None:
    """This many connections over HTTP/3 were opened within the window."""
    speak_http3(record)
    record["load"]["tls"] = tls_result(10, 0, full_ms=[1.0] * within, resumed_ms=[])


def test_http3_beside_tcp_on_connections_that_were_all_open_lacks_its_cold_arm():
    def findings_of(within: int, versions: frozenset[str], **of_others: bool) -> list[str]:
        run = planted_run(lambda record, *_: open_within(record, within))
        [subject] = subjects(run)
        assert (subject.http_versions, subject.has_cold_http3) == ({"3"}, within > 0)
        return [one.code for one in cold_arm.find(replace(subject, http_versions=versions, **of_others))]

    both = frozenset({"1.1", "3"})
    assert findings_of(0, both) == ["no_cold_arm"]
    assert findings_of(1, both) == []
    assert findings_of(0, frozenset({"3"})) == []
    # Another arm of the run is the cold one.
    assert findings_of(0, both, has_cold_http3=True) == []
