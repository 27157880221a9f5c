"""What the connections of each server were: encrypted how, resumed how often, limited to how many streams."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from loadcurve.result.distribution import Distribution
from loadcurve.result.folder import Run
from loadcurve.result.load import Http2Result, TlsResult
from loadcurve.result.records import PointRecord


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest figure of any trial at any point."""

    least: float
    greatest: float

    @classmethod
    def of(cls, figures: Iterable[float]) -> Self:
        """Return that of some figures, of which there is at least one."""
        known = [*figures]
        return cls(min(known), max(known))

    @classmethod
    def of_known(cls, figures: Iterable[float | None]) -> Self | None:
        """Return that of the figures that are known; ``None`` without any."""
        known = [figure for figure in figures if figure is not None]
        return cls.of(known) if known else None


@dataclass(frozen=True, slots=True)
class AgreedOn:
    """What some of the handshakes have agreed on, by the names that IANA has registered."""

    version: str
    suite: str
    group: str | None
    """``None`` where no keys were exchanged."""
    handshakes: int


@dataclass(frozen=True, slots=True)
class CertificateShown:
    """A certificate that a server has shown; that of a server under test is made anew for each start."""

    key: str
    subject: str
    issuer: str
    chain_length: int


@dataclass(frozen=True, slots=True)
class Encryption:
    """The handshakes of all loads on a server, warm-ups included unless another window is named."""

    agreed: list[AgreedOn]
    """The most frequent first."""
    certificates: list[CertificateShown]
    full: int
    resumed: int
    resumed_share: float | None
    """``None`` without a handshake."""
    full_per_s: Range | None
    """Within measured windows, as the three below; ``None`` where there was none in any of them."""
    resumed_per_s: Range | None
    full_p50_ms: Range | None
    resumed_p50_ms: Range | None
    handshake_p50_ms: Range | None
    """Of both kinds, over whole loads."""


@dataclass(frozen=True, slots=True)
class Streams:
    """What the limits of HTTP/2 and the ends of its connections did in all loads on a server."""

    asked: Range
    allowed: Range | None
    """``None`` where the server has set no limit."""
    waited: int
    """How often measured requests waited for a stream; one that has moved may have waited twice."""
    wait_p50_ms: Range | None
    refused: int
    moved: int
    """Measured requests that were sent once more, on another connection."""
    connections_ended: int
    connections_ended_by_error: int


@dataclass(frozen=True, slots=True)
class ConnectionsOfServer:
    """The connections of one server, over all points and trials; invalid ones count, too."""

    server: str
    http: list[str]
    """The versions of HTTP that the loads spoke, such as ``1.1``."""
    encryption: Encryption | None
    """``None`` in clear text."""
    streams: Streams | None
    """``None`` where requests share no connection."""


def connections_of(run: Run) -> list[ConnectionsOfServer]:
    """Return what the connections were of every server whose loads were encrypted or spoke HTTP/2."""
    by_server: dict[str, list[PointRecord]] = {name: [] for name in run.run.servers}
    for record in run.points:
        if record.load.tls is not None or record.load.http2 is not None:
            by_server.setdefault(record.server, []).append(record)
    return [_connections(server, records) for server, records in by_server.items() if records]


def _connections(server: str, records: Sequence[PointRecord]) -> ConnectionsOfServer:
    loads = [record.load.load for record in records]
    versions = [load.http for load in loads if load.http]
    encrypted = [(record, record.load.tls) for record in records if record.load.tls is not None]
    multiplexed = [(record, record.load.http2) for record in records if record.load.http2 is not None]
    return ConnectionsOfServer(
        server=server,
        http=list(dict.fromkeys(versions)),
        encryption=_encryption(encrypted) if encrypted else None,
        streams=_streams(multiplexed) if multiplexed else None,
    )


def _encryption(seen: Sequence[tuple[PointRecord, TlsResult]]) -> Encryption:
    counts: Counter[tuple[str, str, str | None]] = Counter()
    shown: dict[CertificateShown, None] = {}
    for _, tls in seen:
        for one in tls.agreed:
            counts[(one.version, one.suite, one.group)] += one.count
        if (found := tls.certificate) is not None:
            shown[CertificateShown(found.key, found.subject, found.issuer, found.chain_length)] = None
    full = sum(tls.handshakes.full for _, tls in seen)
    resumed = sum(tls.handshakes.resumed for _, tls in seen)
    measured = [tls.measured for _, tls in seen if tls.measured is not None]
    return Encryption(
        agreed=[AgreedOn(*agreed, count) for agreed, count in counts.most_common()],
        certificates=list(shown),
        full=full,
        resumed=resumed,
        resumed_share=resumed / (full + resumed) if full + resumed else None,
        full_per_s=Range.of_known(one.full_per_s for one in measured if one.full_ms.count),
        resumed_per_s=Range.of_known(one.resumed_per_s for one in measured if one.resumed_ms.count),
        full_p50_ms=_medians(one.full_ms for one in measured),
        resumed_p50_ms=_medians(one.resumed_ms for one in measured),
        handshake_p50_ms=_medians(record.load.handshake_ms for record, _ in seen),
    )


def _streams(seen: Sequence[tuple[PointRecord, Http2Result]]) -> Streams:
    allowed = [http2.streams_allowed for _, http2 in seen if http2.streams_allowed is not None]
    asked = [record.load.load.streams for record, _ in seen]
    return Streams(
        asked=Range.of(asked),
        allowed=Range.of_known(bound for one in allowed for bound in (one.min, one.max)),
        waited=sum(http2.stream_wait_ms.known_count for _, http2 in seen),
        wait_p50_ms=_medians(http2.stream_wait_ms for _, http2 in seen),
        refused=sum(http2.streams_refused for _, http2 in seen),
        moved=sum(record.load.requests.moved or 0 for record, _ in seen),
        connections_ended=sum(http2.connections_ended for _, http2 in seen),
        connections_ended_by_error=sum(http2.connections_ended_by_error for _, http2 in seen),
    )


def _medians(times_ms: Iterable[Distribution | None]) -> Range | None:
    return Range.of_known(one.p50 for one in times_ms if one is not None)
