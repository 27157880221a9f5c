"""All findings of a run."""

from collections.abc import Callable, Mapping

from loadcurve.explain import (
    cipher,
    cpu_credits,
    delayed_ack,
    exhaustion,
    flow_control,
    handshakes,
    head_of_line,
    hidden_tail,
    link,
    listen_queue,
    memory,
    never_served,
    odd_trial,
    other_programs,
    platform_pauses,
    process_changes,
    processor,
    programs,
    reconnects,
    recycled,
    resumption,
    rig,
    stalls,
    steal,
    streams,
    wrong_answers,
)
from loadcurve.explain.finding import WEIGHTS, Finding, FindingCode
from loadcurve.explain.subject import Subject, subjects
from loadcurve.result.folder import Run

FINDERS: tuple[Callable[[Subject], list[Finding]], ...] = (
    rig.find,
    link.find,
    wrong_answers.find,
    never_served.find,
    exhaustion.find,
    listen_queue.find,
    stalls.find,
    other_programs.find,
    steal.find,
    platform_pauses.find,
    odd_trial.find,
    reconnects.find,
    recycled.find,
    streams.find,
    flow_control.find,
    head_of_line.find,
    delayed_ack.find,
    handshakes.find,
    resumption.find,
    cipher.find,
    cpu_credits.find,
    processor.find,
    programs.find,
    process_changes.find,
    memory.find,
    hidden_tail.find,
)
"""What is looked for in each server's records."""

FINDINGS: Mapping[str, FindingCode] = {
    row.code: row
    for row in (
        rig.CODE,
        link.CODE,
        wrong_answers.CODE,
        never_served.CODE,
        exhaustion.PORTS,
        exhaustion.DESCRIPTORS,
        exhaustion.SERVER_CONNECTIONS,
        listen_queue.OVERFLOW,
        listen_queue.RETRIED,
        stalls.CODE,
        other_programs.CODE,
        steal.CODE,
        platform_pauses.CODE,
        odd_trial.CODE,
        reconnects.CODE,
        recycled.CODE,
        streams.LIMITED,
        streams.REFUSED,
        flow_control.SERVER,
        flow_control.CLIENT,
        head_of_line.LOST,
        head_of_line.LONG,
        delayed_ack.CODE,
        handshakes.CODE,
        resumption.CODE,
        cipher.CODE,
        cpu_credits.CODE,
        processor.LIMIT,
        processor.THROTTLED,
        processor.ONE_THREAD,
        programs.CODE,
        process_changes.CODE,
        memory.LEAK,
        memory.CONNECTIONS,
        hidden_tail.CODE,
    )
}
"""The table of findings: what may be found, by code."""


def findings(run: Run) -> list[Finding]:
    """Return what can be explained about a run, the weightiest first.

    Of equal weight, what is about a server comes before what is about the machine, a shown cause before a
    likely one, and what was seen at more points and in more trials before the rest. Only what the run folder
    holds is looked at, so a stored run gives the same findings again.

    Raises ``BadInput`` where a histogram cannot be decoded.
    """
    found = [one for subject in subjects(run) for find in FINDERS for one in find(subject)]
    return sorted(found, key=_order)


def _order(one: Finding) -> tuple[int, bool, bool, int]:
    of_machine, is_likely = FINDINGS[one.code].of_machine, one.certainty == "likely"
    return WEIGHTS.index(one.weight), of_machine, is_likely, -len(one.points) * len(one.trials)
