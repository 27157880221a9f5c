"""The loads on web servers: their models with their keys, as the file gives them and at one point."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PrivateAttr,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from loadcurve._engine import RequestList
from loadcurve.errors import BadInput
from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.loads.rates import RECORDED, Arrivals, OpenArrivals, Rate, RatePerSecond, Speed
from loadcurve.loads.requests import (
    REQUEST_PATH_IN_WORDS,
    REQUEST_PATH_PATTERN,
    LongList,
    encoded_path,
    list_digest,
    open_requests,
    paths_to_verify,
)
from loadcurve.loads.sent import Body, Headers, Method
from loadcurve.loads.table import LoadTable, Swept, attributes
from loadcurve.loads.tls import FullHandshakes, Tls, TlsTable
from loadcurve.loads.values import ENGINE_NAME, PositiveCount, Think
from loadcurve.loads.verification import AnswerRule, Verify
from loadcurve.protocol import HTTP1_1, HTTP2, HttpVersion, has_streams
from loadcurve.toml.expected import Expected, nearest, show
from loadcurve.toml.problems import Problem, own_problem, own_problems
from loadcurve.toml.quantities import SizeBytes
from loadcurve.toml.values import SourceAddresses, Text

REQUESTS_AT_ONCE_MAX = 1024
"""More requests under way on one connection measure its buffers, not its server."""
WINDOW_MAX = 2**31 - 1
"""The largest window of HTTP/2 (RFC 9113)."""
CONNECTION_WINDOW_MIN = 65_535
"""With which every connection of HTTP/2 begins."""
REPLAY_S_MAX = 1e6
"""No replay lasts longer, as no load does."""
SESSIONS_AT_ONCE_MAX = 10_000
"""How many sessions may be open at once where the study does not say."""


def default_sessions_at_once(num_connections: int | None) -> int:
    """Return how many sessions may be open at once where nobody says: all that arrive, up to the maximum."""
    return min(num_connections or SESSIONS_AT_ONCE_MAX, SESSIONS_AT_ONCE_MAX)


def _encoded(path: object) -> object:
    """Refuse a path that would do if it were encoded: which bytes a server expects, others know."""
    if isinstance(path, str) and path.startswith("/") and (encoded := encoded_path(path)) != path:
        raise own_problem(f"found {show(path)}; expected it percent-encoded, {show(encoded)} in UTF-8")
    return path


RequestPath = Annotated[
    str, Field(pattern=REQUEST_PATH_PATTERN), BeforeValidator(_encoded), Expected(REQUEST_PATH_IN_WORDS)
]


def _paths_unless_long(value: object, paths: ValidatorFunctionWrapHandler) -> object:
    return value if isinstance(value, LongList) else paths(value)


def _paths_or_summary(requests: list[str] | LongList) -> object:
    return requests.summary() if isinstance(requests, LongList) else requests


if TYPE_CHECKING:
    Requests = list[str] | LongList
else:
    # To pydantic this is no union: it would report what is wrong with a path once for each member.
    Requests = Annotated[
        list[RequestPath],
        Field(min_length=1),
        WrapValidator(_paths_unless_long),
        PlainSerializer(_paths_or_summary),
        Expected('a list of at least one path, such as ["/1k.txt"], or the name of a file with paths'),
    ]
Weights = Annotated[
    list[Annotated[float, Field(ge=0), Expected("a number of 0 or more")]],
    Expected("a list of numbers, one per request"),
]
Pipeline = Annotated[
    int,
    Field(ge=1, le=REQUESTS_AT_ONCE_MAX),
    Expected(f"a whole number of requests from 1 to {REQUESTS_AT_ONCE_MAX}"),
]
Streams = Annotated[
    int,
    Field(ge=1, le=REQUESTS_AT_ONCE_MAX),
    Expected(f"a whole number of streams from 1 to {REQUESTS_AT_ONCE_MAX}"),
]
StreamWindow = Annotated[
    SizeBytes, Field(ge=1, le=WINDOW_MAX), Expected('a size of less than 2 GiB, such as "64KiB"')
]
ConnectionWindow = Annotated[
    SizeBytes,
    Field(ge=CONNECTION_WINDOW_MIN, le=WINDOW_MAX),
    Expected('a size from 65,535 bytes to less than 2 GiB, such as "1MiB"'),
]


class HttpLoadTable(LoadTable):
    """The keys of every load on web servers."""

    kind: ClassVar[LoadKind] = WEB

    requests: Requests
    """The paths that are requested, or a file of them, one a line."""
    pick: Literal["in-order", "random", "weighted"] = "in-order"
    """In which order the paths are taken."""
    weights: Weights | None = None
    """One for each request; only with `pick = "weighted"`."""
    method: Method = "GET"
    """The method of the requests."""
    headers: Headers = Field(default_factory=dict)
    """Header fields of the requests; a list is several of one name."""
    body: Body = ""
    """The body of the requests: a text, or `@` and the name of a file."""
    http: HttpVersion = HTTP1_1
    """The version of HTTP; 2 over TLS, or in clear text with servers that are known to speak it."""
    hpack: Literal["indexed", "literal"] | None = None
    """With HTTP/2: header fields refer to those sent before ("indexed", the default), or are written out in
    each request.
    """
    stream_window_bytes: StreamWindow | None = Field(None, alias="stream_window")
    """With HTTP/2: how much of an answer the server may send before the window is enlarged; 1 GiB unless
    set.
    """
    connection_window_bytes: ConnectionWindow | None = Field(None, alias="connection_window")
    """The same of all answers on a connection together."""
    verify: Verify = "content"
    """How each answer is verified: as the file of the content, whose length the load then checks, too; by
    status 200 alone; or by a pattern that its text must match, which changing texts require.
    """
    tls: Tls = Field(default_factory=TlsTable)
    """Settings of the TLS handshakes, if the server speaks TLS."""
    full_handshakes: FullHandshakes = 1.0
    """The share of the TLS connections that begin a session; the others resume an earlier one."""
    source_addresses: SourceAddresses = Field(default_factory=list)
    """Addresses of the client's machine from which connections come in turn, as from many clients: each has
    all local ports, and counts as one client for the server's limits. Unless set, the kernel chooses.
    """
    generator: Text = ENGINE_NAME
    """What sends the load: our own engine, or another tool by its name in `loadcurve generators`."""
    threads: PositiveCount | None = None
    """Sending threads; one for each load CPU, but at most the connections, unless it is given."""

    _places: tuple[str, ...] = PrivateAttr(())

    @property
    @abstractmethod
    def complete(self) -> "type[HttpLoad]":
        """Its type at one point."""

    @property
    def sending_threads(self) -> int | None:
        """How many of the generator's threads send it; ``None`` where it does not say."""
        return self.threads

    @property
    def request_places(self) -> tuple[str, ...]:
        """Where each request is in a file of requests, as ``file:line``; empty without such a file."""
        return self._places

    def paths_to_verify(self, seed: int) -> list[str]:
        """Return the paths of the requests; of a long list, those that ``seed`` picks.

        Raises:
            BadInput: the file of the list has changed since it was read.

        """
        return paths_to_verify(self.requests, seed)

    def expected_statuses(self, paths: Sequence[str]) -> dict[str, frozenset[int]]:
        """Return the statuses that a file of requests expects of these paths, where it expects any.

        Raises:
            BadInput: the file of the list has changed since it was read.

        """
        return self.requests.statuses_of(paths) if isinstance(self.requests, LongList) else {}

    @property
    def answer_rule(self) -> AnswerRule:
        """What its answers must be."""
        return self.verify

    def problems_of_content(self, files: Collection[str] | None) -> Iterator[Problem]:
        """Yield the requests that ask for none of the files, where answers are compared with these."""
        if files is None or self.verify != "content" or isinstance(self.requests, LongList):
            return
        paths = [f"/{name}" for name in files]
        for index, request in enumerate(self.requests):
            path, _, _ = request.partition("?")
            if path not in paths:
                place = f"{self.request_places[index]}: " if self.request_places else ""
                text = f"found {show(request)}, which is not in [content]; expected one of {', '.join(paths)}"
                yield Problem(("load", "requests", str(index)), place + text + nearest(path, paths))

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from self._endings(at)
        yield from self._idle_threads(at)
        yield from self._weights()
        yield from self._other_version(at)

    def _idle_threads(self, at: Swept) -> Iterator[Problem]:
        """Check that every thread has a connection at every point."""
        threads, connections = at.values("threads"), self._connections_at(at)
        if threads and connections and max(threads) > min(connections):
            text = f"found {max(threads)}; expected no more threads than connections; the lowest point has "
            yield Problem(at.place("threads"), f"{text}{min(connections)}")

    def _other_version(self, at: Swept) -> Iterator[Problem]:
        """Check that what belongs to one version of HTTP is not asked of another."""
        keys = attributes(type(self))
        if has_streams(self.http):
            if "pipeline" in keys and max(at.values("pipeline")) > 1:
                text = "cannot be combined with HTTP/2, which has no pipeline; expected streams"
                yield Problem(at.place("pipeline"), text)
            return
        for key in ("streams", "hpack", "stream_window", "connection_window"):
            if key in keys and (key in at.sweep or at.gives(key)):
                yield Problem(
                    at.place(key), f"only used over HTTP/2; set http to {HTTP2} as well, or remove it"
                )

    def _connections_at(self, at: Swept) -> Sequence[int | float]:
        """Return how many connections are known to be open at the points."""
        return at.values("connections")

    def _weights(self) -> Iterator[Problem]:
        place = ("load", "weights")
        requests = self.requests
        if isinstance(requests, LongList):
            if self.pick == "weighted" and not requests.listed.has_weights:
                text = f'no line of {requests.file} has a weight; pick = "weighted" requires weights'
                yield Problem(("load", "requests"), text)
        elif self.weights is None:
            if self.pick == "weighted":
                yield Problem(place, 'missing; pick = "weighted" requires one weight per request')
        elif self.pick != "weighted":
            yield Problem(place, 'only used with pick = "weighted"; set both, or remove the weights')
        elif len(self.weights) != len(requests):
            text = f"found {len(self.weights)} weights; expected {len(requests)}, one per request"
            yield Problem(place, text)
        elif sum(self.weights) == 0:
            yield Problem(place, "all weights are 0; expected at least one above 0")

    @model_validator(mode="wrap")
    @classmethod
    def _with_requests_of_file(
        cls, data: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if not isinstance(data, dict) or not isinstance(name := data.get("requests"), str):
            return handler(data)
        file = Path(info.context["folder"] if info.context else "", name)
        listed = _opened(file)
        _require_one_use_of_weights(file, listed, data)
        if data.get("arrivals") == RECORDED:
            return handler(data | {"requests": _recorded(file, listed)})
        if listed.short is None or listed.has_statuses:
            return handler(data | {"requests": LongList(file, listed)})
        weights = [1.0 if weight is None else weight for _, weight, _ in listed.short]
        own_weights = {"weights": weights} if listed.has_weights else {}
        load = handler(data | {"requests": [path for path, _, _ in listed.short]} | own_weights)
        load._places = tuple(f"{file}:{line}" for _, _, line in listed.short)  # noqa: SLF001 -- its own class
        return load


def _opened(file: Path) -> RequestList:
    try:
        return open_requests(file)
    except BadInput as error:
        lines = enumerate(str(error).splitlines())
        raise own_problems([Problem(("requests", str(index)), line) for index, line in lines]) from None


def _recorded(file: Path, listed: RequestList) -> LongList:
    try:
        return LongList(file, listed, list_digest(file))
    except BadInput as error:
        raise own_problems([Problem(("requests",), str(error))]) from None


def _require_one_use_of_weights(file: Path, listed: RequestList, data: Mapping[str, object]) -> None:
    """Refuse weights in two places, or where nothing uses them."""
    if "weights" in data and listed.has_weights:
        text = f"set here and in {file}; keep one of the two"
        raise own_problems([Problem(("weights",), text)])
    if "weights" in data and (listed.short is None or listed.has_statuses):
        text = f"given for the {listed.count} requests of {file}; put the weights into that file"
        raise own_problems([Problem(("weights",), text)])
    if listed.has_weights and data.get("pick") != "weighted":
        text = f'{file} has weights, which require pick = "weighted"; set it, or remove the weights'
        raise own_problems([Problem(("pick",), text)])


class ClosedLoadTable(HttpLoadTable):
    """A closed loop as the file gives it: what is swept is still ``None``."""

    counted_end: ClassVar[str] = "requests_total"

    model: Literal["closed"]
    connections: PositiveCount | None = None
    """How many connections are kept open."""
    requests_total: PositiveCount | None = None
    """Ends the load after this many requests, instead of `duration`."""
    pipeline: Pipeline = 1
    """Requests under way at once on a connection."""
    streams: Streams = 1
    """The same with HTTP/2, whose answers come in any order."""
    calls: PositiveCount | None = None
    """Requests after which a connection is closed; it is kept open unless this is given."""
    think_s: Think = Field(0.0, alias="think")
    """How long a client pauses after each answer; not with a pipeline or streams."""

    @property
    def complete(self) -> "type[ClosedLoad]":
        """Its type at one point."""
        return ClosedLoad

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from super()._problems_of_model(at)
        yield from self._thinking_in_a_pipeline(at)

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


class OpenLoadTable(HttpLoadTable):
    """An open loop as the file gives it: what is swept is still ``None``."""

    counted_end: ClassVar[str] = "requests_total"

    model: Literal["open"]
    rate_rps: RatePerSecond | None = Field(None, alias="rate")
    """Requests per second; the clock of its stretches starts with the warm-up."""
    arrivals: OpenArrivals = "constant"
    """How arrivals are spread in time; `"recorded"` sends each request of a list at its own time, without a
    rate."""
    speed: Speed | None = None
    """Only with recorded arrivals: how many times as fast as recorded; 1 unless it is given."""
    connections: PositiveCount | None = None
    """How many connections are kept open."""
    requests_total: PositiveCount | None = None
    """Ends the load after this many requests, instead of `duration`."""
    pipeline: Pipeline = 1
    """Requests under way at once on a connection."""
    streams: Streams = 1
    """The same with HTTP/2, whose answers come in any order."""
    calls: PositiveCount | None = None
    """Requests after which a connection is closed; it is kept open unless this is given."""

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
    connection_rate_cps: RatePerSecond | None = Field(None, alias="connection_rate")
    """Connections per second; the clock of its stretches starts with the warm-up."""
    arrivals: Arrivals = "constant"
    """How arrivals are spread in time."""
    connections_total: PositiveCount | None = Field(None, alias="num_connections")
    """Ends the load after this many connections, instead of `duration`."""
    calls: PositiveCount = 1
    """Requests after which a connection is closed."""
    pipeline: Pipeline = Field(1, alias="burst")
    """Requests that are written together and answered before the next; at most `calls`."""
    think_s: Think = Field(0.0, alias="think")
    """How long a client pauses between two bursts."""
    connections: PositiveCount | None = None
    """How many may be open at once; `num_connections`, at most 10,000, unless it is given."""

    @property
    def complete(self) -> "type[SessionsLoad]":
        """Its type at one point."""
        return SessionsLoad

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from super()._problems_of_model(at)
        yield from self._bursts_without_calls(at)

    def _connections_at(self, at: Swept) -> Sequence[int | float]:
        return super()._connections_at(at) or at.values("num_connections")

    def _bursts_without_calls(self, at: Swept) -> Iterator[Problem]:
        """Check that every connection makes enough calls for its bursts."""
        burst, calls = max(at.values("burst")), min(at.values("calls"))
        if burst > calls:
            text = f"found {burst}; expected no more than the calls per connection; the lowest point has "
            yield Problem(at.place("burst"), f"{text}{calls}")


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


def at_rate(load: HttpLoadTables, rate_rps: float, duration_s: float, *, pipeline: int = 1) -> OpenLoadTable:
    """Return the requests of a load at a constant rate, on one connection and without a warm-up."""
    requested = {name: getattr(load, name) for name in HttpLoadTable.model_fields}
    rated = {"model": "open", "rate_rps": rate_rps, "connections": 1, "threads": 1, "calls": load.calls}
    rated |= {"generator": ENGINE_NAME}
    ends = {"duration_s": duration_s, "warmup_s": 0.0, "pipeline": pipeline}
    return OpenLoadTable.model_validate(requested | rated | ends, by_alias=False, by_name=True)


HttpLoad = ClosedLoad | OpenLoad | RecordedLoad | SessionsLoad
"""A complete load on a web server: what the generator does at one point."""
