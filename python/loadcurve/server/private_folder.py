"""The private folder of one start: the rendered configuration, and everything that the server writes."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from loadcurve.files import open_regular
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.description import CERTIFICATE_PLACES, CONSOLE_LOG, SCRATCH_FOLDER
from loadcurve.server.privileges import UNPRIVILEGED_USER, ServerUser, may_change_users


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
    **{name: f"{{{name}}}" for name in CERTIFICATE_PLACES},
}
"""What every start has anew is recorded as placeholders, so that configurations of runs compare."""
INTERPRETER_MARK = "#!"
"""A configuration file that begins with it is a program, such as a script of a web server's."""
LOG_END_BYTES = 64 * 1024
"""How much of the end of a log is read, enough for any number of lines that a person would read."""


def template_names(user: ServerUser | None) -> dict[str, str | None]:
    """Return ``user`` and ``group`` for templates: the user of the workers of a server that stays root's.

    ``None`` where the server itself is another user's, or an ordinary one's.
    """
    workers = ServerUser.named(UNPRIVILEGED_USER) if user is None and may_change_users() else None
    if workers is None:
        return {"user": None, "group": None}
    return {"user": workers.name, "group": workers.group}


def write_private_folder(
    folder: Path, entry: CatalogEntry, names: Mapping[str, object], user: ServerUser | None = None
) -> dict[str, str]:
    """Make the folder, write the entry's configuration into it, and return the files by name, to be recorded.

    What this start alone has is recorded as ``RECORDED_NAMES``. ``names`` are those that templates know, with
    :func:`template_names` among them. At the end the folder is the ``user``'s, who may write there.

    Raises:
        BadInput: a template cannot be rendered.
        OSError: the folder or a file cannot be written.

    """
    # A server that stays root's passes through the folder as another user, too.
    folder.mkdir(mode=0o700)
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    scratch = folder / SCRATCH_FOLDER
    scratch.mkdir(mode=0o700)
    if names["user"] is not None:
        shutil.chown(scratch, str(names["user"]), str(names["group"]))
    for file, template in entry.description.config.items():
        text = entry.templates.render(template, names)
        (folder / file).write_text(text, encoding="utf-8")
        # The folder lets in the right user; here the mask of the person's shell must not decide.
        (folder / file).chmod(0o755 if text.startswith(INTERPRETER_MARK) else 0o644)
    if user is not None:
        for owned in (scratch, folder):
            os.chown(owned, *user.ids)
    recorded = {**names, **{name: RECORDED_NAMES[name] for name in names.keys() & RECORDED_NAMES.keys()}}
    return {
        file: entry.templates.render(template, recorded)
        for file, template in entry.description.config.items()
    }


def log_tail(console: Path, folder: Path, entry: CatalogEntry, line_count: int) -> str:
    """Return the last lines of what the server printed and of each log; empty where there are none."""
    files = {CONSOLE_LOG: console, **{file: folder / file for file in entry.description.logs}}
    tails = {name: _last_lines(file, line_count) for name, file in files.items()}
    written = {file: tail for file, tail in tails.items() if tail}
    if len(written) == 1:
        return next(iter(written.values()))
    return "\n".join(f"{file}:\n{tail}" for file, tail in written.items())


def begin_and_end(said: str, line_count: int) -> str:
    """Return what a program said, in the middle of a long text the number of lines that are left out.

    What is wrong is in the first lines or the last, and in between some programs repeat the whole file.
    """
    lines = said.splitlines()
    if len(lines) <= line_count:
        return said
    first = line_count // 2
    last = line_count - first - 1
    left_out = f"… {len(lines) - first - last} more lines …"
    return "\n".join([*lines[:first], left_out, *lines[-last:]])


def _last_lines(file: Path, line_count: int) -> str:
    """Return the end of a file that the server may have put there: a link of its is not followed."""
    try:
        with open_regular(file) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - LOG_END_BYTES))
            end = stream.read(LOG_END_BYTES)
    except OSError:
        return ""
    return "\n".join(end.decode(errors="replace").splitlines()[-line_count:])
