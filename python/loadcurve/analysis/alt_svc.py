"""Where each server announced HTTP/3 to the loads that asked for that, and what asking took."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadcurve.analysis.connections import Range
from loadcurve.loads.record import AnnouncedHttp3, HttpAsRun
from loadcurve.result.folder import Run


@dataclass(frozen=True, slots=True)
class AnnouncementOfServer:
    """What one server said of HTTP/3, over all loads that followed it; texts are those that differ."""

    server: str
    requests: list[str]
    """What it was asked for."""
    said: list[str]
    """Its `Alt-Svc`."""
    addresses: list[str]
    """Where the loads then went."""
    asked: int
    """How often it was asked for loads, over all of its starts."""
    loads: int
    """How many loads followed what it said."""
    took_ms: Range
    """From connecting to the answer's header."""
    max_age_s: Range
    """For how long it said so."""


def announcements_in(run: Run) -> list[AnnouncementOfServer]:
    """Return what every server announced that a load has followed, in the order of the study."""
    by_server: dict[str, dict[int, list[AnnouncedHttp3]]] = {name: {} for name in run.run.servers}
    for record in run.points:
        load = record.load.load
        if isinstance(load, HttpAsRun) and load.announced is not None:
            by_server.setdefault(record.server, {}).setdefault(record.trial, []).append(load.announced)
    return [_of_server(server, [*trials.values()]) for server, trials in by_server.items() if trials]


def _of_server(server: str, trials: Sequence[Sequence[AnnouncedHttp3]]) -> AnnouncementOfServer:
    followed = [one for trial in trials for one in trial]
    return AnnouncementOfServer(
        server=server,
        requests=_different(followed, lambda one: one.request),
        said=_different(followed, lambda one: one.said),
        addresses=_different(followed, lambda one: one.address),
        asked=sum(max(one.times_asked for one in trial) for trial in trials),
        loads=len(followed),
        took_ms=Range.of(one.took_ms for one in followed),
        max_age_s=Range.of(one.max_age_s for one in followed),
    )


def _different(followed: Sequence[AnnouncedHttp3], text: Callable[[AnnouncedHttp3], str]) -> list[str]:
    return [*dict.fromkeys(text(one) for one in followed)]
