"""Writing a file of a report, whole or not at all."""

import os
from pathlib import Path

from loadcurve.errors import LoadcurveError
from loadcurve.files import write_whole
from loadcurve.host.own_files import remember_own


def write_own_page(path: Path, page: str) -> None:
    """Write a page as :func:`write_part` does, and remember that it is of our making."""
    content = page.encode()
    write_part(path, content)
    remember_own("pages", content)


def write_part(path: Path, data: bytes) -> None:
    """Write a file of a report as :func:`loadcurve.files.write_whole` does.

    Raises ``LoadcurveError`` where it cannot be written; what was there before stays.
    """
    try:
        write_whole(path, data)
    except OSError as error:
        raise LoadcurveError(
            f"the report cannot be written to {path}: {os.strerror(error.errno or 0)}."
        ) from error
