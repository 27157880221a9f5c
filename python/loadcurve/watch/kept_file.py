"""A file in the folder of a run under way, for whoever follows it, which is gone when the run has ended."""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class KeptFile:
    """A file of a run under way, as a context manager: it is gone behind the block.

    It is a convenience for others, so a file that cannot be written is no reason to end a run.
    """

    def __init__(self, path: Path) -> None:
        """Prepare the file in a run folder, which need not exist before the first write."""
        self._path = path
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        """Begin; nothing is written yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the file, if there is one."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
