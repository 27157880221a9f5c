"""What an agent answers about servers on its machine, see :mod:`loadcurve.server.agent_role`.

A model for each answer: a machine that answers something else is lost, and nothing of it is used.
"""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, TypeAdapter

from loadcurve.host.fitness import Check
from loadcurve.loads.tls import Scheme
from loadcurve.machines.channel import FarError
from loadcurve.machines.far_call import NOTHING, Answer, FarCall, FarRecord, Line, Port, Text, read
from loadcurve.machines.messages import BadMessage
from loadcurve.protocol import HttpVersion
from loadcurve.result.link import InterfaceRecord, InterfaceUse
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import ContainerRecord, LimitUse
from loadcurve.server.failure import FailureCode
from loadcurve.server.settings import UnsupportedVersion, UnusableSetting

BUILDING_LIMIT_S: Final = 4 * 3600.0
"""How long finding a server or starting one may take: it may be built there, or its image fetched."""
Cpus = Annotated[list[Annotated[int, Field(ge=0, lt=1 << 16)]], Field(min_length=1, max_length=1 << 16)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Value = bool | int | float | Line


class Facts(FarRecord):
    """What kind of machine it is: what is read of that here, and what records keep besides."""

    model_config = ConfigDict(frozen=True, extra="allow")

    cpu_model: Line | None = None
    kernel: Line
    memory_bytes: Annotated[int, Field(ge=0, lt=1 << 62)]
    operating_system: Line | None = None


class Prepared(FarRecord):
    """A machine on which servers can be started."""

    facts: Facts
    cpus: Cpus
    cleaned: list[Text]
    """What was done about servers of killed runs, in sentences."""
    others: list[Line]
    """Who measures there now."""


class Fault(FarRecord):
    """Why a server that is there cannot be used."""

    code: FailureCode
    text: Text
    log_tail: Text


class Missing(FarRecord):
    """A server that is not there."""

    reason: Text
    install: Line | None
    fault: Fault | None


class Found(FarRecord):
    """A server that is there."""

    version: Line
    binary: Line
    binary_sha256: Digest | None
    container: ContainerRecord | None


class Looked(FarRecord):
    """What came of looking for a server: one of the two."""

    missing: Missing | None = None
    found: Found | None = None


class FarTransport(FarRecord):
    """How a web server is spoken to."""

    scheme: Scheme
    http_versions: Annotated[frozenset[HttpVersion], Field(min_length=1)]
    authority: Annotated[str, Field(pattern=r"^[\x00-\x7f]*$", max_length=1 << 20)] | None
    """In PEM, whose certificates its clients trust."""


class FarStart(FarRecord):
    """A server that was started."""

    server: Annotated[int, Field(gt=0, lt=1 << 62)]
    """Its number, by which it is asked for."""
    port: Port
    url: Line
    settings: dict[Line, Value]
    configuration: dict[Line, Text]
    transport: FarTransport


class Observed(FarRecord):
    """What was seen of a server and of its link in a window."""

    probe: ProbeRecord
    link: InterfaceUse | None


class ServerFault(FarRecord):
    """What an agent adds to the failure of a server."""

    code: FailureCode
    log_tail: Text = ""


class SettingFault(FarRecord):
    """What an agent adds where a setting cannot be used."""

    setting: Line
    unsupported: "Unsupported | None" = None
    """Where it is the version of the server that cannot have it."""


class Unsupported(FarRecord):
    """Which settings a version cannot have, and why, in words."""

    what: Text
    reason: Text


SAID: Final[TypeAdapter[Any]] = TypeAdapter(Text)
PREPARE: Final = FarCall("servers.prepare", TypeAdapter(Prepared))
KNOCK: Final = FarCall("servers.knock", TypeAdapter(InterfaceRecord | None), TypeAdapter(Port))
INSTALLED: Final = FarCall("servers.installed", TypeAdapter(Line | None))
FITNESS: Final = FarCall("servers.fitness", TypeAdapter(list[Check]))
HAS: Final = FarCall("servers.has", TypeAdapter(bool))
PUT: Final = FarCall("servers.put", NOTHING)
SEAL: Final = FarCall("servers.seal", NOTHING)
FIND: Final = FarCall("servers.find", TypeAdapter(Looked), SAID, BUILDING_LIMIT_S)
START: Final = FarCall("servers.start", TypeAdapter(FarStart), SAID, BUILDING_LIMIT_S)
WATCH: Final = FarCall("servers.watch", NOTHING, limit_s=None)
STOP: Final = FarCall("servers.stop", NOTHING)
RAISE_IF_EXITED: Final = FarCall("servers.raise_if_exited", NOTHING)
LIMIT_USE: Final = FarCall("servers.limit_use", TypeAdapter(LimitUse | None))
LOG_TAIL: Final = FarCall("servers.log_tail", TypeAdapter(Text))
PROBE: Final = FarCall("servers.probe", NOTHING)
LEAVE_PROBE: Final = FarCall("servers.leave_probe", NOTHING)
OBSERVED: Final = FarCall("servers.observed", TypeAdapter(Observed))
_SERVER_FAULT, _SETTING_FAULT = TypeAdapter(ServerFault), TypeAdapter(SettingFault)


def server_fault(error: FarError) -> ServerFault | None:
    """Return what an error says of a server; ``None`` where it says nothing, or nothing that is known."""
    return _details(error, "server_failure", _SERVER_FAULT)


def setting_fault(error: FarError) -> UnusableSetting | None:
    """Return the error of a setting as it would be raised here; ``None`` likewise."""
    fault = _details(error, "unusable_setting", _SETTING_FAULT)
    if fault is None:
        return None
    if fault.unsupported is None:
        return UnusableSetting(fault.setting, error.text)
    return UnsupportedVersion(fault.setting, fault.unsupported.what, fault.unsupported.reason)


def _details(error: FarError, kind: str, adapter: TypeAdapter[Answer]) -> Answer | None:
    if error.kind != kind:
        return None
    try:
        return read(kind, adapter, dict(error.details))
    except BadMessage:
        return None
