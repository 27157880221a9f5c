"""The tables of what real servers do by default, of what was measured."""

from docs.generate.markdown import Tables, table

from loadcurve.explain.behaviour import Behaviour, behaviours


def _connections() -> str:
    head = (
        "server", "version", "measured", "requests per connection", "HTTP/1.0 kept", "idle connection ends",
        "connection without a request ends", "pipelined", "segments per answer",
    )  # fmt: skip
    return table(head, (_connection_row(one) for one in behaviours()))


def _connection_row(one: Behaviour) -> tuple[str, ...]:
    return (
        *_which(one),
        one.measured,
        _requests(one),
        "yes" if one.http_1_0_keepalive else "no",
        _ends(one.idle_timeout_s, one.idle_end, one.idle_tried_s),
        _ends(one.fresh_timeout_s, one.fresh_end, one.fresh_tried_s),
        "" if one.pipelined_of_5 is None else f"{one.pipelined_of_5} of 5",
        "" if one.segments_per_answer is None else f"{one.segments_per_answer:g}",
    )


def _which(one: Behaviour) -> tuple[str, str]:
    settings = ", ".join(f'`{name} = "{value}"`' for name, value in one.settings.items())
    return (f"{one.name}, {settings}" if settings else one.name, one.version)


def _requests(one: Behaviour) -> str:
    if not one.keepalive:
        return "1"
    if one.requests_per_connection is not None:
        return f"{one.requests_per_connection:,}, {one.end_of_connection}"
    return f"more than {one.requests_tried:,}"


def _ends(after_s: float | None, how: str | None, tried_s: int | None) -> str:
    if after_s is not None:
        return f"{after_s:.0f} s" if how == "closed" else f"{after_s:.0f} s, status {how}"
    return "" if tried_s is None else f"not within {tried_s} s"


def _limits() -> str:
    head = ("server", "version", "listen backlog", "connections kept at once", "a request on one more")
    return table(head, (_limit_row(one) for one in behaviours()))


def _limit_row(one: Behaviour) -> tuple[str, ...]:
    if one.connections is not None:
        kept = f"{one.connections:,}"
    else:
        kept = "" if one.connections_tried is None else f"{one.connections_tried:,} or more"
    return (*_which(one), f"{one.listen_backlog:,}", kept, one.beyond or "")


def _encrypted() -> str:
    head = (
        "server", "version", "tickets of TLS 1.3", "resumes TLS", "streams of HTTP/2 at once", "GOAWAY after",
    )  # fmt: skip
    return table(head, (_encrypted_row(one) for one in behaviours() if one.resumes_tls or one.http2))


def _encrypted_row(one: Behaviour) -> tuple[str, ...]:
    ended, tried = one.http2_requests_per_connection, one.http2_requests_tried
    if ended is not None:
        goaway = f"{ended:,} requests"
    else:
        goaway = "" if tried is None else f"more than {tried:,} requests"
    streams = "" if one.http2_streams is None else f"{one.http2_streams:,}"
    return (
        *_which(one),
        "" if one.tickets_tls_1_3 is None else str(one.tickets_tls_1_3),
        "" if one.resumes_tls is None else " and ".join(one.resumes_tls) or "no",
        "no limit announced" if one.http2 and not streams else streams,
        goaway,
    )


BEHAVIOUR_TABLES: Tables = {
    "behaviour-connections": _connections,
    "behaviour-limits": _limits,
    "behaviour-encrypted": _encrypted,
}
