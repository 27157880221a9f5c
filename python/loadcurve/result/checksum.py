r"""Checksums of JSON objects: what a disk, a copy or an editor has changed is found.

The last member of a sealed object is ``"sha256"``, in hexadecimal digits: the SHA-256 of all bytes before the
comma that precedes it. Other tools check a line so::

    sed -n 3p trials.jsonl | sed 's/,"sha256":"[0-9a-f]*"}$//' | tr -d '\n' | sha256sum

It shows accidents; whoever changes an object on purpose can seal it again.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Literal

_SEAL = re.compile(rb',\s*"sha256":\s*"([0-9a-f]{64})"\s*\}\s*\Z')
_DIGEST = re.compile("[0-9a-f]{64}")
_SEAL_BYTES_MAX = 128
"""More than a seal takes, with the spaces of an indented object."""


@dataclass(frozen=True, slots=True)
class Unsealed:
    """An object without its checksum, and whether it is the one that was sealed."""

    content: bytes
    state: Literal["intact", "changed", "without"]
    """``without``: it has no checksum, as those of older versions."""


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def is_digest(value: object) -> bool:
    """Say whether a value is a SHA-256 in hexadecimal digits, by its form."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def sealed(text: str) -> bytes:
    """Return a JSON object of at least one member, with its checksum; it may be indented, by two spaces."""
    content = text.encode()
    is_indented = content.startswith(b"{\n")
    content = content.removesuffix(b"\n}" if is_indented else b"}")
    member = ',\n  "sha256": "{}"\n}}' if is_indented else ',"sha256":"{}"}}'
    return content + member.format(digest(content)).encode()


def unsealed(data: bytes) -> Unsealed:
    """Return an object without its checksum, and what that shows; the bytes need not be JSON."""
    begin = max(0, len(data) - _SEAL_BYTES_MAX)
    found = _SEAL.search(data, begin)
    if found is None:
        return Unsealed(data, "without")
    content = data[: found.start()]
    is_intact = digest(content) == found[1].decode()
    return Unsealed(content + b"}", "intact" if is_intact else "changed")


def with_checksum(schema: dict[str, Any]) -> None:
    """Add the checksum to the schema of an object that is written with one."""
    schema["properties"]["sha256"] = {
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
        "description": "The SHA-256 of the bytes before the comma that precedes this member, the last one.",
    }
