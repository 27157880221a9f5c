"""The private folder of one start: the rendered configuration, and everything that the server writes."""

import contextlib
import grp
import os
import pwd
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.description import CONSOLE_LOG, SCRATCH_FOLDER

UNPRIVILEGED_USER = "nobody"


class PlaceholderPort(int):
    """A port that is written as ``{port}``: what a template computes with it stays a number."""

    def __str__(self) -> str:
        """Return the placeholder."""
        return "{port}"


RECORDED_NAMES: Mapping[str, object] = {
    "port": PlaceholderPort(),
    "private": "{folder}",
    "scratch": f"{{folder}}/{SCRATCH_FOLDER}",
    "content": "{content}",
}
"""What every start has anew is recorded as placeholders, so that configurations of runs compare."""
LOG_END_BYTES = 64 * 1024
"""How much of the end of a log is read, enough for any number of lines that a person would read."""


def unprivileged_names(candidates: Sequence[str] | None) -> dict[str, str | None]:
    """Return ``user`` and ``group`` that a server of root's must become; ``None`` for an ordinary user's.

    That is the first of the candidates that the system knows, or the user ``nobody``.

    Raises ``BadInput``: this is root's process, and the system has no such user.
    """
    if os.geteuid() != 0:
        return {"user": None, "group": None}
    names = candidates or [UNPRIVILEGED_USER]
    for name in names:
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_name, "group": grp.getgrgid(user.pw_gid).gr_name}
    raise BadInput(
        f"A server that root starts must become the user `{'` or `'.join(names)}`, and the system has no "
        "such user or not its group; start the command as an ordinary user."
    )


def write_private_folder(folder: Path, entry: CatalogEntry, names: Mapping[str, object]) -> dict[str, str]:
    """Make the folder, write the entry's configuration into it, and return the files by name, to be recorded.

    What this start alone has is recorded as ``RECORDED_NAMES``. ``names`` are those that templates know, with
    :func:`unprivileged_names` among them.

    Raises:
        BadInput: a template cannot be rendered.
        OSError: the folder or a file cannot be written.

    """
    # A server that root starts passes through the folder as another user.
    folder.mkdir(mode=0o700)
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    scratch = folder / SCRATCH_FOLDER
    scratch.mkdir(mode=0o700)
    if names["user"] is not None:
        shutil.chown(scratch, str(names["user"]), str(names["group"]))
    for file, template in entry.description.config.items():
        (folder / file).write_text(entry.templates.render(template, names), encoding="utf-8")
        # The folder lets in whom it should; here the mask of the person's shell must not decide.
        (folder / file).chmod(0o644)
    recorded = {**names, **{name: RECORDED_NAMES[name] for name in names.keys() & RECORDED_NAMES.keys()}}
    return {
        file: entry.templates.render(template, recorded)
        for file, template in entry.description.config.items()
    }


def log_tail(folder: Path, entry: CatalogEntry, line_count: int) -> str:
    """Return the last lines of what the server printed and of each log; empty where there are none."""
    tails = {file: _last_lines(folder / file, line_count) for file in (CONSOLE_LOG, *entry.description.logs)}
    written = {file: tail for file, tail in tails.items() if tail}
    if len(written) == 1:
        return next(iter(written.values()))
    return "\n".join(f"{file}:\n{tail}" for file, tail in written.items())


def _last_lines(file: Path, line_count: int) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - LOG_END_BYTES))
            end = stream.read(LOG_END_BYTES)
    except OSError:
        return ""
    return "\n".join(end.decode(errors="replace").splitlines()[-line_count:])
