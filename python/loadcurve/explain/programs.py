"""Several programs shared the server's processor time, such as an application and its database."""

from collections.abc import Sequence

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.probe import ProgramUse
from loadcurve.units import listing, rounded

SHOWN_SHARE = 0.05
"""A program with less of the processor time, such as a helper, does not share it."""

CODE = FindingCode(
    "programs_shared",
    title="Several programs shared the CPU time",
    seen_where="at least two programs, by the names of the server's processes, used 5 % or more of its CPU "
    "time, and all programs together 95 % or more",
    because="the rest belongs to processes that ended between two samples and cannot be attributed",
)


def find(subject: Subject) -> list[Finding]:
    """Find where more than one program of the server did the work."""
    observations = [
        Observation(record, server.programs)
        for record in subject.records
        if (server := record.probe.server) is not None
        and server.programs is not None
        and sum(share >= SHOWN_SHARE for share in _shares(server.programs).values()) > 1
    ]
    return merged(CODE, subject, observations, _explain)


def _shares(programs: Sequence[ProgramUse]) -> dict[str, float]:
    """Return each program's part of what all of them used."""
    whole = sum(one.cpu_share for one in programs)
    return {one.name: one.cpu_share / whole for one in programs} if whole else {}


def _explain(subject: Subject, seen: Sequence[Observation[list[ProgramUse]]]) -> Explanation:
    shares = [_shares(one.detail) for one in seen]
    names = {name for of_one in shares for name, share in of_one.items() if share >= SHOWN_SHARE}
    means = {name: sum(one.get(name, 0.0) for one in shares) / len(shares) for name in names}
    largest_first = sorted(means, key=lambda name: (-means[name], name))
    shown = [f"{name} ({rounded(100 * means[name])} %)" for name in largest_first]
    per_request_us = {
        name: [
            use.cpu_per_request_us
            for one in seen
            for use in one.detail
            if use.name == name and use.cpu_per_request_us is not None
        ]
        for name in largest_first
    }
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"On average the server's CPU time was used by {listing(shown)}.",
        evidence=[
            evidence
            for name in largest_first
            for evidence in (
                *ranged(f"share of {name}", "%", [100 * one.get(name, 0.0) for one in shares]),
                *ranged(f"CPU time of {name} per answer", "µs", per_request_us[name]),
            )
        ],
        cause=f"The {subject.load.requests} were answered by these programs together; the server's figures "
        "are their sum.",
        advice=f"To make the server faster, begin with {largest_first[0]}, which uses the most.",
    )


RULE = Rule(230, find, CODE)
