"""The user that a server becomes if root starts it."""

import grp
import os
import pwd
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.server.settings import UnusableSetting
from loadcurve.server.spawn import ends_with_parent, setpriv

UNPRIVILEGED_USER = "nobody"
ROOT = "root"
CHOWN, DAC_OVERRIDE, KILL, SETGID, SETUID = 0, 1, 5, 6, 7
NEEDED_CAPABILITIES = sum(1 << number for number in (CHOWN, DAC_OVERRIDE, KILL, SETGID, SETUID))
"""See capabilities(7)."""


@dataclass(frozen=True)
class ServerUser:
    """A user of this machine."""

    name: str
    group: str
    ids: tuple[int, int]
    """Its own id and that of its group."""

    @classmethod
    def named(cls, name: str) -> "ServerUser | None":
        """Return the user of a name; ``None`` where the system has none, or not its group."""
        try:
            user = pwd.getpwnam(name)
            return cls(user.pw_name, grp.getgrgid(user.pw_gid).gr_name, (user.pw_uid, user.pw_gid))
        except KeyError:
            return None


def user_of_server(candidates: Sequence[str] | None, asked: str | None) -> ServerUser | None:
    """Return the user that a server becomes; ``None`` for one that stays the user who starts it.

    That is the one that the study asks for, or else the first of its description's candidates that exists, or
    ``nobody``. A server that root is asked for may still make its workers another user's by itself.

    Raises:
        BadInput: root starts it, and the system has no such user, or no program that changes the user.
        UnusableSetting: the study asks for an unknown user, or this process cannot start a server as another.

    """
    if asked is not None and asked == _own_name():
        return None
    if not may_change_users():
        if asked is not None:
            text = f'found "{asked}"; only root can start a server as another user: remove it'
            raise UnusableSetting("user", text)
        return None
    names = [asked] if asked is not None else candidates or [UNPRIVILEGED_USER]
    if names == [ROOT]:
        return None
    user = next(filter(None, map(ServerUser.named, names)), None)
    stays = 'set another one with user = "…" in the table of the server, or user = "root"'
    becomes = f"A server started by root runs as the user `{'` or `'.join(names)}`, and "
    if user is None and asked is not None:
        raise UnusableSetting("user", f'found "{asked}", but the system lacks this user or its group')
    if user is None:
        raise BadInput(f"{becomes}the system lacks this user or its group; {stays}.")
    if not _becoming(user):
        raise BadInput(
            f"{becomes}the program setpriv of util-linux, which switches the user, is missing or fails; "
            f"install it, or {stays}."
        )
    return user


def may_change_users() -> bool:
    """Say whether this process is root with what it takes to start, stop and clear up servers of others.

    Root of a user namespace without an id for ``nobody``, or of a container that lacks these capabilities, is
    not.
    """
    if os.geteuid() != 0:
        return False
    effective = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    held = 0 if effective is None else int(effective[1], 16)
    nobody = ServerUser.named(UNPRIVILEGED_USER)
    return held & NEEDED_CAPABILITIES == NEEDED_CAPABILITIES and (nobody is None or _has_ids(nobody))


def confined(user: ServerUser | None) -> tuple[str, ...]:
    """Return the words before a command that make it another user's, and let it gain no privileges.

    The kernel forgets whose end a process is to follow when that changes its user, so it is asked again. The
    bounding set is left alone: without it, a program with file capabilities would not start at all.
    """
    if user is None:
        return setpriv("--no-new-privs")
    return (*_becoming(user), *ends_with_parent())


def _becoming(user: ServerUser) -> tuple[str, ...]:
    return setpriv("--reuid", user.name, "--regid", user.group, "--init-groups", "--no-new-privs")


def _has_ids(user: ServerUser) -> bool:
    """Say whether the namespace of this process has the ids of a user, see user_namespaces(7)."""
    for name, wanted in zip(("uid_map", "gid_map"), user.ids, strict=True):
        ranges = [line.split() for line in Path("/proc/self", name).read_text().splitlines()]
        if not any(int(first) <= wanted < int(first) + int(count) for first, _, count in ranges):
            return False
    return True


def _own_name() -> str | None:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None
