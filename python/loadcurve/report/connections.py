"""What the connections of each server were, in words: encrypted how, resumed how often, carrying what."""

from collections.abc import Callable, Iterator
from functools import partial

from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.connections import (
    AgreedOn,
    CertificateShown,
    ConnectionsOfServer,
    Encryption,
    Range,
    Streams,
)
from loadcurve.report.column import Column
from loadcurve.report.section import Grid, Section, grid_in_markdown
from loadcurve.report.terminal_tables import lines_by_server

MOST_AGREED = 3
"""At most this many different agreements of a server are named."""


def connections_table(analysis: Analysis) -> Grid | None:
    """Return the connections of each server; ``None`` where all were in clear text and carried no streams."""
    found = analysis.connections
    if not found:
        return None
    columns: list[Column[ConnectionsOfServer]] = [
        Column("server", lambda one: one.server),
        *(
            Column(heading, partial(_said_or_absent, words))
            for heading, words in _WORDS.items()
            if any(map(words, found))
        ),
    ]
    return Grid.of(found, columns)


def _said_or_absent(words: Callable[[ConnectionsOfServer], str], one: ConnectionsOfServer) -> str:
    return words(one) or units.ABSENT


def connections_in_terminal(analysis: Analysis) -> Table:
    """Return a few lines for each server, which fit 80 columns."""
    return lines_by_server((one.server, "\n".join(_lines(one))) for one in analysis.connections)


def _lines(one: ConnectionsOfServer) -> Iterator[str]:
    """Yield what a person looks for first: the protocol, the handshakes, the streams."""
    encrypted, streams = one.encryption, one.streams
    yield ", ".join(filter(None, [_protocol(one), *map(_agreed, encrypted.agreed[:1] if encrypted else [])]))
    if encrypted is not None:
        certificates = [f"certificate: {found}"] if (found := _certificates(one)) else []
        yield "; ".join([_handshakes(one), *certificates])
        kinds = {"full": _full(encrypted), "resumed": _resumed(encrypted)}
        yield from (f"{kind} handshakes: {measured}" for kind, measured in kinds.items() if measured)
    if streams is not None:
        yield "; ".join([f"streams: {_allowed(streams)}", *filter(None, [_waits(one), _ended(one)])])


def _of_encryption(words: Callable[[Encryption], str]) -> Callable[[ConnectionsOfServer], str]:
    return lambda one: words(one.encryption) if one.encryption is not None else ""


def _of_streams(words: Callable[[Streams], str]) -> Callable[[ConnectionsOfServer], str]:
    return lambda one: words(one.streams) if one.streams is not None else ""


def _protocol(one: ConnectionsOfServer) -> str:
    """Name the versions of HTTP, and those of TLS below them."""
    http = units.listing(f"HTTP/{version}" for version in one.http) if one.http else "HTTP"
    if one.encryption is None:
        return f"{http} in clear text"
    versions = list(dict.fromkeys(agreed.version for agreed in one.encryption.agreed))
    return f"{http} over TLS {units.listing(versions)}" if versions else f"{http} over TLS"


def _agreed(agreed: AgreedOn) -> str:
    return ", ".join(filter(None, [agreed.suite, agreed.group]))


def _all_agreed(encryption: Encryption) -> str:
    """Name suites and groups; of several, how many of the handshakes agreed on each."""
    different = list(dict.fromkeys(map(_agreed, encryption.agreed)))
    if len(different) <= 1:
        return "".join(different)
    counts = {one: sum(a.handshakes for a in encryption.agreed if _agreed(a) == one) for one in different}
    named = [f"{one} ({counts[one]:,})" for one in different[:MOST_AGREED]]
    more = len(different) - len(named)
    return "; ".join([*named, *([f"and {more:,} more"] if more else [])])


def _certificates(one: ConnectionsOfServer) -> str:
    if one.encryption is None:
        return ""
    return "; ".join(dict.fromkeys(map(_certificate, one.encryption.certificates)))


def _certificate(shown: CertificateShown) -> str:
    length = shown.chain_length
    chain = "alone" if length == 1 else f"in a chain of {length:,}"
    return f"{shown.key}, {chain}"


def _handshakes(one: ConnectionsOfServer) -> str:
    if one.encryption is None:
        return ""
    full, resumed, share = one.encryption.full, one.encryption.resumed, one.encryption.resumed_share
    resumed_share = "" if not share else f" ({units.percent(share)} resumed)"
    return f"{full:,} full and {resumed:,} resumed handshakes{resumed_share}"


def _full(encryption: Encryption) -> str:
    return _measured(encryption.full_per_s, encryption.full_p50_ms)


def _resumed(encryption: Encryption) -> str:
    return _measured(encryption.resumed_per_s, encryption.resumed_p50_ms)


def _measured(per_s: Range | None, p50_ms: Range | None) -> str:
    """Say how many handshakes of a kind there were each second of the windows, and how long they took."""
    if per_s is None:
        return ""
    times = "" if p50_ms is None else f", median {_range(p50_ms)} ms"
    return f"{_range(per_s)} per second{times}"


def _allowed(streams: Streams) -> str:
    """Say how many streams at once the load asked for, and how many the server allowed."""
    allowed = "" if streams.allowed is None else f", {_counts(streams.allowed)} allowed"
    return f"{_counts(streams.asked)} requested{allowed}"


def _waits(one: ConnectionsOfServer) -> str:
    if one.streams is None or not one.streams.waited:
        return ""
    median = one.streams.wait_p50_ms
    return f"{units.plural(one.streams.waited, 'wait')} for a stream" + (
        f", median {_range(median)} ms" if median is not None else ""
    )


def _ended(one: ConnectionsOfServer) -> str:
    """Say what the server refused and ended, and which requests were sent again for it."""
    if one.streams is None:
        return ""
    counts = {
        "requests sent again": one.streams.moved,
        "connections ended by the server": one.streams.connections_ended,
        "streams refused": one.streams.refused,
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def _counts(found: Range | None) -> str:
    return _range(found, units.setting)


def _range(found: Range | None, words: Callable[[float], str] = units.number) -> str:
    if found is None:
        return ""
    least, greatest = map(words, (found.least, found.greatest))
    return least if least == greatest else f"{least} to {greatest}"


_WORDS: dict[str, Callable[[ConnectionsOfServer], str]] = {
    "protocol": _protocol,
    "agreed": _of_encryption(_all_agreed),
    "certificate": _certificates,
    "handshakes": lambda one: _handshakes(one).replace(" handshakes", ""),
    "full ones": _of_encryption(_full),
    "resumed ones": _of_encryption(_resumed),
    "streams": _of_streams(_allowed),
    "waits for a stream": _waits,
    "moved and ended": _ended,
}
"""The words of each column by its heading; nothing where a server has nothing to say there."""

CONNECTIONS: Section[Grid | None] = Section(
    "connections",
    "the connections in words",
    lambda report: connections_table(report.analysis),
    None,
    page="connections",
    terminal=lambda report, _: [
        Text("\nconnections", style="bold"),
        connections_in_terminal(report.analysis),
    ],
    markdown=grid_in_markdown,
    heading="Connections",
)
