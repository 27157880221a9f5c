"""The report as Markdown for a pull request: short, in GitHub's flavour."""

from typing import Any

from loadcurve.report.answer import ANSWER, CAUTION
from loadcurve.report.claims import CLAIMS
from loadcurve.report.crosscheck import GENERATORS
from loadcurve.report.findings import FOUND
from loadcurve.report.long_table import NUMBERS
from loadcurve.report.markdown import escaped
from loadcurve.report.published_content import PUBLISHED
from loadcurve.report.ranking import RANKING
from loadcurve.report.reasons import FAILURES, NOTES
from loadcurve.report.repetition import REPETITION
from loadcurve.report.section import Report, Section
from loadcurve.report.sections import arranged, summary_words
from loadcurve.report.shapes import SHAPES
from loadcurve.steering import WITHOUT_STEERING

FIRST = (RANKING, NUMBERS, SHAPES)
LAST = (CLAIMS, PUBLISHED, GENERATORS, FOUND, NOTES, FAILURES, REPETITION)


def _blocks(report: Report, section: Section[Any]) -> list[str]:
    """Return a section below its heading; nothing where the run has nothing of it."""
    blocks = report.drawn(section, section.markdown)
    return [f"### {section.headed(report, in_markdown=True)}", *blocks] if blocks else []


def markdown_bytes(report: Report) -> bytes:
    """Return question, answer, ranking, curve, findings and how to repeat it."""
    facts, left_out, caution = report.analysis.run, report.run.run.left_out, report.of(CAUTION)
    blocks = [block for section in arranged(FIRST, LAST) for block in _blocks(report, section)]
    head = [
        f"## {escaped(facts.title)}",
        *([f"**Question.** {escaped(facts.question)}"] if facts.question else []),
        f"**Answer.** {escaped(report.of(ANSWER).text)}",
        *([f"**Caution.** {escaped(caution)}"] if caution else []),
        escaped(" ".join(summary_words(report))),
        *([escaped(f"{left_out.words}.")] if left_out else []),
    ]
    return ("\n\n".join([*head, *blocks]) + "\n").translate(WITHOUT_STEERING).encode()
