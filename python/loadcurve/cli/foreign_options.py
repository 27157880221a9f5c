"""Options of other load generators, by what does the same here: their users type them in the first hour."""

from collections.abc import Mapping
from typing import Final

_BODY: Final = "--body TEXT, or --body @FILE"
_RATE: Final = "-R, the rate"
_ALWAYS: Final = "nothing: percentiles are always printed"

_CHECK: Final = '"loadcurve studies check STUDY", which says what would run and how long it takes'

OF_A_LOAD: Final = {
    "--data": _BODY,
    "--data-binary": _BODY,
    "--data-raw": _BODY,
    "-D": "--body @FILE",
    "-k": "--insecure as in curl; connections are kept open anyway, as by ab -k",
    "-L": _ALWAYS,
    "--latency": _ALWAYS,
    "-q": _RATE,
    "--qps": _RATE,
    "--rps": _RATE,
    "--slo": '"loadcurve capacity URL --slo LIMITS", which searches for the load up to which they hold',
    "-r": _RATE,
    "-u": "-c, the connections",
    "--vus": "-c, the connections",
    "-z": "-d, the duration",
}
"""By the option of ab, curl, hey, k6, oha, vegeta or wrk that ``loadcurve load`` has by another name."""
INSTEAD: Final[Mapping[str, Mapping[str, str]]] = {
    "load": OF_A_LOAD,
    "run": {"--check": _CHECK, "--dry-run": _CHECK},
}


def instead_of(command: str, option: str) -> str | None:
    """Return what to type in place of an option that other tools have; ``None`` where it is not known."""
    return INSTEAD.get(command, {}).get(option)


def is_body(given: object) -> bool:
    """Say whether what was given for something else is a body: ``-d`` gives one to curl and hey."""
    return isinstance(given, str) and given.lstrip()[:1] in {"{", "[", "@"}
