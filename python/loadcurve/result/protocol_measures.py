"""The measures of what TLS and HTTP/2 add to connections: only runs that speak either have them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from loadcurve.result.distribution import Distribution
from loadcurve.result.measures import Measure
from loadcurve.result.records import PointRecord

STATISTICS = ("p50", "p99")
"""The statistics of times."""


def _handshakes_ms(trial: PointRecord, kind: str) -> Distribution | None:
    """Return the times of the handshakes of a kind within the window, where there were any."""
    tls = trial.load.tls
    if tls is None or tls.measured is None:
        return None
    times_ms = tls.measured.resumed_ms if kind == "resumed" else tls.measured.full_ms
    return times_ms if times_ms.count else None


def _handshakes_per_s(trial: PointRecord, kind: str) -> float | None:
    tls = trial.load.tls
    if tls is None or tls.measured is None:
        return None
    return tls.measured.resumed_per_s if kind == "resumed" else tls.measured.full_per_s


def _stream_waits_ms(trial: PointRecord) -> Distribution | None:
    return None if trial.load.http2 is None else trial.load.http2.stream_wait_ms


def _moved_share(trial: PointRecord) -> float | None:
    """Return which share of the requests was sent once more; ``None`` where connections carry no streams."""
    requests = trial.load.requests
    if trial.load.http2 is None or not requests.sent or requests.moved is None:
        return None
    return requests.moved / requests.sent


def _statistic(
    times: Callable[[PointRecord], Distribution | None], statistic: str, trial: PointRecord
) -> float | None:
    figure: float | None = getattr(times(trial), statistic, None)
    return figure


def _rate(kind: str) -> Measure:
    name = f"{kind}_handshakes_per_s"
    words = f"{kind} handshakes"
    return Measure(
        name,
        column=name,
        title=f"{words} per second",
        heading=f"{words}/s",
        unit="handshakes/s",
        better=None,
        from_zero=True,
        value=partial(_handshakes_per_s, kind=kind),
    )


def _times(name: str, words: str, times: Callable[[PointRecord], Distribution | None]) -> Iterator[Measure]:
    """Yield the statistics of the times that ``times`` reads from a record."""
    for statistic in STATISTICS:
        yield Measure(
            f"{name}_{statistic}",
            column=f"{name}_{statistic}_ms",
            title=f"{statistic} of {words}",
            heading=f"{words.removeprefix('the ')}, {statistic}, ms",
            unit="ms",
            better="lower",
            from_zero=False,
            value=partial(_statistic, times, statistic),
        )


PROTOCOL_MEASURES = (
    *(
        measure
        for kind in ("full", "resumed")
        for measure in (
            _rate(kind),
            *_times(f"{kind}_handshake", f"{kind} handshakes", partial(_handshakes_ms, kind=kind)),
        )
    ),
    *_times("stream_wait", "the waits for a stream", _stream_waits_ms),
    Measure(
        "moved_share",
        column="requests_moved_share",
        title="share of requests that moved to another connection",
        heading="share of requests moved",
        unit="share",
        better="lower",
        from_zero=True,
        value=_moved_share,
    ),
)
"""In the order in which they are shown."""


def protocol_measures(records: Iterable[PointRecord]) -> list[Measure]:
    """Return those with a figure above zero in any record; none in a run without TLS and HTTP/2."""
    of_them = [record for record in records if record.load.tls is not None or record.load.http2 is not None]
    return [measure for measure in PROTOCOL_MEASURES if any(measure.value(record) for record in of_them)]
