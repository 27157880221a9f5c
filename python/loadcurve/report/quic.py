"""HTTP/3 on each server in words: handshakes by class, packets, datagrams, windows, and what was dropped."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.connections import Range
from loadcurve.analysis.quic import QuicOfServer
from loadcurve.report.column import Column
from loadcurve.report.quic_load import HANDSHAKES_IN_WORDS
from loadcurve.report.section import Grid, Section, grid_in_markdown
from loadcurve.report.terminal_tables import lines_by_server
from loadcurve.report.text import range_in_words

CAPTION = (
    "Over all trials and points of a server, warm-up included; a range is from the lowest to the highest of "
    "any load. Handshakes count from the first datagram; in one with 0-RTT the first datagrams carried "
    "requests. A datagram that is dropped found no room in its receiver's buffer, and QUIC sends what was in "
    "it again: it is no failed request. Packets lost include those that were late."
)


def quic_table(analysis: Analysis) -> Grid | None:
    """Return HTTP/3 on each server; ``None`` where none was loaded over it."""
    if not analysis.quic:
        return None
    columns = [Column[QuicOfServer]("server", lambda one: one.server), *_COLUMNS]
    return Grid.of(analysis.quic, columns, CAPTION)


def _joined(words: Callable[[QuicOfServer], Iterator[str]], one: QuicOfServer) -> str:
    return "; ".join(words(one)) or units.ABSENT


def quic_in_terminal(analysis: Analysis) -> Table:
    """Return a few lines for each server, which fit 80 columns."""
    lines = {
        one.server: [f"{column.heading}: {column.cell(one)}" for column in _COLUMNS] for one in analysis.quic
    }
    return lines_by_server((server, "\n".join(said)) for server, said in lines.items())


def _handshakes(one: QuicOfServer) -> Iterator[str]:
    for found in one.handshakes:
        median = f", median {range_in_words(found.p50_ms)} ms" if found.p50_ms else ""
        yield f"{found.count:,} {HANDSHAKES_IN_WORDS[found.kind]}{median}"
    if one.certificate_bytes:
        yield f"certificates of {_count(one.certificate_bytes)} bytes"


def _packets(one: QuicOfServer) -> Iterator[str]:
    share = (
        f" ({units.percent(one.packets_lost / one.packets_sent)})"
        if one.packets_lost and one.packets_sent
        else ""
    )
    yield f"{one.packets_lost:,} of {one.packets_sent:,} sent lost{share}"
    if one.sent_per_answer and one.received_per_answer:
        sent, received = map(range_in_words, (one.sent_per_answer, one.received_per_answer))
        yield f"{sent} out and {received} in per answer"
    if one.congestion_events:
        yield f"{one.congestion_events:,} times taken for congestion"
    if one.key_updates:
        yield f"keys changed {units.plural(one.key_updates, 'time')}"
    control = units.listing(one.control)
    yield f"{control} at first {_count(one.initial_window_bytes)} bytes (the server's: not announced)"


def _datagrams(one: QuicOfServer) -> Iterator[str]:
    if one.per_send and one.per_receive:
        yield f"{range_in_words(one.per_send)} per send, {range_in_words(one.per_receive)} per receive"
    offloads = {"GSO": one.send_offload, "GRO": one.receive_offload}
    yield ", ".join(f"{name} {'on' if granted else 'off'}" for name, granted in offloads.items())
    if one.mtu_bytes:
        link = f" on a link of {_count(one.link_mtu_bytes)}" if one.link_mtu_bytes else ""
        yield f"up to {_count(one.mtu_bytes)} bytes{link}"


def _round_trips(one: QuicOfServer) -> Iterator[str]:
    if one.rtt_min_ms:
        yield f"{range_in_words(one.rtt_min_ms)} ms at least"
    if one.rtt_smoothed_ms:
        yield f"{range_in_words(one.rtt_smoothed_ms)} ms smoothed"


def _dropped(one: QuicOfServer) -> Iterator[str]:
    sides = {"client": one.dropped_by_client, "server": one.dropped_by_server}
    yield ", ".join(
        f"{side} {units.ABSENT if count is None else f'{count:,}'}" for side, count in sides.items()
    )
    if one.receive_buffer_bytes:
        asked, granted = _count(one.receive_buffer_asked_bytes), _count(one.receive_buffer_bytes)
        yield f"the client's buffer: {asked} bytes requested, {granted} granted"
    if one.server_sockets:
        yield f"UDP sockets of the server: {_count(one.server_sockets)}"


def _windows(one: QuicOfServer) -> Iterator[str]:
    server = f", the server's {_count(one.server_windows_bytes)}" if one.server_windows_bytes else ""
    yield f"{_count(one.windows_bytes)} bytes per stream{server}"
    if one.server_blocked:
        yield f"the server waited for the client's {one.server_blocked:,} times"
    if one.blocked:
        yield f"the client waited for the server's {one.blocked:,} times"
    if one.table_used_bytes:
        yield f"header table: {_count(one.table_used_bytes)} of {_count(one.table_offered_bytes)} bytes used"


def _ends(one: QuicOfServer) -> Iterator[str]:
    counts = {
        "ends announced (GOAWAY)": one.announced_ends,
        "requests sent again that the server had not processed": one.rejected,
        "stateless resets": one.stateless_resets,
        "idle timeouts": one.idle_timeouts,
        "ended with an error": one.errors,
        "checks of the path (migration)": one.path_challenges,
    }
    yield from (f"{count:,} {what}" for what, count in counts.items() if count)


def _count(found: Range | None) -> str:
    return range_in_words(found, units.setting)


_COLUMNS: Sequence[Column[QuicOfServer]] = (
    Column("handshakes", partial(_joined, _handshakes)),
    Column("packets", partial(_joined, _packets)),
    Column("datagrams", partial(_joined, _datagrams)),
    Column("round trip", partial(_joined, _round_trips)),
    Column("dropped", partial(_joined, _dropped)),
    Column("windows", partial(_joined, _windows)),
    Column("ends", partial(_joined, _ends)),
)

QUIC: Section[Grid | None] = Section(
    "quic",
    "HTTP/3 in words",
    lambda report: quic_table(report.analysis),
    None,
    page="grid",
    terminal=lambda report, _: [Text("\nHTTP/3", style="bold"), quic_in_terminal(report.analysis)],
    markdown=grid_in_markdown,
    heading="HTTP/3",
)
