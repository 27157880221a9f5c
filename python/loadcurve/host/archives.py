"""Runs as one file, opened: the folder of each is kept with what can be made again, by the file's digest."""

import contextlib
import shutil
from pathlib import Path
from typing import Final

from loadcurve.host.state import cache_folder, forget_old
from loadcurve.result.archive import verified_archive
from loadcurve.result.run_files import ARCHIVE_SUFFIX, is_archive

KEPT_S: Final = 30 * 24 * 3600.0
"""An archive that nobody opens for so long is unpacked anew."""


def opened(path: Path) -> Path:
    """Return the run folder that a path names: itself, or that of an archive, unpacked where it is not yet.

    Raises ``BadInput`` for an archive that cannot be unpacked.
    """
    if not is_archive(path):
        return path
    kept = cache_folder() / "archives"
    # The whole file is read each time: what was changed since is refused, not shown from the copy.
    with verified_archive(path) as archive:
        folder = kept / archive.sha256 / path.name.removesuffix(ARCHIVE_SUFFIX)
        if not folder.is_dir():
            kept.mkdir(mode=0o700, parents=True, exist_ok=True)
            forget_old(kept, KEPT_S, shutil.rmtree)
            archive.unpack(folder)
    with contextlib.suppress(OSError):
        folder.parent.touch()
    return folder
