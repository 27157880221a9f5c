"""From a tool's figures to the record of its load, whether it was driven or its files were imported.

What a tool does not measure is ``None``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import loadcurve._engine as native
from loadcurve.loads.record import LoadAsRun
from loadcurve.result.distribution import Distribution
from loadcurve.result.generator import Generator, Kernel, ToolRecord
from loadcurve.result.load import (
    LOAD_FORMAT,
    Bytes,
    Connections,
    Histograms,
    LoadResult,
    Operation,
    RequestRate,
)
from loadcurve.result.outcomes import Errors, Requests, StatusClasses, Verdict
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.possible import at_odds

_NOT_VERIFIED = "mismatch"


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a load beside what its tool reports."""

    load: LoadAsRun
    tool: ToolRecord
    operation: str
    """What was asked, where the tool does not tell it apart."""
    began_s: float | None
    """When the window began, on the monotonic clock."""
    interrupted: bool
    asked_rps: float | None
    """The rate of a schedule; ``None`` in a closed loop."""
    generator: Generator
    kernel: Kernel
    evidence: Mapping[str, Any]
    """What else the verdict is reached from: how the load was to end, its warm-up, how many requests were
    kept under way, their mean latency where it was measured, and how busy the generator was."""


def record_of(figures: ToolFigures, known: Known) -> LoadResult:
    """Return the record of a load."""
    latency = figures.latency.distribution if figures.latency else distribution(0)
    failed = figures.failed or 0
    service = figures.latency if figures.basis == "send" else figures.service
    return LoadResult(
        format=LOAD_FORMAT,
        load=known.load,
        interrupted=known.interrupted,
        window_start_monotonic_s=known.began_s,
        duration_s=figures.duration_s,
        requests=_requests(figures),
        rate_rps=RequestRate(
            asked=known.asked_rps,
            sent=None,
            answered=_per_second(figures.answered, figures.duration_s),
        ),
        latency_ms=latency,
        service_time_ms=_distribution(service),
        connect_ms=_distribution(figures.connect),
        first_byte_ms=_distribution(figures.first_byte),
        transfer_ms=None,
        connections=Connections(
            opened=figures.connections_opened,
            failed=None,
            reused=None,
            concurrent_max=None,
            rate_cps=_per_second(figures.connections_opened, figures.duration_s),
            replies_per_connection=None,
            lifetime_ms=None,
        ),
        bytes=_bytes(figures),
        status=_statuses(figures),
        errors=Errors({name: _failures(figures, name) for name in Errors.classes}),
        tool=known.tool,
        generator=known.generator,
        kernel=known.kernel,
        operations=list(figures.operations)
        or [
            Operation(operation=known.operation, answered=figures.answered, failed=failed, latency_ms=latency)
        ],
        slowest=[],
        series=list(figures.series),
        histograms=Histograms(
            latency=_histogram(figures.latency),
            service_time=_histogram(service),
            connect=_histogram(figures.connect),
            first_byte=_histogram(figures.first_byte),
            transfer=None,
        ),
        verdict=_verdict(figures, known),
    )


def _requests(figures: ToolFigures) -> Requests:
    sent = figures.answered + (figures.failed or 0)
    return Requests(
        due=sent + (figures.never_sent or 0),
        sent=sent,
        answered=figures.answered,
        ok=_ok(figures),
        failed=figures.failed,
        unanswered=None,
        never_sent=figures.never_sent,
    )


def _statuses(figures: ToolFigures) -> StatusClasses | None:
    if figures.status is None:
        return None
    return StatusClasses({name: figures.status.get(name, 0) for name in StatusClasses.classes})


def _verdict(figures: ToolFigures, known: Known) -> Verdict:
    """Return what our own loads are judged by, as far as the figures reach."""
    judged = native.judge(
        json.dumps(
            {
                "work": known.load.work,
                "interrupted": known.interrupted,
                "duration_s": figures.duration_s,
                "answered": figures.answered,
                "ok": _ok(figures),
                "failed": figures.failed or 0,
                "failures": dict(figures.errors),
                "status": None if figures.status is None else dict(figures.status),
                "asked_rps": known.asked_rps,
                "tracking_drops": known.kernel.tracking_drops,
                **known.evidence,
            }
        )
    )
    verdict = Verdict.model_validate_json(judged)
    verdict = verdict.model_copy(update={"notes": [*verdict.notes, *figures.notes]})
    for code, text in _doubts(figures):
        verdict = verdict.with_reason(code, text, "suspect")
    return verdict


def _doubts(figures: ToolFigures) -> Iterator[tuple[str, str]]:
    """Return reasons for doubt that only the tool's own words give, each with its code."""
    if figures.other_length:
        text = (
            f"{figures.other_length:,} of {figures.answered:,} answers differed in length from the first "
            f"one, or were cut off ({figures.tool} does not distinguish the two): unless each answer is "
            "generated anew, some of them are wrong"
        )
        yield "lengths_differ", text
    yield from ((doubt.code, doubt.text) for doubt in figures.doubts)
    taken = " Its rate was taken." if figures.contradictions else ""
    if said := "; ".join([*figures.contradictions, *at_odds(figures)]):
        text = (
            f"{figures.tool} contradicts itself by more than its rounding: {said}.{taken} Find out how "
            "the file was made before its figures are used"
        )
        yield "contradictory", text


def _failures(figures: ToolFigures, name: str) -> int | None:
    """Return how many failures were of a class; ``None`` where the tool does not tell it apart.

    Where nothing has failed nothing was of any class, but for answers of a wrong length:
    another tool does not know that one.
    """
    known = figures.errors.get(name)
    if known is None and figures.failed == 0 and name != _NOT_VERIFIED:
        return 0
    return known


def _ok(figures: ToolFigures) -> int | None:
    """Return the right answers: as the tool counts them, or else those without an error status."""
    if figures.status is None or figures.ok is not None:
        return figures.ok
    errors = (name for name, row in StatusClasses.classes.items() if row.is_error)
    return figures.answered - sum(figures.status.get(name, 0) for name in errors)


def _bytes(figures: ToolFigures) -> Bytes | None:
    received, header, body = figures.bytes_received, figures.bytes_header, figures.bytes_body
    if received is None and header is None and body is None:
        return None
    return Bytes(sent=None, received=received, header=header, body=body)


def _per_second(count: int | None, duration_s: float) -> float | None:
    return None if count is None or duration_s <= 0 else count / duration_s


def _distribution(times: Times | None) -> Distribution | None:
    return None if times is None else times.distribution


def _histogram(times: Times | None) -> str | None:
    return None if times is None else times.histogram
