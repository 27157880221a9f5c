"""The loads on web servers: their models with their keys, as the file gives them and at one point."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field

from loadcurve.loads.http_keys import Pipeline, Streams
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.limits import REPLAY_S_MAX
from loadcurve.loads.messages import OWN_MESSAGES
from loadcurve.loads.option import (
    ASKED,
    RATE_SHOWN,
    CommandLine,
    NotOver,
    OfMessages,
    OnlyOver,
    Planned,
    Shown,
)
from loadcurve.loads.rates import RECORDED, Arrivals, OpenArrivals, Rate, RatePerSecond, Speed
from loadcurve.loads.requests import LongList
from loadcurve.loads.sent import header_fields
from loadcurve.loads.table import Swept, by_model
from loadcurve.loads.values import ENGINE_NAME, Duration, PositiveCount, Think
from loadcurve.protocol import BY_ALT_SVC, EVENTS, HTTP2, HTTP3
from loadcurve.toml.expected import show
from loadcurve.toml.problems import Problem

SESSIONS_AT_ONCE_MAX = 10_000
"""How many sessions may be open at once where the study does not say."""
_CALLS_SHOWN, _THINK_SHOWN = Shown(title="calls per connection"), Shown(title="think time")


def default_sessions_at_once(num_connections: int | None) -> int:
    """Return how many sessions may be open at once where nobody says: all that arrive, up to the maximum."""
    return min(num_connections or SESSIONS_AT_ONCE_MAX, SESSIONS_AT_ONCE_MAX)


class KeptConnectionsTable(HttpLoadTable):
    """What loads have in common whose connections are kept open."""

    counted_end: ClassVar[str] = "requests_total"

    connections: Annotated[
        PositiveCount | None,
        CommandLine("-c/--connections", help="Connections kept open.", usual=10, metavar="N", place=10),
        Planned("translated"),
        ASKED,
    ] = None
    """How many connections are kept open."""
    requests_total: Annotated[
        PositiveCount | None,
        CommandLine(
            "-n/--requests/--operations",
            help="End after N requests instead of after a duration.",
            metavar="N",
            place=40,
        ),
        Planned("stop"),
        ASKED,
    ] = None
    """Ends the load after this many requests, instead of `duration`."""
    pipeline: Annotated[
        Pipeline,
        CommandLine(
            "--pipeline",
            help="Requests in flight on each connection.",
            metavar="N",
            panel="Arrivals and connections",
            place=50,
        ),
        NotOver((HTTP2, HTTP3, BY_ALT_SVC), "which has no pipeline; expected streams"),
        Planned("conversation"),
        ASKED,
    ] = 1
    """Requests under way at once on a connection."""
    streams: Annotated[
        Streams,
        CommandLine(
            "--streams",
            help="The same over HTTP/2, where answers come in any order.",
            metavar="N",
            panel="Arrivals and connections",
            place=60,
        ),
        OnlyOver((HTTP2, HTTP3)),
        Planned("conversation"),
        ASKED,
    ] = 1
    """The same with HTTP/2, whose answers come in any order."""
    calls: Annotated[
        PositiveCount | None,
        CommandLine(
            "--calls",
            help="Requests per connection, after which it is closed.",
            metavar="N",
            panel="Arrivals and connections",
            place=70,
        ),
        _CALLS_SHOWN,
        Planned("conversation"),
        ASKED,
    ] = None
    """Requests after which a connection is closed; it is kept open unless this is given."""


class ClosedLoadTable(KeptConnectionsTable):
    """A closed loop as the file gives it: what is swept is still ``None``."""

    model: Literal["closed"]
    think_s: Annotated[
        Think,
        CommandLine(
            "--think",
            help="Pause between an answer and the next request.",
            metavar="TIME",
            panel="Arrivals and connections",
            place=80,
        ),
        _THINK_SHOWN,
        Planned("conversation"),
        ASKED,
    ] = Field(0.0, alias="think")
    """How long a client pauses after each answer; not with a pipeline or streams."""
    reconnect_after_s: Annotated[
        Duration | None,
        CommandLine(
            "--reconnect-after",
            help="Events: open a stream again that the server has ended, after its retry or else this time.",
            metavar="TIME",
            panel="Messages",
            place=45,
        ),
        Planned("messages"),
        OfMessages((EVENTS,)),
        OWN_MESSAGES,
    ] = Field(None, alias="reconnect_after")
    """With events: a client opens its stream again that the server has ended, as browsers do: after the time
    that the server said in `retry`, or else after this one, with the id of the last event as `Last-Event-ID`.
    Unless set, the next stream begins at once, and is that of another client.
    """

    @property
    def complete(self) -> "type[ClosedLoad]":
        """Its type at one point."""
        return ClosedLoad

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from super()._problems_of_model(at)
        yield from self._thinking_in_a_pipeline(at)
        if self.reconnect_after_s is not None or "reconnect_after" in at.sweep:
            yield from self._problems_of_reconnects(at)

    def _problems_of_reconnects(self, at: Swept) -> Iterator[Problem]:
        """Check that there is one stream on each connection, which a client can open again."""
        place = at.place("reconnect_after")
        if self.event_format == "lines":
            text = 'cannot be combined with event_format = "lines", which has no ids and no retry; keep one'
            yield Problem(place, text)
        if (most := max(at.values("streams"))) > 1:
            text = f"cannot be combined with streams = {most}; expected streams = 1, because a client has one"
            yield Problem(place, text)
        asked = [self.asked_for("/")] if isinstance(self.requests, LongList) else self.asked
        names = {name.lower() for one in asked for name, _ in header_fields(one.headers)}
        if "last-event-id" in names:
            text = (
                "cannot be combined with a header Last-Event-ID, which clients send by themselves; keep one"
            )
            yield Problem(place, text)

    def _thinking_in_a_pipeline(self, at: Swept) -> Iterator[Problem]:
        if max(at.values("think")) == 0:
            return
        for key, asked in (("pipeline", "a pipeline of"), ("streams", "streams =")):
            if (most := max(at.values(key))) > 1:
                text = (
                    f"cannot be combined with {asked} {most}; expected {asked} 1, because a "
                    "client thinks after each answer"
                )
                yield Problem(at.place("think"), text)


class OpenLoadTable(KeptConnectionsTable):
    """An open loop as the file gives it: what is swept is still ``None``."""

    model: Literal["open"]
    rate_rps: Annotated[
        RatePerSecond | None,
        CommandLine(
            "-R/--rate",
            help="Open loop: requests or operations per second, 10k, 6/min, or ramps such as 100-1000:30s.",
            metavar="RPS",
            place=50,
        ),
        RATE_SHOWN,
        Planned("schedule"),
        ASKED,
    ] = Field(None, alias="rate")
    """Requests per second; the clock of its stretches starts with the warm-up."""
    arrivals: Annotated[
        OpenArrivals,
        CommandLine(
            "--arrivals",
            help="Distribution of arrivals in time; recorded: the times of --urls.",
            panel="Arrivals and connections",
            place=10,
        ),
        Planned("schedule"),
        ASKED,
    ] = "constant"
    """How arrivals are spread in time; `"recorded"` sends each request of a list at its own time, without a
    rate."""
    speed: Annotated[
        Speed | None,
        CommandLine(
            "--speed",
            help="With recorded arrivals: how many times as fast.",
            usual=1,
            metavar="FACTOR",
            panel="Arrivals and connections",
            place=20,
        ),
        Shown(unit="times as recorded"),
        Planned("schedule"),
        ASKED,
    ] = None
    """Only with recorded arrivals: how many times as fast as recorded; 1 unless it is given."""

    @property
    def complete(self) -> "type[OpenLoad | RecordedLoad]":
        """Its type at one point."""
        return RecordedLoad if self.arrivals == RECORDED else OpenLoad

    @property
    def ends_by_itself(self) -> bool:
        """Whether it ends with its list of requests."""
        return self.arrivals == RECORDED

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from super()._problems_of_model(at)
        if self.arrivals == RECORDED:
            yield from self._not_of_a_replay(at)
            yield from self._length_of_replay(at)
        elif at.values("speed"):
            text = f'only used with arrivals = "{RECORDED}"; set it as well, or remove it'
            yield Problem(at.place("speed"), text)

    def _not_of_a_replay(self, at: Swept) -> Iterator[Problem]:
        """Check that nothing but the list says which request is due when."""
        if at.values("rate"):
            text = (
                f'cannot be combined with arrivals = "{RECORDED}", whose requests fall due when they were '
                "recorded; remove it, and use speed to replay them faster or slower"
            )
            yield Problem(at.place("rate"), text)
        if self.pick != "in-order":
            reason = "because each recorded request has its own time"
            text = f'found {show(self.pick)}; expected "in-order", {reason}'
            yield Problem(("load", "pick"), text)
        if not isinstance(self.requests, LongList) or self.requests.listed.recorded_s is None:
            found = f"{self.requests.file} has no times" if isinstance(self.requests, LongList) else "no file"
            text = (
                f"found {found}; recorded arrivals require a file with a time after each path, such as "
                "/a @1.25, in the order of the times; `loadcurve import --as recording` writes one from an "
                "access log"
            )
            yield Problem(("load", "requests"), text)

    def _length_of_replay(self, at: Swept) -> Iterator[Problem]:
        """Check that a replay is neither over before its warm-up is, nor endless."""
        recorded_s = self.requests.listed.recorded_s if isinstance(self.requests, LongList) else None
        if recorded_s is None:
            return
        speeds = at.values("speed") or [1.0]
        shortest_s, longest_s = recorded_s / max(speeds), recorded_s / min(speeds)
        if longest_s > REPLAY_S_MAX:
            text = f"found {min(speeds):g}, at which the replay lasts {longest_s:,.0f} s; expected at most "
            yield Problem(at.place("speed"), f"{text}{REPLAY_S_MAX:,.0f} s")
        if (warmup_s := max(at.values("warmup"))) > shortest_s:
            text = (
                f"found {warmup_s:g} s, but the last recorded request is due after {shortest_s:g} s; "
                'expected a shorter warm-up, such as "0s"'
            )
            yield Problem(at.place("warmup"), text)


class SessionsLoadTable(HttpLoadTable):
    """Sessions as the file gives them: what is swept is still ``None``."""

    counted_end: ClassVar[str] = "num_connections"

    model: Literal["sessions"]
    connection_rate_cps: Annotated[
        RatePerSecond | None,
        CommandLine(
            "--connection-rate",
            help="Sessions: new connections per second, each with --calls requests.",
            metavar="CPS",
            panel="Arrivals and connections",
            place=30,
        ),
        Shown(unit="connections/s"),
        Planned("schedule"),
        ASKED,
    ] = Field(None, alias="connection_rate")
    """Connections per second; the clock of its stretches starts with the warm-up."""
    arrivals: Annotated[Arrivals, Planned("schedule"), ASKED] = "constant"
    """How arrivals are spread in time."""
    connections_total: Annotated[
        PositiveCount | None,
        CommandLine(
            "--num-connections",
            help="Sessions: end after N connections.",
            metavar="N",
            panel="Arrivals and connections",
            place=40,
        ),
        Shown(title="connections in all"),
        Planned("stop"),
        ASKED,
    ] = Field(None, alias="num_connections")
    """Ends the load after this many connections, instead of `duration`."""
    calls: Annotated[PositiveCount, _CALLS_SHOWN, Planned("conversation"), ASKED] = 1
    """Requests after which a connection is closed."""
    pipeline: Annotated[Pipeline, Planned("conversation"), ASKED] = Field(1, alias="burst")
    """Requests that are written together and answered before the next; at most `calls`."""
    think_s: Annotated[Think, _THINK_SHOWN, Planned("conversation"), ASKED] = Field(0.0, alias="think")
    """How long a client pauses between two bursts."""
    connections: Annotated[PositiveCount | None, Planned("translated"), ASKED] = None
    """How many may be open at once; `num_connections`, at most 10,000, unless it is given."""

    @property
    def complete(self) -> "type[SessionsLoad]":
        """Its type at one point."""
        return SessionsLoad

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from super()._problems_of_model(at)
        yield from self._bursts_without_calls(at)
        yield from self._thinking_in_vain(at)

    def _connections_at(self, at: Swept) -> Sequence[int | float]:
        return super()._connections_at(at) or at.values("num_connections")

    def _bursts_without_calls(self, at: Swept) -> Iterator[Problem]:
        """Check that every connection makes enough calls for its bursts."""
        burst, calls = max(at.values("burst")), min(at.values("calls"))
        if burst > calls:
            text = f"found {burst}; expected no more than the calls per connection; the lowest point has "
            yield Problem(at.place("burst"), f"{text}{calls}")

    def _thinking_in_vain(self, at: Swept) -> Iterator[Problem]:
        """Check that some connections have a second burst, before which their clients think."""
        if "think" in at.sweep or (self.overriding and "think" not in self.overriding):
            # It is that of all servers, of which this one may have single bursts.
            return
        burst, calls = min(at.values("burst")), max(at.values("calls"))
        if max(at.values("think")) > 0 and burst >= calls:
            text = (
                "not used: clients think between two bursts, and each connection makes one "
                f"(burst = {burst}, calls = {calls}); set calls above burst, or remove it"
            )
            yield Problem(at.place("think"), text)


class ClosedLoad(ClosedLoadTable):
    """A closed loop at one point; exactly one of ``duration_s`` and ``requests_total`` is set."""

    connections: PositiveCount

    @property
    def connections_at_once(self) -> int:
        """How many are kept open."""
        return self.connections


class OpenLoad(OpenLoadTable):
    """An open loop at one point; exactly one of ``duration_s`` and ``requests_total`` is set."""

    rate_rps: RatePerSecond = Field(alias="rate")
    connections: PositiveCount

    @property
    def connections_at_once(self) -> int:
        """How many are kept open."""
        return self.connections

    def _counted_s(self) -> float | None:
        return _length_s(self.requests_total, self.rate_rps)


class RecordedLoad(OpenLoadTable):
    """Requests at the times at which they were recorded, at one point.

    It ends with its list, or after ``duration_s`` or ``requests_total`` where that is sooner.
    """

    speed: Annotated[Speed, BeforeValidator(lambda speed: 1.0 if speed is None else speed)] = 1.0
    connections: PositiveCount

    @property
    def connections_at_once(self) -> int:
        """How many are kept open."""
        return self.connections

    @property
    def expected_s(self) -> float | None:
        """About how long it takes with its warm-up."""
        recorded_s = self.requests.listed.recorded_s if isinstance(self.requests, LongList) else None
        if recorded_s is None:
            return None
        length_s = recorded_s / self.speed
        return length_s if self.duration_s is None else min(self.warmup_s + self.duration_s, length_s)


class SessionsLoad(SessionsLoadTable):
    """Sessions at one point; exactly one of ``duration_s`` and ``connections_total`` is set."""

    connection_rate_cps: RatePerSecond = Field(alias="connection_rate")

    @property
    def connections_at_once(self) -> int:
        """How many may be open at once: ``connections``, or else all that arrive, at most 10,000."""
        return self.connections or default_sessions_at_once(self.connections_total)

    def _counted_s(self) -> float | None:
        return _length_s(self.connections_total, self.connection_rate_cps)


def _length_s(count: int | None, rate: Rate) -> float | None:
    """Return how long this many take at a constant rate."""
    return None if isinstance(rate, list) or count is None else count / rate


HttpLoadTables = ClosedLoadTable | OpenLoadTable | SessionsLoadTable
"""A load on a web server as the file gives it."""
HTTP_TABLES: Mapping[str, type[HttpLoadTables]] = by_model(get_args(HttpLoadTables))


def at_rate(load: HttpLoadTables, rate_rps: float, duration_s: float, *, pipeline: int = 1) -> OpenLoadTable:
    """Return the requests of a load at a constant rate, on one connection and without a warm-up."""
    requested = {name: getattr(load, name) for name in HttpLoadTable.model_fields}
    rated = {"model": "open", "rate_rps": rate_rps, "connections": 1, "threads": 1, "calls": load.calls}
    rated |= {"generator": ENGINE_NAME}
    ends = {"duration_s": duration_s, "warmup_s": 0.0, "pipeline": pipeline}
    return OpenLoadTable.model_validate(requested | rated | ends, by_alias=False, by_name=True)


HttpLoad = ClosedLoad | OpenLoad | RecordedLoad | SessionsLoad
"""A complete load on a web server: what the generator does at one point."""
