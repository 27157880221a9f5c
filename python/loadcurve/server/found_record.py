"""What records say of a server that was found: the digest of its program, and its container."""

from loadcurve.files import sha256_of
from loadcurve.result.records import ContainerRecord
from loadcurve.server.container.location import InContainer
from loadcurve.server.found import FoundServer


def digest_of(server: FoundServer) -> str | None:
    """Return the digest of a program on this machine; ``None`` where it cannot be read."""
    if isinstance(server.location, InContainer):
        return None
    try:
        return sha256_of(server.binary)
    except OSError:
        return None


def container_record(server: FoundServer) -> ContainerRecord | None:
    """Return the container that a server runs in; ``None`` for one that runs on the machine itself."""
    container = server.location
    if not isinstance(container, InContainer):
        return None
    return ContainerRecord(
        engine=container.engine.name,
        engine_version=container.engine_version,
        image=container.image.name,
        image_id=container.image.id,
        image_digest=container.image.digest,
        network=container.network,
    )
