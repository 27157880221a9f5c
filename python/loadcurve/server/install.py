"""How a missing server is installed, by platform."""

import platform
from collections.abc import Mapping

from loadcurve.toml.document import TomlTable


class Packages(TomlTable):
    """The packages that carry a server, by family of Linux distributions.

    ``everywhere`` is a whole command for a server that comes from no distribution.
    """

    debian: list[str] | None = None
    """Packages of Debian and Ubuntu."""
    fedora: list[str] | None = None
    """Packages of Fedora."""
    arch: list[str] | None = None
    """Packages of Arch Linux."""
    alpine: list[str] | None = None
    """Packages of Alpine Linux."""
    suse: list[str] | None = None
    """Packages of openSUSE."""
    everywhere: str | None = None
    """A complete command, for a server that no distribution packages."""


INSTALL_COMMANDS = {
    "debian": "apt-get install",
    "fedora": "dnf install",
    "arch": "pacman -S",
    "alpine": "apk add",
    "suse": "zypper install",
}
"""The command that installs packages, by family, named as in ``ID`` and ``ID_LIKE`` of os-release(5)."""


def platform_names(os_release: Mapping[str, str]) -> list[str]:
    """Return the names of a platform from its os-release, its own first and then those that it resembles."""
    return [os_release.get("ID", ""), *os_release.get("ID_LIKE", "").split()]


def install_command(names: list[str], *servers: Packages) -> str | None:
    """Return one command that installs servers on a platform; ``None`` where none is known."""
    for name in names:
        if name in INSTALL_COMMANDS:
            found = [package for packages in servers for package in getattr(packages, name) or []]
            if found:
                return f"{INSTALL_COMMANDS[name]} {' '.join(dict.fromkeys(found))}"
    return next((packages.everywhere for packages in servers if packages.everywhere), None)


def install_command_here(*servers: Packages) -> str | None:
    """Return one command that installs servers on this machine; ``None`` where none is known."""
    try:
        names = platform_names(platform.freedesktop_os_release())
    except OSError:
        names = []
    return install_command(names, *servers)
