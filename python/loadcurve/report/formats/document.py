"""``report.json``: the report as one object."""

from loadcurve.report.content import Content
from loadcurve.report.formats.numbers import Numbers
from loadcurve.report.formats.records import ReportRecord, RunFacts, ServerFacts


def report_record(content: Content, numbers: Numbers) -> ReportRecord:
    """Return the report as one object."""
    return ReportRecord(
        format="loadcurve-report/1",
        run=run_facts(content),
        answers=answers(content),
        estimates=numbers.estimates,
        ranking=numbers.ranking,
        ratios=numbers.ratios,
        shapes=numbers.shapes,
        published=numbers.published,
        findings=numbers.findings,
        failures=content.run.failures,
    )


def report_json(content: Content, numbers: Numbers) -> bytes:
    """Return the text of ``report.json``."""
    return (report_record(content, numbers).model_dump_json(indent=2) + "\n").encode()


def answers(content: Content) -> list[str]:
    """Return the ranking over the curve as sentences; none where there are no two servers to compare."""
    if content.ranking is None:
        return []
    return [f"By {measure}: {words}." for measure, words in content.ranking.over_curve.items()]


def run_facts(content: Content) -> RunFacts:
    """Return which run is reported, on what machine, and how to repeat it."""
    record = content.run.run
    return RunFacts(
        title=content.title,
        question=content.question,
        started_at=record.started_at,
        loadcurve_version=record.loadcurve_version,
        seed=record.seed,
        complete=content.complete,
        repeat=content.repeat,
        host=record.host,
        servers={
            name: ServerFacts(title=server.title, version=server.version, status=server.status)
            for name, server in record.servers.items()
        },
    )
