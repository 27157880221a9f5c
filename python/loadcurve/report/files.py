"""Writing a file of a report, whole or not at all."""

import os
from pathlib import Path

from loadcurve.errors import LoadcurveError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place and move it there, so that nobody ever sees half of it.

    Raises ``LoadcurveError`` where it cannot be written; what was there before stays.
    """
    staged = path.with_name(f".{path.name}.new")
    try:
        staged.write_bytes(data)
        staged.replace(path)
    except OSError as error:
        staged.unlink(missing_ok=True)
        raise LoadcurveError(
            f"the report cannot be written to {path}: {os.strerror(error.errno or 0)}."
        ) from error
