"""``Alt-Svc`` as RFC 7838 has it: what its examples say, and that no text of a server does harm."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.protocol import BY_ALT_SVC, HTTP3
from loadcurve.server import alt_svc
from loadcurve.server.alt_svc import Alternative, Announcement, alternatives_in
from support.http_load_study import CLOSED, load_of, problems_in

DAY_S = 24 * 60 * 60
"""How long an alternative is good for that does not say it (RFC 7838, section 3.1)."""

EXAMPLES = {
    # Section 1.1, 2 and 3 of RFC 7838, and section 3.1.1 of RFC 9114.
    'h2=":8000"': [("h2", "", 8000, DAY_S)],
    'h2="new.example.org:80"': [("h2", "new.example.org", 80, DAY_S)],
    'h2="alt.example.com:8000", h2=":443"': [
        ("h2", "alt.example.com", 8000, DAY_S),
        ("h2", "", 443, DAY_S),
    ],
    'h2=":443"; ma=3600': [("h2", "", 443, 3600)],
    'h2=":443"; ma=2592000; persist=1': [("h2", "", 443, 2592000)],
    'h3=":50781"': [("h3", "", 50781, DAY_S)],
    "clear": [],
    # The table of section 3: x:y#z of a protocol, and a percent sign in one.
    'w%3Dx%3Ay#z=":1"': [("w%3Dx%3Ay#z", "", 1, DAY_S)],
    'x%25y=":1"': [("x%25y", "", 1, DAY_S)],
}


@pytest.mark.parametrize("said", EXAMPLES)
def test_the_examples_of_the_specification_say_what_it_says(said):
    expected = [Alternative(*one) for one in EXAMPLES[said]]
    assert alternatives_in(said) == expected


def test_lists_may_have_empty_elements_and_any_white_space_that_is_allowed():
    written = ' , h3=":443"\t; ma="60" ;x="a\\"b, ;c" ,, h2="[::1]:8443",'
    assert alternatives_in(written) == [Alternative("h3", "", 443, 60), Alternative("h2", "[::1]", 8443)]


@pytest.mark.parametrize(
    "said",
    [
        "",
        " , ",
        "Clear",
        "clear, clear",
        "h3",
        "h3=:443",
        'h3 = ":443"',
        'h3="443"',
        'h3=":"',
        'h3=":0"',
        'h3=":65536"',
        'h3=":-1"',
        f'h3=":{"9" * 5000}"',
        'h3=":443" ma=60',
        'h3=":443"; ma',
        'h3=":443"; ma=-1',
        'h3=":443"; ma="six"',
        'h3=":443',
        '=":443"',
        'h3=":443"; ma=6\u06f0',
    ],
)
def test_what_is_written_in_another_way_is_refused(said):
    with pytest.raises(ValueError, match=r"\w"):
        alternatives_in(said)


TOKENS = st.text("abcXYZ019!#$%&'*+-.^_`|~", min_size=1, max_size=8)
HOSTS = st.sampled_from(["", "example.org", "127.0.0.1", "[::1]"])
WRITTEN = st.tuples(TOKENS, HOSTS, st.integers(1, 65535), st.integers(0, 10**9))


@given(st.lists(WRITTEN, min_size=1, max_size=4), st.sampled_from([",", ", ", " ,\t", ",,"]))
def test_what_is_written_is_read(written, comma):
    said = comma.join(f'{name}="{host}:{port}"; x=1; ma={age_s}' for name, host, port, age_s in written)
    assert alternatives_in(said) == [Alternative(*one) for one in written]


@given(st.text() | st.text('h3=":;, \\ma01%'))
def test_any_text_is_read_or_refused(said):
    try:
        listed = alternatives_in(said)
    except ValueError:
        return
    assert all(1 <= one.port <= 65535 for one in listed)


@dataclass
class Server:
    """One that is asked over no network, and a clock beside it."""

    age_s: int
    now_s: float = 1000.0
    asked: int = 0

    def answer(self, *_):
        self.asked += 1
        return f'h3=":{8000 + self.asked}"; ma={self.age_s}'


@pytest.fixture
def plan():
    load = ClosedLoad(model="closed", requests=["/"], connections=1, requests_total=1, http=BY_ALT_SVC)
    return HttpPlan(load=load, address="127.0.0.1:443", authority="example.org", scheme="https", threads=1)


@pytest.fixture
def asked_by_loads(monkeypatch, plan):
    """Give what loads at these times, in seconds, were told by a server whose word is good for a minute."""

    def told(*times_s):
        server = Server(age_s=60)
        monkeypatch.setattr(alt_svc, "_said", server.answer)
        monkeypatch.setattr(alt_svc, "speaks_quic", lambda *_: True)
        announcement = Announcement(lambda: server.now_s)
        followed = []
        for time_s in times_s:
            server.now_s = time_s
            followed.append(announcement.followed_by(plan))
        return [(one.address, one.announced.times_asked, one.announced.age_s) for one in followed]

    return told


def test_what_a_server_has_said_is_good_for_as_long_as_it_said_and_no_longer(asked_by_loads):
    first, second = "127.0.0.1:8001", "127.0.0.1:8002"
    assert asked_by_loads(100, 100, 159.5, 160, 219, 220) == [
        (first, 1, 0),
        (first, 1, 0),
        (first, 1, 59.5),
        (second, 2, 0),
        (second, 2, 59),
        ("127.0.0.1:8003", 3, 0),
    ]


def test_a_load_that_says_the_version_asks_nobody(plan):
    of_version = replace(plan, load=plan.load.model_copy(update={"http": HTTP3}))
    assert Announcement().followed_by(of_version) is of_version


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ('unix_socket = "/run/app.sock"', "unix_socket: cannot be combined with http"),
        ('proxy = "http://10.0.0.5:3128"', "proxy: cannot be combined with http"),
        ('proxy_protocol = "2"', "proxy_protocol: cannot be combined with http"),
        ("pipeline = 2", "which has no pipeline"),
        ('hpack = "literal"', "HTTP/3 has QPACK"),
    ],
)
def test_what_does_not_go_with_http3_is_refused(more, expected, tmp_path):
    [problem] = problems_in(tmp_path, f'{CLOSED}http = "3-by-alt-svc"\n{more}\n')
    assert expected in problem


def test_the_key_takes_streams_and_a_slip_is_refused_with_what_is_known(tmp_path):
    assert load_of(tmp_path, f'{CLOSED}http = "3-by-alt-svc"\nstreams = 4\n').streams == 4
    [problem] = problems_in(tmp_path, f'{CLOSED}http = "3-by-alt"\n')
    assert '"3-by-alt-svc"' in problem
