"""Tables of classes: failures, statuses, codes of verdicts, findings."""

from collections.abc import Mapping

from docs.generate.markdown import Tables, table

from loadcurve.explain.all import FINDINGS
from loadcurve.result.outcomes import CAVEATS, FAILURES, NOTES, REASONS, STATUSES, VerdictCode

_ORIGINS = {"server": "the server", "answer": "the server's answer", "generator": "the load's machine"}


def _failures() -> str:
    rows = []
    for code, row in FAILURES.items():
        operations = f"; operations: {row.happened_to_operations}" if row.happened_to_operations else ""
        remark = f" ({row.remark})" if row.remark else ""
        rows.append((f"`{code}`", f"{row.happened}{remark}{operations}", _ORIGINS[row.origin]))
    return table(("class", "requests that", "of"), rows)


def _statuses() -> str:
    rows = [(f"`{code}`", row.meaning, "an error" if row.is_error else "") for code, row in STATUSES.items()]
    return table(("class", "the answer says", ""), rows)


def _findings() -> str:
    rows = [(f"`{code}`", row.seen_where, row.because) for code, row in FINDINGS.items()]
    return table(("finding", "is seen where", "because"), rows)


def _reasons() -> str:
    rows = [(f"`{code}`", row.meaning, row.suspect or "", row.invalid or "") for code, row in REASONS.items()]
    return table(("code", "what it says", "suspect", "invalid"), rows)


def _without_limits(codes: Mapping[str, VerdictCode]) -> str:
    return table(("code", "what it says"), [(f"`{code}`", row.meaning) for code, row in codes.items()])


CLASS_TABLES: Tables = {
    "failures": _failures,
    "statuses": _statuses,
    "reasons": _reasons,
    "notes": lambda: _without_limits(NOTES),
    "caveats": lambda: _without_limits(CAVEATS),
    "findings": _findings,
}
