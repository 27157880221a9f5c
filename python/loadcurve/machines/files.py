"""Files on their way to another machine: in parts, so that neither side holds a whole one in its messages."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from loadcurve.errors import BadInput, refusal
from loadcurve.files import sha256_of

PART_BYTES: Final = 1 << 20


def parts_of(file: Path) -> Iterator[str]:
    """Yield what a file holds as texts, of which there is at least one; raises OSError."""
    with file.open("rb") as stream:
        part = stream.read(PART_BYTES)
        while True:
            yield base64.b64encode(part).decode()
            if not (part := stream.read(PART_BYTES)):
                return


def digest_of(file: Path) -> str:
    """Return the SHA-256 of what a file holds; raises BadInput where it cannot be read."""
    try:
        return sha256_of(file)
    except OSError as error:
        raise BadInput(f"{file}: {refusal(error)}") from None


class FilesInMemory:
    """Files that came from the near side, by digest. They have no name here, and go with the process.

    So whatever ends it, nothing is left, and a private key never lies on a disk.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._whole: dict[str, int] = {}
        self._coming: dict[str, int] = {}

    def put(self, digest: str, data: str) -> None:
        """Append a part to the file of this digest."""
        if digest not in self._coming:
            self._coming[digest] = os.memfd_create(f"loadcurve-{digest[:16]}")
        part = memoryview(base64.b64decode(data))
        while part:
            part = part[os.write(self._coming[digest], part) :]

    def seal(self, digest: str) -> None:
        """Compare what came with its digest; raises BadInput where it is something else."""
        descriptor = self._coming.pop(digest)
        found = digest_of(_place(descriptor))
        if found != digest:
            os.close(descriptor)
            raise BadInput(f"a file arrived damaged: found {found}, expected {digest}")
        self._whole[digest] = descriptor

    def path(self, digest: str) -> str:
        """Return where this process can open a whole file; raises KeyError where it has not arrived."""
        return str(_place(self._whole[digest]))


def _place(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}")
