"""The run folder of an import."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.imported.plan import Imported
from loadcurve.imported.records import kind_of, lacking, model_of, moment, point_record
from loadcurve.loads.values import Point
from loadcurve.result.folder import RunFolder
from loadcurve.result.measures import point_key
from loadcurve.result.outcomes import Caveat
from loadcurve.result.records import (
    FORMAT,
    IMPORTED_ENTRY,
    ImportedFile,
    ImportRecord,
    PlannedTrial,
    RunRecord,
    ServerRecord,
)
from loadcurve.version import VERSION

_TITLES = {
    "closed": "closed loop",
    "open": "open loop",
    "sessions": "sessions",
    "ycsb": "a workload on a database",
}
_BASES = {
    "due": "when a request was due",
    "send": "when a request was sent, which hides how long it waited for that (coordinated omission)",
}


def write_run(folder: Path, files: Sequence[Imported], command: Sequence[str]) -> None:
    """Write the run folder of what was read.

    Raises:
        BadInput: the folder is in use or cannot be written, or the files' loads are of different models.

    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    record = _run_record(files, list(command), at)
    places = {(one.server, one.block): one.trial for one in record.order}
    with RunFolder.create(folder, record, _study_text(record)) as opened:
        for one in sorted(files, key=lambda one: (places[one.server, one.trial], point_key(one.point))):
            opened.append(point_record(one, places[one.server, one.trial], at))


def _run_record(files: Sequence[Imported], command: list[str], at: str) -> RunRecord:
    models = {model_of(one.figures, one.point): one for one in files}
    if len(models) > 1:
        (first, one), (second, other) = list(models.items())[:2]
        raise BadInput(
            f"{one.path} is of a {_TITLES[first]} and {other.path} of {_TITLES[second]}: expected one model; "
            "import them in two runs"
        )
    [model] = models
    servers = list(dict.fromkeys(one.server for one in files))
    points = _points(files)
    trials = sorted({one.trial for one in files})
    begins = [began for one in files if (began := one.figures.began_unix_s) is not None]
    tools = sorted({one.figures.tool for one in files})
    sweep = {key: sorted({point[key] for point in points}) for key in points[0]}
    return RunRecord(
        format=FORMAT,
        loadcurve_version=VERSION,
        started_at=moment(min(begins, default=None)) or at,
        seed=None,
        options=[],
        study_name="import",
        study={
            "title": f"Imported from {' and '.join(tools)}",
            "content": {},
            "load": {"work": kind_of(files[0].figures).work, "model": model},
            "sweep": sweep,
            "trials": {"count": len(trials), "restart": "point"},
            "servers": {name: {} for name in servers},
        },
        order=[
            PlannedTrial(trial=block * len(servers) + place, block=block, server=server)
            for block in trials
            for place, server in enumerate(servers)
            if any(one.server == server and one.trial == block for one in files)
        ],
        points=points,
        host={},
        ceiling=None,
        servers={
            name: ServerRecord(
                title=name, catalog_entry=IMPORTED_ENTRY, status="found", version=None, binary=None,
                settings={}, configuration={}, install=None, documentation=None, limits=None, machine=None,
            )
            for name in servers
        },
        content={},
        caveats=(_caveat(files),),
        imported=ImportRecord(
            command=command,
            at=at,
            files=[
                ImportedFile(
                    name=str(one.path), bytes=one.bytes, sha256=one.sha256, format=one.format,
                    server=one.server, point=one.point, trial=one.trial,
                )
                for one in files
            ],
        ),
    )  # fmt: skip


def _caveat(files: Sequence[Imported]) -> Caveat:
    """Return what has to be known of the figures of tools."""
    bases: dict[str, set[str]] = {}
    absent: dict[str, dict[str, None]] = {}
    for one in files:
        bases.setdefault(one.figures.tool, set()).add(_BASES[one.figures.basis])
        absent.setdefault(one.figures.tool, {}).update(dict.fromkeys(lacking(one.figures)))
    said = "; ".join(
        f"latency of {tool} counts from {' or '.join(sorted(words))}{_without(absent[tool])}"
        for tool, words in bases.items()
    )
    text = f"the figures were imported and not measured here: {said}"
    if any(one.figures.measured is None for one in files):
        text += "; nothing shows how busy the generator was"
    return Caveat.of("imported", text)


def _without(words: Iterable[str]) -> str:
    """Return what the files of a tool leave out, behind what is said of it."""
    listed = ", ".join(words)
    return f"; its files lack {listed}" if listed else ""


def _points(files: Sequence[Imported]) -> list[Point]:
    by_key = {point_key(one.point): one.point for one in files}
    return [by_key[key] for key in sorted(by_key)]


def _study_text(record: RunRecord) -> str:
    """Return what replaces a study: where the figures come from."""
    assert record.imported is not None  # noqa: S101 -- made above
    files = "\n".join(f"# {one.sha256}  {one.name}" for one in record.imported.files)
    return f"# Imported, not measured here: there is no study. The files, with their SHA-256:\n{files}\n"
