"""Which options a load cannot have, by what their rows say of HTTP, of messages and of other options."""

from collections.abc import Iterator

from loadcurve.loads.option import NotOver, NotWith, OfMessages, OnlyOver, said_of
from loadcurve.loads.table import Swept, attributes
from loadcurve.protocol import GRPC, WEBSOCKET, AskedHttp, Messages, http_family
from loadcurve.toml.problems import Problem


def problems_of_combinations(at: Swept, http: AskedHttp, messages: Messages | None) -> Iterator[Problem]:
    """Yield the given options that a load of this version of HTTP and of these messages cannot have."""
    for key, name in attributes(type(at.load)).items():
        if at.gives(key) or key in at.sweep:
            for text in (
                *_of_messages(at, key, name, messages),
                *_over(at, name, http),
                *_not_over(at, key, name, http),
                *_not_with(at, key, name),
            ):
                yield Problem(at.place(key), text)


def _of_messages(at: Swept, key: str, name: str, messages: Messages | None) -> Iterator[str]:
    for said in said_of(type(at.load), name, OfMessages):
        only = "only used with messages = " + " or ".join(f'"{kind}"' for kind in said.kinds)
        if messages is None:
            yield f"{only}; set it as well, or remove it"
        elif messages not in said.kinds:
            sent = "; body is what a WebSocket sends" if (key, messages) == (GRPC, WEBSOCKET) else ""
            yield f'{only}, and this load has "{messages}"; remove it{sent}'


def _over(at: Swept, name: str, http: AskedHttp) -> Iterator[str]:
    family = http_family(http)
    for said in said_of(type(at.load), name, OnlyOver):
        if family in said.versions:
            continue
        named = " and ".join(f"HTTP/{one}" for one in said.versions)
        since = f", since {said.reasons[family]}" if family in said.reasons else ""
        too = "" if at.gives("http") else " as well"
        yield f"only used over {named}{since}; set http to {' or '.join(said.versions)}{too}, or remove it"


def _not_over(at: Swept, key: str, name: str, http: AskedHttp) -> Iterator[str]:
    for said in said_of(type(at.load), name, NotOver):
        if http in said.versions and not _has_default(at, key, name):
            yield f'cannot be combined with http = "{http}", {said.words}'


def _not_with(at: Swept, key: str, name: str) -> Iterator[str]:
    for said in said_of(type(at.load), name, NotWith):
        other = next((one for one in said.keys if getattr(at.load, one) is not None), None)
        if other is not None and not _has_default(at, key, name):
            yield f"cannot be combined with {other}{said.words}"


def _has_default(at: Swept, key: str, name: str) -> bool:
    """Whether an option has its default at every point."""
    default = type(at.load).model_fields[name].get_default(call_default_factory=True)
    return all(value == default for value in at.values(key))
