"""Flow control of HTTP/2: bodies and answers that had to wait for a window."""

from support.explained_run import evidence, found, speak_http2


def test_bodies_that_wait_for_the_servers_windows_are_a_finding():
    # 5,000 replies in all.
    [finding] = found(lambda record, *_: speak_http2(record, bodies_delayed=4000)).values()
    assert (finding.code, finding.certainty) == ("server_windows", "likely")
    assert evidence(finding)["share of all requests"] == 0.8


def test_a_few_bodies_that_wait_are_none():
    assert found(lambda record, *_: speak_http2(record, bodies_delayed=499)) == {}


def test_answers_that_use_up_the_loads_windows_are_a_finding():
    [finding] = found(lambda record, *_: speak_http2(record, windows_used_up=10_000)).values()
    assert (finding.code, finding.certainty) == ("client_windows", "shown")
    assert evidence(finding)["windows used up per answer"] == 2.0


def test_windows_that_are_seldom_used_up_are_none():
    assert found(lambda record, *_: speak_http2(record, windows_used_up=249)) == {}
