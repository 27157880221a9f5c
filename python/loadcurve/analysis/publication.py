"""A run as it is published: every figure in SI units, its rankings, and the servers left out."""

import contextlib
import getpass
import math
import socket
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from loadcurve.analysis.analysis import Analysis, ServerFacts
from loadcurve.analysis.curves import Curve, CurvePoint, Figure, Requests
from loadcurve.analysis.history import conditions_before, conditions_digest, machine_of, run_digest
from loadcurve.analysis.numbers import read_analysed
from loadcurve.analysis.private_facts import private_facts, without_private_facts
from loadcurve.analysis.published_figures import cut, published_measure, published_points, si_name, si_of
from loadcurve.analysis.ranking import asks_rate, least_told_apart
from loadcurve.analysis.works import works
from loadcurve.errors import BadInput
from loadcurve.explain.rig import CODE as RIG_LIMIT
from loadcurve.files import read_regular
from loadcurve.loads.kinds import kind_of_work
from loadcurve.loads.values import Point
from loadcurve.result.checksum import digest, is_digest
from loadcurve.result.differences import DIGESTS
from loadcurve.result.folder import Run, read_run_record
from loadcurve.result.measures import THROUGHPUT, Measure, PointKey, measures, point_key
from loadcurve.result.publication import (
    LATENCY,
    PUBLISHED_FORMAT,
    PublishedFigure,
    PublishedMachine,
    PublishedMeasure,
    PublishedPoint,
    PublishedRank,
    PublishedRanking,
    PublishedRun,
    PublishedServer,
    PublishedWork,
    slug,
    subject_of,
)
from loadcurve.result.records import RunRecord
from loadcurve.result.run_files import RUN_BYTES_MAX, STUDY_FILE
from loadcurve.result.summary import source_of
from loadcurve.result.trial_lines import first_problem
from loadcurve.stats.change_points import NORMAL_95
from loadcurve.stats.interval import Estimate
from loadcurve.stats.paired import Logs
from loadcurve.stats.ranking import rank

PUBLISHED_MEASURES: Final = (
    *("throughput", "p50", "p90", "p99", "p99_9"),
    *("cpu_share", "cpu_per_request_us", "memory_mean_mib", "memory_peak_mib"),
)
"""What is published of each trial at each point."""
RANKED_NAMES: Final = (
    *("throughput_rps", "latency_p50_s", "latency_p99_s"),
    *("server_cpu_per_request_s", "server_memory_mean_bytes"),
)
"""What servers are ranked by, each apart: no ranking is made of several."""
LATE_CODES: Final = frozenset({"generator_late", "rate_not_sent"})
"""Reasons of a verdict by which latencies have the generator's own delay in them."""
AS_PUBLISHED: Final = "as published"
"""The method of an interval that was read and not made."""


_OF_FORMAT: Final[Mapping[str, Collection[str]]] = {
    "": (
        *("format", "subject", "complete", "started_at", "conditions", "conditions_before", "work"),
        *("study", "study_sha256", "seed", "ranked_by", "measures"),
    ),
    "machine": ("slug", "name", "fingerprint"),
    "servers": ("slug",),
    "points": ("point", "blocks", "verdicts", "figures", "late_blocks"),
    "rankings": ("work", "measure"),
    "findings": ("weight", "certainty", "points"),
}
"""The members that the format gives their words, by the member of a run that they are part of.

All others may have texts of people and programs. A machine or a person may have the name of any word.
"""
_PUBLIC_SETTINGS: Final = ("settings", "catalog_entry", "driver", "limits")


@dataclass(frozen=True, slots=True)
class Publication:
    """What a person decides about a published run."""

    machine: str | None = None
    """What the machine is called; by default, what its hardware is."""
    private: bool = False
    """Whether names of machines and people, folders and addresses stay in."""
    public: Collection[str] = ()
    """Texts that stay although they have an address, such as those of servers' documentation."""
    words: Collection[str] = ()
    """Words that name nobody although a machine or a person may be called so, such as servers' names."""


def published_run(folder: Path, publication: Publication) -> PublishedRun:
    """Return a run as it is published.

    Raises ``BadInput`` where the folder cannot be read as a run, or the run has no verdicts or no sweep.
    """
    source = source_of(folder)
    record, _ = read_run_record(folder)
    _require_publishable(folder, record)
    run, analysis = read_analysed(folder)
    if not any(at.usable for curve in analysis.curves for at in curve.points):
        reason = "" if analysis.main_reason is None else f" Most often: {analysis.main_reason.example}"
        raise BadInput(f"{folder} has no valid point, so there is nothing to publish.{reason}")
    public: dict[str, Any] = _content(run, analysis, publication)
    if not publication.private:
        public = _without_private_facts(public, _names_of(record, publication.words), publication)
    try:
        found = PublishedRun.model_validate(
            {"run": run_digest(source), "private_facts": publication.private, **public}
        )
    except ValidationError as error:
        raise BadInput(f"{folder} cannot be published: {first_problem(error)}") from error
    return found.with_own_pages()


_UNPUBLISHABLE = {
    "import": "is imported from files of other tools, which have no verdicts",
    "gate": "is a gate, which compares two builds of one server",
    "search": "is a search for the capacity, whose trials measure different points",
}


def _require_publishable(folder: Path, record: RunRecord) -> None:
    if record.origin != "sweep":
        raise BadInput(
            f"{folder} {_UNPUBLISHABLE[record.origin]}: only a sweep of a study can be published. See the "
            "guide of published results."
        )


def _names_of(record: RunRecord, words: Collection[str]) -> set[str]:
    """Return the names of the machines and the people that a run's texts may have, but for these words."""
    names = {socket.gethostname(), socket.gethostname().partition(".")[0], Path.home().name}
    with contextlib.suppress(KeyError, OSError):
        names.add(getpass.getuser())
    if record.study_file is not None:
        parts = Path(record.study_file).parts
        names |= {parts[2]} if len(parts) > 3 and parts[1] in {"home", "Users"} else set()  # noqa: PLR2004 - /home/NAME/…
    names |= {one.address for one in record.machines.values()}
    return {name for name in names if name and name.lower() not in words}


def _without_private_facts(
    content: Mapping[str, Any], names: Collection[str], publication: Publication
) -> dict[str, Any]:
    """Return the content of a published file without what says whose machine it was."""

    def public(value: Any, part: str) -> Any:  # noqa: ANN401 - JSON
        kept = _OF_FORMAT.get(part, ())
        if isinstance(value, list):
            return [public(one, part) for one in value]
        if isinstance(value, dict) and kept:
            return {key: one if key in kept else public(one, key) for key, one in value.items()}
        return without_private_facts(value, names, publication.public)

    found = {key: one if key in _OF_FORMAT[""] else public(one, key) for key, one in content.items()}
    found["subject"] = subject_of(without_private_facts(content["subject"], names))
    # The name of a machine is its hardware's, or what it is to be called.
    name = without_private_facts(content["machine"]["name"])
    found["machine"] |= {"name": name, "slug": slug(name)}
    for server in found["servers"]:
        server["slug"] = slug(without_private_facts(server["slug"], names))
    if content["study"] is not None and any(private_facts(content["study"], names)):
        found["study"] = None
    return found


def _content(run: Run, analysis: Analysis, publication: Publication) -> dict[str, Any]:
    record = run.run
    known = measures(analysis.load_kind)
    published = [known[name] for name in PUBLISHED_MEASURES]
    answering = analysis.measure(analysis.ranked_by)
    published += [answering] if answering not in published else []
    unranked = _first_reasons(run, analysis)
    conditions = analysis.run.conditions
    points = published_points(analysis.curves, published, _late(run))
    of_measures = [published_measure(one) for one in published]
    of_works = _works(analysis)
    return {
        "format": PUBLISHED_FORMAT,
        "subject": subject_of(record.study_name),
        "title": analysis.run.title,
        "question": analysis.run.question,
        "complete": analysis.complete,
        "started_at": analysis.run.started_at,
        "loadcurve_version": analysis.run.loadcurve_version,
        "conditions": conditions_digest(analysis),
        "conditions_before": conditions_before(analysis),
        "work": analysis.run.load_work,
        "load": dict(conditions["load"]),
        "study": _study_text(run.folder, record.study_sha256),
        "study_sha256": record.study_sha256,
        "seed": record.seed,
        "options": list(record.options),
        "ranked_by": si_name(answering),
        "machine": _machine(analysis, publication.machine).model_dump(),
        "noise": _noise(analysis),
        "measures": [one.model_dump() for one in of_measures],
        "servers": [
            published_server(name, facts, len(record.server_cpus.get(name, ()))).model_dump()
            for name, facts in analysis.run.servers.items()
        ],
        "points": [one.model_dump() for one in points],
        "works": [one.model_dump() for one in of_works],
        "rankings": [
            one.model_dump()
            for one in rankings_of(points, of_measures, of_works, unranked, conditions["load"])
        ],
        "unranked": [{"server": server, "reason": cut(reason)} for server, reason in unranked.items()],
        "findings": [
            {
                "server": one.server,
                "weight": one.weight,
                "seen": cut(one.seen),
                "cause": cut(one.cause),
                "certainty": one.certainty,
                "points": one.points,
                "trials": len(one.trials),
                "trials_measured": one.trials_measured,
            }
            for one in analysis.findings
        ],
    }


def _study_text(folder: Path, sha256: str | None) -> str | None:
    """Return the study's file; ``None`` where it is not there any more as it was run."""
    try:
        data = read_regular(folder / STUDY_FILE, RUN_BYTES_MAX)
        tomllib.loads(text := data.decode())
    except (OSError, ValueError):
        return None
    return text if sha256 in {None, digest(data)} else None


def _machine(analysis: Analysis, name: str | None) -> PublishedMachine:
    facts, known = analysis.run.host, machine_of(analysis)
    topology = facts.get("cpu_topology")
    return PublishedMachine(
        slug=slug(name or known.name),
        name=name or known.name,
        fingerprint=known.fingerprint,
        cpu_model=_text(facts, "cpu_model"),
        cpus=len(topology) if isinstance(topology, Mapping) else None,
        memory_bytes=facts.get("memory_bytes"),
        architecture=_text(facts, "architecture"),
        virtual_machine=facts.get("virtual_machine"),
        kernel=_text(facts, "kernel"),
        operating_system=_text(facts, "operating_system"),
    )


def _text(facts: Mapping[str, Any], name: str) -> str | None:
    found = facts.get(name)
    return None if found is None else str(found)


def _noise(analysis: Analysis) -> float | None:
    spread = analysis.rig_noise and analysis.rig_noise.spreads.get("throughput")
    return math.expm1(NORMAL_95 * spread.log_ratio_sd) if spread else None


def published_server(name: str, facts: ServerFacts, cpus: int) -> PublishedServer:
    """Return a server of a run as it is published, private facts included; 0 ``cpus`` are not known."""
    of = facts.facts
    digests = {key: one for key, one in (of.get(DIGESTS) or {}).items() if is_digest(one)}
    configuration = of.get("configuration") or {}
    return PublishedServer(
        name=name,
        slug=slug(str(of.get("catalog_entry") or name)),
        title=facts.title,
        version=facts.version,
        settings={key: of[key] for key in _PUBLIC_SETTINGS if of.get(key)},
        configuration={key: digest(text.encode()) for key, text in configuration.items()},
        programs=digests,
        documentation=facts.documentation,
        missing=facts.status == "missing",
        cpus=cpus or None,
    )


def curves_of(run: PublishedRun) -> list[Curve]:
    """Return the curves of a published run, in the units that measures have here."""
    known = {si_name(one): one for one in measures(kind_of_work(run.work)).values()}
    points = {point_key(one.point): one.point for one in run.points}
    measured = {(one.server, point_key(one.point)): one for one in run.points}
    return [
        Curve(
            server,
            [_curve_point(point, measured.get((server, key)), known) for key, point in points.items()],
        )
        for server in dict.fromkeys(one.server for one in run.points)
    ]


def measure_of(run: PublishedRun, name: str) -> Measure:
    """Return the measure that a published name stands for.

    Raises ``BadInput`` for one that this version does not know.
    """
    for one in measures(kind_of_work(run.work)).values():
        if si_name(one) == name:
            return one
    raise BadInput(
        f"the published measure {name} is not known to this version of Loadcurve; use a newer one."
    )


def _curve_point(point: Point, found: PublishedPoint | None, known: Mapping[str, Measure]) -> CurvePoint:
    if found is None:
        return CurvePoint(point, [], [], [], Requests([], [], []), {})
    return CurvePoint(
        point=point,
        trials=list(range(len(found.blocks))),
        blocks=found.blocks,
        verdicts=found.verdicts,
        requests=Requests([], [], []),
        figures={
            known[name].column: _curve_figure(figure, known[name])
            for name, figure in found.figures.items()
            if name in known
        },
        invalid_because=found.reason,
    )


def _curve_figure(figure: PublishedFigure, measure: Measure) -> Figure:
    factor = si_of(measure).factor
    low, high = (None if end is None else end / factor for end in (figure.low, figure.high))
    return Figure(
        None if figure.value is None else Estimate(figure.value / factor, low, high, figure.n, AS_PUBLISHED),
        [None if value is None else value / factor for value in figure.values],
    )


def _first_reasons(run: Run, analysis: Analysis) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for server, reason in _unranked(run, analysis):
        reasons.setdefault(server, reason)
    return reasons


def _unranked(run: Run, analysis: Analysis) -> Iterator[tuple[str, str]]:
    """Yield the servers that no ranking may have, each with the reason."""
    curves = {curve.server: curve for curve in analysis.curves}
    for name, facts in analysis.run.servers.items():
        curve = curves.get(name)
        failure = _failure(run, name)
        if facts.status == "missing" and not failure:
            yield name, "it was not found on the machine"
        elif curve is None or not any(at.trials for at in curve.points):
            yield name, f"no point of it was measured{failure}"
        elif not any(at.usable for at in curve.points):
            reason = next((at.invalid_because for at in curve.points if at.invalid_because), None)
            yield name, f"no point is valid: {reason or 'see its verdicts'}"
    for name in [] if run.run.left_out is None else run.run.left_out.servers:
        yield name, "it is optional, and was not installed"
    for name, reason in run.run.unfit.items():
        yield name, f"it was left out of the run: {reason}"
    if not run.is_closed_loop:
        # The rate was asked for: the rig can have delayed requests, and limited no throughput of a server.
        return
    for finding in analysis.findings:
        curve = curves.get(finding.server)
        if finding.code == RIG_LIMIT.code and curve is not None and _peak(curve) in finding.points:
            yield finding.server, "the rig, not the server, limited its highest throughput"


def _failure(run: Run, server: str) -> str:
    """Return the text of a server's last failure, behind a colon; nothing where none was recorded."""
    texts = [failure.reason.text for failure in run.failures if failure.server == server]
    return f": {texts[-1].removesuffix('.')}" if texts else ""


def _late(run: Run) -> set[tuple[str, PointKey, int]]:
    """Return where the generator was late at a fixed rate; a closed loop has no time for it to be late by."""
    if run.is_closed_loop:
        return set()
    return {
        (record.server, point_key(record.point), record.block)
        for record in run.points
        if any(reason.code in LATE_CODES for reason in record.load.verdict.reasons)
    }


def _peak(curve: Curve) -> Point | None:
    """Return the point of the highest throughput that can be used."""
    known = [(estimate.value, at.point) for at in curve.points if (estimate := at.estimate(THROUGHPUT))]
    return max(known, key=lambda one: one[0])[1] if known else None


def rankings_of(
    points: Sequence[PublishedPoint],
    measures_of_run: Sequence[PublishedMeasure],
    of_works: Sequence[PublishedWork],
    unranked: Collection[str],
    load: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[PublishedRanking]:
    """Yield a ranking for each work and measure that has one, made of published figures alone.

    At the rates that ``load`` asks for, servers that keep them are not told apart by throughput.
    Those by latency leave out the trials in which the generator was late. The error rate is that of all of
    them together.
    """
    known = [one for one in measures_of_run if one.name in RANKED_NAMES and one.better is not None]
    at_rates = asks_rate(load, (one.point for one in points))
    for place, work in enumerate(of_works):
        ranked = set(work.servers) - set(unranked)
        of_work = [one for one in points if one.server in ranked]
        for measure in known:
            logs = _logs(of_work, measure.name)
            if measure.better is None or not logs:
                continue
            least = least_told_apart(measure.name, at_rates=at_rates)
            found = rank(logs, measure.better, len(RANKED_NAMES) * len(of_works), least)
            if len(found.ranks) > 1 and found.decides:
                yield PublishedRanking(
                    work=place,
                    measure=measure.name,
                    groups=[list(group) for group in found.groups],
                    ranks=[
                        PublishedRank(server=one.server, best=one.best, worst=one.worst)
                        for one in found.ranks
                    ],
                )


def _works(analysis: Analysis) -> list[PublishedWork]:
    """Return the works of a run, or the one of all its servers."""
    found = [
        PublishedWork(options=one.options, servers=[curve.server for curve in one.analysis.curves])
        for one in works(analysis)
    ]
    return found or [PublishedWork(options={}, servers=[curve.server for curve in analysis.curves])]


def _logs(points: Sequence[PublishedPoint], measure: str) -> Logs:
    """Return the logarithms of a measure's usable values, by server: a row a block, a column a point."""
    import numpy as np  # noqa: PLC0415 - it must not slow the start of the command

    blocks = {block: row for row, block in enumerate(sorted({b for one in points for b in one.blocks}))}
    columns = {
        key: column for column, key in enumerate(dict.fromkeys(point_key(one.point) for one in points))
    }
    is_latency = measure.startswith(LATENCY)
    logs: dict[str, Any] = {}
    for one in points:
        table = logs.setdefault(one.server, np.full((len(blocks), len(columns)), np.nan))
        figure = one.figures.get(measure)
        if figure is None:
            continue
        for block, verdict, value in zip(one.blocks, one.verdicts, figure.values, strict=True):
            is_late = is_latency and block in one.late_blocks
            if value and value > 0 and verdict != "invalid" and not is_late:
                table[blocks[block], columns[point_key(one.point)]] = math.log(value)
    return logs
