"""The result of one load, for people."""

import math
from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadcurve.explain import delayed_ack, events_missing, stalls
from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.rates import RECORDED, Rate
from loadcurve.loads.record import HttpAsRun, LoadAsRun
from loadcurve.protocol import GRPC, STREAMED, WEBSOCKET
from loadcurve.report.column import FIGURES, NAMES, WORDS, WRAPPED, WRAPPED_FIGURES, Column
from loadcurve.report.compression import compression_in_words
from loadcurve.report.cpu_parts import line_of_load
from loadcurve.report.latency_bars import latency_bars
from loadcurve.report.load_operations import operations_of_load
from loadcurve.report.quic_load import left_behind, quic_lines
from loadcurve.report.terminal_tables import column_table
from loadcurve.report.text import shortened
from loadcurve.report.tools import tool_facts
from loadcurve.result.distribution import Distribution
from loadcurve.result.generator import Lateness, LoadMachines, MachinePart
from loadcurve.result.load import (
    Connections,
    ErrorMessage,
    Http2Result,
    LoadResult,
    SlowRequest,
    TlsResult,
    WaitedThrough,
)
from loadcurve.result.messages import DeliveriesResult, MessagesResult, SubscribersResult
from loadcurve.result.outcomes import Requests
from loadcurve.result.pauses import together
from loadcurve.units import ABSENT, given_rate, milliseconds, plural, size, whole
from loadcurve.units import rate as per_second


def machines_table(machines: LoadMachines) -> RenderableType:
    """Return a row for each machine: its own rate, counts, begin, lateness and CPU, in 80 columns.

    Below it are the machines whose kernels retransmitted segments.
    """
    table = column_table(machines.parts, _OF_MACHINES)
    sent_again = [
        f"{part.machine} {part.kernel.retransmits:,}"
        for part in machines.parts
        if part.kernel is not None and part.kernel.retransmits
    ]
    return Group(table, Text(f"segments retransmitted: {', '.join(sent_again)}")) if sent_again else table


def _late_ms(part: MachinePart) -> float | None:
    """Return the 99th percentile; the latest, where requests are too few for that."""
    lateness = part.generator.lateness_ms if part.generator else None
    return (lateness.max if lateness.p99 is None else lateness.p99) if lateness else None


_OF_MACHINES: Sequence[Column[MachinePart]] = (
    Column("machine", lambda part: _with_red(part.machine, None if part.lost is None else "lost"), WORDS),
    Column("requests/s", lambda part: whole(part.answered_rps)),
    Column("answered", lambda part: whole(part.requests.answered if part.requests else None)),
    Column("failed", lambda part: whole(part.requests.failed if part.requests else None)),
    Column("began, ms", lambda part: milliseconds(part.start_ms)),
    Column("±", lambda part: milliseconds(part.clock.error_ms if part.clock else None)),
    Column("late, ms", lambda part: milliseconds(_late_ms(part))),
    Column("CPU, %", lambda part: whole(None if part.cpu_share is None else 100 * part.cpu_share)),
)


def _with_red(words: str, more: str | None) -> Text:
    return Text.assemble(words, *([(f" {more}", "red")] if more else []))


PERCENTILES = {
    "p50": "p50",
    "p90": "p90",
    "p99": "p99",
    "p99_9": "p99.9",
    "p99_99": "p99.99",
}
SLOWEST_SHOWN = 5
SLOWEST_WIDTH = 20
"""Characters of the name of a slow request, beside the other columns at 80."""
OF_ANSWERED_MESSAGES = "200"
"""The status under which messages count that are answered, whatever they are of."""
MESSAGES_SHOWN = 5
BODIES_SHOWN = 3
VERDICT_STYLES = {"valid": "green", "suspect": "yellow", "invalid": "red"}


def load_summary(result: LoadResult) -> RenderableType:
    """Return the figures of one load as tables that fit 80 columns."""
    kind = result.load.kind
    tables: list[RenderableType] = [_latency_table(result)]
    tables += operations_of_load(result)
    tables.append(_counts_table(result, kind))
    if result.machines is not None:
        tables.append(machines_table(result.machines))
    if result.error_messages:
        tables.append(column_table(result.error_messages[:MESSAGES_SHOWN], _MESSAGES))
    if result.slowest:
        tables.append(_slowest_table(result.slowest[:SLOWEST_SHOWN]))
    bars = latency_bars(result)
    parts: list[RenderableType] = [_headline(result), Text()]
    for table in [*tables, bars] if bars else tables:
        parts += [table, Text()]
    return Group(*parts, *_verdict_lines(result))


def _headline(result: LoadResult) -> Text:
    plan = result.load
    interrupted = ", interrupted" if result.interrupted else ""
    # Two lines, because together they rarely fit a terminal.
    where = f"{plan.asked} at {_place(plan)}{_announced(plan)}"
    return Text(f"{where}\n{_clients(plan)}, {result.duration_s:.2f} s{interrupted}")


def _announced(plan: LoadAsRun) -> str:
    """Say how the server told where it speaks HTTP/3, where the load asked for that."""
    if not isinstance(plan, HttpAsRun) or plan.announced is None:
        return ""
    told = plan.announced
    return f"\nHTTP/3 there was announced to {told.request} in {told.took_ms:.1f} ms by Alt-Svc: {told.said}"


def _place(plan: LoadAsRun) -> str:
    """Say where the load went; where the host has several addresses, to which of them."""
    if not isinstance(plan, HttpAsRun):
        return f"{plan.address}"
    if plan.proxy is not None:
        return f"{plan.address}, an HTTP proxy"
    count = 1 + len(plan.other_addresses)
    if plan.addresses == "all" and count > 1:
        return f"{count} addresses in turn: {', '.join([f'{plan.address}', *plan.other_addresses])}"
    return f"{plan.address}, one of {count} addresses" if count > 1 else f"{plan.address}"


def _clients(plan: LoadAsRun) -> str:
    """Say by how many the load is put on, and at which rate."""
    how = (
        f"unknown {plan.kind.client}s"
        if plan.connections is None
        else plural(plan.connections, plan.kind.client)
    )
    if plan.rate_rps is not None:
        how += f" at {_rate(plan.rate_rps)} {plan.kind.per_second}"
    if plan.arrivals == RECORDED:
        how += f", {_replayed(plan.speed)}"
    if plan.connection_rate_cps is not None:
        how = f"sessions at {_rate(plan.connection_rate_cps)} connections/s"
    # The clients of a database are its threads.
    if plan.kind.client == "thread" or plan.threads is None:
        return how
    return f"{how}, {plural(plan.threads, 'thread')}"


def _replayed(speed: float | None) -> str:
    return "as recorded" if speed is None or speed == 1 else f"{speed:g} times as fast as recorded"


def _rate(rate: Rate) -> str:
    return given_rate(rate) if isinstance(rate, float) else "a changing rate of"


def _latency_table(result: LoadResult) -> Table:
    rows = {"latency": result.latency_ms}
    # What was never observed has no row: a driver reports no first byte, for instance.
    observed = {
        "service time": result.service_time_ms,
        "first byte": result.first_byte_ms,
        "connect": result.connect_ms,
        **_handshakes(result),
        "connection": result.connections.lifetime_ms,
    }
    if result.messages is not None:
        one = STREAMED[result.messages.kind]
        observed[f"first {one}"] = result.messages.first_event_ms
        observed[f"between {one}s"] = result.messages.gap_ms
    if result.deliveries is not None:
        observed["delivery"] = result.deliveries.latency_ms
    rows |= {name: times for name, times in observed.items() if times is not None and times.count != 0}
    if result.load.kind.is_closed_loop(result.load.model, has_rate=result.load.rate_rps is not None):
        # In a closed loop a request is due when it is sent, so the two are the same.
        rows.pop("service time", None)
    name: Column[tuple[str, Distribution]] = Column("ms", lambda row: row[0], WRAPPED)
    figures = {"mean": "mean", **PERCENTILES, "max": "max"}
    times = [
        Column(title, partial(_time_of_row, figure), WRAPPED_FIGURES) for figure, title in figures.items()
    ]
    return column_table(rows.items(), [name, *times])


def _handshakes(result: LoadResult) -> dict[str, Distribution | None]:
    """Return the times of handshakes: of each kind within the window, or of all where it had none."""
    measured = result.tls.measured if result.tls is not None else None
    if measured is None or not (measured.full_ms.count or measured.resumed_ms.count):
        return {"handshake": result.handshake_ms}
    return {"full handshake": measured.full_ms, "resumed": measured.resumed_ms}


def _time_of_row(figure: str, row: tuple[str, Distribution]) -> str:
    return milliseconds(getattr(row[1], figure))


_MESSAGES: Sequence[Column[ErrorMessage]] = (
    Column("failed", lambda one: f"{one.count:,}", FIGURES),
    Column("operation", lambda one: one.operation, NAMES),
    Column("because", lambda one: f"{one.error}: {one}", WORDS),
)


def _connections(counts: Connections) -> str:
    """Say how many there were; where the server has ended any, after how many answers, and what it kept."""
    facts = {
        "{:,} opened": counts.opened,
        "{:,} failed": counts.failed,
        "at most {:,} at once": counts.concurrent_max,
    }
    lines = [", ".join(fact.format(count) for fact, count in facts.items() if count is not None) or ABSENT]
    lines += [f"{one.count:,} failed with {one}" for one in counts.failures]
    ended = counts.ended_by_server
    if ended is not None and ended.answers is not None:
        lines.append(f"{ended.count:,} closed by the server after {ended.answers} each")
        if counts.lasting:
            lines.append(f"{counts.lasting:,} kept open throughout")
    lines += [
        f"{plural(one.count, 'idle connection')} ended by the server with {one.status}"
        for one in counts.idle_ended
    ]
    return "\n".join(lines)


def _asked(result: LoadResult, rate: float) -> str:
    """Return the rate that was asked for: as it was given, or rounded where it is that of a recording."""
    return per_second(rate) if result.load.arrivals == RECORDED else given_rate(rate)


def _counts_table(result: LoadResult, kind: LoadKind) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    requests, rate = result.requests, result.rate_rps
    asked = "" if rate.asked is None else f" of {_asked(result, rate.asked)} asked"
    table.add_row(kind.per_second, f"{per_second(rate.answered)} answered{asked}")
    table.add_row(kind.requests, _fates(requests))
    if result.waited_through is not None:
        table.add_row("waiting", _waited_through(result.waited_through, kind))
    if errors := result.errors.nonzero():
        table.add_row("failed", ", ".join(f"{count:,} {name}" for name, count in errors.items()))
    if result.status is not None and (statuses := _statuses(result)):
        table.add_row("status", statuses)
    table.add_row("connections", _connections(result.connections))
    if result.tls is not None:
        table.add_row("TLS", _tls(result.tls))
    for name, facts_of_protocol in _of_protocols(result):
        table.add_row(name, facts_of_protocol)
    if result.bytes is not None:
        received, body = result.bytes.received, result.bytes.body
        sizes = [size(received)] if received is not None else []
        sizes += (
            [f"of it {size(body)} in bodies" if sizes else f"{size(body)} in bodies"]
            if body is not None
            else []
        )
        table.add_row("received", ", ".join(sizes) or ABSENT)
    generator = result.generator
    facts: list[str] = [generator.io] if generator.io else []
    if result.tool is not None:
        facts += tool_facts(result.tool)
    if generator.cpu_per_request_us is not None:
        facts.append(f"{generator.cpu_per_request_us:.1f} µs of CPU per {kind.request}")
    if generator.waiting == "polling":
        pause = f" at most {generator.poll_pause_max_us:.0f} µs apart" if generator.poll_pause_max_us else ""
        facts.append(f"polls for answers{pause}")
    table.add_row("generator", ", ".join(facts) or ABSENT)
    if generator.cpu_time is not None:
        table.add_row("CPU time", line_of_load(generator.cpu_time))
    if generator.lateness_ms is not None:
        table.add_row("lateness", _lateness(generator.lateness_ms))
    return table


def _of_protocols(result: LoadResult) -> Iterator[tuple[str, str]]:
    """Yield what is said of HTTP/2, of HTTP/3 and of messages, where there is anything to say."""
    if result.http2 is not None and (limits := _http2(result.http2, result.load.streams)):
        yield "HTTP/2", limits
    if result.http3 is not None:
        yield "HTTP/3", "\n".join(quic_lines(result.http3, result.load.streams))
    if result.messages is not None:
        yield f"{STREAMED[result.messages.kind]}s", _events(result.messages)
    if result.deliveries is not None:
        yield "deliveries", _deliveries(result.deliveries)
        yield "subscribers", _subscribers(result.deliveries.subscribers)
    if result.compression is not None:
        yield "compression", compression_in_words(result.compression)


def _statuses(result: LoadResult) -> str:
    """Say how many answers had which status, where that is known, and what the errors say.

    An answered call of gRPC has ended with a status that is right, and messages of a WebSocket have none.
    """
    if result.statuses is not None:
        counts = {f"{one.status}": one.answered for one in result.statuses}
    else:
        counts = result.status.nonzero() if result.status is not None else {}
    messages = result.load.messages if isinstance(result.load, HttpAsRun) else None
    answered = counts.pop(OF_ANSWERED_MESSAGES, 0) if messages in {GRPC, WEBSOCKET} else 0
    listed = [f"{count:,} of {name}" for name, count in counts.items()]
    if messages == GRPC and answered:
        listed.insert(0, f"{answered:,} of gRPC, all right")
    if messages == WEBSOCKET and not listed:
        return ""
    lines = [", ".join(listed) or ABSENT]
    lines += [f'{one.status} says: "{one.body}"' for one in result.wrong_statuses if one.body]
    return "\n".join(lines[: 1 + BODIES_SHOWN])


def _tls(tls: TlsResult) -> str:
    """Say how many handshakes there were, how many per second, and what most of them have agreed on."""
    handshakes, measured = tls.handshakes, tls.measured
    rates = []
    if measured is not None:
        per_s = {"full": measured.full_per_s, "resumed": measured.resumed_per_s}
        rates = [f"{per_second(rate)} {kind} per second" for kind, rate in per_s.items() if rate]
    counts = f"{handshakes.full:,} full and {handshakes.resumed:,} resumed handshakes"
    lines = ["; ".join([counts, *([", ".join(rates)] if rates else [])])]
    lines += [
        ", ".join([one.version, one.suite, *([one.group] if one.group else [])]) for one in tls.agreed[:1]
    ]
    return "\n".join(reversed(lines))


def _http2(http2: Http2Result, streams: int) -> str:
    """Say what its limits have done; nothing where they have done nothing."""
    waits = http2.stream_wait_ms
    facts: list[str] = []
    if http2.streams_allowed is not None and http2.connections_limited:
        facts.append(f"{http2.streams_allowed} streams allowed per connection, {streams:,} requested")
        wait = "" if waits.p50 is None else f", {milliseconds(waits.p50)} ms (p50)"
        facts.append(f"{plural(waits.known_count, 'wait')} for a stream{wait}")
    if http2.streams_refused:
        facts.append(f"{plural(http2.streams_refused, 'stream')} refused")
    if http2.connections_ended:
        by_code = http2.connections_ended_by or []
        codes = ", ".join(one.code if len(by_code) == 1 else f"{one.count:,} {one.code}" for one in by_code)
        ended = plural(http2.connections_ended, "connection")
        facts.append(f"{ended} ended by GOAWAY{codes and f': {codes}'}")
    if http2.streams_abandoned:
        abandoned = plural(http2.streams_abandoned, "request")
        facts.append(f"{abandoned} left unanswered on them, despite the GOAWAY")
    if http2.bodies_delayed:
        facts.append(f"{http2.bodies_delayed:,} bodies that waited for windows")
    if http2.answers_starved:
        facts.append(left_behind(http2.answers_starved))
    return "\n".join(facts)


def _events(messages: MessagesResult) -> str:
    """Say how many came, how many were to come, and how many arrived together."""
    rate = "" if messages.received_per_s is None else f", {per_second(messages.received_per_s)} per second"
    lines = [f"{messages.received:,} received{rate}, {size(messages.data_bytes)} of data"]
    if messages.expected is not None:
        lines.append(f"{messages.delivered:,} of {messages.expected:,} expected ones delivered")
    if messages.together:
        lines.append(f"{messages.together:,} arrived together with the one before")
    if messages.ended_by_client:
        lines.append(f"{plural(messages.ended_by_client, 'stream')} ended by the client")
    if messages.reconnects is not None:
        said = (
            f", {messages.reconnects_with_id:,} with the id of the last event" if messages.reconnects else ""
        )
        lines.append(f"{plural(messages.reconnects, 'stream')} opened again{said}")
    return "\n".join(lines)


def _deliveries(deliveries: DeliveriesResult) -> str:
    """Say which share of what was expected came, how many in a second, and what came beside."""
    # Rounded down: only all that was expected is 100 %.
    reach = "" if deliveries.reach is None else f"reach {math.floor(10_000 * deliveries.reach) / 100:g} %: "
    per_s = deliveries.delivered_per_s
    rate = "" if per_s is None else f", {per_second(per_s)} per second"
    lines = [f"{reach}{deliveries.delivered:,} of {deliveries.expected:,} came{rate}"]
    beside = {
        "too late": deliveries.late,
        "twice": deliveries.duplicates,
        "published before the subscriber was there": deliveries.earlier,
        "of other loads": deliveries.of_other_loads,
        "without a marker": deliveries.unmarked,
        "to publishers": deliveries.to_publishers,
    }
    if found := [f"{count:,} {what}" for what, count in beside.items() if count]:
        lines.append(f"beside: {', '.join(found)}")
    return "\n".join(lines)


def _subscribers(subscribers: SubscribersResult) -> str:
    """Say how many were opened, and what became of the others."""
    lines = [f"{subscribers.opened:,} of {subscribers.asked:,} opened"]
    for what, counts in (("not opened", subscribers.refused), ("closed", subscribers.closed)):
        if found := counts.nonzero():
            lines.append(f"{what}: " + ", ".join(f"{count:,} {name}" for name, count in found.items()))
    return "\n".join(lines)


def _lateness(lateness: Lateness) -> str:
    """Say how late the generator was, leaving out the percentiles that the samples do not bound."""
    figures = {"p50": lateness.p50, "p99": lateness.p99, "p99.9": lateness.p99_9, "max": lateness.max}
    return ", ".join(
        f"{milliseconds(time_ms)} ms ({name})" for name, time_ms in figures.items() if time_ms is not None
    )


def _fates(requests: Requests) -> str:
    """Say what became of the requests that were due; what happened to none is left out."""
    counts = {
        "answered": requests.answered,
        "failed": requests.failed,
        "unanswered": requests.unanswered,
        "never sent": requests.never_sent,
        "sent again": requests.moved or 0,
    }
    fates = [f"{count:,} {fate}" for fate, count in counts.items() if count]
    return f"{requests.due:,} due: {', '.join(fates)}" if fates else "none due"


def _waited_through(waited: WaitedThrough, kind: LoadKind) -> str:
    """Say how many requests waited through the window, on how many connections, and for how long."""
    where = f"on {waited.connections:,} of {plural(waited.of_connections, kind.client)}"
    oldest = f"the oldest {waited.oldest_ms / 1000:,.1f} s"
    return f"{plural(waited.requests, kind.request)}, {where}, waited through the whole window; {oldest}"


_TIMES_OF_SLOWEST: Sequence[Column[SlowRequest]] = (
    Column("due, s", lambda slow: f"{slow.due_s:,.3f}"),
    Column("latency", lambda slow: milliseconds(slow.latency_ms)),
    # It shows what a request waited for: a connection or, once it was sent, the server.
    Column("service\ntime", lambda slow: milliseconds(slow.service_time_ms)),
    Column("connect", lambda slow: milliseconds(slow.connect_ms)),
    Column("first\nbyte", lambda slow: milliseconds(slow.first_byte_ms)),
    Column("SYNs\nresent", lambda slow: whole(slow.syn_retransmits)),
    Column("segments\nresent", lambda slow: whole(slow.retransmits)),
)


def _slowest_table(slowest: Sequence[SlowRequest]) -> Table:
    names = shortened((slow.operation for slow in slowest), SLOWEST_WIDTH)
    name: Column[SlowRequest] = Column(
        "slowest, ms", lambda slow: _with_red(names[slow.operation], slow.error), WORDS
    )
    return column_table(slowest, [name, *_TIMES_OF_SLOWEST])


def _verdict_lines(result: LoadResult) -> list[RenderableType]:
    verdict = result.verdict
    status = Text(verdict.status, style=VERDICT_STYLES[verdict.status])
    lines = [f"{reason.code}: {reason.text}" for reason in (*verdict.reasons, *verdict.notes)]
    lines += _findings(result)
    return [status, *(Padding(Text(line), (0, 0, 0, 2), expand=False) for line in lines)]


def _findings(result: LoadResult) -> list[str]:
    """Return what one load alone shows of its server's ways."""
    lines = []
    if found := stalls.stalls_in(result, together(result.generator.pauses)):
        stall = stalls.briefly(found[0][0], result.load.kind.requests)
        lines.append(f"{stalls.CODE.code}: {stall}; a report (--out, --html) looks for the cause")
    if (missing := events_missing.missing_in(result)) is not None:
        lines.append(
            f"{events_missing.CODE.code}: {events_missing.briefly(missing)}. {events_missing.ADVICE}"
        )
    if (delayed := delayed_ack.delayed_in(result)) is not None:
        certainty = "" if delayed.is_shown else "likely, "
        lines.append(f"{delayed_ack.CODE.code}: {certainty}{delayed_ack.briefly(delayed)}. {delayed.advice}")
    return lines
