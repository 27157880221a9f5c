"""Handshakes of TLS: when they are much of the work."""

import pytest

from support.encrypted_run import tls_result
from support.explained_run import CONNECTIONS, Data, Setup, evidence, found, use_cpus
from support.synthetic_run import DURATION_S


def shaken(
    record: Data,
    full: int,
    resumed: int,
    *,
    calls: float,
    full_handshakes: float = 1.0,
    full_ms: list[float] | None = None,
) -> None:
    """Give a record handshakes; each connection has ``calls`` answers."""
    load = record["load"]
    load["load"] |= {"scheme": "https", "full_handshakes": full_handshakes, "calls": int(calls)}
    load["connections"] |= {"opened": full + resumed, "replies_per_connection": calls, "rate_cps": 100.0}
    resumed_ms = None if full_ms is None else [0.1] * resumed
    load["tls"] = tls_result(full, resumed, full_ms=full_ms, resumed_ms=resumed_ms)


def busy(record: Data, cpus: float, fastest_ms: float, *, own_us: float = 0.0) -> None:
    """A thousand full handshakes in a window; for each the generator's own CPU time was ``own_us``."""
    shaken(record, 1000, 0, calls=2, full_ms=[fastest_ms] + [10.0] * 999)
    use_cpus(record, cpus)
    own_s = own_us * 1000 / 1e6
    record["load"]["generator"] |= {"cpu_user_s": own_s, "cpu_system_s": 0.0, "cpu_spun_s": 0.0}


def test_handshakes_of_half_a_millisecond_are_much_of_a_cpu_where_five_hundred_come_each_second():
    # 500/s of 0.7 ms, of which 0.2 ms are the generator's, are a quarter of a CPU, and half of 0.5 CPUs.
    [finding] = found(lambda record, *_: busy(record, 0.5, 0.7, own_us=200)).values()
    assert (finding.code, finding.certainty, finding.briefly) == ("handshakes", "likely", None)
    assert "per 2 answers" in finding.seen
    assert "about 50 % of the CPU time" in finding.seen
    assert "RSA 2048" in finding.cause
    shown = evidence(finding)
    assert shown["share of the CPU time, by rate and shortest time"] == pytest.approx(0.5)
    assert (shown["full handshakes"], shown["rate of full handshakes"]) == (1000, 1000 / DURATION_S)


@pytest.mark.parametrize(("fastest_ms", "own_us"), [(0.1, 0.0), (0.7, 650.0)])
def test_quick_handshakes_are_no_finding_however_many_there_are(fastest_ms: float, own_us: float):
    # 500/s of 0.1 ms, or of what the generator's own end leaves of 0.7 ms, are a twentieth of a CPU or less.
    assert found(lambda record, *_: busy(record, 0.5, fastest_ms, own_us=own_us)) == {}


def swept(record: Data, full_handshakes: float, cpu_us: float, *, full: int | None = None) -> None:
    """At a share of full handshakes an answer, one on each connection, cost the server ``cpu_us``."""
    long_ms = 5.0 if full is None else 0.1
    full = round(1000 * full_handshakes) if full is None else full
    shaken(record, full, 1000 - full, calls=1, full_handshakes=full_handshakes, full_ms=[long_ms] * full)
    use_cpus(record, 0.5, cpu_per_request_us=cpu_us)


SHARES = Setup(key="full_handshakes", values=(0, 0.5, 1))


def test_points_that_differ_in_their_full_handshakes_alone_show_what_these_cost():
    # Resumed, an answer costs 100 µs, and each full handshake another 300 µs.
    [finding] = found(lambda record, _, share: swept(record, share, 100 + 300 * share), SHARES).values()
    assert (finding.code, finding.certainty) == ("handshakes", "shown")
    assert [point["full_handshakes"] for point in finding.points] == [0.5, 1]
    assert (
        "took 75 % of the CPU time of nginx: an answer cost 400 µs, compared with 100 µs at" in finding.seen
    )
    assert finding.briefly == finding.seen[:1].lower() + finding.seen[1:].removesuffix(".")
    shown = evidence(finding)
    assert (shown["CPU per answer"], shown["CPU per answer with fewer full handshakes"]) == (325, 100)
    # Of both points: 150 of 250 µs and 300 of 400.
    assert shown["share of the CPU time, by comparison"] == pytest.approx((0.6 + 0.75) / 2)


def test_where_a_server_does_not_resume_all_that_it_could_the_comparison_is_in_proportion():
    # Resumed, an answer costs 100 µs, and each full handshake another 300 µs; where none was to be full, 400
    # of 1,000 were, so that an answer cost 220 µs. The full ones take three quarters of 400 µs all the same.
    def plant(record: Data, _trial: int, share: float) -> None:
        full = 1000 if share else 400
        swept(record, share, 100 + 300 * full / 1000, full=full)

    finding = found(plant, Setup(key="full_handshakes", values=(0, 1)))["handshakes"]
    assert [point["full_handshakes"] for point in finding.points] == [1]
    assert "took 75 % of the CPU time of nginx" in finding.seen
    assert "compared with 220 µs at full_handshakes = 0, where there were still 40 % as many." in finding.seen


def test_where_the_comparison_shows_that_they_cost_little_their_long_times_are_no_finding():
    assert found(lambda record, _, share: swept(record, share, 100 + 10 * share), SHARES) == {}


def test_one_full_handshake_for_every_two_answers_is_a_finding_where_the_cpu_time_is_not_known():
    [finding] = found(lambda record, *_: shaken(record, 1000, 0, calls=2)).values()
    assert (finding.code, finding.certainty) == ("handshakes", "likely")
    assert "per 2 answers; their share of the CPU time is not known" in finding.seen
    assert evidence(finding)["full handshakes"] == 1000


def test_points_with_different_shares_of_full_handshakes_are_said_to_differ():
    # Every second of 1,000 connections has a full handshake at one load, and every one at the others.
    def plant(record: Data, _trial: int, connections: float) -> None:
        full = 500 if connections == CONNECTIONS[0] else 1000
        shaken(record, full, 1000 - full, calls=1, full_handshakes=full / 1000)

    [finding] = found(plant).values()
    assert "per 1 to 2 answers" in finding.seen


def test_handshakes_that_are_few_for_their_answers_are_no_finding():
    assert found(lambda record, *_: shaken(record, 100, 0, calls=1000)) == {}


def test_resumed_handshakes_are_not_counted_as_full_ones():
    assert found(lambda record, *_: shaken(record, 100, 9_900, calls=1, full_handshakes=0.0)) == {}
