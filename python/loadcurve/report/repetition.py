"""How a run is repeated, and on what it was measured."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from loadcurve.report import text
from loadcurve.report.citation import bibliography
from loadcurve.report.column import NO_TABLE, Column, Tabulated
from loadcurve.report.markdown import code_block, escaped, listed
from loadcurve.report.section import Report, Section
from loadcurve.report.servers import SERVERS
from loadcurve.result.records import ContentRecord, RunRecord


@dataclass(frozen=True, slots=True)
class Repetition:
    """What must be known to repeat a run."""

    host: list[tuple[str, str]]
    """What is known of the machine, and of other machines."""
    citation: str = ""
    """Entries of BibTeX."""
    content: Tabulated[tuple[str, ContentRecord]] = NO_TABLE
    """The files that every server served, by name."""


def _repetition(report: Report) -> Repetition:
    record = report.run.run
    host = [*text.flattened(record.host), *_other_machines(record)]
    columns: list[Column[tuple[str, ContentRecord]]] = [
        Column("file", lambda one: one[0], on_page="row"),
        Column("bytes", lambda one: f"{one[1].bytes:,}"),
        Column("SHA-256", lambda one: one[1].sha256, on_page="code"),
    ]
    return Repetition(host, bibliography(record), Tabulated(columns, list(record.content.items())))


def _other_machines(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield what is known of other machines, behind their names."""
    for name, machine in record.machines.items():
        yield f"{name} · address", machine.address
        yield from text.flattened(machine.facts, f"{name} · ")
        if machine.link is not None:
            yield from text.flattened(machine.link.model_dump(), f"{name} · link · ")


def _in_markdown(report: Report, _found: Repetition) -> Iterable[str]:
    record = report.run.run
    servers = [
        escaped(f"{server.name}: {', '.join(filter(None, [server.what, server.limits]))}")
        + (f" ([documentation]({server.documentation}))" if server.documentation else "")
        for server in report.of(SERVERS).measured.values()
    ]
    measured = (
        f"in the run folder; measured at {record.started_at} with Loadcurve {record.loadcurve_version}."
        if record.imported is None
        else f"in the folder of the imported files; imported at {record.imported.at}, Loadcurve "
        f"{record.loadcurve_version}."
    )
    return [
        code_block(report.analysis.run.repeat),
        escaped(measured),
        *_lacking(report.analysis.run.inputs_missing),
        *listed(servers),
    ]


def _lacking(inputs: Sequence[str]) -> list[str]:
    """Say which files another machine needs besides the run folder."""
    return ["Not in the run folder, and needed:", *listed(map(escaped, inputs))] if inputs else []


REPETITION = Section(
    "repetition",
    "how to repeat it",
    _repetition,
    Repetition([]),
    page="repetition",
    markdown=_in_markdown,
)
