"""Where a server says that it speaks HTTP/3: its ``Alt-Svc`` (RFC 7838), followed where a load asks so."""

import http.client
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from loadcurve.errors import BadInput, in_words, sentence
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.record import AnnouncedHttp3
from loadcurve.loads.tls import DEFAULT_PORTS
from loadcurve.loads.way import PORT_MAX
from loadcurve.protocol import BY_ALT_SVC, HTTP3
from loadcurve.redaction import own_words
from loadcurve.server.exchange import Asked, answer_within
from loadcurve.server.failure import ServerFailure
from loadcurve.server.quic_port import speaks_quic
from loadcurve.server.transport import Transport
from loadcurve.toml.expected import show

FIELD = "Alt-Svc"
H3 = "h3"
"""HTTP/3 as ALPN names it (RFC 9114, section 3.1)."""
CLEAR = "clear"
"""What a server says that has no alternatives any more."""
MAX_AGE_S = 24 * 60 * 60
"""How long an alternative is good for that does not say it."""
DIGITS_MAX = 10
"""Of numbers: more seconds than these have are centuries, and no port has as many."""
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ALTERNATIVE = re.compile(rf"({_WORD})=({_QUOTED})")
_PARAMETER = re.compile(rf"[ \t]*;[ \t]*({_WORD})=({_WORD}|{_QUOTED})")
_BETWEEN = re.compile(r"[ \t]*(?:,[ \t,]*|$)")
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class Alternative:
    """Where a server says that it can be spoken to as well."""

    protocol: str
    """As ALPN names it, with bytes that no token has as percent signs and two digits."""
    host: str
    """In lower case; empty for the host that says it."""
    port: int
    max_age_s: int = MAX_AGE_S


def alternatives_in(said: str) -> list[Alternative]:
    """Return the alternatives that a field lists, the server's first choice first; "clear" is none at all.

    Raises ``ValueError`` where it is not written as RFC 7838 has it.
    """
    return [] if said.strip(" \t") == CLEAR else [*_alternatives(said)]


def _alternatives(said: str) -> Iterator[Alternative]:
    # A list may have empty elements (RFC 9110, section 5.6.1).
    at = len(said) - len(said.lstrip(" \t,"))
    if at == len(said):
        raise ValueError("it is empty")
    while at < len(said):
        found = _ALTERNATIVE.match(said, at)
        if found is None:
            raise ValueError(f"there is no alternative at {show(said[at:])}")
        host, port = _host_and_port(_text(found[2]))
        alternative = Alternative(found[1], host, port)
        at = found.end()
        while (parameter := _PARAMETER.match(said, at)) is not None:
            at = parameter.end()
            value = _text(parameter[2])
            # Parameters that nobody knows are ignored.
            if parameter[1] == "ma":
                alternative = replace(alternative, max_age_s=_seconds(value))
        behind = _BETWEEN.match(said, at)
        if behind is None:
            raise ValueError(f"there is no end of an alternative at {show(said[at:])}")
        at = behind.end()
        yield alternative


def _text(written: str) -> str:
    """Return what a token or a text in quotes stands for."""
    return _ESCAPED.sub(r"\1", written[1:-1]) if written.startswith('"') else written


def _seconds(value: str) -> int:
    if not _is_number(value):
        raise ValueError(f"ma is {show(value)}")
    return int(value[:DIGITS_MAX])


def _host_and_port(authority: str) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    is_short = _is_number(port) and len(port) <= DIGITS_MAX
    if not colon or not is_short or not 1 <= int(port) <= PORT_MAX:
        raise ValueError(f"{show(authority)} has no port")
    return host.lower(), int(port)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


class Announcement:
    """What one server has said of HTTP/3, for as long as it said; it is asked anew after that."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        """Know nothing yet."""
        self._now_s = now_s
        self._found: tuple[AnnouncedHttp3, int] | None = None
        self._said_at_s = 0.0
        self._times_asked = 0

    def followed_by(self, plan: HttpPlan) -> HttpPlan:
        """Return the plan of a load over HTTP/3 that goes where the server announces it, if the load asks so.

        The server is asked for the first path of the first such load, by HTTP/1.1 over TLS.

        Raises:
            BadInput: the URL is one of clear text.
            ServerFailure: the server does not announce HTTP/3, announces it on another host, or nothing
                speaks QUIC there ("wrong_answer").

        """
        if plan.load.http != BY_ALT_SVC:
            return plan
        if plan.scheme != "https":
            raise BadInput(f'HTTP/3 has no clear text, so that http = "{BY_ALT_SVC}" needs https://')
        found, port = self._fresh(plan)
        return replace(
            plan,
            load=plan.load.model_copy(update={"http": HTTP3}),
            address=found.address,
            other_addresses=tuple(_with_port(other, port) for other in plan.other_addresses),
            announced=found,
        )

    def _fresh(self, plan: HttpPlan) -> tuple[AnnouncedHttp3, int]:
        age_s = self._now_s() - self._said_at_s
        if self._found is not None and age_s < self._found[0].max_age_s:
            found, port = self._found
            return found.model_copy(update={"age_s": age_s}), port
        self._times_asked += 1
        # The time begins before the question, so that it is never longer than the server means.
        self._said_at_s = self._now_s()
        self._found = _announced(plan, self._times_asked)
        return self._found


def following(plan: HttpPlan) -> HttpPlan:
    """Return what :meth:`Announcement.followed_by` does where nothing is known of the server."""
    return Announcement().followed_by(plan)


def _announced(plan: HttpPlan, times_asked: int) -> tuple[AnnouncedHttp3, int]:
    path = plan.alone[0].path if plan.alone else plan.load.paths_to_verify(plan.seed)[0]
    began_s = time.monotonic()
    # What is behind the question mark may be secret.
    request = f"GET {path.partition('?')[0]}"
    said = _said(plan, path, request)
    took_ms = (time.monotonic() - began_s) * 1e3
    alternative = _alternative_in(said, plan, request)
    port = alternative.port
    address = _with_port(plan.address, port)
    host = _host_of(address)
    if not speaks_quic(host, port, plan.load.timeout_s):
        raise _failure(f"{_quoted(said, request)}, but nothing speaks QUIC on UDP port {port} of {host}")
    found = AnnouncedHttp3(
        request=request,
        said=said,
        took_ms=took_ms,
        address=address,
        max_age_s=alternative.max_age_s,
        age_s=0,
        times_asked=times_asked,
    )
    return found, port


def _said(plan: HttpPlan, path: str, request: str) -> str:
    """Ask for a path, and return what the answer says in the field; raises ``ServerFailure``."""
    named = urlsplit(f"//{plan.authority}")
    transport = Transport(plan.scheme, plan.load.tls.trusting(plan.verify))
    try:
        with answer_within(
            plan.load.timeout_s,
            named.hostname or "",
            named.port or DEFAULT_PORTS[plan.scheme],
            Asked(path, headers={"Host": plan.authority}),
            transport,
            address=_host_of(plan.address),
            port_there=plan.address.rpartition(":")[2],
        ) as response:
            return ", ".join(response.headers.get_all(FIELD, []))
    except (OSError, http.client.HTTPException) as error:
        text = f"{request}, which was to tell where HTTP/3 is spoken ({FIELD}), was not answered by "
        text += f"{plan.address}: {in_words(error)}"
        raise _failure(text) from None


def _alternative_in(said: str, plan: HttpPlan, request: str) -> Alternative:
    """Return the first alternative of HTTP/3 on the same host; raises ``ServerFailure``."""
    if not said:
        raise _failure(f"the answer to {request} has no {FIELD}, so that it announces no HTTP/3")
    try:
        listed = alternatives_in(said)
    except ValueError as error:
        text = f"{_quoted(said, request)}, which is not written as RFC 7838 has it: {error}"
        raise _failure(text) from None
    spoken = [one for one in listed if one.protocol == H3 and one.max_age_s > 0]
    if not spoken:
        raise _failure(f"{_quoted(said, request)}, which announces no HTTP/3 ({H3})")
    here = {"", plan.host.lower(), f"[{plan.host.lower()}]"}
    of_host = [one for one in spoken if one.host in here]
    if not of_host:
        other = f"{spoken[0].host}:{spoken[0].port}"
        raise _failure(
            f"{_quoted(said, request)}, which leads to another host, {other}, and a load goes only where its "
            f"URL leads: give the URL of that host, if it may be loaded"
        )
    return of_host[0]


def _quoted(said: str, request: str) -> str:
    return f"the answer to {request} says {FIELD}: {own_words(said)}"


def _failure(text: str) -> ServerFailure:
    return ServerFailure("wrong_answer", sentence(f"{text[0].upper()}{text[1:]}"))


def _host_of(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


def _with_port(address: str, port: int) -> str:
    return f"{address.rpartition(':')[0]}:{port}"
