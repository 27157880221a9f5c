"""What compression did to the messages of a load, in words."""

from loadcurve.result.compression import CompressionResult
from loadcurve.units import ABSENT, size


def compression_in_words(compression: CompressionResult) -> str:
    """Say what was agreed on, and how much shorter messages were."""
    lines = [f"{one.extension} on {one.connections:,} WebSockets" for one in compression.agreed]
    if compression.declined:
        lines.append(f"declined by the server on {compression.declined:,} WebSockets")
    for verb, spared in (("sent", compression.sent), ("received", compression.received)):
        if spared.messages:
            sizes = f"{size(spared.compressed_bytes)} for {size(spared.bytes)}"
            lines.append(f"{spared.messages:,} messages {verb} as {sizes}")
    return "\n".join(lines) or ABSENT
