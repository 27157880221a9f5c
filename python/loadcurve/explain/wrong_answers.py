"""Errors, and short or wrong bodies, which a server produces faster than answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Evidence, Finding, ranged, rounded
from loadcurve.explain.sighting import Sighting, Told, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.load import DatabasePlan, Errors
from loadcurve.result.records import PointRecord

CODE = "wrong_answers"

BAD_SHARE = 0.001
"""Requests without a right answer. Fewer move neither a mean nor the p99; a lone reset happens to all."""
OWN_ERRORS = frozenset({"fd_unavailable", "address_unavailable", "file_unavailable"})
"""Failures of the load's machine, not of the server."""
WORDS = {
    "connect_refused": "refused connections",
    "connect_timeout": "timeouts while connecting",
    "timeout": "requests without an answer in time",
    "reset": "connections reset",
    "closed_early": "connections closed before the answer was complete",
    "malformed": "answers that are no HTTP",
    "mismatch": "bodies of another length than the verified one",
    "access_denied": "operations that were not let in",
    "rejected": "operations answered with an error",
    "not_found": "operations on a record that is not there",
}

WORDS_OF_DATABASES = {
    **WORDS,
    "malformed": "answers that are none of the protocol",
    "mismatch": "values other than those that were written",
}


@dataclass(frozen=True, slots=True)
class Bad:
    """What one record holds instead of right answers."""

    share: float
    client_errors: int
    server_errors: int
    failed: dict[str, int]
    answered_rps: float | None
    ok_rps: float | None
    reason: str | None
    """By which a database explains most of its failures."""


def find(subject: Subject) -> list[Finding]:
    """Find points where a share of the requests got no right answer."""
    sightings = [Sighting(record, bad) for record in subject.records if (bad := _bad(record)) is not None]
    return merged(CODE, subject, sightings, _tell)


def _bad(record: PointRecord) -> Bad | None:
    load = record.load
    failed = {
        name: count
        for name in Errors.model_fields
        if name not in OWN_ERRORS and (count := getattr(load.errors, name))
    }
    client_errors, server_errors = (
        (load.status.client_error, load.status.server_error) if load.status else (0, 0)
    )
    bad = sum(failed.values()) + client_errors + server_errors
    of = load.requests.answered + sum(failed.values())
    if not of or bad < BAD_SHARE * of:
        return None
    requests, answered_rps = load.requests, load.rate_rps.answered
    ok_share = requests.ok / requests.answered if requests.answered else 0.0
    return Bad(
        share=bad / of,
        client_errors=client_errors,
        server_errors=server_errors,
        failed=failed,
        answered_rps=answered_rps,
        ok_rps=None if answered_rps is None else answered_rps * ok_share,
        reason=load.error_messages[0].text if load.error_messages else None,
    )


def _tell(seen: Sequence[Sighting[Bad]]) -> Told:
    details = [one.detail for one in seen]
    most = max(details, key=lambda detail: detail.share)
    by_status = any(detail.client_errors or detail.server_errors for detail in details)
    worst = max(details, key=_overstated)
    overstated = (
        f" Of {worst.answered_rps:,.0f} answers per second only {worst.ok_rps:,.0f} were good ones."
        if worst.answered_rps is not None and worst.ok_rps is not None and by_status
        else ""
    )
    reason = f" Most of them because: {most.reason}" if most.reason else ""
    words = WORDS_OF_DATABASES if isinstance(seen[0].record.load.load, DatabasePlan) else WORDS
    return Told(
        weight="invalidates",
        certainty="shown",
        seen=f"Up to {rounded(100 * most.share)} % of the requests got no right answer.{overstated}{reason}",
        evidence=[
            *ranged("requests without a right answer", "share", [detail.share for detail in details]),
            *ranged("answers of status 4xx", "", [detail.client_errors or None for detail in details]),
            *ranged("answers of status 5xx", "", [detail.server_errors or None for detail in details]),
            *_failures(details, words),
            *ranged("answers", "requests/s", [detail.answered_rps for detail in details]),
            *ranged("good answers", "requests/s", [d.ok_rps for d in details] if by_status else []),
        ],
        cause="To refuse, to cut short or to fail a request costs a server less than to answer it, so the "
        "figures of the others are not those of this load: a server may only look fast by it.",
        advice="Read the server's log and ask it for one of the requests by hand. Do not compare these "
        "points before every answer is right.",
    )


def _overstated(bad: Bad) -> float:
    return (bad.answered_rps or 0.0) - (bad.ok_rps or 0.0)


def _failures(details: Sequence[Bad], words: Mapping[str, str]) -> list[Evidence]:
    names = dict.fromkeys(name for detail in details for name in detail.failed)
    return [
        evidence
        for name in names
        for evidence in ranged(words[name], "", [detail.failed.get(name, 0) for detail in details])
    ]
