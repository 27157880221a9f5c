"""What is asked of another machine for a server, in a form that travels as JSON and is understood there."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadcurve.host.cgroups import Limits
from loadcurve.host.credits import Burst
from loadcurve.redaction import remember
from loadcurve.server.found import Overrides, ReadyQuestion
from loadcurve.server.location import Location
from loadcurve.server.transport import Transport
from loadcurve.study.container import ContainerTable
from loadcurve.toml.secret import SecretText

Json = dict[str, Any]


def asked_for(
    entry: str, catalog: str | None, settings: Mapping[str, Any], overrides: Overrides, table: ContainerTable
) -> Json:
    """Return what is asked for: an entry of the catalogue, or of a folder's by its digest, and the rest."""
    return {
        "entry": entry,
        "catalog": catalog,
        "settings": dict(settings),
        "binary": None if overrides.binary is None else str(overrides.binary),
        "url": overrides.url,
        "start": overrides.start and [*overrides.start],
        "version": overrides.version,
        "version_command": overrides.version_command and [*overrides.version_command],
        "environment": {
            name: {"text": value.text, "source": value.source and dict(value.source)}
            for name, value in overrides.environment.items()
        },
        "user": overrides.user,
        "ready": overrides.ready and dataclasses.asdict(overrides.ready),
        "limits": _limits_as_json(overrides.limits),
        "container": table.model_dump(mode="json", include=set(ContainerTable.model_fields)),
    }


def _limits_as_json(limits: Limits) -> Json:
    """Return limits without what is left of credits here: the machine there keeps its own account."""
    found = dataclasses.asdict(limits)
    if found["burst"] is not None:
        del found["burst"]["left"]
    return found


def container_of(asked: Mapping[str, Any]) -> ContainerTable:
    """Return how the server that is asked for is to run in a container, if it is."""
    given = {key: value for key, value in asked["container"].items() if value is not None}
    return ContainerTable.model_validate(given if "engine" in given else {})


def overrides_of(asked: Mapping[str, Any], location: Location) -> Overrides:
    """Return what is asked for besides the settings, for a server at this place."""
    limits = dict(asked["limits"])
    burst = limits.pop("burst")
    return Overrides(
        binary=None if asked["binary"] is None else Path(asked["binary"]),
        url=asked["url"],
        start=asked["start"],
        version=asked["version"],
        version_command=asked["version_command"],
        environment={name: _secret_text(**value) for name, value in asked["environment"].items()},
        user=asked["user"],
        ready=asked["ready"] and ReadyQuestion(**asked["ready"]),
        limits=Limits(**limits, burst=None if burst is None else Burst(**burst)),
        location=location,
    )


def _secret_text(text: str, source: Mapping[str, str] | None) -> SecretText:
    """Return the value of a variable, which is a secret here, too, where it came from elsewhere there."""
    if source is not None:
        remember(text)
    return SecretText(text, source)


def transport_as_json(transport: Transport) -> Json:
    """Return how a web server is spoken to, with the text of the authority that its clients trust."""
    is_encrypted = transport.is_encrypted
    return {
        "scheme": transport.scheme,
        "http_versions": sorted(transport.http_versions),
        "authority": Path(str(transport.tls.verify)).read_text(encoding="ascii") if is_encrypted else None,
    }
