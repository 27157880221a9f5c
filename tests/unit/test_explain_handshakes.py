"""Handshakes of TLS: when they are much of the work, and when they should have been fewer."""

from support.explained_run import CONNECTIONS, Data, evidence, found


def shaken(record: Data, full: int, resumed: int, *, calls: float, full_handshakes: float = 1.0) -> None:
    """Give a record handshakes, of which each connection has ``calls`` answers."""
    load = record["load"]
    load["load"] |= {"scheme": "https", "full_handshakes": full_handshakes, "calls": int(calls)}
    load["connections"] |= {"opened": full + resumed, "replies_per_connection": calls, "rate_cps": 100.0}
    agreed = {"version": "1.3", "suite": "TLS_AES_128_GCM_SHA256", "group": "x25519"}
    certificate = {"subject": "CN=a", "issuer": "CN=b", "key": "RSA 2048", "not_after": "", "chain_length": 1}
    load["tls"] = {
        "handshakes": {"full": full, "resumed": resumed},
        "agreed": [agreed | {"resumed": False, "count": full}],
        "protocol": None,
        "certificate": certificate,
    }


def test_one_full_handshake_for_every_two_answers_is_much_of_the_work():
    [finding] = found(lambda record, *_: shaken(record, 1000, 0, calls=2)).values()
    assert finding.code == "handshakes"
    assert "every 2 answers" in finding.seen
    assert "RSA 2048" in finding.cause
    assert evidence(finding)["full handshakes"] == 1000


def test_points_with_different_shares_of_full_handshakes_are_said_to_differ():
    # Every second of 1,000 connections has a full handshake at one load, and every one at the others.
    def plant(record: Data, _trial: int, connections: float) -> None:
        full = 500 if connections == CONNECTIONS[0] else 1000
        shaken(record, full, 1000 - full, calls=1, full_handshakes=full / 1000)

    [finding] = found(plant).values()
    assert "every 1 to 2 answers" in finding.seen


def test_handshakes_that_are_few_for_their_answers_are_no_finding():
    assert found(lambda record, *_: shaken(record, 100, 0, calls=1000)) == {}


def test_resumed_handshakes_are_not_counted_as_full_ones():
    assert found(lambda record, *_: shaken(record, 100, 9_900, calls=1, full_handshakes=0.0)) == {}


def test_sessions_that_a_server_does_not_resume_although_it_is_offered_to_are_a_finding():
    def plant(record: Data, *_: float) -> None:
        shaken(record, 1000, 0, calls=200, full_handshakes=0.0)

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("not_resumed", "shown")
    # Of 1,000 connections as many as are open at once have no session to go on with.
    assert "about 995" in finding.seen


def test_full_handshakes_that_were_asked_for_are_no_sessions_that_were_not_resumed():
    assert found(lambda record, *_: shaken(record, 500, 500, calls=200, full_handshakes=0.5)) == {}
