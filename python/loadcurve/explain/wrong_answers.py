"""Errors, and short or wrong bodies, which a server produces faster than answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.errors import sentence
from loadcurve.explain.finding import Evidence, FindingCode, Weight, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.loads.kinds import LoadKind
from loadcurve.result.load import BrokenOff, ErrorMessage, LoadResult
from loadcurve.result.outcomes import FAILURES, STATUSES, OfStatus
from loadcurve.result.records import PointRecord
from loadcurve.units import rounded

CODE = FindingCode(
    "wrong_answers",
    title="Requests without a correct answer",
    seen_where="0.1 % of the requests failed or were answered with 4xx or 5xx",
    because="fewer do not affect a mean or the p99",
)

MEANT = {"425": "425 (Too Early: the server does not process it before the handshake is over)"}
"""Statuses that say something of the connection, and not of the request, with what they say."""
LIMITED = "429"
"""Too Many Requests, see RFC 6585, section 4."""
BAD_SHARE = 0.001
"""Requests without a correct answer. Fewer move neither a mean nor the p99; a lone reset happens to all."""


@dataclass(frozen=True, slots=True)
class Bad:
    """What one record holds instead of right answers."""

    share: float
    count: int
    by_status: dict[str, int]
    """Empty where the generator does not tell statuses apart."""
    other_status: int
    """Answers with an error status that is not known."""
    failed: dict[str, int]
    other_failed: int
    """Failures of which the generator does not say the class."""
    broken_off: BrokenOff | None
    """Of those that failed because their connection was closed or reset."""
    answered_rps: float | None
    ok_rps: float | None
    reason: ErrorMessage | None
    """The most frequent explanation of failures."""
    reasons: dict[str, ErrorMessage]
    """The most frequent one of each class that has any."""
    said: OfStatus | None
    """The most frequent wrong status, where the answers of it say something."""


def _bad(record: PointRecord) -> Bad | None:
    load = record.load
    failed = {
        code: count for code, count in load.errors.nonzero().items() if FAILURES[code].origin != "generator"
    }
    by_status = _wrong_statuses(load)
    other_failed = _of_no_class(load)
    other_status = 0 if load.status or load.requests.ok is None else load.requests.answered - load.requests.ok
    all_failed = sum(failed.values()) + other_failed
    bad = all_failed + sum(by_status.values()) + other_status
    of = load.requests.answered + all_failed
    if not of or bad < BAD_SHARE * of:
        return None
    requests, answered_rps = load.requests, load.rate_rps.answered
    ok = requests.answered if requests.ok is None else requests.ok
    ok_share = ok / requests.answered if requests.answered else 0.0
    return Bad(
        share=bad / of,
        count=bad,
        by_status=by_status,
        other_status=other_status,
        failed=failed,
        other_failed=other_failed,
        broken_off=load.broken_off,
        answered_rps=answered_rps,
        ok_rps=None if answered_rps is None else answered_rps * ok_share,
        reason=load.error_messages[0] if load.error_messages else None,
        # The most frequent come first.
        reasons={one.error: one for one in reversed(load.error_messages)},
        said=next((one for one in load.wrong_statuses[:1] if one.body), None),
    )


def _wrong_statuses(load: LoadResult) -> dict[str, int]:
    """Return the answers that are not what was asked for, by status or, where that is not known, by class."""
    if load.statuses is not None:
        return {f"{one.status}": one.wrong for one in load.statuses}
    if load.unexpected_status is not None:
        return {code: load.unexpected_status[code] for code in STATUSES}
    return {code: load.status[code] for code, row in STATUSES.items() if row.is_error} if load.status else {}


def _of_no_class(load: LoadResult) -> int:
    """Return the failures that are of none of the classes which a generator tells apart; ours tells all."""
    if None not in load.errors.root.values():
        return 0
    return max((load.requests.failed or 0) - sum(load.errors.nonzero().values()), 0)


def _explain(subject: Subject, seen: Sequence[Observation[Bad]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda detail: detail.share)
    by_status = any(detail.other_status or any(detail.by_status.values()) for detail in details)
    worst = max(details, key=_overstated)
    overstated = (
        f" Of {worst.answered_rps:,.0f} answers per second, only {worst.ok_rps:,.0f} were correct."
        if worst.answered_rps is not None and worst.ok_rps is not None and by_status
        else ""
    )
    reason = (
        f" Most frequent reason, of {most.reason.count:,}: {sentence(str(most.reason))}"
        if most.reason
        else ""
    )
    if most.said is not None:
        reason += f' Status {most.said.status} says: "{most.said.body}".'
    load = subject.load
    why = _why(most, load)
    return Explanation(
        weight=why.weight,
        certainty="shown",
        seen=f"Up to {rounded(100 * most.share)} % of the {load.requests} got no correct "
        f"answer.{overstated}{reason}",
        evidence=[
            *ranged(
                f"{load.requests} without a correct answer", "share", [detail.share for detail in details]
            ),
            *_statuses(details),
            *_failures(details, load),
            *_endings(details),
            *ranged("answers", load.per_second, [detail.answered_rps for detail in details]),
            *ranged("correct answers", load.per_second, [d.ok_rps for d in details] if by_status else []),
        ],
        cause=why.cause,
        advice=why.advice,
        briefly=f"up to {rounded(100 * most.share)} % of the {load.requests} got no correct answer: "
        f"{_mostly(most, load)}",
    )


@dataclass(frozen=True, slots=True)
class Why:
    """Why most requests got no correct answer, and what to do about it."""

    weight: Weight
    cause: str
    advice: str


def _why(bad: Bad, load: LoadKind) -> Why:
    """Return the cause of most of them: how connections ended tells three apart."""
    endings = bad.broken_off
    looks_fast = (
        f"Refusing, truncating or failing {load.a_request} costs a server less than answering it, so the "
        f"figures of the other {load.requests} are not those of this load: a server may merely look fast."
    )
    if endings is not None and 2 * endings.kept_connection > bad.count:
        return Why(
            "distorts",
            "The server closed connections on which it had answered before while requests were on their "
            "way, as servers do after an idle time or a number of requests. That is no limit of what it can "
            "serve, and clients send such a request again.",
            "Keep pauses between requests shorter than the server's idle timeout, or raise that and its "
            "limit on requests per connection.",
        )
    if endings is not None and 2 * endings.new_connection > bad.count:
        return Why(
            "invalidates",
            "The server closed connections without having answered anything on them, as servers do at their "
            "limit on connections, or where they expect something else on this port, such as TLS. "
            f"{looks_fast}",
            "Compare the number of connections with the server's limit, and read its log. Do not compare "
            "these points until every request is answered.",
        )
    if endings is not None and 2 * endings.answer_begun > bad.count:
        return Why(
            "invalidates",
            "The server ended connections in the middle of answers, as by the end of a process, a limit on "
            f"the time of an answer, or a length that is not that of the body. {looks_fast}",
            "Look in the server's error log for a process that ended or an answer that took too long. Do not "
            "compare these points until every answer is complete.",
        )
    if 2 * bad.by_status.get(LIMITED, 0) > bad.count:
        return Why(
            "invalidates",
            f"The server, or what is in front of it, limits how many {load.requests} a client may send "
            f"(status {LIMITED}, RFC 6585), and all of them come from one address. {looks_fast}",
            f"Switch the limit off for the measurement, or ask for a rate below it: more {load.requests} "
            "measure the limit, and not the server.",
        )
    return Why(
        "invalidates",
        looks_fast,
        f"Read the server's log and send it one of the {load.requests} by hand. Do not compare "
        "these points until every answer is correct.",
    )


def _endings(details: Sequence[Bad]) -> list[Evidence]:
    """Return how connections ended on which requests were under way."""
    names = {
        "answer_begun": "answers that were cut off",
        "kept_connection": "requests on their way when a kept connection was closed",
        "new_connection": "requests on a connection that was closed without an answer",
    }
    return [
        evidence
        for field, name in names.items()
        for evidence in ranged(
            name, "", [getattr(one.broken_off, field) or None for one in details if one.broken_off]
        )
    ]


def _mostly(bad: Bad, load: LoadKind) -> str:
    """Say what became of most requests without a correct answer, with the server's words if it gave any."""
    by_count = {
        f"were answered with status {MEANT.get(code, code)}": count for code, count in bad.by_status.items()
    } | {_happened(code, bad, load): count for code, count in bad.failed.items()}
    by_count |= {"were answered with an error status": bad.other_status, "failed": bad.other_failed}
    most = max(by_count, key=lambda words: by_count[words])
    which = "most of these" if sum(count > 0 for count in by_count.values()) > 1 else "these"
    return f"{which} {most}"


def _happened(code: str, bad: Bad, load: LoadKind) -> str:
    """Say what became of the requests of a class of failures; why, only where that was said of this class."""
    reason = bad.reasons.get(code)
    return FAILURES[code].happened_to(load) + (f" ({reason})" if reason else "")


def _overstated(bad: Bad) -> float:
    return (bad.answered_rps or 0.0) - (bad.ok_rps or 0.0)


def _statuses(details: Sequence[Bad]) -> list[Evidence]:
    codes = sorted({code for detail in details for code in detail.by_status})
    known = [
        evidence
        for code in codes
        for evidence in ranged(
            f"answers of status {code}", "", [detail.by_status.get(code) or None for detail in details]
        )
    ]
    return [*known, *ranged("answers of an error status", "", [one.other_status or None for one in details])]


def _failures(details: Sequence[Bad], load: LoadKind) -> list[Evidence]:
    codes = dict.fromkeys(code for detail in details for code in detail.failed)
    known = [
        evidence
        for code in codes
        for evidence in ranged(
            f"{load.requests} that {FAILURES[code].happened_to(load)}",
            "",
            [detail.failed.get(code, 0) for detail in details],
        )
    ]
    what = f"{load.requests} that failed for a reason that is not known"
    return [*known, *ranged(what, "", [detail.other_failed or None for detail in details])]


RULE = Rule.of_records(30, CODE, _bad, _explain)
