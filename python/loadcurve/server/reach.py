"""What the user that a server becomes can reach: its program, its content, its folder."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from loadcurve.server.failure import ServerFailure
from loadcurve.server.privileges import ServerUser

ACCESS_LIST = "system.posix_acl_access"
"""The attribute by which more users may be let in than the mode says, see acl(5)."""
INTERPRETER_LINE_MAX = 256
"""Bytes of the first line of a script that the kernel reads."""
READABLE_FOLDER, READABLE_FILE = 0o755, 0o644
"""Modes that let every user read."""


def reachable_program(
    title: str, user: ServerUser, program: Path, ours: Iterable[Path], copies: Path
) -> Path:
    """Return where the user can run a server's program: itself, or a copy of one in a folder of ours.

    ``ours`` are the folders with programs that consist of one file; they may lie in root's home.

    Raises ``ServerFailure``: the user cannot run another one ("not_started").
    """
    if may_run(user, program):
        _require_interpreter(title, user, program)
        return program
    if not any(program.is_relative_to(folder) for folder in ours):
        _refuse(title, user, f"run {program}", closed_folder(user, program))
    copy = copies / program.name
    shutil.copyfile(program, copy)
    copy.chmod(0o755)
    return copy


def _require_interpreter(title: str, user: ServerUser, script: Path) -> None:
    """Require that the user can run what a script names on its first line, as those of an environment do.

    Raises ``ServerFailure`` ("not_started"); the kernel would say of either that it is denied, or not there.
    """
    with script.open("rb") as file:
        line = file.readline(INTERPRETER_LINE_MAX)
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if not words or not words[0].startswith("/"):
        return
    interpreter = Path(words[0])
    if not interpreter.exists():
        text = f"{title} cannot be started: {script} is run by {interpreter}, which does not exist."
        raise ServerFailure("not_started", text)
    if not may_run(user, interpreter):
        _refuse(title, user, f"run {interpreter}, by which {script} is run", closed_folder(user, interpreter))


def reachable_part(user: ServerUser, part: Path, ours: Path, copies: Path) -> Path:
    """Return where the user can read a folder or a file of a server: itself, or a copy of one of ours.

    ``ours`` is the folder with what was built, which may lie in root's home.
    """
    if not part.is_relative_to(ours) or closed_folder(user, part / "*" if part.is_dir() else part) is None:
        return part
    copy = copies / part.name
    if not part.is_dir():
        shutil.copyfile(part, copy)
        copy.chmod(READABLE_FILE)
        return copy
    shutil.copytree(part, copy)
    for folder, _, files in os.walk(copy):
        Path(folder).chmod(READABLE_FOLDER)
        for name in files:
            (Path(folder) / name).chmod(READABLE_FILE)
    return copy


def require_reachable(title: str, user: ServerUser, folder: Path, *, advice: str | None = None) -> None:
    """Raise ``ServerFailure`` where the user cannot pass through a folder ("not_started")."""
    if (closed := closed_folder(user, folder / "*")) is not None:
        _refuse(title, user, f"reach {folder}", closed, advice)


def closed_folder(user: ServerUser, path: Path) -> Path | None:
    """Return the first folder on the way to a path through which the user cannot pass, if there is one."""
    ways = dict.fromkeys([*reversed(path.absolute().parents), *reversed(path.resolve().parents)])
    return next((folder for folder in ways if not _may_pass(user, folder)), None)


def may_run(user: ServerUser, program: Path) -> bool:
    """Say whether the user can reach a program and run it."""
    return closed_folder(user, program) is None and _may_pass(user, program)


def _may_pass(user: ServerUser, path: Path) -> bool:
    """Say whether the mode lets the user run a file or pass a folder, or a list of users may."""
    status = path.stat()
    # Not every file system has attributes.
    with contextlib.suppress(OSError):
        if ACCESS_LIST in os.listxattr(path):
            return True
    bit, (user_id, group_id) = stat.S_IXOTH, user.ids
    if status.st_uid == user_id:
        bit = stat.S_IXUSR
    elif status.st_gid in os.getgrouplist(user.name, group_id):
        bit = stat.S_IXGRP
    return bool(status.st_mode & bit)


def _refuse(
    title: str, user: ServerUser, what: str, closed: Path | None, advice: str | None = None
) -> NoReturn:
    why = "" if closed is None else f", because other users have no access to {closed}"
    raise ServerFailure(
        "not_started",
        f"{title} runs as the user {user.name}, because root starts it, and that user cannot {what}{why}. "
        f'{advice or "Move it to where other users can"}, or set user = "root" in the table of the server.',
    )
