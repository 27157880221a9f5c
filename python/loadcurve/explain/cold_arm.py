"""Comparisons of HTTP/3 with TCP in which nobody connects: what differs most is not in them."""

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Rule, finding
from loadcurve.explain.subject import Subject

CODE = FindingCode(
    "no_cold_arm",
    title="HTTP/3 was compared on open connections only",
    seen_where="a run with loads over HTTP/3 and over TCP in which no load over HTTP/3 opened a connection "
    "within a window",
    because="HTTP/3 saves round trips where a connection begins: on open ones there is nothing to save, and "
    "a comparison of these alone shows it doing nothing",
)

HTTP3 = "3"


def find(subject: Subject) -> list[Finding]:
    """Find a server over HTTP/3 in a run whose connections were all open, where another load used TCP."""
    records = [record for record in subject.records if record.load.http3 is not None]
    if len(records) < len(subject.records) or not records or subject.http_versions <= {HTTP3}:
        return []
    if subject.has_cold_http3:
        return []
    opened = [record.load.connections.opened for record in records]
    explanation = Explanation(
        weight="explains",
        certainty="shown",
        seen=f"All connections with {subject.name} over HTTP/3 were open before the windows began, as "
        "over TCP.",
        evidence=[
            *ranged("connections opened before the window", "", opened),
            *ranged("handshakes within the window", "", [0.0 for _ in records]),
        ],
        cause="The loads keep their connections (calls is not set), so that handshakes are no part of any "
        "figure.",
        advice="Add arms with calls = 1, warm and cold side by side: warm ones alone show HTTP/3 doing "
        "nothing, and cold ones alone overstate it.",
    )
    return [finding(CODE, subject, records, explanation)]


RULE = Rule(157, find, CODE)
