"""Flow control of QUIC: answers and bodies that had to wait for a window."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.flow_control import ANSWERS_SHARE, BODIES_SHARE, TIMES_MIN
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord

CLIENT = FindingCode(
    "client_quic_windows",
    title="Answers over HTTP/3 waited for the load's windows",
    seen_where="over HTTP/3, the server said at least 20 times, and at least once per 20 answers, that a "
    "window of the load held it up",
    because="the rate of an answer is then one window per round trip, whatever the server could do",
)
SERVER = FindingCode(
    "server_quic_windows",
    title="Requests over HTTP/3 waited for the server's windows",
    seen_where="over HTTP/3, a window of the server held the load up at least 20 times, and at least once "
    "per 10 answers",
    because="a body then takes one more round trip per window, plus the time when the server does not read",
)


@dataclass(frozen=True, slots=True)
class Held:
    """How often windows held either side up in one record, by its answers."""

    server: int
    client: int
    answers: float
    window_bytes: int
    """Of one stream, the load's."""
    server_window_bytes: int | None


def find(subject: Subject) -> list[Finding]:
    """Find points at which windows held up many answers, or many requests."""
    seen = observed(subject, _held)
    server = [one for one in seen if _is_much(one.detail.server, ANSWERS_SHARE * one.detail.answers)]
    client = [one for one in seen if _is_much(one.detail.client, BODIES_SHARE * one.detail.answers)]
    return [
        *merged(CLIENT, subject, server, _explain_client),
        *merged(SERVER, subject, client, _explain_server),
    ]


def _is_much(times: int, least: float) -> bool:
    return times >= TIMES_MIN and times >= least


def _held(record: PointRecord) -> Held | None:
    http3, answers = record.load.http3, record.load.connections.replies
    if http3 is None or not answers:
        return None
    windows = http3.windows
    announced = windows.server_stream_bytes
    return Held(
        server=windows.server_blocked,
        client=windows.blocked,
        answers=answers,
        window_bytes=windows.stream_bytes,
        server_window_bytes=None if announced is None else announced.min,
    )


def _explain_client(subject: Subject, seen: Sequence[Observation[Held]]) -> Explanation:
    details = [one.detail for one in seen]
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"{subject.name} said up to {max(one.server for one in details):,} times that a window of the "
        "load held it up.",
        evidence=[
            *ranged("times that it said so", "", [one.server for one in details]),
            *ranged("window of a stream", "bytes", [one.window_bytes for one in details]),
            *ranged("shortest round trip", "ms", [_rtt_ms(one.record) for one in seen]),
        ],
        cause="The load's windows are small compared with its answers: no more than one window is under way.",
        advice="Enlarge stream_window and connection_window of the load, unless the study is about small "
        "windows.",
    )


def _explain_server(subject: Subject, seen: Sequence[Observation[Held]]) -> Explanation:
    details = [one.detail for one in seen]
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"A window of {subject.name} held the load up to {max(one.client for one in details):,} times.",
        evidence=[
            *ranged("times held up", "", [one.client for one in details]),
            *ranged("window of a stream", "bytes", [one.server_window_bytes for one in details]),
            *ranged("median latency", "ms", [one.record.load.latency_ms.p50 for one in seen]),
        ],
        cause="The bodies under way exceed the window that the server announces, or it reads them slowly.",
        advice="Raise the server's windows (http3_stream_buffer_size in nginx), or send fewer or shorter "
        "bodies at once on a connection.",
        briefly="bodies waited for its windows",
    )


def _rtt_ms(record: PointRecord) -> float | None:
    return None if record.load.http3 is None else record.load.http3.rtt_min_ms.min


RULE = Rule(154, find, CLIENT, SERVER)
