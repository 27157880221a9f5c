"""The tables of the methodology that are those of the code, each between two markers."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from docs.generate.markdown import table

from loadcurve.explain.all import FINDINGS
from loadcurve.result.classes import CAVEATS, FAILURES, NOTES, REASONS, STATUSES, VerdictCode

METHODOLOGY = Path("docs") / "methodology"

_ORIGINS = {"server": "the server", "answer": "the server's answer", "generator": "the load's machine"}
_MARKED = re.compile(r"(?P<begin><!-- table: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


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


TABLES: Mapping[str, Callable[[], str]] = {
    "failures": _failures,
    "statuses": _statuses,
    "reasons": _reasons,
    "notes": lambda: _without_limits(NOTES),
    "caveats": lambda: _without_limits(CAVEATS),
    "findings": _findings,
}
"""What makes each table, by the name that its marker gives."""


def methodology_files(root: Path) -> dict[Path, str]:
    """Return the text of each page of the methodology that has tables, with those of the code."""
    texts = {
        path.relative_to(root): path.read_text(encoding="utf-8") for path in (root / METHODOLOGY).glob("*.md")
    }
    return {path: with_tables(text) for path, text in texts.items() if _MARKED.search(text)}


def with_tables(text: str) -> str:
    """Return a document whose marked tables are those of the code.

    Raises ``KeyError`` for a marker of a table that does not exist.
    """
    return _MARKED.sub(lambda mark: f"{mark['begin']}\n{TABLES[mark['name']]()}\n{mark['end']}", text)
