"""Options of other load generators, by what does the same here: their users type them in the first hour."""

from collections.abc import Mapping
from typing import Final

_BODY: Final = "--body TEXT, or --body @FILE"
_RATE: Final = "-R, the rate"
_ALWAYS: Final = "nothing: percentiles are always printed"
_ANY_CERTIFICATE: Final = "--insecure"
_CLOSES: Final = "--calls 1: each request opens a connection"
_CONNECTIONS: Final = "-c, the connections"
_CONNECT_TO: Final = "--connect-to HOST:PORT"
_COOKIE: Final = "-H 'Cookie: NAME=VALUE'"
_DURATION: Final = "-d, the duration"
_METHOD: Final = "-X, the method"
_NUMBER: Final = "-n, the number of requests"
_TIMEOUT: Final = "--timeout"
_USER_AGENT: Final = "-H 'User-Agent: NAME'"

_CHECK: Final = '"loadcurve studies check STUDY", which says what would run and how long it takes'

OF_A_LOAD: Final = {
    "-A": _USER_AGENT,
    "-b": _COOKIE,
    "--clients": _CONNECTIONS,
    "--concurrency": _CONNECTIONS,
    "--connect-timeout": _TIMEOUT,
    "--cookie": _COOKIE,
    "-D": "--body @FILE",
    "--data": _BODY,
    "--data-binary": _BODY,
    "--data-raw": _BODY,
    "--disable-keepalive": _CLOSES,
    "--http1.1": "--http 1.1",
    "--http2": "--http 2",
    "--http3": "--http 3",
    "-i": _NUMBER,
    "--insecure-skip-tls-verify": _ANY_CERTIFICATE,
    "--iterations": _NUMBER,
    "-k": "--insecure as in curl; connections are kept open anyway, as by ab -k",
    "-L": _ALWAYS,
    "--latency": _ALWAYS,
    "-m": "--method as in hey, or --streams as in h2load",
    "--max-time": _TIMEOUT,
    "--no-keepalive": _CLOSES,
    "--no-verify": _ANY_CERTIFICATE,
    "-q": _RATE,
    "--qps": _RATE,
    "-r": _RATE,
    "--request": _METHOD,
    "--resolve": _CONNECT_TO,
    "--rps": _RATE,
    "--skip-tls-verify": _ANY_CERTIFICATE,
    "--slo": '"loadcurve capacity URL --slo LIMITS", which searches for the load up to which they hold',
    "--targets": "--urls FILE",
    "--think-time": "--think",
    "--time": _DURATION,
    "-u": _CONNECTIONS,
    "--user": "-H 'Authorization: Basic …', or --header-env, which keeps it out of lists of processes",
    "--user-agent": _USER_AGENT,
    "--vus": _CONNECTIONS,
    "-z": _DURATION,
}
"""By the option of ab, curl, hey, k6, oha, vegeta or wrk that ``loadcurve load`` has by another name."""
INSTEAD: Final[Mapping[str, Mapping[str, str]]] = {
    "load": OF_A_LOAD,
    "run": {"--check": _CHECK},
}


def instead_of(command: str, option: str) -> str | None:
    """Return what to type in place of an option that other tools have; ``None`` where it is not known."""
    return INSTEAD.get(command, {}).get(option)


def is_body(given: object) -> bool:
    """Say whether what was given for something else is a body: ``-d`` gives one to curl and hey."""
    return isinstance(given, str) and given.lstrip()[:1] in {"{", "[", "@"}
